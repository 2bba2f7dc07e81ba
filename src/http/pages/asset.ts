import { hash } from "node:crypto";
import { Router } from "express";
import { serveGetOnly } from "../allowed-methods.ts";
import { MEDIA_TYPES, sendRepresentation } from "../send-response.ts";

/** A static text file that pages load. */
interface AssetText {
  /** Path of the file. */
  readonly path: string;
  /** File extension, which determines the media type. */
  readonly type: "css" | "js";
  readonly text: string;
}

/** A static text file with its route. */
export interface Asset {
  /** URL for links, with a digest of the contents, so that a page never loads the file of another
   *  version. */
  readonly address: string;
  readonly route: () => Router;
}

/** Creates an asset whose URL contains its digest. */
export function createAsset({ path, type, text }: AssetText): Asset {
  const digest = hash("sha256", text, "base64url").slice(0, 16);
  const headers = {
    "cache-control": "public, max-age=86400",
    "cross-origin-resource-policy": "same-origin",
  };
  const asset = { type: MEDIA_TYPES[type], body: text, etag: `"${digest}"` };
  return {
    address: `${path}?v=${digest}`,
    route() {
      const router = Router();
      serveGetOnly(router, path, (req, res) => sendRepresentation(req, res.set(headers), asset));
      return router;
    },
  };
}
