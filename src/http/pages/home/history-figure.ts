import type { FullSignal } from "../../../answers/signal.ts";
import { type Html, html } from "../html.ts";
import type { HistoryPoint, HistoryView } from "./history-view.ts";
import type { KeptRanges } from "./kept-ranges.ts";
import { priceText } from "./number-format.ts";
import {
  type AxisLabel,
  dot,
  down,
  level,
  line,
  type Panel,
  panel,
  plot,
  plotText,
  span,
  type TimeAxis,
  ticks,
  timeAxis,
  timePanel,
  upright,
  type ValueAxis,
} from "./plot.ts";

/** The data that the figure shows. */
export interface HistoryFigure extends HistoryView {
  readonly signal: Pick<FullSignal, "thresholds" | "nextReport" | "range80" | "price">;
  readonly isLog: boolean;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
}

/** Id of the table with the figures of the drawing. */
export const HISTORY_TABLE = "history-figures";

/** Maximum time drawn ahead of the history for the next report, as a share of the history. */
const AHEAD_SHARE = 1 / 3;

/** Price and score on one axis of time, followed by the expected range and the next report. */
export function historyPlot(figure: HistoryFigure, label: string): Html {
  const { points, signal, isLog, dayMs } = figure;
  const newest = points.length - 1;
  const instants = points.map(({ asOf }) => Date.parse(asOf));
  const report = signal.nextReport && placeReport(signal.nextReport, instants);
  const fan = fanOf(signal);
  const reach = fan.at(-1)?.sessions ?? 0;
  const wanted = report ? Math.min(report.latest - newest, points.length * AHEAD_SHARE) : 0;
  const ahead = Math.max(reach, Math.floor(wanted), 1);
  const time = timeAxis(instants, { ahead, dayMs });
  const scene: Scene = { figure, time, newest, fan, report, spans: spansOf(points) };
  const price = points.some(({ close }) => close !== null) && pricePanel(scene, isLog);
  return plot(
    { label, table: HISTORY_TABLE, count: points.length, time },
    html`${price && panel(price)}${panel(scorePanel(scene))}${keptPanel(scene)}${timePanel(time)}`,
  );
}

/** What both panels share. */
interface Scene {
  readonly figure: HistoryFigure;
  readonly time: TimeAxis;
  /** Place of the newest session. */
  readonly newest: number;
  readonly fan: readonly FanStep[];
  readonly report: PlacedReport | null;
  readonly spans: readonly SignalSpan[];
}

/** A forecast range: low and high of the close after so many sessions. */
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
  // A logarithm needs more than 0.
  return { low: isLog ? Math.max(low - room, low / 2) : low - room, high: high + room, isLog };
}

function pricePanel(scene: Scene, isLog: boolean): Panel {
  const { figure, time, newest, fan } = scene;
  const axis = priceAxis(scene, isLog);
  const closes = figure.points.map(({ close }) => close);
  const last = closes.at(-1) ?? null;
  const marks = ticks(axis);
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
    time,
    axis,
    labels,
    shapes: html`${spanShapes(scene)}${marks.map((value) => level(value, axis, "grid"))}${reportShapes(scene)}${last !== null && fanShapes(fan, { last, newest, axis })}<path class="l-price" d="${line(closes, axis)}"/>${upright(newest, "now")}`,
    texts: html`${reportWindow(scene)}${reportTexts(scene)}`,
  };
}

const SCORES: ValueAxis = { low: 0, high: 100 };

function scorePanel(scene: Scene): Panel {
  const { figure, time, newest } = scene;
  const { points, signal } = figure;
  const { enterLong, exitLong, enterShort, exitShort } = signal.thresholds;
  const smoothed = points.map(({ scoreSmoothed }) => scoreSmoothed);
  const last = smoothed.at(-1) ?? 50;
  const raw = points.map(({ scoreRaw }) => scoreRaw);
  return {
    name: "p-score",
    time,
    axis: SCORES,
    labelShare: 0.095,
    labels: [
      { value: last, text: last.toFixed(0), name: "strong" },
      ...[enterLong, exitLong, exitShort, enterShort].map((value) => ({
        value,
        text: String(value),
      })),
    ],
    shapes: html`${spanShapes(scene)}${level(enterLong, SCORES, "t-long")}${level(exitLong, SCORES, "t-long t-end")}${level(exitShort, SCORES, "t-short t-end")}${level(enterShort, SCORES, "t-short")}<path class="l-raw" d="${line(raw, SCORES)}"/><path class="l-score" d="${line(smoothed, SCORES)}"/>${upright(newest, "now")}`,
    texts: html`<text class="halo" x="6" y="95%">score, 0 to 100</text>${[
      thresholdText(enterLong, "LONG begins", -4),
      thresholdText(exitLong, "LONG ends", -4),
      thresholdText(exitShort, "SHORT ends", 12),
      thresholdText(enterShort, "SHORT begins", 12),
    ]}`,
  };
}

/** The name of a threshold at the right end of its line. @param dy In pixels from it. */
const thresholdText = (value: number, text: string, dy: number): Html =>
  html`<text class="end halo minor" x="100%" dx="-4" y="${100 - value}%" dy="${dy}">${text}</text>`;

/** A dot where a range ended with the close inside it, and a ring where the close had left it. */
function keptPanel({ figure: { kept }, time, newest }: Scene): Html | false {
  if (kept === undefined || kept.outcomes.length === 0) return false;
  const { outcomes } = kept;
  return panel({
    name: "p-kept",
    time,
    axis: { low: 0, high: 1 },
    shapes: upright(newest, "now"),
    texts: outcomes.map(({ place, isKept }) => dot(place, time, isKept ? "kept" : "broke")),
    labels: [{ value: 0.5, text: keptCount(outcomes) }],
  });
}

/** Number of ranges that were kept, of all that ended. */
const keptCount = (outcomes: KeptRanges["outcomes"]): string =>
  `${outcomes.filter(({ isKept }) => isKept).length}/${outcomes.length}`;

/** Sessions in a row with the same direction. */
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

/** The spans as a tint, with a stripe at the bottom, so that a short span is visible. */
const spanShapes = ({ spans }: Scene): readonly Html[] =>
  spans.map((one) => {
    const name = `span-${one.signal.toLowerCase()}`;
    return html`${span(one, html`class="${name}" height="100%"`)}${span(one, html`class="${name} k" y="985" height="15"`)}`;
  });

interface FanPlace {
  /** The close from which the ranges were forecast. */
  readonly last: number;
  readonly newest: number;
  readonly axis: ValueAxis;
}

/** The ranges ahead: straight lines between the closes for which they are published. */
function fanShapes(fan: readonly FanStep[], { last, newest, axis }: FanPlace): Html {
  const steps = [{ sessions: 0, low: last, high: last }, ...fan];
  const along = (value: (step: FanStep) => number, some: readonly FanStep[]) =>
    some.map((step) => `${newest + step.sessions} ${down(value(step), axis)}`);
  const high = along((step) => step.high, steps);
  const low = along((step) => step.low, steps.toReversed());
  return html`<path class="fan" d="M${[...high, ...low].join(" ")}Z"/>${fan.map(
    ({ sessions, ...range }) => {
      const x = newest + sessions;
      return html`<line class="fan-l" x1="${x}" x2="${x}" y1="${down(range.high, axis)}" y2="${down(range.low, axis)}"/>`;
    },
  )}`;
}

/** Position of a report on the axis of sessions. */
interface PlacedReport {
  readonly expected: number;
  readonly earliest: number;
  readonly latest: number;
}

/** Places an expected report; later sessions are as far apart as those of the history. */
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

/** Filed reports, and the day on which the next is expected. */
const reportShapes = (scene: Scene): Html =>
  html`${filedPlaces(scene.figure).map((place) => upright(place, "filed"))}${expectedPlace(scene, (place) => upright(place, "report-l"))}`;

/** Draws at the day of the next report, if that is within the drawing; an overdue report is drawn
 *  at the next session. */
function expectedPlace<T>({ report, newest, time }: Scene, draw: (place: number) => T): T | false {
  const place = report === null ? time.total : Math.max(newest + 1, report.expected);
  return place < time.total && draw(place);
}

/** The window of the next report. Its hatching is not stretched, so it is placed in percent. */
function reportWindow({ report, newest, time }: Scene): Html | false {
  if (report === null) return false;
  const first = Math.max(newest + 1, report.earliest);
  const last = Math.min(time.total - 1, Math.max(first, report.latest));
  if (first > last) return false;
  const percent = (places: number) => ((100 * places) / time.total).toFixed(2);
  return html`<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V7"/></pattern></defs><rect class="report" x="${percent(first)}%" width="${percent(last + 1 - first)}%" height="100%"/>`;
}

/** The sessions whose close was the first after a filing. */
const filedPlaces = ({ points, filed }: HistoryView): readonly number[] => {
  const closes = points.map(({ asOf }) => Date.parse(asOf));
  return filed.map((at) => closes.findIndex((close) => close >= at)).filter((place) => place >= 0);
};

function reportTexts(scene: Scene): Html {
  const text = (place: number, letter: string, name: string) =>
    plotText({ place, y: 5, text: letter, name: `mid halo ${name}` }, scene.time);
  return html`${filedPlaces(scene.figure).map((place) => text(place, "R", ""))}${expectedPlace(scene, (place) => text(place, "R?", "a"))}`;
}
