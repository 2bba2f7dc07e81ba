import { z } from "zod";
import { formatCount } from "../format.ts";
import { wholeNumberArgument } from "./shared.ts";

/** Default and maximum number of rows that a list shows. */
const DEFAULT_ROWS = 50;
const MAX_ROWS = 10_000;

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A time span before now: a whole number of minutes, hours or days. */
const SPAN = /^(\d{1,6})([mhd])$/;

/** Schema of the beginning of a period: a span before now, such as `2h`, or an ISO 8601 instant. */
const SinceArgument = z
  .string()
  .refine(
    (text) => SPAN.test(text) || !Number.isNaN(Date.parse(text)),
    "must be a span such as 30m, 2h or 7d, or an instant such as 2026-11-28T18:00:00Z",
  );

/**
 * The instant that a `SinceArgument` names.
 *
 * @param now Milliseconds since the epoch.
 * @returns Milliseconds since the epoch; `undefined` if none is named.
 */
export function sinceOf(text: string | undefined, now: number): number | undefined {
  const [, count, unit] = SPAN.exec(text ?? "") ?? [];
  if (unit !== undefined) return now - Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
  return text === undefined ? undefined : Date.parse(text);
}

/** The options that every list has. */
export const listOptions = {
  since: {
    value: "<time>",
    about: "only newer ones: 30m, 2h, 7d, or an ISO 8601 instant",
    schema: SinceArgument.optional(),
  },
  limit: {
    value: "<n>",
    about: `how many at most, the newest first (${DEFAULT_ROWS})`,
    schema: wholeNumberArgument(1, MAX_ROWS).default(DEFAULT_ROWS),
  },
} as const;

/** Items of a list, newest first. */
interface Listed<T> {
  readonly items: readonly T[];
  /** Number of items that fit the filters. */
  readonly total: number;
}

/**
 * The newest items that fit the filters.
 *
 * @param createdAt When an item came to be, in milliseconds since the epoch.
 */
export function newest<T>(
  found: readonly T[],
  { since, limit }: { readonly since: number | undefined; readonly limit: number },
  createdAt: (item: T) => number,
): Listed<T> {
  const fitting = found.filter((item) => since === undefined || createdAt(item) >= since);
  const items = fitting.toSorted((a, b) => createdAt(b) - createdAt(a)).slice(0, limit);
  return { items, total: fitting.length };
}

/** The note on items that a list leaves out; none if it is whole. */
export function leftOutNotes({ items, total }: Listed<unknown>): readonly string[] {
  if (items.length === total) return [];
  return [
    `The newest ${formatCount(items.length)} of ${formatCount(total)}; --limit shows more, --since fewer.`,
  ];
}
