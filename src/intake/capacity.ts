import { randomInt } from "node:crypto";
import { Problem } from "../problem.ts";
import { insert } from "../store/port/operations.ts";
import { collection, type Operation, type Placing, type Records } from "../store/port/records.ts";

/** How many of each kind strangers can have kept at the same time. An embedded store has all of
 *  them in memory, at about 3 kB each. */
const capacities = { application: 20_000, "queue-token": 30_000, inquiry: 5_000 } as const;

/** What takes a seat. */
type SlotKind = keyof typeof capacities;

/** Seats that are taken, by kind and number. */
export const slots = collection<true>("intake-seats");

/** Seats that are tried before all count as taken. */
const TRIES = 16;

/** When a caller may ask again who found no seat, in seconds. */
const FULL_RETRY_SECONDS = 3600;

/**
 * A seat, chosen by chance, and the step that takes it, which does not hold when somebody has it.
 * So no more is kept than there are seats, and nobody has to count or to wait for others: while two
 * thirds are taken, one caller in 650 finds none in `TRIES` tries.
 *
 * @param placing As that of what takes the seat, so that both go at the same time.
 */
export function slotFor(
  kind: SlotKind,
  placing: Placing,
): { readonly seat: string; readonly step: Operation } {
  const seat = `${kind}:${randomInt(capacities[kind])}`;
  return { seat, step: insert(slots, { key: seat, value: true, ...placing }) };
}

/**
 * Commits something that takes seats.
 *
 * @param attempt Makes the steps anew for every try.
 * @returns What the try gave that held.
 * @throws {Problem} `rate_limited` when no seat was found.
 */
export async function commitWithinCapacity<T extends { readonly steps: readonly Operation[] }>(
  records: Records,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const made = await attempt();
    if (await records.commit(made.steps)) return made;
  }
  throw new Problem("rate_limited", {
    detail: "Too many others are waiting to be answered.",
    next: "Try again later.",
    headers: { "Retry-After": String(FULL_RETRY_SECONDS) },
  });
}
