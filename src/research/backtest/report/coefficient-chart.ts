import { nameAxis, valueAxis } from "../../../http/pages/drawing.ts";
import type { Html } from "../../../markup/html.ts";
import type { SeriesSummary } from "../../../statistics/series-summary.ts";
import type { ClassResult } from "../class-results.ts";
import { CHART_COLORS, chartFigure, chartLegend, zeroLine } from "./chart.ts";
import { shortCoefficientText } from "./figures.ts";
import { sessionCountText } from "./words.ts";

/** Chart of the mean coefficients by horizon with their intervals, raw and neutral. */
export function coefficientChart({ horizons }: ClassResult): Html {
  const names = horizons.map(({ horizon }) => sessionCountText(horizon));
  const has = horizons.some(({ neutralIc }) => neutralIc !== null);
  return chartFigure(
    {
      title: "Rank correlation by horizon",
      caption: "Points are means, lines their 95 % intervals. A line across 0 shows nothing.",
    },
    {
      ...(has && { legend: chartLegend }),
      xAxis: nameAxis(names),
      yAxis: valueAxis(shortCoefficientText),
      series: [
        ...intervals(
          "raw",
          horizons.map(({ ic }) => ic),
          { color: CHART_COLORS.first, shift: has ? -9 : 0 },
        ),
        ...(has
          ? intervals(
              "neutral",
              horizons.map(({ neutralIc }) => neutralIc),
              { color: CHART_COLORS.second, shift: 9 },
            )
          : []),
      ],
    },
  );
}

/**
 * A point and an error bar for each summary, shifted sideways by some pixels so that series do not
 * overlap.
 */
function intervals(
  name: string,
  summaries: readonly (SeriesSummary | null)[],
  { color, shift }: { readonly color: string; readonly shift: number },
) {
  const known = summaries.flatMap((summary, index) => (summary ? [{ index, summary }] : []));
  type Api = { value(dimension: number): number; coord(point: readonly number[]): number[] };
  return [
    {
      type: "custom" as const,
      name,
      itemStyle: { color: color },
      data: known.map(({ index, summary: { mean, interval } }) => [
        index,
        mean,
        interval.low,
        interval.high,
      ]),
      encode: { x: 0, y: [1, 2, 3] },
      renderItem: (_: unknown, api: Api) => {
        const point = (dimension: number) => {
          const [x = 0, y = 0] = api.coord([api.value(0), api.value(dimension)]);
          return { x: x + shift, y };
        };
        const [middle, low, high] = [point(1), point(2), point(3)];
        return {
          type: "group" as const,
          children: [
            {
              type: "line" as const,
              shape: { x1: low.x, y1: low.y, x2: high.x, y2: high.y },
              style: { stroke: color, lineWidth: 3, lineCap: "round" as const, opacity: 0.55 },
            },
            {
              type: "circle" as const,
              shape: { cx: middle.x, cy: middle.y, r: 5 },
              style: { fill: color },
            },
          ],
        };
      },
    },
    zeroLine,
  ];
}
