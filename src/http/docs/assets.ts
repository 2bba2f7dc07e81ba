import { hash } from "node:crypto";
import { readFileSync } from "node:fs";

/** URL of each asset and license notice. */
const files = {
  "swagger-ui.css": import.meta.resolve("swagger-ui-dist/swagger-ui.css"),
  "swagger-ui-bundle.js": import.meta.resolve("swagger-ui-dist/swagger-ui-bundle.js"),
  "swagger-ui-bundle.js.LICENSE.txt": import.meta.resolve(
    "swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt",
  ),
  "reference.css": new URL("reference.css", import.meta.url),
  "accessible.js": new URL("accessible.js", import.meta.url),
  "start.js": new URL("start.js", import.meta.url),
  "signed-in.js": new URL("signed-in.js", import.meta.url),
} as const;

/** Name of an asset. */
type AssetName = keyof typeof files;

/** A file to serve. */
export interface Asset {
  /** File extension, which determines the media type. */
  readonly type: "css" | "js" | "txt";
  readonly bytes: Buffer;
  /** Hash of the contents. */
  readonly digest: string;
}

/**
 * Reads the assets.
 *
 * @returns Assets by name.
 */
export function readAssets(): ReadonlyMap<string, Asset> {
  return new Map(Object.entries(files).map(([name, url]) => [name, read(name, url)]));
}

function read(name: string, url: string | URL): Asset {
  const bytes = readFileSync(new URL(url));
  return {
    bytes,
    type: name.split(".").at(-1) as Asset["type"],
    digest: hash("sha256", bytes, "base64url").slice(0, 16),
  };
}

/** URL of an asset. It contains the digest, so new contents get a new URL. */
export const assetAddress =
  (assets: ReadonlyMap<string, Asset>, folder: string) =>
  (name: AssetName): string =>
    `${folder}/${name}?v=${assets.get(name)?.digest}`;
