import { createReader } from "../market/point-in-time.ts";
import type { Known, RecordList } from "../market/records.ts";

/** What takes records in, one by one. */
interface Intake<R> {
  add(record: R): void;
}

/** One growing list of an instrument and what it feeds. */
export interface Feed<R extends Known, T extends Intake<R>> {
  readonly state: T;
  readonly read: ReturnType<typeof createReader<R>>;
}

/** Starts before the first record. */
export const createFeed = <R extends Known, T extends Intake<R>>(state: T): Feed<R, T> => ({
  state,
  read: createReader<R>(),
});

/**
 * Feeds what became known up to an instant (Unix milliseconds, never falling).
 *
 * @returns When the newest of it became known, `null` when there was nothing new.
 */
export function takeNew<R extends Known, T extends Intake<R>>(
  { state, read }: Feed<R, T>,
  list: RecordList<R> | undefined,
  at: number,
): number | null {
  if (list === undefined) return null;
  const fresh = read(list, at);
  for (const record of fresh) state.add(record);
  return fresh.at(-1)?.availableAt ?? null;
}
