import { findInstruments } from "../../tools/find-instruments.ts";
import { getDarkpool } from "../../tools/get-darkpool.ts";
import { getFactors } from "../../tools/get-factors.ts";
import { getSignal } from "../../tools/get-signal.ts";
import { getTrackRecord } from "../../tools/get-track-record.ts";
import { offExchangeDayRow } from "../answers/off-exchange-row.ts";
import { AssetClass } from "../market/instrument.ts";
import { DIRECTIONS } from "../score/signal-hysteresis.ts";
import { columnsOf } from "../tables/row.ts";
import { signalRow } from "../tool/signal-row.ts";
import {
  evidenceText,
  factorRow,
  factorRows,
  reverseToOldestFirst,
  signalFigures,
  symbolOptions,
  trackRecordRow,
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
      columns: columnsOf(signalRow, [
        "symbol",
        "name",
        "assetClass",
        "sector",
        "signal",
        "score",
        "scoreChange",
        "coverage",
        "confidence",
        "steadiness",
        "price",
        "currency",
        "return",
        "status",
        "since",
        "asOf",
        "market",
      ]),
      sets: "symbol",
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
      columns: columnsOf(factorRow, [
        "factor",
        "contribution",
        "z",
        "confidence",
        "weight",
        "status",
        "summary",
        "symbol",
        "market",
      ]),
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
      columns: columnsOf(signalRow, [
        "session",
        "score",
        "scoreSmoothed",
        "signal",
        "coverage",
        "confidence",
        "price",
        "return",
        "symbol",
        "market",
      ]),
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
      columns: columnsOf(offExchangeDayRow, [
        "session",
        "shareOfVolume",
        "shortVolumeRatio",
        "blocks",
        "blockNotionalUsd",
        "shares",
        "notionalUsd",
        "vwap",
        "symbol",
      ]),
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
      columns: columnsOf(trackRecordRow).filter(({ display }) => display),
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
