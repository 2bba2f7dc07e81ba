import { hash } from "node:crypto";
import { Router } from "express";
import { onlyMethods } from "../allowed-methods.ts";

/** A text that pages load. */
interface AssetText {
  /** Where it is. */
  readonly path: string;
  /** Ending that tells its type. */
  readonly type: "css" | "js";
  readonly text: string;
}

/** How such a text is found and served. */
export interface Asset {
  /** For links: another one for other contents, so that no page ever loads what belongs to another
   *  version. */
  readonly address: string;
  readonly route: () => Router;
}

/** Gives a text an address of its own. */
export function createAsset({ path, type, text }: AssetText): Asset {
  const digest = hash("sha256", text, "base64url").slice(0, 16);
  const headers = {
    "cache-control": "public, max-age=86400",
    "cross-origin-resource-policy": "same-origin",
    etag: `"${digest}"`,
  };
  return {
    address: `${path}?v=${digest}`,
    route() {
      const router = Router();
      router
        .route(path)
        .get((_req, res) => {
          res.set(headers).type(type).send(text);
        })
        .all(onlyMethods(["get"]));
      return router;
    },
  };
}
