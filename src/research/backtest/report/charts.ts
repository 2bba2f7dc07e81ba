import { type Html, html } from "../../../markup/html.ts";
import { barsPath, linePath, plotDot } from "../../../markup/plot.ts";
import {
  axisAround,
  nameAxis,
  numberAxis,
  numberPlace,
  roundedAxisAround,
  timeAxis,
  type ValueAxis,
  yCoordinate,
} from "../../../markup/plot-axis.ts";
import type { Calibration } from "../calibration.ts";
import type { ClassResult, HorizonResult } from "../class-results.ts";
import type { CoefficientSlice } from "../slices.ts";
import { chartFigure, SERIES_COLORS } from "./chart.ts";
import {
  coefficientText,
  numberText,
  reportPercentText,
  reportSignedPercentText,
  reportWholeNumberText,
  signedNumberText,
} from "./figures.ts";
import { scrollableTable, sliceTable } from "./tables.ts";
import { sessionCountText } from "./words.ts";

/** Chart of the cumulative sum of the coefficients over time. */
export function historyChart({ history, horizon }: HorizonResult): Html {
  let sum = 0;
  const sums = history.map(({ value }) => {
    sum += value;
    return sum;
  });
  return lineChart({
    title: "Cumulative coefficients",
    caption: `Over ${sessionCountText(horizon)}. Skill rises steadily; luck is a random walk.`,
    dates: history.map(({ date }) => date),
    series: [{ name: "Sum", values: sums }],
    axis: roundedAxisAround([0, ...sums]),
    format: numberText,
    decimals: 2,
  });
}

/** Chart of the growth of 1 invested in the decile book; `undefined` without a book. */
export function wealthChart({ horizon, book }: HorizonResult): Html | undefined {
  if (book === null) return undefined;
  const gross = book.path.map((day) => day.gross);
  const net = book.path.map(({ net10 }) => net10);
  return lineChart({
    title: "Top minus bottom decile",
    caption: `Growth of 1: each book is held for ${sessionCountText(horizon)}, all that are held at a time have equal capital.`,
    dates: book.path.map(({ date }) => date),
    series: [
      { name: "Before costs", values: gross },
      { name: "At 10\u00a0bp a trade", values: net },
    ],
    axis: roundedAxisAround([1, ...gross, ...net]),
    format: numberText,
    decimals: 3,
  });
}

/**
 * Chart of the number of instruments with a value on each date; `undefined` for a single
 * instrument.
 */
export function coverageChart({ comparison, coverage }: ClassResult): Html | undefined {
  if (comparison === "through_time") return undefined;
  const counts = coverage.history.map(({ value }) => value);
  return lineChart({
    title: "Instruments with a value",
    caption: "By graded date, as known then. With few instruments coefficients are noisy.",
    dates: coverage.history.map(({ date }) => date),
    series: [{ name: "Instruments", values: counts }],
    axis: roundedAxisAround([0, ...counts]),
    format: numberText,
    decimals: 0,
  });
}

/** A chart of lines over dates. */
interface LineChart {
  readonly title: string;
  readonly caption: string;
  /** ISO dates, oldest first. */
  readonly dates: readonly string[];
  readonly series: readonly { readonly name: string; readonly values: readonly number[] }[];
  readonly axis: ValueAxis;
  readonly format: (value: number, decimals: number) => string;
  /** Decimals of the values in texts. */
  readonly decimals: number;
}

function lineChart({ title, caption, dates, series, axis, format, decimals }: LineChart): Html {
  const columns = timeAxis(dates.map((date) => Date.parse(date)));
  const last = dates.length - 1;
  const shown = (value: number | undefined) => format(value ?? Number.NaN, decimals);
  const course = series.map(
    ({ name, values }) =>
      `${name}: ${shown(values[last])} at the end, between ${shown(Math.min(...values))} and ${shown(Math.max(...values))}`,
  );
  const names = series.map(({ name }) => name);
  const places = [...new Set([...columns.labels.map(({ place }) => place), last])];
  if (last < 1) return chartFigure({ title, caption, drawing: false });
  return chartFigure({
    title,
    caption,
    drawing: {
      label: `${title}, ${dates[0]} to ${dates[last]}. ${course.join(". ")}`,
      ...(series.length > 1 && { series: names }),
      columns,
      axis,
      format,
      shapes: series.map(
        ({ values }, index) =>
          html`<path class="line ${SERIES_COLORS[index]}" d="${linePath(values, axis)}"/>`,
      ),
    },
    table: scrollableTable({
      caption: `${title}, at the labeled dates and at the end`,
      columns: ["Date", ...names],
      rows: places.map((place) => [
        dates[place],
        ...series.map(({ values }) => shown(values[place])),
      ]),
    }),
  });
}

/** Minimum number of dates of a year that is shown in the chart by calendar year. */
const MIN_DATES = 12;

/** Chart of the mean coefficients by calendar year. */
export function yearChart({ years, horizon }: HorizonResult): Html {
  const long = years.filter(({ dates }) => dates >= MIN_DATES);
  const short = years.filter(({ dates }) => dates < MIN_DATES).map(({ label }) => label);
  const missing = short.length === 0 ? "" : ` Too short to show: ${short.join(", ")}.`;
  const caption = `Mean coefficient over ${sessionCountText(horizon)}. A year is short: most of this is noise.${missing}`;
  return sliceChart("By year", caption, long, years);
}

/**
 * Chart of the mean coefficients by subset of the dates.
 *
 * @param all The subsets of the table; default: those that are drawn.
 */
export function sliceChart(
  title: string,
  caption: string,
  slices: readonly CoefficientSlice[],
  all: readonly CoefficientSlice[] = slices,
): Html {
  return chartFigure({
    title,
    caption,
    drawing:
      slices.length > 0 &&
      bars({
        names: slices.map(({ label }) => label),
        values: slices.map(({ mean }) => mean),
        format: signedNumberText,
        text: coefficientText,
      }),
    table: sliceTable(`${title}: mean coefficients`, all),
  });
}

/** Chart of the excess return by decile of the scores; `undefined` without a book. */
export function decileChart({ horizon, book }: HorizonResult): Html | undefined {
  if (book === null) return undefined;
  const names = book.excess.map((_, decile) => String(decile + 1));
  return chartFigure({
    title: "Return by score decile",
    caption: `Mean return over ${sessionCountText(horizon)} relative to all instruments, lowest scores on the left${decileNote(book)}. With skill the bars rise from left to right.`,
    drawing: {
      ...bars({
        names,
        values: book.excess,
        format: (value, decimals) => reportSignedPercentText(value, Math.max(0, decimals - 2)),
        text: (value) => reportSignedPercentText(value, 3),
      }),
      unit: "decile",
    },
    table: scrollableTable({
      caption: "Mean return relative to all instruments",
      columns: ["Decile", "Return"],
      rows: book.excess.map((value, decile) => [names[decile], reportSignedPercentText(value, 3)]),
    }),
  });
}

/** A warning if a decile has few instruments. */
const decileNote = ({ names }: { readonly names: number }): string =>
  names < 5 ? `; a decile has about ${Math.round(names)} names` : "";

/** Values by name, to be drawn as bars. */
interface Bars {
  readonly names: readonly string[];
  readonly values: readonly number[];
  /** Formats a label of the value axis. */
  readonly format: (value: number, decimals: number) => string;
  /** Formats one of the values. */
  readonly text: (value: number) => string;
}

/** Bars from 0, each with its value as tooltip; negative ones have the second color. */
function bars({ names, values, format, text }: Bars) {
  const columns = nameAxis(names);
  const axis = roundedAxisAround([0, ...values]);
  const texts = values.map((value, place) => `${names[place]}: ${text(value)}`);
  const bar = (value: number, place: number) =>
    html`<path class="bar ${SERIES_COLORS[value < 0 ? 1 : 0]}" d="${barsPath([{ place, from: 0, to: value }], axis, columns)}"><title>${texts[place]}</title></path>`;
  return { label: texts.join(", "), columns, axis, format, shapes: values.map(bar) };
}

/** Reliability diagram: observed frequency against forecast probability. */
export function reliabilityChart(
  title: string,
  calibration: Pick<Calibration, "bins"> | null,
): Html | undefined {
  if (calibration === null) return undefined;
  const { bins } = calibration;
  const axis = axisAround(bins.flatMap((bin) => [bin.meanProbability, bin.frequency]));
  const format = (value: number, decimals: number) =>
    reportPercentText(value, Math.max(0, decimals - 2));
  const columns = numberAxis(axis, format);
  const texts = bins.map(
    (bin) =>
      `forecast ${reportPercentText(bin.meanProbability)}, observed ${reportPercentText(bin.frequency)}`,
  );
  return chartFigure({
    title,
    caption:
      "Each point is a tenth of the forecasts: mean probability on the horizontal axis, observed frequency on the vertical one. Calibrated forecasts lie on the line.",
    drawing: bins.length > 0 && {
      label: `Tenths of the forecasts: ${texts.join("; ")}`,
      columns,
      unit: "forecast",
      axis,
      format,
      shapes: html`<line class="ideal" x1="${numberPlace(axis.low, axis)}" y1="${yCoordinate(axis.low, axis)}" x2="${numberPlace(axis.high, axis)}" y2="${yCoordinate(axis.high, axis)}"/>`,
      dots: bins.map((bin, index) =>
        plotDot(
          {
            place: numberPlace(bin.meanProbability, axis),
            y: yCoordinate(bin.frequency, axis),
            name: `dot ${SERIES_COLORS[0]}`,
            title: texts[index] ?? "",
          },
          columns,
        ),
      ),
    },
    table: scrollableTable({
      caption: "Tenths of the forecasts, lowest first",
      columns: ["Forecast", "Observed", "Forecasts"],
      rows: bins.map((bin) => [
        reportPercentText(bin.meanProbability),
        reportPercentText(bin.frequency),
        reportWholeNumberText(bin.forecasts),
      ]),
    }),
  });
}
