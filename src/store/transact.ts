import { setTimeout as pause } from "node:timers/promises";
import type { ArchiveRow } from "./port/archive.ts";
import {
  announce,
  appendToArchive,
  consume,
  insert,
  type NewRecord,
  put,
  remove,
  removeGroup,
  replace,
} from "./port/operations.ts";
import type {
  Collection,
  Operation,
  RecordReader,
  RecordRevision,
  RecordSelection,
  Records,
  ReplaceOptions,
  Stored,
} from "./port/records.ts";
import { storeUnavailableProblem } from "./port/unavailable.ts";
import { isStorableName } from "./port/values.ts";

/**
 * Maximum number of attempts of a transaction. An attempt fails only because another commit changed
 * what it had read, so this many transactions that start together on the same records all succeed.
 */
const MAX_ATTEMPTS = 250;

/** Number of attempts that follow each other without a pause. */
const PROMPT_ATTEMPTS = 3;

/**
 * Maximum pause before an attempt, in milliseconds. With pauses, 100 transactions that change one
 * record take half the time, because they waste fewer commits.
 */
const MAX_PAUSE_MS = 32;

/**
 * A transaction in progress. It notes what it reads: a record, the absence of a record, or the
 * records of a list. The writes take effect together, in the order of the calls, and only if
 * everything that was read is still the same. A read does not see the writes of its transaction.
 */
export interface Transaction extends RecordReader {
  /** Creates or overwrites a record. */
  put<T>(to: Collection<T>, record: NewRecord<T>): void;
  /** Creates a record that this transaction has found absent, or whose key is random. */
  insert<T>(to: Collection<T>, record: NewRecord<T>): void;
  /**
   * Changes a record that this transaction has read and not written. Members of `change` that are
   * absent stay.
   */
  update<T>(
    of: Collection<T>,
    read: RecordRevision,
    change: { readonly value: T } & ReplaceOptions,
  ): void;
  /** Notes a record that was read before the transaction: it must still be the same. */
  check<T>(of: Collection<T>, read: RecordRevision): void;
  /** Removes a record, if it exists. */
  remove(from: Collection<unknown>, key: string): void;
  /** Removes every record of a group, in all collections. */
  removeGroup(group: string): void;
  /** Consumes a single-use record that this transaction has read and found not consumed. */
  consume(of: Collection<unknown>, key: string): void;
  /** Adds a row to the archive, unless the row already exists. */
  append(row: ArchiveRow): void;
  /** Notifies the listeners of a topic in every process, once the transaction is durable. */
  announce(topic: string, text?: string): void;
}

/** Writes into a transaction. */
export type Change = (tx: Transaction) => void | Promise<void>;

/**
 * Runs a transaction and commits it. If something that it read was changed meanwhile, nothing is
 * written and the function runs again, soon or after a short random pause. It must therefore have
 * no effect but its writes: no I/O, no counting against limits, no clock. If it throws, or writes
 * nothing, nothing is committed, and what it read may be of different instants.
 *
 * @param random Draws a number from 0 to below 1, by which a pause is a part of the longest.
 * @returns What the function returned in the attempt that was committed.
 * @throws {Problem} `store_unavailable`, also when other commits interfered with every attempt.
 */
export async function transact<T>(
  records: Records,
  run: (tx: Transaction) => T | Promise<T>,
  { random = Math.random }: { readonly random?: () => number } = {},
): Promise<T> {
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts += 1) {
    if (attempts >= PROMPT_ATTEMPTS) await pause(random() * longestPauseMs(attempts));
    const tx = new BufferedTransaction(records);
    const result = await run(tx);
    if (!tx.hasWrites || (await records.commit(tx.operations()))) return result;
  }
  throw storeUnavailableProblem("Too many concurrent requests change the same records.");
}

/** The longest pause after a number of attempts, in milliseconds. It doubles with each of them. */
const longestPauseMs = (attempts: number): number =>
  Math.min(2 ** (attempts - PROMPT_ATTEMPTS), MAX_PAUSE_MS);

/**
 * Runs a transaction that is attempted once. For a worker that has decided on records that it read
 * before, and has nothing to do if one of them was changed.
 *
 * @returns Whether the transaction was committed.
 * @throws {Problem} `store_unavailable`.
 */
export async function transactOnce(records: Records, run: Change): Promise<boolean> {
  const tx = new BufferedTransaction(records);
  await run(tx);
  return records.commit(tx.operations());
}

/** A record that a change inserts or puts. */
export type WrittenRecord = Extract<Operation, { readonly kind: "insert" | "put" }>;

/** The records that a change inserts or puts without reading anything, for a dump to be loaded. */
export function recordsWrittenBy(
  records: Records,
  change: (tx: Transaction) => void,
): readonly WrittenRecord[] {
  const tx = new BufferedTransaction(records);
  change(tx);
  return tx.operations().filter((each) => each.kind === "insert" || each.kind === "put");
}

class BufferedTransaction implements Transaction {
  readonly #records: Records;
  /** What was read, by collection and key or by list. */
  readonly #checks = new Map<string, Operation>();
  readonly #writes: Operation[] = [];
  /** Records that were written, by collection and key. */
  readonly #written = new Set<string>();

  constructor(records: Records) {
    this.#records = records;
  }

  get hasWrites(): boolean {
    return this.#writes.length > 0;
  }

  /**
   * The checks of what was read, then the writes, so that one that finds a change wrote nothing.
   */
  operations(): readonly Operation[] {
    return [...this.#checks.values(), ...this.#writes];
  }

  async get<T>(from: Collection<T>, key: string): Promise<Stored<T> | undefined> {
    const stored = await this.#records.get(from, key);
    const at = { collection: from.name, key };
    this.#note(
      [from.name, key],
      stored === undefined
        ? { kind: "checkAbsent", ...at }
        : { kind: "check", ...at, revision: stored.revision },
    );
    return stored;
  }

  async list<T>(from: Collection<T>, selection: RecordSelection): Promise<readonly Stored<T>[]> {
    const listed = await this.#records.list(from, selection);
    const { group, after = 0, limit } = selection;
    this.#note([from.name, group ?? "", after, limit], {
      kind: "checkList",
      collection: from.name,
      ...(group !== undefined && { group }),
      after,
      count: listed.length,
      newest: listed.at(-1)?.revision ?? after,
      isWhole: listed.length < limit,
    });
    return listed;
  }

  put<T>(to: Collection<T>, record: NewRecord<T>): void {
    this.#written.add(idOf([to.name, record.key]));
    this.#writes.push(put(to, record));
  }

  insert<T>(to: Collection<T>, record: NewRecord<T>): void {
    this.#written.add(idOf([to.name, record.key]));
    this.#writes.push(insert(to, record));
  }

  update<T>(
    of: Collection<T>,
    read: RecordRevision,
    change: { readonly value: T } & ReplaceOptions,
  ): void {
    const id = idOf([of.name, read.key]);
    if (this.#written.has(id)) throw new Error(`${of.name} ${read.key} was written before`);
    this.check(of, read);
    this.#written.add(id);
    this.#writes.push(replace(of, read, change));
  }

  check<T>({ name }: Collection<T>, { key, revision }: RecordRevision): void {
    this.#note([name, key], { kind: "check", collection: name, key, revision });
  }

  remove(from: Collection<unknown>, key: string): void {
    this.#written.add(idOf([from.name, key]));
    this.#writes.push(remove(from, key));
  }

  removeGroup(group: string): void {
    this.#writes.push(removeGroup(group));
  }

  consume(of: Collection<unknown>, key: string): void {
    this.#written.add(idOf([of.name, key]));
    this.#writes.push(consume(of, key));
  }

  append(row: ArchiveRow): void {
    this.#writes.push(appendToArchive(row));
  }

  announce(topic: string, text?: string): void {
    this.#writes.push(announce(topic, text));
  }

  /**
   * Notes the first reading. If a second one has another result, the check of the first one fails.
   * No record can have a name that cannot be stored, so nothing needs to be checked.
   */
  #note(place: readonly (string | number)[], check: Operation): void {
    const id = idOf(place);
    const isStorable = place.every((part) => typeof part === "number" || isStorableName(part));
    if (isStorable && !this.#checks.has(id)) this.#checks.set(id, check);
  }
}

const idOf = (place: readonly (string | number)[]): string => JSON.stringify(place);
