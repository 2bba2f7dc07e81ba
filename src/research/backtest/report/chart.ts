import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import { GridComponent, LegendComponent, MarkLineComponent } from "echarts/components";
import { type EChartsCoreOption, init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { type Html, html } from "../../../http/pages/html.ts";

use([
  ...[BarChart, CustomChart, LineChart, ScatterChart],
  ...[GridComponent, LegendComponent, MarkLineComponent, SVGRenderer],
]);

/** Colours by meaning; the page gives them values for light and for dark. */
export const COLOURS = {
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

/** Room around the axes and their labels, in CSS pixels. */
const GRID = { left: 4, right: 12, bottom: 4, outerBoundsMode: "same" };

/** What a chart shows, for those who see it and for those who do not. */
interface ChartText {
  readonly title: string;
  /** What to see in it, in a sentence or two. */
  readonly caption: string;
}

/** Draws a chart as a figure that needs no script. */
export function chart({ title, caption }: ChartText, option: EChartsCoreOption): Html {
  const instance = init(null, null, { renderer: "svg", ssr: true, width: WIDTH, height: HEIGHT });
  instance.setOption({
    animation: false,
    textStyle: { color: COLOURS.quiet, fontFamily: "inherit" },
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

/** The page decides on the size; marks for scripts are of no use. */
const withoutSize = (svg: string): string =>
  svg
    .replace(/^<svg width="\d+" height="\d+"/, "<svg")
    .replaceAll(/ (?:ecmeta_[a-z_]+|class)="[^"]*"/g, "")
    .replaceAll(/<style ?>[\s\S]*?<\/style>/g, "");

/** The chart library writes markup and escapes every text that it is given. */
const markup = (svg: string): Html => html(Object.assign([svg], { raw: [svg] }));

/** An axis with quiet lines. */
export const valueAxis = (format: (value: number) => string) => ({
  type: "value" as const,
  axisLabel: { color: COLOURS.quiet, formatter: format },
  splitLine: { lineStyle: { color: COLOURS.line } },
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
  axisLabel: { color: COLOURS.quiet, hideOverlap: true },
  axisLine: { onZero: false, lineStyle: { color: COLOURS.line } },
  axisTick: { show: false },
});

/** Years from which on an axis has no room for quarters. */
const LONG_YEARS = 4;

/** An axis of ISO dates, marked where a year begins, or a quarter when there are few years. */
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

/** A legend over the chart. */
export const legend = {
  top: 0,
  left: 0,
  icon: "roundRect",
  itemWidth: 14,
  itemGap: 18,
  borderColor: "transparent",
  textStyle: { color: COLOURS.text },
};

/** A line at nothing, on which all would lie if the score said nothing. */
export const zeroLine = {
  type: "line" as const,
  data: [],
  silent: true,
  lineStyle: { color: COLOURS.quiet },
  markLine: {
    silent: true,
    symbol: "none",
    label: { show: false },
    lineStyle: { color: COLOURS.quiet, type: "solid" as const, width: 1 },
    data: [{ yAxis: 0 }],
  },
};
