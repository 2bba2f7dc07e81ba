import { collection, type Records } from "../store/port/records.ts";
import { type Transaction, transact } from "../store/transact.ts";

const HOUR_MS = 3_600_000;

/** How long a last use is stored, in milliseconds. */
const RETENTION_MS = 400 * 24 * HOUR_MS;

/**
 * Maximum number of ids in memory. The oldest is dropped first; its next use is then written even
 * if less than an hour has passed.
 */
const MAX_REMEMBERED = 10_000;

/** Time of the last use in milliseconds since the epoch, by id. */
const lastUses = collection<{ readonly at: number }>("last-uses", { ttlMs: RETENTION_MS });

/** Dependencies of `LastUseTracker`. */
interface LastUseOptions {
  readonly records: Records;
  readonly now: () => Date;
  /**
   * Called when a use could not be written. The next use is then written even if less than an hour
   * has passed.
   */
  readonly onError: (error: unknown) => void;
}

/**
 * Tracks the last uses of agents and keys, accurate to the hour. A process writes the use of an id
 * at most once an hour.
 */
export class LastUseTracker {
  readonly #options: LastUseOptions;
  /** The hour last written for each id, the oldest entry first. */
  readonly #noted = new Map<string, number>();

  constructor(options: LastUseOptions) {
    this.#options = options;
  }

  /**
   * Records a use without making the calling code wait. To be called only for agents with an owner
   * and for keys, since nobody can look up other uses.
   */
  record(id: string): void {
    const { records, now, onError } = this.#options;
    const at = Math.floor(now().getTime() / HOUR_MS) * HOUR_MS;
    if (this.#noted.get(id) === at) return;
    this.#remember(id, at);
    transact(records, (tx) => tx.put(lastUses, { key: id, value: { at } })).catch((error) => {
      this.#noted.delete(id);
      onError(error);
    });
  }

  /**
   * Reads the last uses.
   * @returns Milliseconds since the epoch by id; no entry for an id that has not been used within
   * 400 days.
   */
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

/** Deletes the last use of a deleted agent or key. */
export function deleteLastUse(tx: Transaction, id: string): void {
  tx.remove(lastUses, id);
}
