import { type Content, type Html, html } from "../html.ts";

/** Height of every plot in SVG units: more than its pixels, so that integer coordinates are exact
 *  to a pixel. */
const HEIGHT = 1_000;

/** Rounds to a tenth. */
const tenth = (value: number): number => Math.round(10 * value) / 10;

/** Horizontal axis of the panels of a figure: columns of equal width, one for each session. A
 *  column is one unit wide, and the coordinate of its middle is its number, counted from 0. */
export interface TimeAxis {
  /** Number of columns, including those after the newest session. */
  readonly total: number;
  /** Columns with a label. */
  readonly labels: readonly TimeLabel[];
}

interface TimeLabel {
  readonly place: number;
  readonly text: string;
}

/** Distance of the middle of a column from the left, in percent. */
const across = (place: number, { total }: TimeAxis): string =>
  `${((100 * (place + 0.5)) / total).toFixed(2)}%`;

/** Vertical axis. */
export interface ValueAxis {
  readonly low: number;
  readonly high: number;
  readonly isLog?: boolean;
}

/** Vertical coordinate of a value, from 0 at the top. */
export function down(value: number, { low, high, isLog = false }: ValueAxis): number {
  const scale = isLog ? Math.log : (number: number) => number;
  return Math.round((HEIGHT * (scale(high) - scale(value))) / (scale(high) - scale(low)));
}

/** Round values of an axis: multiples of 1, 2 or 5 times a power of ten, at most six. */
export function ticks({ low, high }: ValueAxis): readonly number[] {
  const least = (high - low) / 6;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10) * power;
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first + 1;
  return Array.from({ length: count }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
}

/** A path through the values of the first columns, interrupted where a value is missing. It uses
 *  relative steps, which compress to half the size of absolute coordinates. */
export function line(values: readonly (number | null)[], axis: ValueAxis): string {
  let last: number | undefined;
  return values
    .map((value, place) => {
      const y = value === null ? undefined : down(value, axis);
      const step = last === undefined ? `M${place} ${y}` : `l1 ${(y ?? 0) - last}`;
      last = y;
      return y === undefined ? "" : step;
    })
    .join("");
}

/** Rectangles from one value to another, as one path. */
export const columns = (
  parts: readonly { readonly place: number; readonly from: number; readonly to: number }[],
  axis: ValueAxis,
): string =>
  parts
    .map(({ place, from, to }) => {
      const [foot, top] = [down(from, axis), down(to, axis)];
      return `M${tenth(place - 0.3)} ${foot}V${top}h.6V${foot}Z`;
    })
    .join("");

/** A rectangle over whole columns, from the first to the last. */
export const span = (
  { first, last }: { readonly first: number; readonly last: number },
  attributes: Html,
): Html => html`<rect x="${first - 0.5}" width="${last + 1 - first}" ${attributes}/>`;

/** A line across the whole plot at a value. */
export const level = (value: number, axis: ValueAxis, name: string): Html => {
  const y = down(value, axis);
  return html`<line class="${name}" x1="-1" x2="100%" y1="${y}" y2="${y}"/>`;
};

/** A line from top to bottom through the middle of a column. */
export const upright = (place: number, name: string): Html =>
  html`<line class="${name}" x1="${place}" x2="${place}" y2="100%"/>`;

/** A text of the axis column. */
export interface AxisLabel {
  readonly value: number;
  readonly text: string;
  /** CSS class of an important label; plain labels too near to it are omitted. */
  readonly name?: string;
}

/** Minimum distance of labels, as a share of the height of a panel. */
const LABEL_SHARE = 0.07;

/** One drawing of a figure. */
export interface Panel {
  /** CSS class, which determines its height. */
  readonly name: string;
  readonly time: TimeAxis;
  /** SVG shapes; x is a column of the axis, y is a coordinate from `down`. */
  readonly shapes: Content;
  /** Texts over the plot, positioned in percent. */
  readonly texts?: Content;
  readonly axis?: ValueAxis;
  readonly labels?: readonly AxisLabel[];
  /** Minimum distance of labels as a share of the height; lower panels need a larger share. */
  readonly labelShare?: number;
}

/** A panel: the plot, and a column for the labels of its axis. All panels of a figure have that
 *  column, so that their time axes are aligned. Shapes are stretched to the available width, texts
 *  are not. */
export function panel({ name, time, shapes, texts, axis, labels = [], labelShare }: Panel): Html {
  const grid = time.labels.map(({ place }) => upright(place, "grid"));
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
    const y = Math.max(down(label.value, axis), (placed.at(-1) ?? -gap) + gap);
    placed.push(y);
    return axisText(label, y);
  });
  const plain = labels.filter(({ name, value }) => {
    const y = down(value, axis);
    return name === undefined && placed.every((other) => Math.abs(other - y) >= gap);
  });
  return [...plain.map((label) => axisText(label, down(label.value, axis))), ...drawn];
}

const axisText = ({ text, name }: AxisLabel, y: number): Html =>
  html`<text x="10%" y="${tenth(y / 10)}%" dy=".35em"${name && html` class="${name}"`}>${text}</text>`;

/** A text over a plot. @param y From the top, in percent. */
export const plotText = (
  {
    place,
    y,
    text,
    name,
  }: { readonly place: number; readonly y: number; readonly text: string; readonly name: string },
  time: TimeAxis,
): Html => html`<text class="${name}" x="${across(place, time)}" y="${y}%">${text}</text>`;

/** A dot in the middle of a low panel, round at every width. */
export const dot = (place: number, time: TimeAxis, name: string): Html =>
  html`<circle class="${name}" cx="${across(place, time)}"/>`;

/** The texts and the table of a figure with several panels. */
export interface PlotText {
  /** Text alternative of the figure. */
  readonly label: string;
  /** Id of the table with its figures, newest first, which the crosshair of the script reads. */
  readonly table: string;
  /** Number of rows of that table; they correspond to the first columns of the drawing. */
  readonly count: number;
  readonly time: TimeAxis;
}

/**
 * The panels of a figure, above a line in which the script shows the figures under the crosshair.
 */
export const plot = ({ label, table, count, time }: PlotText, panels: Html): Html =>
  html`<div class="plot" role="img" tabindex="0" aria-label="${label}" data-table="${table}" data-count="${count}" data-total="${time.total}">
${panels}
</div>`;

/** The lowest panel, which labels the times. Every other label is omitted on a phone. */
export const timePanel = (time: TimeAxis): Html =>
  panel({
    name: "p-time",
    time,
    shapes: false,
    texts: time.labels.map(({ place, text }, index) =>
      plotText({ place, y: 70, text, name: index % 2 === 1 ? "mid minor" : "mid" }, time),
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

/** Minimum number of sessions for labels by month. */
const MONTHS_FROM = 60;

/**
 * The axis of sessions: labels stand where a month begins, or at days or minutes if it is short.
 *
 * @param instants When the sessions closed, Unix milliseconds.
 * @param ahead Places after the newest.
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
  // The first place has no room to its left.
  const first = isMonthly ? 0 : Math.floor(step / 2);
  return { total, labels: starts.filter((_, index) => index % step === first % step) };
}
