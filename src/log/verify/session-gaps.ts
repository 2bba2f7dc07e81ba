import { DAY_MS } from "../../lib/day.ts";
import { sessionsBetween } from "../../market/calendar.ts";
import type { AssetClass } from "../../market/instrument.ts";
import { newYorkDate } from "../../market/new-york.ts";
import type { VerificationCheck } from "../../tree/check.ts";

/**
 * A duration, in milliseconds, that is longer than the time from most closes to the next close, and
 * shorter than the time from a close to the second close after it. Usual cases therefore need no
 * calendar.
 */
const NEXT_CLOSE_MS = 1.5 * DAY_MS;

/**
 * Maximum number of missing sessions listed in the result; a service that was down for a long time
 * misses many.
 */
const NAMED = 10;

/**
 * Sessions strictly between two closes of a class (Unix milliseconds), as ISO dates: those of the
 * New York exchanges for stocks and funds, every UTC day for coins.
 */
export function sessionsBetweenCloses(
  assetClass: AssetClass,
  after: number,
  before: number,
): readonly string[] {
  if (before - after < NEXT_CLOSE_MS) return [];
  if (assetClass === "crypto") return daysWithin(after, before);
  const [from, to] = [newYorkDate(after), newYorkDate(before)];
  return sessionsBetween(from, to).filter((session) => session > from && session < to);
}

function daysWithin(after: number, before: number): readonly string[] {
  // The close of a UTC day is the first moment of the next day.
  const dayOf = (close: number) => Math.floor((close - 1) / DAY_MS);
  const first = dayOf(after) + 1;
  const count = Math.max(0, dayOf(before) - first);
  return Array.from({ length: count }, (_, index) =>
    new Date((first + index) * DAY_MS).toISOString().slice(0, 10),
  );
}

/** Finds sessions without a run between consecutive runs of a class. */
export class SessionGaps {
  readonly #lastCloses = new Map<AssetClass, number>();
  readonly #missing: string[] = [];
  #count = 0;
  #runs = 0;

  /**
   * Adds the next run.
   *
   * @param close Close of the session of the run, Unix milliseconds.
   */
  add(assetClass: AssetClass, close: number): void {
    this.#runs += 1;
    const last = this.#lastCloses.get(assetClass);
    this.#lastCloses.set(assetClass, close);
    if (last === undefined) return;
    const missing = sessionsBetweenCloses(assetClass, last, close);
    this.#count += missing.length;
    const named = missing.slice(0, NAMED - this.#missing.length);
    this.#missing.push(...named.map((session) => `${assetClass} ${session}`));
  }

  /**
   * Reports the missing sessions.
   *
   * @param hasCalendar Whether sessions follow the calendar of the exchanges; `false` for the
   * sandbox.
   */
  check(hasCalendar: boolean): VerificationCheck {
    const name = "sessions";
    if (!hasCalendar) {
      const detail = "not compared: the sessions of the sandbox are in no calendar";
      return { name, outcome: "not_proved", detail };
    }
    if (this.#count > 0) {
      const more = this.#count > this.#missing.length ? ", ..." : "";
      const detail = `${this.#count} sessions have no run: ${this.#missing.join(", ")}${more}`;
      return { name, outcome: "not_proved", detail };
    }
    const isProved = this.#runs > 0;
    const detail = isProved
      ? `none between the first and the last of ${this.#runs} runs is without its run`
      : "there are no runs";
    return { name, outcome: isProved ? "proved" : "not_proved", detail };
  }
}
