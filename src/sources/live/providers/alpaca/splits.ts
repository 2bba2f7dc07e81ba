import { z } from "zod";
import { DAY_MS } from "../../../../lib/day.ts";
import { impossibilityReason } from "../../../../market/bar-quality.ts";
import type { BarRow, DetectedSplit } from "./bar-rows.ts";

/**
 * Two bars with adjusted prices: the last bar before the new bars (or the first new bar, if there
 * is none before), and the last bar of the window. Each has two numbers: the days since the start
 * of the window, and the close. They are taken from the adjusted answer and compared with the
 * answer as traded.
 */
export const WindowEdges = z.tuple([
  z.int().min(0),
  z.number().positive(),
  z.int().min(0),
  z.number().positive(),
]);
export type WindowEdges = z.infer<typeof WindowEdges>;

/** Number of significant digits of an adjusted close that are kept. */
const DIGITS = 8;

/** A window of bars: the first day requested, and the last session whose bars are already known. */
interface Span {
  readonly from: string;
  readonly done: string;
}

/** The edges of a window of adjusted bars; `null` if there are no plausible bars. */
export function windowEdgesOf(rows: readonly BarRow[], { from, done }: Span): WindowEdges | null {
  const sound = rows.filter((row) => impossibilityReason(row) === undefined);
  const first = sound.findLast(({ session }) => session <= done) ?? sound[0];
  const last = sound.at(-1);
  if (first === undefined || last === undefined) return null;
  const kept = ({ session, close }: BarRow) =>
    [daysFrom(from, session), Number(close.toPrecision(DIGITS))] as const;
  return [...kept(first), ...kept(last)];
}

/**
 * The split found by comparing bars as traded with the edges of the adjusted bars; `undefined` if
 * there is none.
 */
export function detectSplit(
  rows: readonly BarRow[],
  edges: WindowEdges | null,
  { from }: Pick<Span, "from">,
): DetectedSplit | undefined {
  if (edges === null) return undefined;
  const [firstDay, firstAdjusted, lastDay, lastAdjusted] = edges;
  const sound = rows.filter((row) => impossibilityReason(row) === undefined);
  const places = sound.map(({ session }) => daysFrom(from, session));
  const [first, last] = [places.indexOf(firstDay), places.indexOf(lastDay)];
  const [earlier, later] = [sound[first], sound[last]];
  if (earlier === undefined || later === undefined) return undefined;
  const ratio = splitRatio(
    { traded: earlier.close, adjusted: firstAdjusted },
    { traded: later.close, adjusted: lastAdjusted },
  );
  if (ratio === 1) return undefined;
  return { session: later.session, ratio, isLocated: last - first === 1 };
}

const daysFrom = (from: string, day: string): number =>
  (Date.parse(day) - Date.parse(from)) / DAY_MS;

/** Closing prices of one session: as traded, and adjusted for all later splits. */
interface TwoCloses {
  readonly traded: number;
  readonly adjusted: number;
}

/** Rounding unit of adjusted closing prices, in USD; their error is at most half a cent. */
const CENT = 0.01;

/** Minimum relative tolerance of a measured split ratio. */
const MIN_TOLERANCE = 0.002;

/** Denominators of the ratios of splits and of stock dividends (11 for 10, 21 for 20). */
const DENOMINATORS = [1, 2, 3, 4, 5, 10, 20] as const;

/**
 * New shares per old share between two sessions: the adjustment factor of the earlier close divided
 * by the adjustment factor of the later close. The quotient is rounded to the simplest ratio within
 * the error of adjusted closes, which are rounded to cents; without such a ratio, it is rounded to
 * four significant digits.
 *
 * @returns 1 without a split.
 */
export function splitRatio(earlier: TwoCloses, later: TwoCloses): number {
  const measured = factor(earlier) / factor(later);
  const error = CENT / 2 / earlier.adjusted + CENT / 2 / later.adjusted;
  const tolerance = Math.max(MIN_TOLERANCE, error);
  if (Math.abs(measured - 1) <= tolerance) return 1;
  const ratio = measured > 1 ? simplest(measured, tolerance) : simplest(1 / measured, tolerance);
  if (ratio === undefined) return Number(measured.toPrecision(4));
  return measured > 1 ? ratio : 1 / ratio;
}

const factor = ({ traded, adjusted }: TwoCloses): number => traded / adjusted;

/**
 * The ratio with the smallest denominator within the tolerance; `undefined` if there is none.
 *
 * @param measured Above 1.
 */
function simplest(measured: number, tolerance: number): number | undefined {
  return DENOMINATORS.map((denominator) => Math.round(measured * denominator) / denominator).find(
    (ratio) => ratio > 1 && Math.abs(ratio / measured - 1) <= tolerance,
  );
}
