import { readFileSync } from "node:fs";
import {
  DIRECTION_EVIDENCE_TEXT,
  DIRECTION_LIMITS_TEXT,
  SCORE_CAVEAT,
  SCORE_MEANING,
} from "../../../answers/meaning.ts";
import { BASE_FACTOR_WEIGHTS, FACTORS_BY_CLASS } from "../../../score/composite.ts";
import { SIGNAL_THRESHOLDS } from "../../../score/signal-hysteresis.ts";
import type { ToolContext } from "../../../tool/tool.ts";
import { DECEPTIVE_CHARACTERS } from "../../pages/elements.ts";
import { forcedWaitTexts } from "../../pages/home/instrument-page.ts";
import {
  answerStatusNotes,
  assetClassNames,
  factorNames,
  factorStatusLabels,
  signalShapes,
} from "../../pages/home/marks.ts";

/** Properties of the service that the document depends on. */
interface AppOf {
  readonly version: string;
  /** Public origin without a trailing slash. */
  readonly baseUrl: string;
  readonly context: Pick<ToolContext, "market">;
}

/** The modules of the script; each module comes after the modules that it imports. */
const modules = [
  new URL("../../pages/home/figure-text.js", import.meta.url),
  new URL("./facts.js", import.meta.url),
  new URL("./elements.js", import.meta.url),
  new URL("./times.js", import.meta.url),
  new URL("./marks.js", import.meta.url),
  new URL("./parts.js", import.meta.url),
  new URL("./signal-view.js", import.meta.url),
  new URL("./history-view.js", import.meta.url),
  new URL("./problem-view.js", import.meta.url),
  new URL("./host-context.js", import.meta.url),
  new URL("./host.js", import.meta.url),
  new URL("./app.js", import.meta.url),
];

/** Colors and sizes of the pages. */
const tokens = new URL("../../pages/style/tokens.css", import.meta.url);

/** The style sheets of the app; the first is also one of the pages. */
const styles = [
  new URL("../../pages/style/signal.css", import.meta.url),
  new URL("./app.css", import.meta.url),
];

/** Reads a source file and removes comments and indentation. */
const read = (url: URL): string =>
  readFileSync(url, "utf8")
    .replaceAll(/^\s*(?:\/\*[\s\S]*?\*\/|\/\/.*)\n/gm, "")
    .replaceAll(/^\s+/gm, "");

/** Reads a style sheet and removes redundant white space. */
const readStyle = (url: URL): string =>
  read(url)
    .replaceAll(/\s*([{};])\s*/g, "$1")
    .replaceAll(/([:,])\s+/g, "$1");

/**
 * Renders the app as one self-contained HTML document. Hosts show it in a frame whose content
 * security policy forbids network access and allows inline scripts and styles (MCP Apps
 * 2026-01-26).
 */
export const appDocument = (of: AppOf): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Market Signal</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
${styleSheet()}</style>
</head>
<body>
<main id="content">
<div class="controls"><button type="button" id="back" hidden>Back</button><button type="button" id="more" hidden>Larger</button></div>
<div id="view"></div>
<p class="quiet small" id="news" role="status"></p>
</main>
<script type="application/json" id="facts">${JSON.stringify(factsOf(of)).replaceAll("<", "\\u003c")}</script>
<script>"use strict";
{
${modules.map((url) => linked(read(url))).join("\n")}
}
</script>
</body>
</html>
`;

/**
 * Wraps a module as part of one script in which later modules can use its exports; removes line
 * breaks after opening brackets, before closing ones with the comma, and before the operators that
 * continue a line.
 */
function linked(module: string): string {
  const exported = Array.from(module.matchAll(EXPORT), ([, name]) => name).join(", ");
  const body = module
    .replaceAll(IMPORT, "")
    .replaceAll(/^export /gm, "")
    .replaceAll(/(?<=[([{])\n|,?\n(?=[)\]}])|\n(?=[.?:&|])/g, "");
  return `const { ${exported} } = (() => {\n${body}return { ${exported} };\n})();`;
}

const IMPORT = /^import [^;]*;\n/gm;
const EXPORT = /^export (?:const|function|class) (\w+)/gm;

/**
 * The style sheet, with the tokens of the pages that it uses. The choice between light and dark
 * follows the theme of the host, or of the system if the host sets none.
 */
function styleSheet(): string {
  const rules = styles.map(readStyle).join("");
  const sheet = read(tokens);
  const dark = new Map(declarationsOf(sheet, /: dark\) \{\s+:root \{([^}]*)\}/));
  const variables = declarationsOf(sheet, /^:root \{([^}]*)\}/m).flatMap(([name, value]) => {
    if (name !== "color-scheme" && !rules.includes(`var(${name})`)) return [];
    const ofDark = dark.get(name);
    return `${name}:${ofDark === undefined ? value : `light-dark(${value},${ofDark})`};`;
  });
  return `:root{${variables.join("")}}
:root[data-theme="light"]{color-scheme:light}
:root[data-theme="dark"]{color-scheme:dark}
${rules}`;
}

/**
 * Names and values of the declarations in the first matching rule.
 *
 * @throws {Error} If no rule of the style sheet matches.
 */
function declarationsOf(css: string, rule: RegExp): readonly (readonly [string, string])[] {
  const [, body] = rule.exec(css) ?? [];
  if (body === undefined) throw new Error("A style sheet has no colors.");
  return Array.from(body.matchAll(/([\w-]+):\s*([^;]+);/g), ([, name = "", value = ""]) => [
    name,
    value,
  ]);
}

/** Data for the script of the app: what it shares with the pages. */
function factsOf({ version, baseUrl, context }: AppOf) {
  const weights = Object.entries(FACTORS_BY_CLASS).map(([assetClass, factors]) => [
    assetClass,
    Object.fromEntries(
      factors.map((factor) => [
        factor,
        BASE_FACTOR_WEIGHTS[assetClass as keyof typeof BASE_FACTOR_WEIGHTS][factor],
      ]),
    ),
  ]);
  const thresholds = Object.entries(SIGNAL_THRESHOLDS).map(
    ([assetClass, { enterLong, enterShort, exitLong, exitShort }]) => [
      assetClass,
      [enterLong, enterShort, exitLong, exitShort],
    ],
  );
  return {
    version,
    baseUrl,
    isSimulated: context.market.source.simulated,
    deceptive: DECEPTIVE_CHARACTERS.source,
    scoreIs: SCORE_MEANING,
    scoreIsNot: SCORE_CAVEAT,
    directionWorth: `${DIRECTION_EVIDENCE_TEXT} ${DIRECTION_LIMITS_TEXT}`,
    thresholds: Object.fromEntries(thresholds),
    shapes: signalShapes,
    classNames: assetClassNames,
    answerNotes: answerStatusNotes,
    factorNames,
    statusLabels: factorStatusLabels,
    forcedWaits: forcedWaitTexts,
    weights: Object.fromEntries(weights),
  };
}
