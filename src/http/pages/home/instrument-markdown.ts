import { getDarkpool } from "../../../../tools/get-darkpool.ts";
import { getFactors } from "../../../../tools/get-factors.ts";
import { getSignal } from "../../../../tools/get-signal.ts";
import { markdownTable } from "../../../../wellknown/markdown.ts";
import {
  DIRECTION_EVIDENCE_TEXT,
  DIRECTION_LIMITS_TEXT,
  SCORE_CAVEAT,
  SCORE_MEANING,
} from "../../../answers/meaning.ts";
import { toPercent } from "../../../answers/risk.ts";
import type { Site } from "../../../answers/site.ts";
import { STEADINESS_MEANING } from "../../../answers/steadiness.ts";
import { instrumentPath, paths } from "../../../lib/paths.ts";
import type { Instrument } from "../../../market/instrument.ts";
import { escapeMarkdown } from "../../../outbound/markdown-text.ts";
import type { FullSignal } from "../../../tool/signal.ts";
import { ACCOUNT_PATH } from "../return-to.ts";
import type { DarkpoolView, FactorsAnswer, InstrumentView } from "./instrument-view.ts";
import type { FactorName } from "./marks.ts";
import { factorNames, factorStatusLabels } from "./marks.ts";

/**
 * The page of an instrument as Markdown, for agents: figures as the tools return them, and the tool
 * calls that return more.
 */
export function instrumentMarkdown(view: InstrumentView, site: Site): string {
  const { signal, factors, darkpool } = view;
  const parts = [
    `# ${escapeMarkdown(signal.symbol)}: ${escapeMarkdown(signal.name)}`,
    `> ${signal.signal} since ${signal.since}, ${signal.score === null ? "without a score" : `with a score of ${signal.score} of 100, where 50 is the middle`}.`,
    figures(signalRows(signal)),
    factors && factorsPart(factors),
    darkpool &&
      `## Dark pool\n\n${escapeMarkdown(darkpool.note)}\n\n${figures(darkpoolRows(darkpool))}`,
    `## As data\n\n${calls(view)}\n\nWith \`from\`, the first answers with the history. Each needs a token: ${site.baseUrl}${paths.authMd}`,
    `${SCORE_MEANING} ${SCORE_CAVEAT} ${DIRECTION_EVIDENCE_TEXT} ${DIRECTION_LIMITS_TEXT}`,
  ];
  return textOf(parts);
}

/** The Markdown page for viewers without access; it is the same for every symbol. */
export const signInRequiredMarkdown = ({ baseUrl }: Site): string =>
  textOf([
    "# For people who have an account",
    "Scores and signals of this service are for people who have an account, and for their agents.",
    `A person signs in at ${baseUrl}${ACCOUNT_PATH}. How their agents get access: ${baseUrl}${paths.authMd}`,
  ]);

/**
 * The Markdown page for an unknown symbol.
 *
 * @param why Text after the words "is covered".
 */
export const unknownInstrumentMarkdown = (
  { symbol, why }: { readonly symbol: string; readonly why: string },
  candidates: readonly Instrument[],
  { baseUrl }: Site,
): string =>
  textOf([
    "# No such instrument",
    `Nothing with the symbol ${escapeMarkdown(symbol)} is covered${why}.`,
    candidates.length > 0 &&
      `Did you mean one of these?\n\n${candidates
        .map(
          (one) =>
            `- [${escapeMarkdown(one.symbol)}](${instrumentPath(one.symbol)}) ${escapeMarkdown(one.name)}`,
        )
        .join("\n")}`,
    `All instruments: ${baseUrl}${paths.home}`,
  ]);

const textOf = (parts: readonly (string | false | undefined)[]): string =>
  `${parts.filter((part) => typeof part === "string").join("\n\n")}\n`;

type Figure = string | number | null;

/** Rounds a figure to at most `digits` decimals, as in brief answers. */
const decimals = (value: number | null, digits: number): number | null =>
  value === null ? null : Number(value.toFixed(digits));

/** A table of figures. */
const figures = (rows: readonly (readonly [name: string, value: Figure])[]): string =>
  markdownTable(
    ["Figure", "Value"],
    rows.map(([name, value]) => [
      name,
      value === null ? "not known" : escapeMarkdown(String(value)),
    ]),
  );

function signalRows(signal: FullSignal): readonly (readonly [string, Figure])[] {
  const { price, sources, forcedWait } = signal;
  return [
    ["Signal", signal.signal],
    ["Previous signal", signal.previousSignal],
    ["Score, 0 to 100 points", decimals(signal.scoreRaw, 2)],
    ["Score smoothed over sessions, which the signal follows", decimals(signal.scoreSmoothed, 2)],
    ["Confidence, 0 to 1", decimals(signal.confidence, 4)],
    ["Coverage, 0 to 1", decimals(signal.coverage, 4)],
    ...(signal.assetClass !== "etf"
      ? ([[`Steadiness, 0 to 100. ${STEADINESS_MEANING}`, signal.steadiness]] as const)
      : []),
    ["Status", signal.status],
    ...(forcedWait === null ? [] : ([["WAIT whatever the score", forcedWait]] as const)),
    ["Price", price === null ? null : `${price.value} ${price.currency} at ${price.at}`],
    ["Horizon", signal.horizon],
    ...reportRows(signal),
    ["As of", signal.asOf],
    ["Source", sources.map(({ name }) => name).join(", ")],
  ];
}

/**
 * Table rows about the next expected filing. Companies publish their results on the day of the
 * filing or a few sessions earlier.
 */
function reportRows(signal: FullSignal): readonly (readonly [string, Figure])[] {
  const { nextReport, nextReportReason } = signal;
  if (signal.assetClass !== "stock") return [];
  if (nextReport === null) return [["Next quarterly filing", nextReportReason]];
  const { expected, earliest, latest, windowCoverage } = nextReport;
  return [
    [
      "Next quarterly filing, estimated from past ones; results come then or a few sessions before",
      `${expected} (${toPercent(windowCoverage)} % of past filings: ${earliest} to ${latest})`,
    ],
  ];
}

function factorsPart({ factors }: FactorsAnswer): string {
  const all = Object.entries(factors) as [FactorName, FactorsAnswer["factors"][FactorName]][];
  const rows = all.map(([name, { contribution, z, confidence, weight, status, summary }]) => [
    factorNames[name],
    String(decimals(contribution, 2)),
    z === null ? factorStatusLabels[status] : String(decimals(z, 4)),
    String(decimals(confidence, 4)),
    String(weight),
    escapeMarkdown(summary),
  ]);
  return `## The four factors

Points add up to the score less 50. z is in standard deviations: more is bullish, less is bearish.

${markdownTable(["Factor", "Points", "z", "Confidence", "Weight", "Summary"], rows)}`;
}

const darkpoolRows = ({ feeds, summary }: DarkpoolView): readonly (readonly [string, Figure])[] => [
  ["Feed of prints", feeds.prints],
  ["Feed of short volume", feeds.shortVolume],
  ["Sessions", summary.sessions],
  ["Prints", summary.prints],
  ["Shares", summary.shares],
  ["Value, US dollars", summary.notionalUsd],
  ["Average price, US dollars", summary.vwap],
  ["Blocks", summary.blocks],
  ["Value of blocks, US dollars", summary.blockNotionalUsd],
  ["Share of volume, 0 to 1", summary.shareOfVolume],
  ["Share marked short, 0 to 1", summary.shortVolumeRatio],
];

/** The tool calls that return the figures of the page. */
function calls({ signal, factors, darkpool }: InstrumentView): string {
  const tools = [getSignal, ...(factors ? [getFactors] : []), ...(darkpool ? [getDarkpool] : [])];
  const query = new URLSearchParams({ symbol: signal.symbol });
  return tools
    .map(({ name, routes: [route] }) => `- \`${name}\`, or \`GET ${route?.path}?${query}\``)
    .join("\n");
}
