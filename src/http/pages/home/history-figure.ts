import { type Html, html } from "../../../markup/html.ts";
import {
  type AxisLabel,
  bandPath,
  columnPanel,
  columnSpan,
  horizontalLine,
  linePath,
  type PlotPanel,
  plot,
  plotDot,
  plotLabel,
  plotPanel,
  rangeLine,
  verticalLine,
} from "../../../markup/plot.ts";
import {
  axisTicks,
  type ColumnAxis,
  PLOT_HEIGHT,
  timeAxis,
  type ValueAxis,
} from "../../../markup/plot-axis.ts";
import type { FullSignal } from "../../../tool/signal.ts";
import type { HistoryPoint, HistoryView } from "./history-view.ts";
import { priceText } from "./number-format.ts";
import type { RangeOutcomes } from "./range-outcomes.ts";

/** Data for the figure. */
export interface HistoryFigure extends HistoryView {
  readonly signal: Pick<FullSignal, "thresholds" | "nextReport" | "range80" | "price">;
  readonly isLog: boolean;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
}

/** Id of the table that lists the values drawn in the chart. */
export const HISTORY_TABLE_ID = "history-figures";

/**
 * How far the time axis may extend beyond the newest session to show the next report, as a share of
 * the length of the history.
 */
const AHEAD_SHARE = 1 / 3;

/**
 * Chart that shows the price, the score, the forecast range and the next report on one time axis.
 */
export function historyPlot(figure: HistoryFigure, label: string): Html {
  const { points, signal, isLog, dayMs } = figure;
  const newest = points.length - 1;
  const instants = points.map(({ asOf }) => Date.parse(asOf));
  const report = signal.nextReport && placeReport(signal.nextReport, instants);
  const fan = fanOf(signal);
  const reach = fan.at(-1)?.sessions ?? 0;
  const wanted = report ? Math.min(report.latest - newest, points.length * AHEAD_SHARE) : 0;
  const ahead = Math.max(reach, Math.floor(wanted), 1);
  const columns = timeAxis(instants, { ahead, dayMs });
  const scene: Scene = { figure, columns, newest, fan, report, spans: spansOf(points) };
  const price = points.some(({ close }) => close !== null) && pricePanel(scene, isLog);
  return plot(
    { label, columns, readout: { table: HISTORY_TABLE_ID, count: points.length } },
    html`${price && plotPanel(price)}${plotPanel(scorePanel(scene))}${keptPanel(scene)}${columnPanel(columns)}`,
  );
}

/** Data that the panels of the figure share. */
interface Scene {
  readonly figure: HistoryFigure;
  readonly columns: ColumnAxis;
  /** Column of the newest session on the time axis, from 0. */
  readonly newest: number;
  readonly fan: readonly FanStep[];
  readonly report: PlacedReport | null;
  readonly spans: readonly SignalSpan[];
}

/** The 80 % forecast range of the closing price, a number of sessions after the newest session. */
interface FanStep {
  readonly sessions: number;
  readonly low: number;
  readonly high: number;
}

const fanOf = ({ range80 }: HistoryFigure["signal"]): readonly FanStep[] =>
  Object.entries(range80 ?? {})
    .map(([sessions, [low = 0, high = 0]]) => ({ sessions: Number(sessions), low, high }))
    .toSorted((a, b) => a.sessions - b.sessions);

/** Margin above and below the drawn values, as a share of their range. */
const ROOM = 0.06;

function priceAxis({ figure, fan }: Scene, isLog: boolean): ValueAxis {
  const closes = figure.points.flatMap(({ close }) => close ?? []);
  const all = [...closes, ...fan.flatMap(({ low, high }) => [low, high])];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const room = ROOM * (high - low) || high * ROOM;
  // On a logarithmic axis, the lowest value must be above 0.
  return { low: isLog ? Math.max(low - room, low / 2) : low - room, high: high + room, isLog };
}

function pricePanel(scene: Scene, isLog: boolean): PlotPanel {
  const { figure, columns, newest, fan } = scene;
  const axis = priceAxis(scene, isLog);
  const closes = figure.points.map(({ close }) => close);
  const last = closes.at(-1) ?? null;
  const marks = axisTicks(axis);
  const labels: AxisLabel[] = [
    ...marks.map((value) => ({ value, text: priceText(value, marks) })),
    ...(last === null ? [] : [{ value: last, text: priceText(last), name: "strong" }]),
    ...fan.slice(-1).flatMap(({ low, high }) => [
      { value: high, text: priceText(high), name: "a" },
      { value: low, text: priceText(low), name: "a" },
    ]),
  ];
  return {
    name: "p-price",
    columns,
    axis,
    labels,
    shapes: html`${spanShapes(scene)}${marks.map((value) => horizontalLine(value, axis, "grid"))}${reportShapes(scene)}${last !== null && fanShapes(fan, { last, newest, axis })}<path class="l-price" d="${linePath(closes, axis)}"/>${verticalLine(newest, "now")}`,
    texts: html`${reportWindow(scene)}${reportTexts(scene)}`,
  };
}

const SCORES: ValueAxis = { low: 0, high: 100 };

function scorePanel(scene: Scene): PlotPanel {
  const { figure, columns, newest } = scene;
  const { points, signal } = figure;
  const { enterLong, exitLong, enterShort, exitShort } = signal.thresholds;
  const smoothed = points.map(({ scoreSmoothed }) => scoreSmoothed);
  const last = smoothed.at(-1) ?? null;
  const raw = points.map(({ scoreRaw }) => scoreRaw);
  return {
    name: "p-score",
    columns,
    axis: SCORES,
    labelShare: 0.095,
    labels: [
      ...(last === null ? [] : [{ value: last, text: last.toFixed(0), name: "strong" }]),
      ...[enterLong, exitLong, exitShort, enterShort].map((value) => ({
        value,
        text: String(value),
      })),
    ],
    shapes: html`${spanShapes(scene)}${horizontalLine(enterLong, SCORES, "t-long")}${horizontalLine(exitLong, SCORES, "t-long t-end")}${horizontalLine(exitShort, SCORES, "t-short t-end")}${horizontalLine(enterShort, SCORES, "t-short")}<path class="l-raw" d="${linePath(raw, SCORES)}"/><path class="l-score" d="${linePath(smoothed, SCORES)}"/>${verticalLine(newest, "now")}`,
    texts: html`<text class="halo" x="6" y="95%">score, 0 to 100</text>${[
      thresholdText(enterLong, "LONG begins", -4),
      thresholdText(exitLong, "LONG ends", -4),
      thresholdText(exitShort, "SHORT ends", 12),
      thresholdText(enterShort, "SHORT begins", 12),
    ]}`,
  };
}

/**
 * The name of a threshold at the right end of its line.
 *
 * @param dy Vertical distance from the line, in pixels.
 */
const thresholdText = (value: number, text: string, dy: number): Html =>
  html`<text class="end halo minor" x="100%" dx="-4" y="${100 - value}%" dy="${dy}">${text}</text>`;

/**
 * Panel with one mark for each forecast range that has ended: a dot if the closing price was inside
 * the range, a ring if it was outside.
 */
function keptPanel({ figure: { kept }, columns, newest }: Scene): Html | false {
  if (kept === undefined || kept.outcomes.length === 0) return false;
  const { outcomes } = kept;
  return plotPanel({
    name: "p-kept",
    columns,
    axis: { low: 0, high: 1 },
    shapes: verticalLine(newest, "now"),
    texts: outcomes.map(({ place, isKept }) =>
      plotDot({ place, y: PLOT_HEIGHT / 2, name: isKept ? "kept" : "broke" }, columns),
    ),
    labels: [{ value: 0.5, text: keptCount(outcomes) }],
  });
}

/**
 * Text with the number of ranges that contained the closing price and the number of all ranges,
 * such as "8/10".
 */
const keptCount = (outcomes: RangeOutcomes["outcomes"]): string =>
  `${outcomes.filter(({ isKept }) => isKept).length}/${outcomes.length}`;

/**
 * Consecutive sessions with the same direction; `first` and `last` are columns of the time axis.
 */
interface SignalSpan {
  readonly signal: "LONG" | "SHORT";
  readonly first: number;
  readonly last: number;
}

function spansOf(points: readonly HistoryPoint[]): readonly SignalSpan[] {
  const starts = points.flatMap(({ signal }, place) =>
    signal === points[place - 1]?.signal ? [] : [{ signal, first: place }],
  );
  return starts.flatMap(({ signal, first }, index) =>
    signal === "WAIT"
      ? []
      : [{ signal, first, last: (starts[index + 1]?.first ?? points.length) - 1 }],
  );
}

/** The spans as tinted areas, each with a stripe at the bottom that makes a short span visible. */
const spanShapes = ({ spans }: Scene): readonly Html[] =>
  spans.map((one) => {
    const name = `span-${one.signal.toLowerCase()}`;
    return html`${columnSpan(one, html`class="${name}" height="100%"`)}${columnSpan(one, html`class="${name} k" y="985" height="15"`)}`;
  });

interface FanPlace {
  /** The closing price from which the ranges were forecast. */
  readonly last: number;
  readonly newest: number;
  readonly axis: ValueAxis;
}

/**
 * The forecast ranges as an area, with straight edges between the horizons for which ranges are
 * published.
 */
function fanShapes(fan: readonly FanStep[], { last, newest, axis }: FanPlace): Html {
  const now = { place: newest, from: last, to: last };
  const ranges = fan.map(({ sessions, low, high }) => ({
    place: newest + sessions,
    from: high,
    to: low,
  }));
  return html`<path class="fan" d="${bandPath([now, ...ranges], axis)}"/>${ranges.map((range) => rangeLine(range, axis, "fan-l"))}`;
}

/** The days of an expected report as columns of the time axis. */
interface PlacedReport {
  readonly expected: number;
  readonly earliest: number;
  readonly latest: number;
}

/**
 * Places an expected report on the time axis. Future sessions are assumed to be as far apart as
 * those of the history.
 */
function placeReport(
  { expected, earliest, latest }: NonNullable<FullSignal["nextReport"]>,
  instants: readonly number[],
): PlacedReport {
  const newest = instants.length - 1;
  const [from = 0, to = 0] = [instants[0], instants[newest]];
  const place = (day: string) =>
    newest + Math.round(((Date.parse(day) - to) * newest) / (to - from));
  return { expected: place(expected), earliest: place(earliest), latest: place(latest) };
}

/** Lines for the filed reports and for the day on which the next report is expected. */
const reportShapes = (scene: Scene): Html =>
  html`${filedPlaces(scene.figure).map((place) => verticalLine(place, "filed"))}${expectedPlace(scene, (place) => verticalLine(place, "report-l"))}`;

/**
 * Calls `draw` with the column of the next report; for an overdue report, with the column of the
 * next session. Returns `false` if the column is outside the figure.
 */
function expectedPlace<T>(
  { report, newest, columns }: Scene,
  draw: (place: number) => T,
): T | false {
  const place = report === null ? columns.total : Math.max(newest + 1, report.expected);
  return place < columns.total && draw(place);
}

/**
 * The time window of the next report. It is positioned in percent, so that its hatching is not
 * stretched.
 */
function reportWindow({ report, newest, columns }: Scene): Html | false {
  if (report === null) return false;
  const first = Math.max(newest + 1, report.earliest);
  const last = Math.min(columns.total - 1, Math.max(first, report.latest));
  if (first > last) return false;
  const percent = (places: number) => ((100 * places) / columns.total).toFixed(2);
  return html`<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V7"/></pattern></defs><rect class="report" x="${percent(first)}%" width="${percent(last + 1 - first)}%" height="100%"/>`;
}

/** For each filing, the column of the first session that closed after the filing. */
const filedPlaces = ({ points, filed }: HistoryView): readonly number[] => {
  const closes = points.map(({ asOf }) => Date.parse(asOf));
  return filed.map((at) => closes.findIndex((close) => close >= at)).filter((place) => place >= 0);
};

function reportTexts(scene: Scene): Html {
  const text = (place: number, letter: string, name: string) =>
    plotLabel({ place, y: 5, text: letter, name: `mid halo ${name}` }, scene.columns);
  return html`${filedPlaces(scene.figure).map((place) => text(place, "R", ""))}${expectedPlace(scene, (place) => text(place, "R?", "a"))}`;
}
