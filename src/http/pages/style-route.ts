import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Router } from "express";
import { onlyMethods } from "../methods.ts";

/** Where the style sheet of the pages is. */
const STYLE_PATH = "/assets/pages.css";

/** In the order in which later rules win. */
const files = ["base", "parts", "forms"];

const css = files
  .map((name) => readFileSync(new URL(`./style/${name}.css`, import.meta.url), "utf8"))
  .join("\n");

const digest = hash("sha256", css, "base64url").slice(0, 16);

/** Address of the style sheet for links: another one for other contents, so that no page is ever
 *  shown in the style of another version. */
export const styleAddress = `${STYLE_PATH}?v=${digest}`;

const HEADERS = {
  "cache-control": "public, max-age=86400",
  "cross-origin-resource-policy": "same-origin",
  etag: `"${digest}"`,
};

/** Serves the style sheet of the pages. */
export function styleRoute(): Router {
  const router = Router();
  router
    .route(STYLE_PATH)
    .get((_req, res) => {
      res.set(HEADERS).type("css").send(css);
    })
    .all(onlyMethods(["get"]));
  return router;
}
