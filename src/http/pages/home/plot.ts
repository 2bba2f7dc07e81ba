import { type Html, type HtmlContent, html } from "../../../markup/html.ts";

/**
 * Height of every plot in SVG units. It is larger than the height in pixels, so that integer
 * coordinates are exact to a pixel.
 */
const HEIGHT = 1_000;

/** Rounds to one decimal. */
const tenth = (value: number): number => Math.round(10 * value) / 10;

/**
 * Time axis that the panels of a figure share: columns of equal width, one per session. A column is
 * one unit wide; the middle of column `n`, counted from 0, is at coordinate `n`.
 */
export interface TimeAxis {
  /** Number of columns, including those after the newest session. */
  readonly total: number;
  /** The labels of columns. */
  readonly labels: readonly TimeLabel[];
}

interface TimeLabel {
  readonly place: number;
  readonly text: string;
}

/** Horizontal position of the middle of a column, in percent from the left. */
const across = (place: number, { total }: TimeAxis): string =>
  `${((100 * (place + 0.5)) / total).toFixed(2)}%`;

/** Vertical axis: its lowest and highest value, and whether it is logarithmic. */
export interface ValueAxis {
  readonly low: number;
  readonly high: number;
  readonly isLog?: boolean;
}

/** Vertical coordinate of a value in SVG units, from 0 at the top. */
export function yCoordinate(value: number, { low, high, isLog = false }: ValueAxis): number {
  const scale = isLog ? Math.log : (number: number) => number;
  return Math.round((HEIGHT * (scale(high) - scale(value))) / (scale(high) - scale(low)));
}

/**
 * Values at which an axis has grid lines: multiples of 1, 2 or 5 times a power of ten, at most
 * seven.
 */
export function axisTicks({ low, high }: ValueAxis): readonly number[] {
  const least = (high - low) / 6;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10) * power;
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first + 1;
  return Array.from({ length: count }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
}

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

/** Vertical bars, each from one value to another, as one SVG path. */
export const columnsPath = (
  parts: readonly { readonly place: number; readonly from: number; readonly to: number }[],
  axis: ValueAxis,
): string =>
  parts
    .map(({ place, from, to }) => {
      const [foot, top] = [yCoordinate(from, axis), yCoordinate(to, axis)];
      return `M${tenth(place - 0.3)} ${foot}V${top}h.6V${foot}Z`;
    })
    .join("");

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

/** A vertical line through the middle of a column. */
export const verticalLine = (place: number, name: string): Html =>
  html`<line class="${name}" x1="${place}" x2="${place}" y2="100%"/>`;

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
  readonly time: TimeAxis;
  /** SVG shapes. Their x is a column of the time axis, their y a coordinate from `yCoordinate`. */
  readonly shapes: HtmlContent;
  /** Texts over the plot, positioned in percent. */
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
 * this column, so that their time axes are aligned. Shapes are stretched to the available width;
 * texts are not.
 */
export function plotPanel({
  name,
  time,
  shapes,
  texts,
  axis,
  labels = [],
  labelShare,
}: PlotPanel): Html {
  const grid = time.labels.map(({ place }) => verticalLine(place, "grid"));
  return html`<div class="panel ${name}"><svg><svg viewBox="-.5 0 ${time.total} ${HEIGHT}" preserveAspectRatio="none">${grid}${shapes}<line class="cross" y2="100%"/></svg>${texts}</svg>${
    axis && html`<svg>${labelTexts(labels, axis, labelShare ?? LABEL_SHARE)}</svg>`
  }</div>`;
}

function labelTexts(labels: readonly AxisLabel[], axis: ValueAxis, share: number): readonly Html[] {
  const gap = HEIGHT * share;
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

const axisText = ({ text, name }: AxisLabel, y: number): Html =>
  html`<text x="10%" y="${tenth(y / 10)}%" dy=".35em"${name && html` class="${name}"`}>${text}</text>`;

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
  time: TimeAxis,
): Html => html`<text class="${name}" x="${across(place, time)}" y="${y}%">${text}</text>`;

/**
 * A dot at the column `place`, halfway up its panel. It belongs to the texts of a panel, which are
 * not stretched, so that it stays round at every width.
 */
export const plotDot = (place: number, time: TimeAxis, name: string): Html =>
  html`<circle class="${name}" cx="${across(place, time)}"/>`;

/** The texts and the table that belong to a figure with several panels. */
export interface PlotText {
  /** Text alternative of the figure. */
  readonly label: string;
  /** Id of the table that lists the drawn values, newest first. The crosshair script reads it. */
  readonly table: string;
  /** Number of rows in the table; they correspond to the first columns of the plot. */
  readonly count: number;
  readonly time: TimeAxis;
}

/** The panels of a figure, with the data that the crosshair script needs. */
export const plot = ({ label, table, count, time }: PlotText, panels: Html): Html =>
  html`<div class="plot" role="img" tabindex="0" aria-label="${label}" data-table="${table}" data-count="${count}" data-total="${time.total}">
${panels}
</div>`;

/** The bottom panel, which labels the time axis. On a phone, every other label is omitted. */
export const timePanel = (time: TimeAxis): Html =>
  plotPanel({
    name: "p-time",
    time,
    shapes: false,
    texts: time.labels.map(({ place, text }, index) =>
      plotLabel({ place, y: 70, text, name: index % 2 === 1 ? "mid minor" : "mid" }, time),
    ),
    axis: { low: 0, high: 1 },
  });

const DAY_MS = 86_400_000;

const format = (options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" });

const months = format({ month: "short", year: "numeric" });
const days = format({ day: "numeric", month: "short" });
const times = format({ hour: "2-digit", minute: "2-digit" });

/** Maximum number of labels on a time axis. */
const MAX_LABELS = 8;

/** Minimum number of sessions for which months are labeled. */
const MONTHS_FROM = 60;

/**
 * The time axis of sessions. A long axis has labels where a month begins; a shorter one has labels
 * at days or minutes.
 *
 * @param instants Times at which the sessions closed, in milliseconds since the epoch.
 * @param ahead Number of columns after the newest session.
 * @param dayMs Length of a market day in milliseconds.
 */
export function timeAxis(
  instants: readonly number[],
  { ahead = 0, dayMs }: { readonly ahead?: number; readonly dayMs: number },
): TimeAxis {
  const total = instants.length + ahead;
  const isMonthly = dayMs >= DAY_MS && instants.length >= MONTHS_FROM;
  const words = dayMs < DAY_MS ? times : isMonthly ? months : days;
  const texts = instants.map((at) => words.format(at));
  const starts = texts.flatMap((text, place) =>
    !isMonthly || (place > 0 && text !== texts[place - 1]) ? [{ place, text }] : [],
  );
  const step = Math.ceil(starts.length / MAX_LABELS);
  // A label at the first column would have no room to its left.
  const first = isMonthly ? 0 : Math.floor(step / 2);
  return { total, labels: starts.filter((_, index) => index % step === first % step) };
}
