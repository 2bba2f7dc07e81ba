import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import { GridComponent, LegendComponent, MarkLineComponent } from "echarts/components";
import { type EChartsCoreOption, use } from "echarts/core";
import { drawChart, nameAxis, QUIET_COLOR, valueAxis } from "../../../http/pages/drawing.ts";
import { type Html, html } from "../../../markup/html.ts";

use([
  ...[BarChart, CustomChart, LineChart, ScatterChart],
  ...[GridComponent, LegendComponent, MarkLineComponent],
]);

/** Colors by purpose; the page defines their values for light and dark mode. */
export const CHART_COLORS = {
  text: "var(--text)",
  first: "var(--first)",
  second: "var(--second)",
} as const;

/**
 * Width and height in CSS pixels, chosen so that a chart fills the width of a phone and stays
 * readable.
 */
const SIZE = [400, 240] as const;

/** Margins, in CSS pixels, around the axes and axis labels of a chart with a legend on top. */
const GRID_BELOW_LEGEND = { left: 4, right: 12, top: 32, bottom: 4, outerBoundsMode: "same" };

/** Texts of a chart, also read by screen readers. */
interface ChartText {
  readonly title: string;
  /** What the chart shows, in a sentence or two. */
  readonly caption: string;
}

/** Renders a chart as a static SVG figure. */
export function chartFigure({ title, caption }: ChartText, option: EChartsCoreOption): Html {
  const grid = "legend" in option ? { grid: GRID_BELOW_LEGEND } : {};
  return html`<figure class="chart" role="group" aria-label="${title}">
<figcaption><strong>${title}</strong> ${caption}</figcaption>
<div class="drawing" aria-hidden="true">${drawChart({ ...grid, ...option }, SIZE)}</div>
</figure>`;
}

/**
 * A value axis that begins near the lowest value and leaves room at both ends, so that no line runs
 * along an edge.
 */
export const paddedValueAxis = (format: (value: number) => string) => ({
  ...valueAxis(format),
  scale: true,
  boundaryGap: ["8%", "8%"] as [string, string],
});

/** Number of years from which the axis marks years only, not quarters. */
const LONG_YEARS = 4;

/** An axis of ISO dates with ticks at years, or at quarters if there are few years. */
export const dateAxis = (dates: readonly string[]) => {
  const years = Number(dates.at(-1)?.slice(0, 4)) - Number(dates[0]?.slice(0, 4));
  const isLong = years >= LONG_YEARS;
  const part = (index: number) => (isLong ? yearOf : quarterOf)(dates[index] ?? "");
  const axis = nameAxis(dates);
  return {
    ...axis,
    axisLabel: {
      ...axis.axisLabel,
      interval: (index: number) => index > 0 && part(index) !== part(index - 1),
      formatter: (date: string) => date.slice(0, isLong ? 4 : 7),
    },
  };
};

const yearOf = (date: string): string => date.slice(0, 4);

const quarterOf = (date: string): string =>
  `${yearOf(date)}/${Math.ceil(Number(date.slice(5, 7)) / 3)}`;

/** Options of a legend above the chart. */
export const chartLegend = {
  top: 0,
  left: 0,
  icon: "roundRect",
  itemWidth: 14,
  itemGap: 18,
  borderColor: "transparent",
  textStyle: { color: CHART_COLORS.text },
};

/** Options of a line at zero, on which all points would lie if scores had no skill. */
export const zeroLine = {
  type: "line" as const,
  data: [],
  silent: true,
  lineStyle: { color: QUIET_COLOR },
  markLine: {
    silent: true,
    symbol: "none",
    label: { show: false },
    lineStyle: { color: QUIET_COLOR, type: "solid" as const, width: 1 },
    data: [{ yAxis: 0 }],
  },
};
