import { nameAxis, QUIET_COLOR, valueAxis } from "../../../http/pages/drawing.ts";
import type { Html } from "../../../markup/html.ts";
import type { Calibration } from "../calibration.ts";
import type { ClassResult, HorizonResult } from "../class-results.ts";
import type { CoefficientSlice } from "../slices.ts";
import {
  CHART_COLORS,
  chartFigure,
  chartLegend,
  dateAxis,
  paddedValueAxis,
  zeroLine,
} from "./chart.ts";
import {
  plainNumberText,
  reportPercentText,
  reportSignedPercentText,
  shortCoefficientText,
} from "./figures.ts";
import { sessionCountText } from "./words.ts";

/** Chart of the cumulative sum of the coefficients over time. */
export function historyChart({ history, horizon }: HorizonResult): Html {
  let sum = 0;
  const sums = history.map(({ value }) => {
    sum += value;
    return sum;
  });
  return chartFigure(
    {
      title: "Cumulative coefficients",
      caption: `Over ${sessionCountText(horizon)}. Skill rises steadily; luck is a random walk.`,
    },
    {
      xAxis: dateAxis(history.map(({ date }) => date)),
      yAxis: valueAxis(plainNumberText),
      series: [line("sum", sums, CHART_COLORS.first), zeroLine],
    },
  );
}

const line = (name: string, data: readonly number[], color: string) => ({
  type: "line" as const,
  name,
  data: [...data],
  showSymbol: false,
  lineStyle: { color: color, width: 2 },
  itemStyle: { color: color },
});

/** Minimum number of dates of a year that is shown in the chart by calendar year. */
const MIN_DATES = 12;

/** Chart of the mean coefficients by calendar year. */
export function yearChart({ years, horizon }: HorizonResult): Html {
  const long = years.filter(({ dates }) => dates >= MIN_DATES);
  const short = years.filter(({ dates }) => dates < MIN_DATES).map(({ label }) => label);
  const missing = short.length === 0 ? "" : ` Too short to show: ${short.join(", ")}.`;
  const caption = `Mean coefficient over ${sessionCountText(horizon)}. A year is short: most of this is noise.${missing}`;
  return sliceChart("By year", caption, long);
}

/** Chart of the mean coefficients by subset of the dates. */
export function sliceChart(
  title: string,
  caption: string,
  slices: readonly CoefficientSlice[],
): Html {
  return chartFigure(
    { title, caption },
    {
      xAxis: nameAxis(slices.map(({ label }) => label)),
      yAxis: valueAxis(shortCoefficientText),
      series: [bars(slices.map(({ mean }) => mean)), zeroLine],
    },
  );
}

const bars = (values: readonly number[]) => ({
  type: "bar" as const,
  data: values.map((value) => ({
    value,
    itemStyle: {
      color: value < 0 ? CHART_COLORS.second : CHART_COLORS.first,
      borderRadius: value < 0 ? [0, 0, 3, 3] : [3, 3, 0, 0],
    },
  })),
  barMaxWidth: 32,
});

/** Chart of the excess return by decile of the scores; `undefined` without a book. */
export function decileChart({ horizon, book }: HorizonResult): Html | undefined {
  if (book === null) return undefined;
  return chartFigure(
    {
      title: "Return by score decile",
      caption: `Mean return over ${sessionCountText(horizon)} relative to all instruments, lowest scores on the left${decileNote(book)}. With skill the bars rise from left to right.`,
    },
    {
      xAxis: nameAxis(book.excess.map((_, decile) => String(decile + 1))),
      yAxis: valueAxis((value) => reportSignedPercentText(value)),
      series: [bars(book.excess), zeroLine],
    },
  );
}

/** A warning if a decile has few instruments. */
const decileNote = ({ names }: { readonly names: number }): string =>
  names < 5 ? `; a decile has about ${Math.round(names)} names` : "";

/** Chart of the growth of 1 invested in the decile book; `undefined` without a book. */
export function wealthChart({ horizon, book }: HorizonResult): Html | undefined {
  if (book === null) return undefined;
  return chartFigure(
    {
      title: "Top minus bottom decile",
      caption: `Growth of 1: each book is held for ${sessionCountText(horizon)}, all that are held at a time have equal capital.`,
    },
    {
      legend: chartLegend,
      xAxis: dateAxis(book.path.map(({ date }) => date)),
      yAxis: paddedValueAxis(plainNumberText),
      series: [
        line(
          "before costs",
          book.path.map(({ gross }) => gross),
          CHART_COLORS.first,
        ),
        line(
          "at 10 bp a trade",
          book.path.map(({ net10 }) => net10),
          CHART_COLORS.second,
        ),
      ],
    },
  );
}

/**
 * Chart of the number of instruments with a value on each date; `undefined` for a single
 * instrument.
 */
export function coverageChart({ comparison, coverage }: ClassResult): Html | undefined {
  if (comparison === "through_time") return undefined;
  const { history } = coverage;
  return chartFigure(
    {
      title: "Instruments with a value",
      caption: "By graded date, as known then. With few instruments coefficients are noisy.",
    },
    {
      xAxis: dateAxis(history.map(({ date }) => date)),
      // Without the gap, full coverage of few instruments would be a line along the upper edge.
      yAxis: { ...valueAxis(plainNumberText), min: 0, boundaryGap: [0, "10%"] },
      series: [
        line(
          "instruments",
          history.map(({ value }) => value),
          CHART_COLORS.first,
        ),
      ],
    },
  );
}

/** Reliability diagram: observed frequency against forecast probability. */
export function reliabilityChart(
  title: string,
  calibration: Pick<Calibration, "bins"> | null,
): Html | undefined {
  if (calibration === null) return undefined;
  const points = calibration.bins.map(({ meanProbability, frequency }) => [
    meanProbability,
    frequency,
  ]);
  const { min, max, interval } = wholePercents(points.flat());
  const axis = { ...valueAxis((value) => reportPercentText(value, 0)), min, max, interval };
  return chartFigure(
    {
      title,
      caption:
        "Each point is a tenth of the forecasts: mean probability on the horizontal axis, observed frequency on the vertical one. Calibrated forecasts lie on the line.",
    },
    {
      xAxis: axis,
      yAxis: axis,
      series: [
        {
          type: "line",
          data: [min, max].map((end) => [end, end]),
          showSymbol: false,
          lineStyle: { color: QUIET_COLOR, type: "dashed", width: 1 },
        },
        { type: "scatter", data: points, symbolSize: 10, itemStyle: { color: CHART_COLORS.first } },
      ],
    },
  );
}

/**
 * Range and ticks of an axis for fractions: at most four steps of whole percents, with a margin of
 * half a percent at both ends.
 */
function wholePercents(shares: readonly number[]) {
  const low = Math.floor(100 * Math.min(...shares) - 0.5);
  const length = 100 * Math.max(...shares) + 0.5 - low;
  const step = Math.max(1, Math.ceil(length / 4));
  const steps = Math.max(1, Math.ceil(length / step));
  return { min: low / 100, max: (low + steps * step) / 100, interval: step / 100 };
}
