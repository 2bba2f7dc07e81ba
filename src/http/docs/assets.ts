import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

const HERE = dirname(fileURLToPath(import.meta.url));

const require = createRequire(import.meta.url);
const SWAGGER_UI = dirname(require.resolve("swagger-ui-dist/package.json"));

/** Folder of each asset and license notice. */
const folders = {
  "swagger-ui.css": SWAGGER_UI,
  "swagger-ui-bundle.js": SWAGGER_UI,
  "swagger-ui-bundle.js.LICENSE.txt": SWAGGER_UI,
  "reference.css": HERE,
  "accessible.js": HERE,
  "start.js": HERE,
  "signed-in.js": HERE,
} as const;

/** Name of an asset. */
type AssetName = keyof typeof folders;

/** A file to serve. */
export interface Asset {
  /** File extension, which determines the media type. */
  readonly type: "css" | "js" | "txt";
  readonly bytes: Buffer;
  /** Hash of the contents. */
  readonly digest: string;
  /** The compressed file; created on first request. */
  readonly gzipped: () => Promise<Buffer>;
}

const compress = promisify(gzip);

/**
 * Reads the assets.
 *
 * @returns Assets by name.
 */
export function readAssets(): ReadonlyMap<string, Asset> {
  return new Map(Object.entries(folders).map(([name, folder]) => [name, read(name, folder)]));
}

function read(name: string, folder: string): Asset {
  const bytes = readFileSync(join(folder, name));
  let gzipped: Promise<Buffer> | undefined;
  return {
    bytes,
    type: name.split(".").at(-1) as Asset["type"],
    digest: hash("sha256", bytes, "base64url").slice(0, 16),
    gzipped() {
      gzipped ??= compress(bytes);
      return gzipped;
    },
  };
}

/** URL of an asset. It contains the digest, so new contents get a new URL. */
export const assetAddress =
  (assets: ReadonlyMap<string, Asset>, folder: string) =>
  (name: AssetName): string =>
    `${folder}/${name}?v=${assets.get(name)?.digest}`;
