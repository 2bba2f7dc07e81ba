import { type Html, type HtmlContent, html } from "./html.ts";
import { across, type ColumnAxis, PLOT_HEIGHT, type ValueAxis, yCoordinate } from "./plot-axis.ts";

/** Rounds to two decimals. */
const hundredth = (value: number): number => Math.round(100 * value) / 100;

/**
 * SVG path through the values of the first columns, with gaps at missing values. It uses relative
 * steps, which compress to half the size of absolute coordinates.
 */
export function linePath(values: readonly (number | null)[], axis: ValueAxis): string {
  let last: number | undefined;
  return values
    .map((value, place) => {
      const y = value === null ? undefined : yCoordinate(value, axis);
      const step = last === undefined ? `M${place} ${y}` : `l1 ${(y ?? 0) - last}`;
      last = y;
      return y === undefined ? "" : step;
    })
    .join("");
}

/** A range of values at a column. */
interface ColumnRange {
  readonly place: number;
  readonly from: number;
  readonly to: number;
}

/** The area between the ends of ranges, with straight edges from column to column, as SVG path. */
export function bandPath(ranges: readonly ColumnRange[], axis: ValueAxis): string {
  const ends = [
    ...ranges.map(({ place, from }) => ({ place, value: from })),
    ...ranges.map(({ place, to }) => ({ place, value: to })).reverse(),
  ];
  return `M${ends.map(({ place, value }) => `${place} ${yCoordinate(value, axis)}`).join(" ")}Z`;
}

/** Width of a bar as a share of its column, and at most as a share of the plot. */
const [BAR_SHARE, MAX_BAR_SHARE] = [0.6, 0.075];

/** Vertical bars, each from one value to another, as one SVG path. */
export function barsPath(
  bars: readonly ColumnRange[],
  axis: ValueAxis,
  { total }: ColumnAxis,
): string {
  const width = hundredth(Math.min(BAR_SHARE, MAX_BAR_SHARE * total));
  return bars
    .map(({ place, from, to }) => {
      const [foot, top] = [yCoordinate(from, axis), yCoordinate(to, axis)];
      return `M${hundredth(place - width / 2)} ${foot}V${top}h${width}V${foot}Z`;
    })
    .join("");
}

/** A rectangle over the full width of the columns from `first` to `last`. */
export const columnSpan = (
  { first, last }: { readonly first: number; readonly last: number },
  attributes: Html,
): Html => html`<rect x="${first - 0.5}" width="${last + 1 - first}" ${attributes}/>`;

/** A horizontal line across the whole plot at a value. */
export const horizontalLine = (value: number, axis: ValueAxis, name: string): Html => {
  const y = yCoordinate(value, axis);
  return html`<line class="${name}" x1="-1" x2="100%" y1="${y}" y2="${y}"/>`;
};

/** A vertical line through the middle of a column, over the whole height. */
export const verticalLine = (place: number, name: string): Html =>
  html`<line class="${name}" x1="${place}" x2="${place}" y2="100%"/>`;

/** A vertical line at a column, from one value to another. */
export const rangeLine = ({ place, from, to }: ColumnRange, axis: ValueAxis, name: string): Html =>
  html`<line class="${name}" x1="${place}" x2="${place}" y1="${yCoordinate(from, axis)}" y2="${yCoordinate(to, axis)}"/>`;

/** A label of the vertical axis. */
export interface AxisLabel {
  readonly value: number;
  readonly text: string;
  /**
   * CSS class of an important label. Labels without a class are omitted if they are too close to an
   * important one.
   */
  readonly name?: string;
}

/** Minimum distance between labels, as a share of the height of a panel. */
const LABEL_SHARE = 0.07;

/** One panel of a figure. */
export interface PlotPanel {
  /** CSS class, which determines the height of the panel. */
  readonly name: string;
  readonly columns: ColumnAxis;
  /** SVG shapes. Their x is a column of the axis, their y a coordinate from `yCoordinate`. */
  readonly shapes: HtmlContent;
  /** Texts and dots over the plot, positioned in percent. */
  readonly texts?: HtmlContent;
  readonly axis?: ValueAxis;
  readonly labels?: readonly AxisLabel[];
  /**
   * Minimum distance between labels as a share of the panel's height; flatter panels need a larger
   * share.
   */
  readonly labelShare?: number;
}

/**
 * A panel: the plot, and a column for the labels of its vertical axis. All panels of a figure have
 * this column, so that their horizontal axes are aligned. Shapes are stretched to the available
 * width; texts and dots are not.
 */
export function plotPanel({
  name,
  columns,
  shapes,
  texts,
  axis,
  labels = [],
  labelShare,
}: PlotPanel): Html {
  const grid = columns.hasGrid && columns.labels.map(({ place }) => verticalLine(place, "grid"));
  return html`<div class="panel ${name}"><svg><svg viewBox="-.5 0 ${columns.total} ${PLOT_HEIGHT}" preserveAspectRatio="none">${grid}${shapes}<line class="cross" y2="100%"/></svg>${texts}</svg>${
    axis && html`<svg>${labelTexts(labels, axis, labelShare ?? LABEL_SHARE)}</svg>`
  }</div>`;
}

function labelTexts(labels: readonly AxisLabel[], axis: ValueAxis, share: number): readonly Html[] {
  const gap = PLOT_HEIGHT * share;
  const placed: number[] = [];
  const strong = labels
    .filter(({ name }) => name !== undefined)
    .toSorted((a, b) => b.value - a.value);
  const drawn = strong.map((label) => {
    const y = Math.max(yCoordinate(label.value, axis), (placed.at(-1) ?? -gap) + gap);
    placed.push(y);
    return axisText(label, y);
  });
  const plain = labels.filter(({ name, value }) => {
    const y = yCoordinate(value, axis);
    return name === undefined && placed.every((other) => Math.abs(other - y) >= gap);
  });
  return [...plain.map((label) => axisText(label, yCoordinate(label.value, axis))), ...drawn];
}

/** A vertical coordinate as percent of the height of a panel. */
const percentDown = (y: number): string => `${Math.round((1_000 * y) / PLOT_HEIGHT) / 10}%`;

/** Share of a panel's height at its ends in which a label would reach beyond the panel. */
const END_SHARE = 0.03;

/** Distance from a value to the baseline of its label, in em: a label at an end stays inside. */
const baseline = (y: number): string =>
  y < PLOT_HEIGHT * END_SHARE ? ".8" : y > PLOT_HEIGHT * (1 - END_SHARE) ? "-.25" : ".35";

const axisText = ({ text, name }: AxisLabel, y: number): Html =>
  html`<text x="10%" y="${percentDown(y)}" dy="${baseline(y)}em"${name && html` class="${name}"`}>${text}</text>`;

/**
 * A text over a plot.
 *
 * @param y Distance from the top, in percent.
 */
export const plotLabel = (
  {
    place,
    y,
    text,
    name,
  }: { readonly place: number; readonly y: number; readonly text: string; readonly name: string },
  columns: ColumnAxis,
): Html => html`<text class="${name}" x="${across(place, columns)}" y="${y}%">${text}</text>`;

/**
 * A dot at the column `place`. It belongs to the texts of a panel, which are not stretched, so that
 * it stays round at every width.
 *
 * @param y Vertical coordinate from `yCoordinate`.
 */
export const plotDot = (
  {
    place,
    y,
    name,
    title,
  }: { readonly place: number; readonly y: number; readonly name: string; readonly title?: string },
  columns: ColumnAxis,
): Html =>
  html`<circle class="${name}" cx="${across(place, columns)}" cy="${percentDown(y)}"${title === undefined ? html`/>` : html`><title>${title}</title></circle>`}`;

/** The texts that belong to a figure with several panels. */
interface PlotText {
  /** Text alternative of the figure. */
  readonly label: string;
  readonly columns: ColumnAxis;
  /** The table that the crosshair script reads; without it, the figure has no crosshair. */
  readonly readout?: {
    /** Id of the table. */
    readonly table: string;
    /** Number of rows in the table; they correspond to the first columns of the plot. */
    readonly count: number;
  };
}

/** The panels of a figure, with the data that the crosshair script needs. */
export const plot = ({ label, columns, readout }: PlotText, panels: Html): Html =>
  html`<div class="plot" role="img"${readout && html` tabindex="0"`} aria-label="${label}"${readout && html` data-table="${readout.table}" data-count="${readout.count}" data-total="${columns.total}"`}>
${panels}
</div>`;

/** Number of characters of a year; longer labels need wider figures. */
const YEAR_LENGTH = 4;

/**
 * The bottom panel, which labels the columns. A narrow figure omits the minor labels.
 *
 * @param unit What the labels count, at the right end.
 */
export const columnPanel = (columns: ColumnAxis, unit?: string): Html =>
  plotPanel({
    name: "p-time",
    columns,
    shapes: false,
    texts: columns.labels.map(({ place, text, isMinor }) => {
      const minor = text.length > YEAR_LENGTH ? "mid minor long-text" : "mid minor";
      return plotLabel({ place, y: 70, text, name: isMinor ? minor : "mid" }, columns);
    }),
    axis: { low: 0, high: 1 },
    ...(unit && { labels: [{ value: 0.5, text: unit }] }),
  });
