import { z } from "zod";

/** A cursor as it was left; `undefined` where none was, or by an older version: it starts over. */
export function readCursor<S extends z.ZodType>(
  cursor: string | undefined,
  schema: S,
): z.output<S> | undefined {
  if (cursor === undefined) return undefined;
  try {
    return schema.safeParse(JSON.parse(cursor)).data;
  } catch {
    return undefined;
  }
}

/** The cursor of what is read day by day: the first UTC day that is wanted next. */
export const DayCursor = z.object({ day: z.iso.date() });

/** Writes it. */
export const cursorAt = (day: string): string =>
  JSON.stringify({ day } satisfies z.infer<typeof DayCursor>);

/** Answers in a row that cannot be read after which the name of a page is given up: many expire. */
const LOST_AFTER = 5;

/** Whether the page in the middle of something is lost: then that begins anew. */
export const isPageLost = (failures = 0): boolean => failures >= LOST_AFTER;
