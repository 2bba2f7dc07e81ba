import { z } from "zod";
import { parseJson } from "../../lib/json.ts";

/**
 * Parses a cursor; `undefined` if there is none, or if it does not have the form of the schema, as
 * after an update.
 */
export function readCursor<S extends z.ZodType>(
  cursor: string | undefined,
  schema: S,
): z.output<S> | undefined {
  return cursor === undefined ? undefined : schema.safeParse(parseJson(cursor)).data;
}

/** A request for the days of a symbol from `from` through `through`, both inclusive. */
export interface DayQuery {
  readonly symbol: string;
  readonly from: string;
  readonly through: string;
}

/** Cursor of a daily series: the first UTC day of the next request. */
export const DayCursor = z.object({ day: z.iso.date() });

/** Serializes a `DayCursor`. */
export const dayCursorText = (day: string): string =>
  JSON.stringify({ day } satisfies z.infer<typeof DayCursor>);

/** Number of consecutive malformed answers after which a page token counts as expired. */
const LOST_AFTER = 5;

/** Whether a page token has expired, so that its session or period is read again. */
export const isPageTokenExpired = (failures = 0): boolean => failures >= LOST_AFTER;
