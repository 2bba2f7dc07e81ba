import { setImmediate } from "node:timers/promises";
import type {
  Collection,
  DueSelection,
  Operation,
  Records,
  Selection,
  Stored,
} from "../records.ts";
import type { DueQuery } from "./agenda.ts";
import { changedEntry, checkInstant, type Entry, isAlive } from "./entry.ts";
import type { Files, Holder } from "./files.ts";
import type { Gate, OnWarning } from "./gate.ts";
import type { Job, Pump } from "./pump.ts";
import type { Draft, Shelf } from "./shelf.ts";
import { stepOf, writeNext } from "./steps.ts";

/** What the records are kept with. */
export interface RecordsOptions {
  readonly holder: Holder;
  readonly gate: Gate;
  readonly pump: Pump;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onWarning: OnWarning;
}

/** The port over memory and the pump. */
export function createRecords({ holder, gate, pump, now, onWarning }: RecordsOptions): Records {
  const topics = createTopics(onWarning);
  const shelf = (): Shelf => {
    gate.checkReadable();
    return holder.files.base.data.shelf;
  };
  return {
    async get<T>(from: Collection<T>, key: string) {
      const entry = shelf().get(from.name, key);
      return entry !== undefined && isAlive(entry, now()) ? storedOf<T>(entry) : undefined;
    },
    async list<T>(from: Collection<T>, selection: Selection) {
      const entries = selected(shelf(), { ...selection, name: from.name, now: now() });
      // Whoever reads page after page must not keep everything else waiting.
      await setImmediate();
      return entries.map(storedOf<T>);
    },
    async commit(operations) {
      gate.checkReadable();
      const steps = operations.map(stepOf);
      const announcements = operations.filter(isAnnouncement);
      const run = (draft: Draft): boolean => {
        const at = now();
        return steps.every((step) => step(draft, at));
      };
      const held = await pump.add({ reads: "memory", run });
      if (held) topics.tell(announcements);
      return held;
    },
    async claimDue<T>({ name }: Collection<T>, { limit, leaseMs, except }: DueSelection) {
      gate.checkReadable();
      const lease = { leaseMs: checkInstant(leaseMs), except: new Set(except) };
      const claimed = await pump.add(claimJob({ name, now, limit, ...lease }));
      return claimed.map(storedOf<T>);
    },
    async purgeExpired(limit) {
      gate.checkReadable();
      return await pump.add(purgeJob(now, limit));
    },
    onAnnounce: topics.listen,
  };
}

type Announcement = Extract<Operation, { kind: "announce" }>;

/** What a list shows, and of what. */
interface Listing extends Selection {
  readonly name: string;
  readonly now: number;
}

function selected(shelf: Shelf, { name, now, group, after = 0, limit }: Listing): readonly Entry[] {
  const entries: Entry[] = [];
  for (const entry of group === undefined ? shelf.inCollection(name) : shelf.members(group)) {
    if (entries.length >= limit) break;
    if (entry.collection !== name || entry.stored.revision <= after) continue;
    if (isAlive(entry, now)) entries.push(entry);
  }
  return entries;
}

function storedOf<T>({ stored }: Entry): Stored<T> {
  return stored as Stored<T>;
}

function isAnnouncement(operation: Operation): operation is Announcement {
  return operation.kind === "announce";
}

/** Which records are handed out, and until when. */
interface Claim extends Omit<DueSelection, "except"> {
  readonly name: string;
  readonly now: () => number;
  readonly except: ReadonlySet<string>;
}

function claimJob({ name, now, limit, leaseMs, except }: Claim): Job<readonly Entry[]> {
  return {
    reads: "table",
    run(draft, files) {
      const at = now();
      const dueAt = checkInstant(at + leaseMs);
      return dueKeys(files, name, { now: at, limit, except }).map((key) => {
        const entry = draft.get(name, key);
        if (entry === undefined) throw new Error("The table has a record that memory has not.");
        return writeNext(draft, (revision) => changedEntry(entry, { revision, dueAt }));
      });
    },
  };
}

/** The table answers fast what is due, memory what is due apart from some groups. */
function dueKeys({ table, base }: Files, name: string, query: DueQuery): readonly string[] {
  if (query.except.size === 0) return table.due(name, query.now, query.limit);
  return base.data.shelf.due(name, query).map(({ stored }) => stored.key);
}

function purgeJob(now: () => number, limit: number): Job<number> {
  return {
    reads: "table",
    run(draft, { table }) {
      const places = table.expired(now(), limit);
      for (const place of places) draft.write({ ...place, entry: undefined });
      return places.length;
    },
  };
}

type Listener = (text: string) => void;

function createTopics(onWarning: OnWarning) {
  const listeners = new Map<string, Set<{ readonly listener: Listener }>>();
  return {
    tell(announcements: readonly Announcement[]): void {
      for (const { topic, text } of announcements) {
        for (const { listener } of listeners.get(topic) ?? []) {
          try {
            listener(text);
          } catch (error) {
            onWarning(`A listener of "${topic}" failed.`, error);
          }
        }
      }
    },
    listen(topic: string, listener: Listener): () => void {
      const added = { listener };
      listeners.set(topic, (listeners.get(topic) ?? new Set()).add(added));
      return () => void listeners.get(topic)?.delete(added);
    },
  };
}
