import type { FullSignal } from "../../../answers/signal.ts";
import type { exactSignal } from "../../../answers/signal-point.ts";
// Imports each part from its own file: the index files load everything, which takes four times as long.
import "echarts/lib/chart/line";
import "echarts/lib/component/gridSimple";
import "echarts/lib/component/markArea";
import "echarts/lib/component/markLine";
import type { EChartsCoreOption } from "echarts/core";
import { draw, nameAxis, valueAxis } from "../drawing.ts";
import { type Html, html } from "../html.ts";

/** The full result of `get_signal` for one instrument. */
export type SignalAnswer = FullSignal;

/** Scores over time, as in the history of `get_signal`. */
export type History = readonly (ReturnType<typeof exactSignal> & {
  readonly asOf: string;
  readonly status: FullSignal["status"];
})[];

/** Colors by meaning; the style sheet assigns them for light and dark mode. */
export const COLORS = {
  score: "var(--faint)",
  smoothed: "var(--accent)",
  long: "var(--up)",
  short: "var(--down)",
  report: "var(--text)",
  window: "var(--chip)",
} as const;

/** Sizes in CSS pixels, so that text has the same size on a phone and on a desktop. */
const sizes = { narrow: [340, 220], wide: [1040, 280] } as const;

/** Data of a chart of scores. */
export interface ChartData {
  readonly history: History;
  readonly thresholds: SignalAnswer["thresholds"];
  readonly nextReport: SignalAnswer["nextReport"];
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
}

/** Scores, smoothed scores, thresholds and the next report over time, as one drawing per width. */
export const historyDrawings = (data: ChartData): Html => drawings(optionOf(data));

/** A chart as one drawing per width, hidden from screen readers: the page says the same in figures. */
export function drawings(option: EChartsCoreOption): Html {
  const drawn = Object.entries(sizes).map(
    ([name, size]) => html`<div class="drawing ${name}">${draw(option, size)}</div>`,
  );
  return html`<div aria-hidden="true">${drawn}</div>`;
}

function optionOf({ history, thresholds, nextReport, dayMs }: ChartData): EChartsCoreOption {
  const placed = nextReport && placeReport(nextReport, history);
  const instants = [...history.map(({ asOf }) => Date.parse(asOf)), ...(placed?.later ?? [])];
  const labels = instants.map((at) => labelOf(at, dayMs));
  const axis = nameAxis(labels);
  return {
    xAxis: {
      ...axis,
      boundaryGap: false,
      axisLabel: { ...axis.axisLabel, ...labelInterval(labels, dayMs) },
    },
    yAxis: { ...valueAxis(), min: 0, max: 100, interval: 25 },
    series: [
      line(
        history.map(({ scoreRaw }) => scoreRaw),
        { color: COLORS.score, width: 1 },
      ),
      {
        ...line(
          history.map(({ scoreSmoothed }) => scoreSmoothed),
          { color: COLORS.smoothed, width: 2 },
        ),
        markLine: {
          silent: true,
          symbol: "none",
          label: { show: false },
          data: [
            { yAxis: thresholds.enterLong, lineStyle: { color: COLORS.long, type: "dashed" } },
            { yAxis: thresholds.enterShort, lineStyle: { color: COLORS.short, type: "dashed" } },
            ...(placed
              ? [{ xAxis: placed.expected, lineStyle: { color: COLORS.report, type: "solid" } }]
              : []),
          ],
        },
        ...(placed && { markArea: reportWindow(placed) }),
      },
    ],
  };
}

/** Where a report lies on the axis of sessions, and the instants by which that axis is longer. */
interface PlacedReport {
  readonly expected: number;
  readonly earliest: number;
  readonly latest: number;
  readonly later: readonly number[];
}

/** Places an expected report; later sessions are as far apart as those of the history. */
function placeReport(
  { expected, earliest, latest }: NonNullable<ChartData["nextReport"]>,
  history: History,
): PlacedReport {
  const at = (index: number) => Date.parse(history.at(index)?.asOf as string);
  const newest = history.length - 1;
  const stepMs = (at(-1) - at(0)) / newest;
  const place = (day: string) =>
    Math.max(0, newest + Math.round((Date.parse(day) - at(-1)) / stepMs));
  const count = Math.max(0, place(latest) - newest);
  return {
    expected: place(expected),
    earliest: place(earliest),
    latest: place(latest),
    later: Array.from({ length: count }, (_, index) => at(-1) + (index + 1) * stepMs),
  };
}

const reportWindow = ({ earliest, latest }: PlacedReport) => ({
  silent: true,
  itemStyle: { color: COLORS.window },
  data: [[{ xAxis: earliest }, { xAxis: latest }]],
});

/** A line of a chart, without marks at its points. */
export const line = (
  data: readonly number[],
  lineStyle: { readonly color: string; readonly width: number; readonly type?: "dashed" },
) => ({
  type: "line" as const,
  data: [...data],
  showSymbol: false,
  silent: true,
  lineStyle,
  itemStyle: { color: lineStyle.color },
});

const DAY_MS = 86_400_000;

const dates = new Intl.DateTimeFormat("en-GB", {
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});

const times = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  timeZone: "UTC",
});

/** Labels a month only at its beginning, so that no month appears twice. */
function labelInterval(labels: readonly string[], dayMs: number) {
  if (dayMs < DAY_MS) return {};
  return { interval: (index: number) => labels[index] !== labels[index - 1] };
}

/** The label of an instant: a month, or the time if market days are short. */
const labelOf = (at: number, dayMs: number): string => (dayMs < DAY_MS ? times : dates).format(at);
