import { findInstruments } from "../../tools/find-instruments.ts";
import { getDarkpool } from "../../tools/get-darkpool.ts";
import { getFactors } from "../../tools/get-factors.ts";
import { getSignal } from "../../tools/get-signal.ts";
import { getTrackRecord } from "../../tools/get-track-record.ts";
import { offExchangeDayColumns } from "../answers/off-exchange-row.ts";
import { AssetClass } from "../market/instrument.ts";
import { DIRECTIONS } from "../score/signal-hysteresis.ts";
import { signalColumns } from "../tool/signal-row.ts";
import {
  evidenceText,
  factorColumnHeads,
  factorRows,
  reverseToOldestFirst,
  signalFigures,
  symbolOptions,
  trackRecordColumnHeads,
  trackRecordRows,
} from "./shapes.ts";
import {
  NO_FILTER,
  toUntypedShape,
  WIDGET_PATH_PREFIX,
  type Widget,
  type WidgetParam,
  type WidgetSource,
} from "./widget.ts";

/** Name of the endpoint that lists the instruments. */
const SYMBOLS = "symbols";

const symbol: WidgetParam = {
  paramName: "symbol",
  type: "endpoint",
  label: "Instrument",
  description: "Ticker; without one the first of the list.",
  value: "",
  optionsEndpoint: `${WIDGET_PATH_PREFIX}/${SYMBOLS}`,
};

/** A parameter with a list of values and the option `Any`, which means no filter. */
const choice = (
  paramName: string,
  label: string,
  description: string,
  values: readonly string[],
): WidgetParam => ({
  paramName,
  type: "text",
  label,
  description,
  value: NO_FILTER,
  options: [
    { label: "Any", value: NO_FILTER },
    ...values.map((value) => ({ label: value, value })),
  ],
});

const assetClass = choice(
  "assetClass",
  "Class",
  "Stocks, funds or coins only.",
  AssetClass.options,
);

const DIRECTION_COLORS = { LONG: "green", SHORT: "red" } as const;

/** The widgets, in catalog order. */
export const widgets: readonly Widget[] = [
  {
    name: "market",
    title: "Signals of the market",
    about:
      "Score from 0 to 100, where 50 is the middle, and LONG, SHORT or WAIT of every instrument, with the share of factors behind it (coverage) and their weight of evidence (confidence). A click on a symbol shows it in the other widgets.",
    subCategory: "Signals",
    type: "table",
    tool: getSignal,
    reads: "rows",
    input: { sort: "score" },
    params: [
      assetClass,
      choice("signal", "Signal", "LONG, SHORT or WAIT only.", DIRECTIONS),
      {
        paramName: "minCoverage",
        type: "number",
        label: "Least coverage",
        description: "Share of an instrument's factors that have a value, 0 to 1.",
        value: 0,
      },
    ],
    size: { w: 40, h: 15 },
    table: {
      heads: signalColumns,
      columns: [
        { name: "symbol", header: "Symbol", sets: "symbol", isPinned: true },
        { name: "name", header: "Name" },
        { name: "assetClass", header: "Class" },
        { name: "sector", header: "Sector" },
        { name: "signal", header: "Signal", colors: DIRECTION_COLORS },
        { name: "score", header: "Score", format: "int" },
        { name: "scoreChange", header: "Change in points", decimals: 2, isSigned: true },
        { name: "coverage", header: "Coverage", format: "percent", decimals: 0 },
        { name: "confidence", header: "Confidence", format: "percent", decimals: 0 },
        { name: "steadiness", header: "Steadiness", format: "int" },
        { name: "price", header: "Price", decimals: 2 },
        { name: "currency", header: "Currency" },
        { name: "return", header: "Return", format: "percent", decimals: 2, isSigned: true },
        { name: "status", header: "Status" },
        { name: "since", header: "Signal since", isHidden: true },
        { name: "asOf", header: "As of", isHidden: true },
        { name: "market", header: "Market", isHidden: true },
      ],
    },
  },
  {
    name: "signal",
    title: "Signal of an instrument",
    about:
      "Signal, score, confidence, coverage, price and the range in which the close is expected with 80 % probability, beside what directions of its class were worth in the backtest.",
    subCategory: "Signals",
    type: "metric",
    tool: getSignal,
    reads: "answer",
    input: {},
    params: [symbol],
    size: { w: 40, h: 5 },
    shape: toUntypedShape(signalFigures),
  },
  {
    name: "evidence",
    title: "Evidence for a signal",
    about:
      "What the signal of an instrument rests on, what is missing, how far its price is expected to move, and what scores were worth when they were tested.",
    subCategory: "Signals",
    type: "markdown",
    tool: getSignal,
    reads: "answer",
    input: { detail: "full" },
    params: [symbol],
    size: { w: 20, h: 12 },
    shape: toUntypedShape(evidenceText),
  },
  {
    name: "factors",
    title: "Factors by contribution",
    about:
      "How many points each factor adds to the score or takes from it, the largest first; together they are the score less 50.",
    subCategory: "Factors",
    type: "table",
    tool: getFactors,
    reads: "answer",
    input: { detail: "full" },
    params: [symbol],
    size: { w: 20, h: 12 },
    table: {
      heads: factorColumnHeads,
      columns: [
        { name: "factor", header: "Factor", isPinned: true },
        { name: "contribution", header: "Points", decimals: 2, isSigned: true },
        { name: "z", header: "z", decimals: 2 },
        { name: "confidence", header: "Confidence", format: "percent", decimals: 0 },
        { name: "weight", header: "Weight", decimals: 2 },
        { name: "status", header: "Status" },
        { name: "summary", header: "Summary" },
        { name: "symbol", header: "Symbol" },
        { name: "market", header: "Market", isHidden: true },
      ],
      chart: { kind: "bar", columns: ["factor", "contribution"] },
    },
    shape: toUntypedShape(factorRows),
  },
  {
    name: "history",
    title: "Score history",
    about: "Score and smoothed score, which the signal follows, at every close.",
    subCategory: "Signals",
    type: "table",
    tool: getSignal,
    reads: "rows",
    input: {},
    params: [
      symbol,
      {
        paramName: "last",
        type: "number",
        label: "Sessions",
        description: "How many, counted from the newest: 1 to 500.",
        value: 250,
      },
    ],
    size: { w: 20, h: 12 },
    table: {
      heads: signalColumns,
      columns: [
        { name: "session", header: "Session", isPinned: true },
        { name: "score", header: "Score", format: "int" },
        { name: "scoreSmoothed", header: "Smoothed", decimals: 2 },
        { name: "signal", header: "Signal", colors: DIRECTION_COLORS },
        { name: "coverage", header: "Coverage", format: "percent", decimals: 0 },
        { name: "confidence", header: "Confidence", format: "percent", decimals: 0 },
        { name: "price", header: "Price", decimals: 2 },
        { name: "return", header: "Return", format: "percent", decimals: 2, isSigned: true },
        { name: "symbol", header: "Symbol" },
        { name: "market", header: "Market", isHidden: true },
      ],
      chart: { kind: "line", columns: ["session", "score", "scoreSmoothed"] },
    },
  },
  {
    name: "off-exchange",
    title: "Off-exchange days",
    about:
      "Off-exchange (dark pool) trading by session: its share of all volume, blocks, and the share of it that was marked short. In an empty cell there was no feed.",
    subCategory: "Off-exchange",
    type: "table",
    tool: getDarkpool,
    reads: "rows",
    input: { view: "days", limit: 60 },
    shape: toUntypedShape(reverseToOldestFirst),
    params: [symbol],
    size: { w: 20, h: 12 },
    table: {
      heads: offExchangeDayColumns,
      columns: [
        { name: "session", header: "Session", isPinned: true },
        { name: "shareOfVolume", header: "Share of volume", format: "percent", decimals: 1 },
        { name: "shortVolumeRatio", header: "Marked short", format: "percent", decimals: 1 },
        { name: "blocks", header: "Blocks", format: "int" },
        { name: "blockNotionalUsd", header: "Value of blocks, USD", format: "int" },
        { name: "shares", header: "Shares", format: "int" },
        { name: "notionalUsd", header: "Value, USD", format: "int" },
        { name: "vwap", header: "Average price, USD", decimals: 2 },
        { name: "symbol", header: "Symbol" },
      ],
      chart: { kind: "column", columns: ["session", "shareOfVolume", "shortVolumeRatio"] },
    },
  },
  {
    name: "track-record",
    title: "Track record",
    about:
      "How the logged signals turned out since the log began, by a rule fixed beforehand, beside LONG on everything. An interval that contains 0 is no evidence of skill.",
    subCategory: "Track record",
    type: "table",
    tool: getTrackRecord,
    reads: "answer",
    input: {},
    params: [assetClass],
    size: { w: 40, h: 9 },
    table: {
      heads: trackRecordColumnHeads,
      columns: [
        { name: "assetClass", header: "Class", isPinned: true },
        { name: "horizon", header: "Sessions", format: "int" },
        { name: "runs", header: "Graded", format: "int" },
        { name: "periods", header: "Independent periods", decimals: 1 },
        { name: "long", header: "LONG", format: "int" },
        { name: "short", header: "SHORT", format: "int" },
        { name: "wait", header: "WAIT", format: "int" },
        { name: "meanExcess", header: "Mean excess", format: "percent", decimals: 2 },
        { name: "meanExcessLow", header: "95 % from", format: "percent", decimals: 2 },
        { name: "meanExcessHigh", header: "to", format: "percent", decimals: 2 },
        { name: "alwaysLong", header: "LONG on all", format: "percent", decimals: 2 },
        { name: "hitRate", header: "Hit rate", format: "percent", decimals: 1 },
        { name: "ic", header: "Rank correlation", decimals: 4 },
        { name: "verdict", header: "Newest verdict" },
        { name: "expectedAt", header: "First figures at" },
        { name: "isSimulated", header: "Simulated" },
      ],
    },
    shape: toUntypedShape(trackRecordRows),
  },
];

/** The data source of each endpoint: every widget, and the list of instruments to choose from. */
export const widgetSources: readonly WidgetSource[] = [
  ...widgets,
  {
    name: SYMBOLS,
    tool: findInstruments,
    reads: "rows",
    input: {},
    params: [],
    shape: toUntypedShape(symbolOptions),
  },
];
