import type { Question } from "./question.ts";
import type { ReturnGrid } from "./return-grid.ts";

/** Days from Monday 1969-12-29 to 1970-01-01, from which ISO dates are counted. */
const DAYS_BEFORE_EPOCH = 3;
const DAY_MS = 86_400_000;

/** Number of the week, Monday to Sunday, that an ISO date belongs to. */
const weekOf = (date: string): number =>
  Math.floor((Date.parse(date) / DAY_MS + DAYS_BEFORE_EPOCH) / 7);

/**
 * Places of the sessions whose scores are graded: every one from `from` on, or the last of each
 * week. The last session of the grid has no next one and is never graded.
 */
export function gradedDates(
  { sessions }: ReturnGrid,
  { from, pace }: Pick<Question, "from" | "pace">,
): readonly number[] {
  return [...sessions.keys()].filter((place) => {
    const label = sessions[place]?.label ?? "";
    const next = sessions[place + 1]?.label;
    if (label < from || next === undefined) return false;
    return pace === "session" || weekOf(next) !== weekOf(label);
  });
}
