import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import { GridComponent, LegendComponent, MarkLineComponent } from "echarts/components";
import { type EChartsCoreOption, init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { type Html, html } from "../../../http/pages/html.ts";

use([
  ...[BarChart, CustomChart, LineChart, ScatterChart],
  ...[GridComponent, LegendComponent, MarkLineComponent, SVGRenderer],
]);

/** Colors by meaning; the page defines their values for light and dark mode. */
export const COLORS = {
  text: "var(--text)",
  quiet: "var(--quiet)",
  line: "var(--line)",
  first: "var(--first)",
  second: "var(--second)",
  third: "var(--third)",
  ground: "var(--card)",
} as const;

/** Size in CSS pixels: a chart fills a phone's width and stays readable. */
const WIDTH = 400;
const HEIGHT = 240;

/** Margins around the axes and their labels, in CSS pixels. */
const GRID = { left: 4, right: 12, bottom: 4, outerBoundsMode: "same" };

/** Texts of a chart, also for screen readers. */
interface ChartText {
  readonly title: string;
  /** What it shows, in a sentence or two. */
  readonly caption: string;
}

/** Renders a chart as a static SVG figure. */
export function chart({ title, caption }: ChartText, option: EChartsCoreOption): Html {
  const instance = init(null, null, { renderer: "svg", ssr: true, width: WIDTH, height: HEIGHT });
  instance.setOption({
    animation: false,
    textStyle: { color: COLORS.quiet, fontFamily: "inherit" },
    grid: { ...GRID, top: "legend" in option ? 32 : 8 },
    ...option,
  });
  const drawn = withoutSize(instance.renderToSVGString());
  instance.dispose();
  return html`<figure class="chart" role="group" aria-label="${title}">
<figcaption><strong>${title}</strong> ${caption}</figcaption>
<div class="drawing" aria-hidden="true">${markup(drawn)}</div>
</figure>`;
}

/** Removes the size, which the page sets, and attributes for scripts. */
const withoutSize = (svg: string): string =>
  svg
    .replace(/^<svg width="\d+" height="\d+"/, "<svg")
    .replaceAll(/ (?:ecmeta_[a-z_]+|class)="[^"]*"/g, "")
    .replaceAll(/<style ?>[\s\S]*?<\/style>/g, "");

/** Trusted markup: the chart library escapes all texts. */
const markup = (svg: string): Html => html(Object.assign([svg], { raw: [svg] }));

/** A value axis with light grid lines. */
export const valueAxis = (format: (value: number) => string) => ({
  type: "value" as const,
  axisLabel: { color: COLORS.quiet, formatter: format },
  splitLine: { lineStyle: { color: COLORS.line } },
  axisLine: { show: false },
  axisTick: { show: false },
});

/** An axis that begins near the lowest value and leaves room at both ends, so that no line runs along
 *  an edge. */
export const roomyAxis = (format: (value: number) => string) => ({
  ...valueAxis(format),
  scale: true,
  boundaryGap: ["8%", "8%"] as [string, string],
});

/** An axis of names or dates. */
export const nameAxis = (names: readonly string[]) => ({
  type: "category" as const,
  data: [...names],
  axisLabel: { color: COLORS.quiet, hideOverlap: true },
  axisLine: { onZero: false, lineStyle: { color: COLORS.line } },
  axisTick: { show: false },
});

/** Number of years from which quarters are not marked. */
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

/** A legend above the chart. */
export const legend = {
  top: 0,
  left: 0,
  icon: "roundRect",
  itemWidth: 14,
  itemGap: 18,
  borderColor: "transparent",
  textStyle: { color: COLORS.text },
};

/** The zero line, where all points would lie without skill. */
export const zeroLine = {
  type: "line" as const,
  data: [],
  silent: true,
  lineStyle: { color: COLORS.quiet },
  markLine: {
    silent: true,
    symbol: "none",
    label: { show: false },
    lineStyle: { color: COLORS.quiet, type: "solid" as const, width: 1 },
    data: [{ yAxis: 0 }],
  },
};
