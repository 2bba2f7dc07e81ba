import { Router } from "express";
import { documents } from "../../wellknown/index.ts";
import type { Site } from "../../wellknown/site.ts";
import { onlyMethods } from "./methods.ts";

/** Serves the discovery documents; readable from any web page, cacheable for five minutes. */
export function discoveryRouter(site: Site): Router {
  const router = Router();
  for (const { path, mediaType, render } of documents) {
    const body = JSON.stringify(render(site));
    router
      .route(path)
      .get((_req, res) => {
        res
          .set({ "access-control-allow-origin": "*", "cache-control": "public, max-age=300" })
          .type(mediaType)
          .send(body);
      })
      .all(onlyMethods(["get"]));
  }
  return router;
}
