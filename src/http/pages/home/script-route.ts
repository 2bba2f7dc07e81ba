import { readFileSync } from "node:fs";
import { createAsset } from "../asset.ts";

/** The parts of the script. Each has its own block, so that their names do not collide. */
const parts = [
  new URL("../copy.js", import.meta.url),
  new URL("./live.js", import.meta.url),
  new URL("./crosshair.js", import.meta.url),
  new URL("./keys.js", import.meta.url),
];

const script = createAsset({
  path: "/assets/live.js",
  type: "js",
  text: parts.map((part) => `{\n${readFileSync(part, "utf8")}}\n`).join(""),
});

/** URL of the script of the pages about the market. */
export const scriptAddress = script.address;

/** Serves the script. */
export const scriptRoute = script.route;
