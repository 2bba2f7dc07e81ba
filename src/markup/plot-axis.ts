import { DAY_MS } from "../lib/day.ts";

/**
 * Horizontal axis that the panels of a figure share: columns of equal width, one per session, date
 * or name. A column is one unit wide; the middle of column `n`, counted from 0, is at coordinate
 * `n`. On a continuous axis, every number is a coordinate.
 */
export interface ColumnAxis {
  /** Number of columns, including those without a value. */
  readonly total: number;
  /** The labels of columns. */
  readonly labels: readonly ColumnLabel[];
  /** Whether a vertical line runs through each labeled column. */
  readonly hasGrid: boolean;
}

interface ColumnLabel {
  readonly place: number;
  readonly text: string;
  /** Whether a narrow figure has no room for the label. */
  readonly isMinor: boolean;
}

/** Horizontal position of the middle of a column, in percent from the left. */
export const across = (place: number, { total }: Pick<ColumnAxis, "total">): string =>
  `${((100 * (place + 0.5)) / total).toFixed(2)}%`;

/** Vertical axis: its lowest and highest value, and whether it is logarithmic. */
export interface ValueAxis {
  readonly low: number;
  readonly high: number;
  readonly isLog?: boolean;
}

/**
 * Height of every plot in SVG units. It is larger than the height in pixels, so that integer
 * coordinates are exact to a pixel.
 */
export const PLOT_HEIGHT = 1_000;

/** Vertical coordinate of a value in SVG units, from 0 at the top. */
export function yCoordinate(value: number, { low, high, isLog = false }: ValueAxis): number {
  const scale = isLog ? Math.log : (number: number) => number;
  return Math.round((PLOT_HEIGHT * (scale(high) - scale(value))) / (scale(high) - scale(low)));
}

/** Margin at an end of a value axis, as a share of the range of the values. */
const MARGIN = 0.04;

/** A linear axis around values, with a margin at both ends, except at an end that is 0. */
export function axisAround(values: readonly number[]): ValueAxis {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = MARGIN * (high - low || Math.abs(high) || 1);
  return {
    low: low === 0 ? 0 : low - margin,
    high: high === 0 && low < 0 ? 0 : high + margin,
  };
}

/** Maximum number of steps between the ticks of an axis. */
const MAX_STEPS = 6;

/** Share of a step below which a difference is one of floating-point numbers. */
const EPSILON = 1e-9;

/** The least step of 1, 2 or 5 times a power of ten that an axis has at most six of. */
function stepOf({ low, high }: ValueAxis): number {
  const least = ((high - low) / MAX_STEPS) * (1 - EPSILON);
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((factor) => factor * power >= least) ?? 10) * power;
}

/** A multiple of a step, without the digits that multiplication adds. */
const multiple = (count: number, step: number): number => Number((count * step).toPrecision(12));

/**
 * Values at which an axis has grid lines: multiples of 1, 2 or 5 times a power of ten, at most
 * seven.
 */
export function axisTicks(axis: ValueAxis): readonly number[] {
  const step = stepOf(axis);
  const first = Math.ceil(axis.low / step - EPSILON);
  const count = Math.floor(axis.high / step + EPSILON) - first + 1;
  return Array.from({ length: count }, (_, index) => multiple(first + index, step));
}

/** A linear axis around values that ends at multiples of its step. */
export function roundedAxisAround(values: readonly number[]): ValueAxis {
  const axis = axisAround(values);
  const step = stepOf(axis);
  return {
    low: multiple(Math.floor(axis.low / step + EPSILON), step),
    high: multiple(Math.ceil(axis.high / step - EPSILON), step),
  };
}

/** Number of decimals that ticks need, all having the same. */
export const tickDecimals = ([first = 0, second = first + 1]: readonly number[]): number =>
  Math.max(0, -Math.floor(Math.log10(second - first) + EPSILON));

/**
 * Widths in CSS pixels: a character of a label, the least gap between two labels, and the plot on
 * the narrowest phone.
 */
const [CHARACTER, GAP, NARROW] = [7, 5, 204];

/** An axis with a column for each name. If the names are long, every other one is minor. */
export function nameAxis(names: readonly string[]): ColumnAxis {
  const longest = Math.max(...names.map(({ length }) => length));
  const fits = names.length * (CHARACTER * longest + GAP) <= NARROW;
  return {
    total: names.length,
    labels: names.map((text, place) => ({ place, text, isMinor: !fits && place % 2 === 1 })),
    hasGrid: false,
  };
}

/** Number of columns of a continuous axis, so that coordinates are hundredths of its length. */
const CONTINUOUS = 100;

/** Horizontal coordinate of a value on a continuous axis. */
export const numberPlace = (value: number, { low, high }: ValueAxis): number =>
  (CONTINUOUS * (value - low)) / (high - low) - 0.5;

/**
 * A continuous axis for numbers.
 *
 * @param format Formats a tick with as many decimals as the ticks need.
 */
export function numberAxis(
  axis: ValueAxis,
  format: (value: number, decimals: number) => string,
): ColumnAxis {
  const ticks = axisTicks(axis);
  const decimals = tickDecimals(ticks);
  return {
    total: CONTINUOUS,
    labels: ticks.map((value, index) => ({
      place: numberPlace(value, axis),
      text: format(value, decimals),
      isMinor: index % 2 === 1,
    })),
    hasGrid: true,
  };
}

const format = (options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" });

const monthWords = format({ month: "short", year: "numeric" });
const dayWords = format({ day: "numeric", month: "short" });
const timeWords = format({ hour: "2-digit", minute: "2-digit" });

/** Length in milliseconds of a history whose axis is labeled by months or years. */
const MONTHS_FROM = 80 * DAY_MS;

/** Maximum number of labels that are years. */
const MAX_YEARS = 12;

/** Maximum number of other labels. */
const MAX_LABELS = 8;

/** Numbers of months between two labels, and how many such labels an axis has at most. */
const MONTH_STEPS = [
  ...[1, 2, 3, 6].map((step) => ({ step, most: MAX_LABELS })),
  ...[12, 24, 60, 120].map((step) => ({ step, most: MAX_YEARS })),
];

/** Minimum distance between two labels of which an axis has `most`, as a share of its length. */
const leastDistance = (most: number): number => 0.8 / most;

/** Column of a label with its text. */
type Start = Pick<ColumnLabel, "place" | "text">;

/**
 * The time axis of sessions. A long axis has labels where a month, quarter or year begins; a
 * shorter one has labels at days or times.
 *
 * @param instants Times at which the sessions closed, in milliseconds since the epoch.
 * @param ahead Number of columns after the newest session.
 * @param dayMs Length of a market day in milliseconds.
 */
export function timeAxis(
  instants: readonly number[],
  { ahead = 0, dayMs = DAY_MS }: { readonly ahead?: number; readonly dayMs?: number } = {},
): ColumnAxis {
  const length = (instants.at(-1) ?? 0) - (instants[0] ?? 0);
  const isLong = dayMs >= DAY_MS && length >= MONTHS_FROM;
  const months = isLong ? monthStarts(instants) : [];
  const starts = months.length > 1 ? months : sessionStarts(instants, dayMs);
  return {
    total: instants.length + ahead,
    labels: starts.map((one, index) => ({ ...one, isMinor: index % 2 === 1 })),
    hasGrid: true,
  };
}

/** The first sessions of months or years that are few enough to be labeled. */
function monthStarts(instants: readonly number[]): readonly Start[] {
  const index = instants.map((at) => {
    const date = new Date(at);
    return 12 * date.getUTCFullYear() + date.getUTCMonth();
  });
  const startsOf = (step: number): readonly Start[] =>
    index.flatMap((month, place) => {
      const before = index[place - 1] ?? month;
      // A label at the first column would have no room to its left.
      if (Math.floor(month / step) === Math.floor(before / step)) return [];
      const text = step < 12 ? monthWords.format(instants[place]) : String(Math.floor(month / 12));
      return [{ place, text }];
    });
  const tried = MONTH_STEPS.map(({ step, most }) => ({ starts: startsOf(step), most }));
  const found = tried.find(({ starts, most }) => starts.length <= most) ?? tried.at(-1);
  return found === undefined
    ? []
    : apart(found.starts, instants.length * leastDistance(found.most));
}

/** Leaves out starts that follow another too closely, as where sessions are missing. */
function apart(starts: readonly Start[], distance: number): readonly Start[] {
  let last = Number.NEGATIVE_INFINITY;
  return starts.filter(({ place }) => {
    const isApart = place - last >= distance;
    if (isApart) last = place;
    return isApart;
  });
}

/** Evenly spaced sessions. */
function sessionStarts(instants: readonly number[], dayMs: number): readonly Start[] {
  const words = dayMs < DAY_MS ? timeWords : dayWords;
  const step = Math.ceil(instants.length / MAX_LABELS);
  return instants.flatMap((at, place) =>
    place % step === Math.floor(step / 2) ? [{ place, text: words.format(at) }] : [],
  );
}
