import { readFileSync } from "node:fs";
import { createAsset } from "../asset.ts";

const script = createAsset({
  path: "/assets/live.js",
  type: "js",
  text: readFileSync(new URL("./live.js", import.meta.url), "utf8"),
});

/** URL of the script of the pages about the market. */
export const scriptAddress = script.address;

/** Serves the script. */
export const scriptRoute = script.route;
