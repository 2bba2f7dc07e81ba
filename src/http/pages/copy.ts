import { readFileSync } from "node:fs";
import { type Html, html } from "../../markup/html.ts";
import { createAsset } from "./asset.ts";

const script = createAsset({
  path: "/assets/copy.js",
  type: "js",
  text: readFileSync(new URL("./copy.js", import.meta.url), "utf8"),
});

/** URL path of copy.js, for pages that have no other script. */
export const copyScriptHref = script.address;

/** Creates the route that serves copy.js. */
export const copyScriptRoute = script.route;

/**
 * A button that copies the text of an element. The script shows it only if the browser allows
 * copying.
 */
export const copyButton = (id: string, what: string): Html =>
  html`<button type="button" class="second copy" data-copy="${id}" aria-label="Copy ${what}" hidden>Copy</button>`;
