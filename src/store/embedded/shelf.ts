import { type Agenda, createAgenda, type DueQuery } from "./agenda.ts";
import type { Entry } from "./entry.ts";

/** What a record becomes; no entry: it goes. */
export interface Change {
  readonly collection: string;
  readonly key: string;
  readonly entry: Entry | undefined;
}

/** Records by name and by group, expired ones too. */
export interface Layer {
  /** The newest revision that was given. */
  revision: number;
  get(collection: string, key: string): Entry | undefined;
  /** The entries of a group, oldest change first. */
  members(group: string): Iterable<Entry>;
  /** An entry must have a higher revision than every entry before it. */
  write(change: Change): void;
}

/** All records of a store, in memory. */
export interface Shelf extends Layer {
  readonly size: number;
  /** The entries of a collection, oldest change first. */
  inCollection(collection: string): Iterable<Entry>;
  /** The entries of a collection that are due, the longest due first. */
  due(collection: string, query: DueQuery): readonly Entry[];
  /** Every entry, by revision. */
  all(): readonly Entry[];
}

/** Changes that have not happened yet, over a layer that does not know of them. */
export interface Draft extends Layer {
  readonly isEmpty: boolean;
  /** The last change of each record, in the order they were made. */
  changes(): Iterable<Change>;
}

/** An empty shelf. */
export function createShelf(): Shelf {
  const collections = new Map<string, Map<string, Entry>>();
  const groups = createGroups();
  /** Only of collections that were asked for what is due. */
  const agendas = new Map<string, Agenda>();
  const inCollection = (name: string): Iterable<Entry> => collections.get(name)?.values() ?? [];
  const agendaOf = (name: string): Agenda => {
    const agenda = agendas.get(name) ?? createAgenda(inCollection(name));
    agendas.set(name, agenda);
    return agenda;
  };
  const written = ({ collection, key, entry }: Change): void => {
    const entries = collections.get(collection) ?? new Map<string, Entry>();
    collections.set(collection, entries);
    const previous = entries.get(key);
    // A map keeps the order in which keys came: taken out and put in again, a key is the newest.
    entries.delete(key);
    agendas.get(collection)?.change(previous, entry);
    if (previous !== undefined) groups.remove(previous);
    if (entry === undefined) return;
    entries.set(key, entry);
    groups.add(entry);
  };
  return {
    revision: 0,
    get size() {
      return [...collections.values()].reduce((sum, { size }) => sum + size, 0);
    },
    get: (collection, key) => collections.get(collection)?.get(key),
    members: (group) => groups.members(group),
    write: written,
    inCollection,
    due: (collection, query) => agendaOf(collection).due(query),
    all: () => [...collections.values()].flatMap((entries) => [...entries.values()]).sort(older),
  };
}

/** A draft without changes. */
export function createDraft(base: Layer): Draft {
  const changes = new Map<string, Change>();
  return {
    revision: base.revision,
    get isEmpty() {
      return changes.size === 0;
    },
    get(collection, key) {
      const change = changes.get(placeOf(collection, key));
      return change === undefined ? base.get(collection, key) : change.entry;
    },
    *members(group) {
      for (const entry of base.members(group)) {
        if (!changes.has(placeOf(entry.collection, entry.stored.key))) yield entry;
      }
      for (const { entry } of changes.values()) {
        if (entry?.stored.groups.includes(group)) yield entry;
      }
    },
    write(change) {
      const place = placeOf(change.collection, change.key);
      changes.delete(place);
      changes.set(place, change);
    },
    changes: () => changes.values(),
  };
}

/** Makes the changes of a draft happen. */
export function applyDraft(draft: Draft, to: Layer): void {
  for (const change of draft.changes()) to.write(change);
  to.revision = draft.revision;
}

/** Order by revision. */
export function older(a: Entry, b: Entry): number {
  return a.stored.revision - b.stored.revision;
}

function placeOf(collection: string, key: string): string {
  return `${collection}\0${key}`;
}

function createGroups() {
  const members = new Map<string, Set<Entry>>();
  return {
    members: (group: string): Iterable<Entry> => members.get(group) ?? [],
    add(entry: Entry): void {
      for (const group of entry.stored.groups) {
        members.set(group, (members.get(group) ?? new Set()).add(entry));
      }
    },
    remove(entry: Entry): void {
      for (const group of entry.stored.groups) {
        const entries = members.get(group);
        entries?.delete(entry);
        if (entries?.size === 0) members.delete(group);
      }
    },
  };
}
