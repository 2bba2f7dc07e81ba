import type { Html } from "../../http/pages/html.ts";
import { wealth } from "../drawdown.ts";
import type { ClassResult, HorizonResult } from "../judgement.ts";
import type { Slice } from "../slices.ts";
import { COLOURS, chart, dateAxis, legend, nameAxis, valueAxis, zeroLine } from "./chart.ts";
import { change, percent, plain, shortCoefficient } from "./figures.ts";
import { sessions } from "./words.ts";

/** The running sum of the coefficients: a steady skill climbs, luck wanders. */
export function historyChart({ history, horizon }: HorizonResult): Html {
  let sum = 0;
  const sums = history.map(({ value }) => {
    sum += value;
    return sum;
  });
  return chart(
    {
      title: "Coefficients added up",
      caption: `Over ${sessions(horizon)}. A steady skill climbs, luck wanders.`,
    },
    {
      xAxis: dateAxis(history.map(({ date }) => date)),
      yAxis: valueAxis(plain),
      series: [line("sum", sums, COLOURS.first), zeroLine],
    },
  );
}

const line = (name: string, data: readonly number[], colour: string) => ({
  type: "line" as const,
  name,
  data: [...data],
  showSymbol: false,
  lineStyle: { color: colour, width: 2 },
  itemStyle: { color: colour },
});

/** Means of parts of the dates. */
export function sliceChart(title: string, caption: string, slices: readonly Slice[]): Html {
  return chart(
    { title, caption },
    {
      xAxis: nameAxis(slices.map(({ label }) => label)),
      yAxis: valueAxis(shortCoefficient),
      series: [bars(slices.map(({ mean }) => mean)), zeroLine],
    },
  );
}

const bars = (values: readonly number[]) => ({
  type: "bar" as const,
  data: values.map((value) => ({
    value,
    itemStyle: {
      color: value < 0 ? COLOURS.second : COLOURS.first,
      borderRadius: value < 0 ? [0, 0, 3, 3] : [3, 3, 0, 0],
    },
  })),
  barMaxWidth: 32,
});

/** Excess return by tenth of the scores: a score that works makes stairs. */
export function decileChart({ horizon, book }: HorizonResult): Html | undefined {
  if (book === null) return undefined;
  return chart(
    {
      title: "Return by tenth of the scores",
      caption: `Mean return over ${sessions(horizon)} above that of all, lowest scores on the left. A score that works makes stairs.`,
    },
    {
      xAxis: nameAxis(book.excess.map((_, tenth) => String(tenth + 1))),
      yAxis: valueAxis((value) => change(value)),
      series: [bars(book.excess), zeroLine],
    },
  );
}

/** What became of 1 that bought the best tenth and sold the worst. */
export function wealthChart({ horizon, book }: HorizonResult): Html | undefined {
  if (book === null) return undefined;
  return chart(
    {
      title: "Best tenth minus worst tenth",
      caption: `What became of 1, in periods of ${sessions(horizon)} one after another.`,
    },
    {
      legend,
      xAxis: dateAxis(book.path.map(({ date }) => date)),
      yAxis: valueAxis(plain),
      series: [
        line("before costs", wealth(book.path.map(({ gross }) => gross)), COLOURS.first),
        line("at 10 bp a trade", wealth(book.path.map(({ net10 }) => net10)), COLOURS.second),
      ],
    },
  );
}

/** How many instruments had a value at each date. */
export function coverageChart({ comparison, coverage }: ClassResult): Html | undefined {
  if (comparison === "through_time") return undefined;
  const { history } = coverage;
  return chart(
    {
      title: "Instruments with a value",
      caption: "Per graded date, as it was known then. Few names make a coefficient jump.",
    },
    {
      xAxis: dateAxis(history.map(({ date }) => date)),
      yAxis: valueAxis(plain),
      series: [
        line(
          "instruments",
          history.map(({ value }) => value),
          COLOURS.first,
        ),
      ],
    },
  );
}

/** How often what was given a probability happened. */
export function reliabilityChart({ probabilities }: ClassResult): Html | undefined {
  if (probabilities === null) return undefined;
  const points = probabilities.bins.map(({ meanProbability, frequency }) => [
    meanProbability,
    frequency,
  ]);
  const all = points.flat();
  const ends = [Math.floor(100 * Math.min(...all)) / 100, Math.ceil(100 * Math.max(...all)) / 100];
  const axis = {
    ...valueAxis((value) => percent(value, 0)),
    min: ends[0],
    max: ends[1],
    splitNumber: 4,
  };
  return chart(
    {
      title: "Probabilities and what came of them",
      caption:
        "Each point is a tenth of the forecasts: across what was said, upwards how often it happened. On the line is right.",
    },
    {
      xAxis: axis,
      yAxis: axis,
      series: [
        {
          type: "line",
          data: ends.map((end) => [end, end]),
          showSymbol: false,
          lineStyle: { color: COLOURS.quiet, type: "dashed", width: 1 },
        },
        { type: "scatter", data: points, symbolSize: 10, itemStyle: { color: COLOURS.first } },
      ],
    },
  );
}
