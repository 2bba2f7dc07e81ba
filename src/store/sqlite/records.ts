import { setImmediate } from "node:timers/promises";
import type {
  Collection,
  DueRecordSelection,
  Operation,
  RecordRevision,
  RecordSelection,
  Records,
  Stored,
} from "../port/records.ts";
import { isStorableName, toStorableInstant } from "../port/values.ts";
import type { OnWarning, StoreGate } from "./gate.ts";
import type { GroupCommit } from "./group-commit.ts";
import { storedOf } from "./record-row.ts";
import { commitStepOf, type StoreTables } from "./steps.ts";

/** Dependencies of `SqliteRecords`. */
interface RecordsOptions {
  /** Returns the current tables, which a load replaces. */
  readonly tables: () => StoreTables;
  readonly gate: StoreGate;
  readonly commits: GroupCommit;
  /** The current time, in milliseconds since the epoch. */
  readonly now: () => number;
  readonly onWarning: OnWarning;
}

type Listener = (text: string) => void;

/**
 * Implements the interface `Records` on the record table. Its methods are own properties, because
 * callers wrap an instance by spreading it.
 */
export class SqliteRecords implements Records {
  readonly #options: RecordsOptions;
  readonly #listeners = new Map<string, Set<{ readonly listener: Listener }>>();

  constructor(options: RecordsOptions) {
    this.#options = options;
  }

  readonly get = async <T>(from: Collection<T>, key: string): Promise<Stored<T> | undefined> => {
    const { gate, tables, now } = this.#options;
    gate.checkReadable();
    if (!isStorableName(key)) return undefined;
    const row = gate.answer(() => tables().records.find(from.name, key, now()));
    return row && storedOf<T>(row);
  };

  readonly list = async <T>(
    from: Collection<T>,
    selection: RecordSelection,
  ): Promise<readonly Stored<T>[]> => {
    const { gate, tables, now } = this.#options;
    const { group, after = 0, limit } = selection;
    const rows = gate.answer(() =>
      group === undefined
        ? tables().records.list(from.name, after, limit, now())
        : tables().records.listGroup(group, { collection: from.name, after, limit, now: now() }),
    );
    // Yields to the event loop, so that a caller that reads page after page does not block it.
    await setImmediate();
    return rows.map((row) => storedOf<T>(row));
  };

  readonly listRevisions = async (
    { name }: Collection<unknown>,
    { after = 0, limit }: Omit<RecordSelection, "group">,
  ): Promise<readonly RecordRevision[]> => {
    const { gate, tables, now } = this.#options;
    const found = gate.answer(() => tables().records.listRevisions(name, after, limit, now()));
    // Yields to the event loop, like `list`.
    await setImmediate();
    return found;
  };

  readonly commit = async (operations: readonly Operation[]): Promise<boolean> => {
    const { gate, tables, commits, now } = this.#options;
    gate.checkReadable();
    const steps = operations.map(commitStepOf);
    const announced = operations.filter((operation) => operation.kind === "announce");
    const held = await commits.add(() => {
      const at = now();
      return steps.every((step) => step(tables(), at));
    });
    if (held) for (const { topic, text } of announced) this.#notify(topic, text);
    return held;
  };

  readonly claimDue = async <T>(
    from: Collection<T>,
    selection: DueRecordSelection,
  ): Promise<readonly Stored<T>[]> => {
    const { gate, tables, commits, now } = this.#options;
    gate.checkReadable();
    const { limit, except } = selection;
    const leaseMs = toStorableInstant(selection.leaseMs);
    const query = { limit, except: new Set(except) };
    return commits.add(() => {
      const { records } = tables();
      const at = now();
      const dueAt = toStorableInstant(at + leaseMs);
      return records
        .due(from.name, { ...query, now: at })
        .map((row) => storedOf<T>(records.change(row, { dueAt })));
    });
  };

  readonly purgeExpired = async (limit: number): Promise<number> => {
    const { gate, tables, commits, now } = this.#options;
    gate.checkReadable();
    return commits.add(() => tables().records.removeExpired(now(), limit));
  };

  readonly onAnnounce = (topic: string, listener: Listener): (() => void) => {
    const added = { listener };
    this.#listeners.set(topic, (this.#listeners.get(topic) ?? new Set()).add(added));
    return () => void this.#listeners.get(topic)?.delete(added);
  };

  #notify(topic: string, text: string): void {
    for (const { listener } of this.#listeners.get(topic) ?? []) {
      try {
        listener(text);
      } catch (error) {
        this.#options.onWarning(`A listener of "${topic}" failed.`, error);
      }
    }
  }
}
