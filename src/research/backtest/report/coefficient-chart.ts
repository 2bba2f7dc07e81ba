import type { Html } from "../../../markup/html.ts";
import { plotDot, rangeLine } from "../../../markup/plot.ts";
import { nameAxis, roundedAxisAround, yCoordinate } from "../../../markup/plot-axis.ts";
import type { SeriesSummary } from "../../../statistics/series-summary.ts";
import type { ClassResult, HorizonResult } from "../class-results.ts";
import { chartFigure, SERIES_COLORS } from "./chart.ts";
import { coefficientRangeText, coefficientText, signedNumberText } from "./figures.ts";
import { sessionCountText } from "./words.ts";

/** The coefficients of a horizon, by the name of their series. */
const SERIES: readonly (readonly [string, (result: HorizonResult) => SeriesSummary | null])[] = [
  ["raw", ({ ic }) => ic],
  ["neutral", ({ neutralIc }) => neutralIc],
];

/** Distance between two series, as a share of a column. */
const SHIFT = 0.2;

/** Chart of the mean coefficients by horizon with their intervals, raw and neutral. */
export function coefficientChart({ horizons }: ClassResult): Html {
  const columns = nameAxis(horizons.map(({ horizon }) => String(horizon)));
  const known = SERIES.filter(([, of]) => horizons.some((one) => of(one) !== null));
  const marks = known.flatMap(([name, of], index) =>
    horizons.flatMap((one, column) => {
      const summary = of(one);
      const place = column + SHIFT * (index - (known.length - 1) / 2);
      return summary === null ? [] : [{ name, index, place, horizon: one.horizon, summary }];
    }),
  );
  const axis = roundedAxisAround([
    0,
    ...marks.flatMap(({ summary: { interval } }) => [interval.low, interval.high]),
  ]);
  const textOf = ({ name, horizon, summary: { mean, interval } }: (typeof marks)[number]) =>
    `${name}, ${sessionCountText(horizon)}: ${coefficientText(mean)}, 95\u00a0% interval ${coefficientRangeText(interval)}`;
  return chartFigure({
    title: "Rank correlation by horizon",
    caption: "Points are means, lines their 95 % intervals. A line across 0 shows nothing.",
    drawing: {
      label: marks.map(textOf).join("; "),
      ...(known.length > 1 && { series: known.map(([name]) => name) }),
      columns,
      unit: "sessions",
      axis,
      format: signedNumberText,
      shapes: marks.map(({ place, index, summary: { interval } }) =>
        rangeLine(
          { place, from: interval.low, to: interval.high },
          axis,
          `interval ${SERIES_COLORS[index]}`,
        ),
      ),
      dots: marks.map((mark) =>
        plotDot(
          {
            place: mark.place,
            y: yCoordinate(mark.summary.mean, axis),
            name: `dot ${SERIES_COLORS[mark.index]}`,
            title: textOf(mark),
          },
          columns,
        ),
      ),
    },
  });
}
