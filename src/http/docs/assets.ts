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

/** Folder of each file that the page loads, or that says who made it. */
const folders = {
  "swagger-ui.css": SWAGGER_UI,
  "swagger-ui-bundle.js": SWAGGER_UI,
  "swagger-ui-bundle.js.LICENSE.txt": SWAGGER_UI,
  "reference.css": HERE,
  "accessible.js": HERE,
  "start.js": HERE,
  "signed-in.js": HERE,
} as const;

/** Name of such a file. */
type AssetName = keyof typeof folders;

/** A file as it is sent. */
export interface Asset {
  /** Ending that tells its type. */
  readonly type: "css" | "js" | "txt";
  readonly bytes: Buffer;
  /** Changes with every change of the file. */
  readonly digest: string;
  /** The same, compressed; made when it is first asked for. */
  readonly gzipped: () => Promise<Buffer>;
}

const compress = promisify(gzip);

/** Reads the files. @returns What finds one by its name. */
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

/** Address of a file for the page: another one for other contents. */
export const assetAddress =
  (assets: ReadonlyMap<string, Asset>, folder: string) =>
  (name: AssetName): string =>
    `${folder}/${name}?v=${assets.get(name)?.digest}`;
