import { readFileSync } from "node:fs";
import { type Asset, createAsset } from "../asset.ts";

const copy = new URL("../copy.js", import.meta.url);

const market = scriptOf("/assets/live.js", [
  copy,
  new URL("./live.js", import.meta.url),
  new URL("./crosshair.js", import.meta.url),
  new URL("./search-key.js", import.meta.url),
]);

const proof = scriptOf("/assets/proof.js", [copy, new URL("./proof.js", import.meta.url)]);

/**
 * Creates a script from several files. Each file has its own block, so that equal names in
 * different files do not collide.
 */
function scriptOf(path: string, parts: readonly URL[]): Asset {
  const text = parts.map((part) => `{\n${readFileSync(part, "utf8")}}\n`).join("");
  return createAsset({ path, type: "js", text });
}

/** URL of the script of the market pages. */
export const marketScriptHref = market.address;

/** URL of the script that checks a proof. */
export const proofScriptHref = proof.address;

/** The routes that serve the scripts of the market pages and of a proof. */
export const homeScriptRoutes = [market.route, proof.route];
