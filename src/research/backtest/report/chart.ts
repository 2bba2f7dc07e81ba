import { type Html, type HtmlContent, html } from "../../../markup/html.ts";
import { columnPanel, horizontalLine, plot, plotPanel } from "../../../markup/plot.ts";
import {
  axisTicks,
  type ColumnAxis,
  tickDecimals,
  type ValueAxis,
} from "../../../markup/plot-axis.ts";

/** CSS classes of the colors of series, in their order. */
export const SERIES_COLORS = ["first", "second"] as const;

/** A chart of the report with its texts. */
interface ReportChart {
  readonly title: string;
  /** What the chart shows, in a sentence or two. */
  readonly caption: string;
  /** Absent: there is nothing to draw. */
  readonly drawing: ChartDrawing | false;
  /** Table of the drawn values; absent: the report has it elsewhere. */
  readonly table?: Html;
}

/** What is drawn in one panel. */
interface ChartDrawing {
  /** Text alternative: the drawn values, or what they come to. */
  readonly label: string;
  /** Names of the series, if there are several. */
  readonly series?: readonly string[];
  readonly columns: ColumnAxis;
  /** What the labels of the columns count. */
  readonly unit?: string;
  readonly axis: ValueAxis;
  /** Formats a label of the value axis with as many decimals as its ticks need. */
  readonly format: (value: number, decimals: number) => string;
  /** SVG shapes of the series, stretched with the panel. */
  readonly shapes: HtmlContent;
  /** Dots, which are not stretched. */
  readonly dots?: HtmlContent;
}

/** Renders a chart as a static figure. */
export const chartFigure = ({ title, caption, drawing, table }: ReportChart): Html =>
  html`<figure class="chart">
<figcaption><strong>${title}</strong> ${caption}</figcaption>
<div>${drawing ? drawn(drawing) : html`<p class="quiet">There is too little to draw.</p>`}</div>
${table && html`<details><summary>In figures</summary>${table}</details>`}
</figure>`;

function drawn({
  label,
  series = [],
  columns,
  unit,
  axis,
  format,
  shapes,
  dots,
}: ChartDrawing): Html {
  const ticks = axisTicks(axis);
  const decimals = tickDecimals(ticks);
  const panel = plotPanel({
    name: "p-chart",
    columns,
    axis,
    shapes: html`${ticks.map((value) => horizontalLine(value, axis, value === 0 ? "zero" : "grid"))}${shapes}`,
    texts: dots,
    labels: ticks.map((value) => ({ value, text: format(value, decimals) })),
  });
  return html`${series.length > 0 && legend(series)}${plot({ label, columns }, html`${panel}${columnPanel(columns, unit)}`)}`;
}

const legend = (series: readonly string[]): Html =>
  html`<ul class="legend">${series.map((name, index) => html`<li class="${SERIES_COLORS[index]}">${name}</li>`)}</ul>
`;
