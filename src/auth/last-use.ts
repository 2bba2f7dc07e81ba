import { put, remove } from "../store/port/operations.ts";
import { collection, type Operation, type Records } from "../store/port/records.ts";

const HOUR_MS = 3_600_000;

/** How long a use is stored, in milliseconds. */
const KEPT_MS = 400 * 24 * HOUR_MS;

/** Ids that a process remembers to have noted. The oldest one is dropped first, and noted again at its
 *  next use. */
const MAX_REMEMBERED = 10_000;

/** When something was used, by its id. */
const lastUses = collection<{ readonly at: number }>("last-uses");

/** What `LastUse` works with. */
interface LastUseOptions {
  readonly records: Records;
  readonly now: () => Date;
  /** Called when a use could not be written; the next one is noted again. */
  readonly onError: (error: unknown) => void;
}

/** When agents and keys were used last, to the hour. A process writes each at most once an hour. */
export class LastUse {
  readonly #options: LastUseOptions;
  /** The hour that was noted last, by id, the oldest entry first. */
  readonly #noted = new Map<string, number>();

  constructor(options: LastUseOptions) {
    this.#options = options;
  }

  /** Notes a use now without delaying the caller. Only for what somebody can look up later: agents with
   *  an owner, and keys. */
  note(id: string): void {
    const { records, now, onError } = this.#options;
    const at = Math.floor(now().getTime() / HOUR_MS) * HOUR_MS;
    if (this.#noted.get(id) === at) return;
    this.#remember(id, at);
    records.commit([put(lastUses, { key: id, value: { at }, ttlMs: KEPT_MS })]).catch((error) => {
      this.#noted.delete(id);
      onError(error);
    });
  }

  /** @returns Milliseconds since the epoch by id; none for an id that was not used in 400 days. */
  async of(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const found = await Promise.all(ids.map((id) => this.#options.records.get(lastUses, id)));
    return new Map(found.flatMap((use) => (use ? [[use.key, use.value.at]] : [])));
  }

  #remember(id: string, at: number): void {
    this.#noted.delete(id);
    this.#noted.set(id, at);
    const [oldest] = this.#noted.keys();
    if (this.#noted.size > MAX_REMEMBERED && oldest !== undefined) this.#noted.delete(oldest);
  }
}

/** The step that drops the last use of something that is removed. */
export function lastUseRemoval(id: string): Operation {
  return remove(lastUses, id);
}
