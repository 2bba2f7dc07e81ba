import type { DueSelection } from "../records.ts";
import { type Entry, isAlive } from "./entry.ts";

/** Which of the records that are due are wanted. */
export interface DueQuery extends Pick<DueSelection, "limit"> {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Records of any of these groups are passed over. */
  readonly except: ReadonlySet<string>;
}

/** The records of one collection that fall due. */
export interface Agenda {
  /** Takes note of what a record was and has become. */
  change(previous: Entry | undefined, entry: Entry | undefined): void;
  /** Records that are due and have not expired, the longest due first. */
  due(query: DueQuery): readonly Entry[];
}

/** The soonest due first. */
type Lane = Entry[];

/**
 * Records of the same groups share a lane. So many that are passed over cost as much as one of
 * them does, and what a question costs follows the number of lanes, not that of records.
 */
export function createAgenda(entries: Iterable<Entry>): Agenda {
  const lanes = new Map<string, Lane>();
  const add = (entry: Entry): void => {
    const lane = lanes.get(nameOf(entry)) ?? [];
    lanes.set(nameOf(entry), lane);
    lane.splice(placeIn(lane, entry), 0, entry);
  };
  const remove = (entry: Entry): void => {
    const lane = lanes.get(nameOf(entry));
    lane?.splice(placeIn(lane, entry), 1);
    if (lane?.length === 0) lanes.delete(nameOf(entry));
  };
  for (const entry of [...entries].filter(fallsDue).sort(sooner)) add(entry);
  return {
    change(previous, entry) {
      if (previous !== undefined && fallsDue(previous)) remove(previous);
      if (entry !== undefined && fallsDue(entry)) add(entry);
    },
    due: (query) =>
      soonestLanes([...lanes.values()], query)
        .flatMap((lane) => dueIn(lane, query))
        .sort(sooner)
        .slice(0, query.limit),
  };
}

function fallsDue({ stored }: Entry): boolean {
  return stored.dueAt !== undefined;
}

/** Order in which records are handed out. */
function sooner({ stored: a }: Entry, { stored: b }: Entry): number {
  return (a.dueAt ?? 0) - (b.dueAt ?? 0) || a.revision - b.revision;
}

/** No group has a NUL in it. */
function nameOf({ stored }: Entry): string {
  return stored.groups.join("\0");
}

/** Where an entry stands in a lane, or would stand. */
function placeIn(lane: Lane, entry: Entry): number {
  let [from, to] = [0, lane.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (sooner(lane[middle] as Entry, entry) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Each has a wanted record at least, so that no more of them are needed than records. */
function soonestLanes(lanes: readonly Lane[], query: DueQuery): readonly Lane[] {
  return lanes
    .filter((lane) => !isPassedOver(lane, query.except))
    .flatMap((lane) => dueIn(lane, { ...query, limit: 1 }).map((first) => ({ lane, first })))
    .sort((a, b) => sooner(a.first, b.first))
    .slice(0, query.limit)
    .map(({ lane }) => lane);
}

function isPassedOver([first]: Lane, except: ReadonlySet<string>): boolean {
  return first?.stored.groups.some((group) => except.has(group)) === true;
}

function dueIn(lane: Lane, { now, limit }: DueQuery): readonly Entry[] {
  const found: Entry[] = [];
  for (const entry of lane) {
    if (found.length === limit || (entry.stored.dueAt ?? 0) > now) break;
    if (isAlive(entry, now)) found.push(entry);
  }
  return found;
}
