import { readFileSync } from "node:fs";
import { PLOT_STYLE } from "../../markup/plot-style.ts";
import { createAsset } from "./asset.ts";

/** Names of the style sheets in cascade order: later ones take precedence. */
const files = [
  "tokens",
  "base",
  "parts",
  "forms",
  "home",
  "signal",
  "market",
  "instrument",
  "chart",
  "connect",
  "alerts",
  "print",
];

const style = createAsset({
  path: "/assets/pages.css",
  type: "css",
  text: [
    PLOT_STYLE,
    ...files.map((name) => readFileSync(new URL(`./style/${name}.css`, import.meta.url), "utf8")),
  ].join("\n"),
});

/** URL of the style sheet of the pages. */
export const styleHref = style.address;

/** Creates the route that serves the style sheet. */
export const styleRoute = style.route;
