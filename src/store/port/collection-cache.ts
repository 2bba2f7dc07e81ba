import { readRecordPages } from "./read-all.ts";
import type { Collection, Records, Stored } from "./records.ts";

/** Number of revisions read per page. */
const PAGE = 10_000;

/**
 * Keeps the records of a collection in memory for a reader that needs all of them again and again.
 * Each reading compares the keys and revisions with the store, and reads the values of changed
 * records only.
 */
export class CollectionCache<T> {
  readonly #records: Records;
  readonly #from: Collection<T>;
  /** Records by key, oldest change first. */
  readonly #cached = new Map<string, Stored<T>>();
  /** The highest revision that was read. */
  #newest = 0;

  constructor(records: Records, from: Collection<T>) {
    this.#records = records;
    this.#from = from;
  }

  /**
   * Returns the same records as `readAll`, apart from changes during the call. Calls must not
   * overlap. A call after a failed one continues where that one stopped.
   */
  async read(): Promise<readonly Stored<T>[]> {
    const revisions = await this.#readRevisions();
    for (const [key, { revision }] of this.#cached) {
      if (revisions.get(key) !== revision) this.#cached.delete(key);
    }
    await this.#readChanges();
    for (const key of revisions.keys()) if (!this.#cached.has(key)) return this.#readAgain();
    return [...this.#cached.values()];
  }

  async #readRevisions(): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>();
    for (let after = 0; ; ) {
      const page = await this.#records.listRevisions(this.#from, { after, limit: PAGE });
      for (const { key, revision } of page) found.set(key, revision);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return found;
      after = last.revision;
    }
  }

  async #readChanges(): Promise<void> {
    const range = { after: this.#newest };
    for await (const page of readRecordPages(this.#records, this.#from, range)) {
      for (const stored of page) {
        // Moves a changed record to the end.
        this.#cached.delete(stored.key);
        this.#cached.set(stored.key, stored);
        this.#newest = stored.revision;
      }
    }
  }

  /**
   * Reads every record: one was removed after its revision was read, the store was restored from a
   * backup with lower revisions, or a key is damaged, which reading the record reports.
   */
  async #readAgain(): Promise<readonly Stored<T>[]> {
    this.#cached.clear();
    this.#newest = 0;
    await this.#readChanges();
    return [...this.#cached.values()];
  }
}
