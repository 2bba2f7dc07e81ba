import { DAY_MS } from "../../../../lib/day.ts";
import type { Fact } from "./facts.ts";

/** Number of days in a fiscal quarter: from 12 weeks to the 17 weeks of some retailers. */
const QUARTER_DAYS = { min: 75, max: 125 } as const;

/** Facts filed so far; a newer value for a period replaces the older one. */
export interface FiledFacts {
  /** Adds the facts of the next filing. */
  add(facts: readonly Fact[]): void;
  /** Last days of periods that end on or after a day, ISO dates. */
  endsFrom(day: string): readonly string[];
  /** Balance at the end of a day, from the first tag that has a value. */
  instant(tags: readonly string[], end: string): number | undefined;
  /** Flow of the quarter that ends on a day, from the first tag that has a value. */
  quarter(tags: readonly string[], end: string): number | undefined;
}

/**
 * Values of one tag by the first day of their period; the key is `undefined` for a balance at an
 * instant.
 */
type ByStart = Map<string | undefined, number>;
/** Values of one tag by the last day of their period. */
type ByEnd = Map<string, ByStart>;

/** Creates an empty set of facts. */
export function createFiledFacts(): FiledFacts {
  const byTag = new Map<string, ByEnd>();
  const ends = new Set<string>();
  const first = (tags: readonly string[], read: (values: ByEnd) => number | undefined) => {
    for (const tag of tags) {
      const values = byTag.get(tag);
      const value = values && read(values);
      if (value !== undefined) return value;
    }
    return undefined;
  };
  return {
    add(facts) {
      for (const { tag, start, end, value } of facts) {
        const byEnd = byTag.get(tag) ?? new Map<string, ByStart>();
        const byStart = byEnd.get(end) ?? new Map<string | undefined, number>();
        byTag.set(tag, byEnd.set(end, byStart.set(start, value)));
        ends.add(end);
      }
    },
    endsFrom: (day) => [...ends].filter((end) => end >= day),
    instant: (tags, end) => first(tags, (values) => values.get(end)?.get(undefined)),
    quarter: (tags, end) => first(tags, (values) => quarterOf(values, end)),
  };
}

/**
 * The flow of the quarter that ends on a day: as filed, or a longer flow minus another flow that
 * has the same start and ended a quarter earlier. For example, the second quarter is the half year
 * minus the first quarter, and the fourth is the year minus nine months.
 */
function quarterOf(values: ByEnd, end: string): number | undefined {
  const flows = [...(values.get(end) ?? [])].filter(([start]) => start !== undefined);
  const filed = flows.find(([start]) => isQuarter(start as string, end));
  if (filed !== undefined) return filed[1];
  if (flows.length === 0) return undefined;
  const before = [...values].filter(([earlier]) => isQuarter(earlier, end));
  for (const [start, value] of flows) {
    const part = before.map(([, byStart]) => byStart.get(start)).find((one) => one !== undefined);
    if (part !== undefined) return value - part;
  }
  return undefined;
}

function isQuarter(from: string, to: string): boolean {
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS;
  return days >= QUARTER_DAYS.min && days <= QUARTER_DAYS.max;
}
