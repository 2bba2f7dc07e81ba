import { readFileSync } from "node:fs";
import { createAsset } from "./asset.ts";

/** In the order in which later rules win. */
const files = ["base", "parts", "forms", "home", "market", "instrument", "connect"];

const style = createAsset({
  path: "/assets/pages.css",
  type: "css",
  text: files
    .map((name) => readFileSync(new URL(`./style/${name}.css`, import.meta.url), "utf8"))
    .join("\n"),
});

/** Address of the style sheet of the pages. */
export const styleAddress = style.address;

/** Serves it. */
export const styleRoute = style.route;
