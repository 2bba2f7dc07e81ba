import { put, remove } from "../store/port/operations.ts";
import { collection, type Operation, type Records } from "../store/port/records.ts";

const HOUR_MS = 3_600_000;

/** A use is kept this long, in milliseconds: for longer than anybody asks about it. */
const KEPT_MS = 400 * 24 * HOUR_MS;

/** Ids that a process remembers to have noted. The oldest one is forgotten first, and noted again
 *  at its next use. */
const MAX_REMEMBERED = 10_000;

/** When something was used, by its id. */
const lastUses = collection<{ readonly at: number }>("last-uses");

/** What last uses are kept with. */
export interface LastUseOptions {
  readonly records: Records;
  readonly now: () => Date;
  /** Told when a use could not be kept; the next one is noted again. */
  readonly onError: (error: unknown) => void;
}

/** When agents and keys were used last, to the hour. */
export interface LastUse {
  /** Notes a use now, without making anybody wait. Only for what somebody can look up later: agents
   *  that a person answers for, and keys. */
  note(id: string): void;

  /** @returns Milliseconds since the epoch by id; none for an id that was not used in 400 days. */
  of(ids: readonly string[]): Promise<ReadonlyMap<string, number>>;
}

/** The step that drops the last use of something that is removed. */
export function withoutLastUse(id: string): Operation {
  return remove(lastUses, id);
}

/** Keeps last uses; a process writes each at most once an hour. */
export function createLastUse({ records, now, onError }: LastUseOptions): LastUse {
  const noted = new Map<string, number>();
  const remember = (id: string, at: number): void => {
    noted.delete(id);
    noted.set(id, at);
    const [oldest] = noted.keys();
    if (noted.size > MAX_REMEMBERED && oldest !== undefined) noted.delete(oldest);
  };
  return {
    note(id) {
      const at = Math.floor(now().getTime() / HOUR_MS) * HOUR_MS;
      if (noted.get(id) === at) return;
      remember(id, at);
      records.commit([put(lastUses, { key: id, value: { at }, ttlMs: KEPT_MS })]).catch((error) => {
        noted.delete(id);
        onError(error);
      });
    },
    async of(ids) {
      const found = await Promise.all(ids.map((id) => records.get(lastUses, id)));
      return new Map(found.flatMap((use) => (use ? [[use.key, use.value.at]] : [])));
    },
  };
}
