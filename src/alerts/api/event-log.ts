import { readableBody } from "../../answers/event.ts";
import type { Scope } from "../../auth/scopes.ts";
import { Problem } from "../../problem.ts";
import type { Vault } from "../../store/keys/vault.ts";
import type { Archive, ArchiveRow, ArchiveSelection } from "../../store/port/archive.ts";
import { archivePages } from "../../store/port/read-all.ts";
import type { Records } from "../../store/port/records.ts";
import { alerts, eventSubject, type OwnerIdentity, ownerGroup, ownerKey } from "../alert.ts";
import {
  EVENT_KIND,
  EVENTS_KEPT_MS,
  EVENTS_TOPIC,
  type EventRow,
  messageTime,
} from "../delivery/delivery.ts";

/** Maximum number of rows read for one page: a filter by alert skips rows, and so do rows of
 *  earlier versions. */
const MAX_SCANNED = 2_000;

/** A position is `at` of an event row, milliseconds since the epoch. A cursor is a position, or a sealed
 *  one (`sealedCursor`). */
const POSITION = /^\d{1,15}$/;

/** Digits of a sealed position, so that all are equally long. */
const POSITION_DIGITS = 15;

/** A caller that reads events. */
export interface EventReader extends OwnerIdentity {
  readonly scopes: ReadonlySet<Scope>;
}

/** Where events are read from. */
export interface EventSource {
  readonly archive: Archive;
  readonly records: Records;
  /** Seals cursors. */
  readonly vault: Vault;
  readonly now: () => Date;
}

/** An event as streams send it. */
export interface LoggedEvent {
  /** Cursor of the event; reading continues after it. */
  readonly cursor: string;
  readonly type: string;
  /** One line of JSON. */
  readonly body: string;
}

/** Consecutive events of a reader. */
export interface LoggedPage {
  readonly events: readonly LoggedEvent[];
  /** Where to continue; beyond the last event when events of other clients follow it. It must not
   *  be shown to the reader, because it would reveal when those events occurred. */
  readonly position: string;
  /** Whether more events exist already. */
  readonly hasMore: boolean;
}

/** The events of all alerts, as streams follow them. */
export interface EventLog {
  /**
   * The first events after a cursor or position, oldest first, cut down to what the reader may read.
   *
   * @throws {Problem} `invalid_request` when the cursor is invalid.
   */
  after(reader: EventReader, cursor: string, limit: number): Promise<LoggedPage>;
  /** The cursor after all events so far. */
  end(reader: EventReader): Promise<string>;
  /** Listens for new events of any owner. @returns A function that stops listening. */
  onNewEvents(listener: () => void): () => void;
}

/** The event log of a store. */
export function eventLogOf(source: EventSource): EventLog {
  return {
    async after(reader, cursor, limit) {
      const { events, reached, hasMore } = await ownPage(source, reader, { cursor, limit });
      return {
        events: events.map((event) => ({ ...event, cursor: cursorOf(event) })),
        position: reached === undefined ? cursor : String(reached),
        hasMore,
      };
    },
    end: (reader) => endOfEvents(source, reader),
    onNewEvents: (listener) => source.records.onAnnounce(EVENTS_TOPIC, () => listener()),
  };
}

/** Selects a page of events. */
export interface EventQuery {
  /** Events after this one; absent for events from the oldest on, 30 days back. */
  readonly cursor: string | undefined;
  /** Without a cursor: events from this instant on, milliseconds since the epoch. */
  readonly since?: number | undefined;
  /** Only events of this alert. */
  readonly alertId?: string | undefined;
  readonly limit: number;
}

/** A page of events, oldest first. */
export interface EventPage {
  readonly events: readonly AlertEvent[];
  /** Cursor to continue from, also when no more events exist yet; `undefined`: start at the
   *  beginning. */
  readonly cursor: string | undefined;
  /** Whether more events exist already. */
  readonly hasMore: boolean;
}

/** The cursor of an event among those of its owner. */
const cursorOf = ({ at }: Pick<AlertEvent, "at">): string => String(at);

/** A page of the events of a reader's alerts, cut down to the reader's scopes. @throws {Problem}
 *  `invalid_request` for an invalid cursor. */
export async function eventPage(
  source: EventSource,
  reader: EventReader,
  query: EventQuery,
): Promise<EventPage> {
  const { events, reached, hasMore } = await ownPage(source, reader, query);
  if (!readsAmongOthers(reader)) {
    return { events, cursor: reached === undefined ? query.cursor : String(reached), hasMore };
  }
  const start = query.cursor === undefined ? Math.max(0, (query.since ?? 0) - 1) : undefined;
  const position = reached ?? start ?? positionOf(source, reader, query.cursor ?? "");
  return { events, cursor: sealedCursor(source, reader, position), hasMore };
}

/** The newest events of an alert, newest first, cut down to the reader's scopes. @param limit
 *  Maximum number of events. */
export async function newestEvents(
  source: EventSource,
  reader: EventReader,
  { alertId, limit }: { readonly alertId: string; readonly limit: number },
): Promise<readonly AlertEvent[]> {
  const isOwn = ownEvents(source, reader);
  const events: AlertEvent[] = [];
  let scanned = 0;
  for await (const event of readEvents(source, { owner: reader, from: 0, order: "newest" })) {
    if (events.length === limit || scanned === MAX_SCANNED) break;
    scanned += 1;
    if (event.alertId === alertId && (await isOwn(event))) {
      events.push({ ...event, body: readableBody(event.body, reader.scopes) });
    }
  }
  return events;
}

/** Whether rows of earlier versions may mix the reader's events with those of others: those versions
 *  stored the events of all clients of a person under one subject. */
const readsAmongOthers = ({ kind }: OwnerIdentity): boolean => kind === "user";

/** Names the reader that a sealed cursor is for. */
const cursorContext = (reader: OwnerIdentity): string => `event-cursor:${ownerKey(reader)}`;

/** A cursor that reveals nothing to the reader: its position can be the instant of another client's
 *  event. It is encrypted, and differs each time, so that it does not even reveal whether there was
 *  such an event. */
const sealedCursor = ({ vault }: EventSource, reader: OwnerIdentity, position: number): string =>
  vault.seal(String(position).padStart(POSITION_DIGITS, "0"), cursorContext(reader));

/** @throws {Problem} `invalid_request` */
function positionOf({ vault }: EventSource, reader: OwnerIdentity, cursor: string): number {
  if (POSITION.test(cursor)) return Number(cursor);
  try {
    return Number(vault.open(cursor, cursorContext(reader)));
  } catch {
    throw new Problem("invalid_request", {
      detail: "cursor: it is not one of these events.",
      next: "Send nextCursor as it came, or none.",
    });
  }
}

/** Events of a reader, and how far the log was read. */
interface OwnPage {
  readonly events: readonly AlertEvent[];
  /** Position of the last row that was read, of any client; `undefined` if none was. */
  readonly reached: number | undefined;
  readonly hasMore: boolean;
}

async function ownPage(
  source: EventSource,
  reader: EventReader,
  { cursor, since = 0, alertId, limit }: EventQuery,
): Promise<OwnPage> {
  const from = cursor === undefined ? since : positionOf(source, reader, cursor) + 1;
  const isOwn = ownEvents(source, reader);
  const events: AlertEvent[] = [];
  let scanned = 0;
  let reached: number | undefined;
  for await (const event of readEvents(source, { owner: reader, from, order: "oldest" })) {
    if (scanned === MAX_SCANNED) return { events, reached, hasMore: true };
    const isAsked = alertId === undefined || event.alertId === alertId;
    if (isAsked && (await isOwn(event))) {
      // Only an event of the reader's own makes another page, so that `hasMore` reveals none of others.
      if (events.length === limit) return { events, reached, hasMore: true };
      events.push({ ...event, body: readableBody(event.body, reader.scopes) });
    }
    scanned += 1;
    reached = event.at;
  }
  return { events, reached, hasMore: false };
}

/** Removes the events of the person's other clients, which rows of earlier versions contain. */
function ownEvents(
  { records }: EventSource,
  reader: OwnerIdentity,
): (event: AlertEvent) => Promise<boolean> {
  if (!readsAmongOthers(reader)) return async () => true;
  const clientIds = new Map<string, string | undefined>();
  return async ({ alertId, clientId }) => {
    if (clientId !== undefined) return clientId === reader.clientId;
    // Old rows name no client: the alert does, as long as it exists.
    if (!clientIds.has(alertId)) {
      clientIds.set(alertId, (await records.get(alerts, alertId))?.value.owner.clientId);
    }
    return clientIds.get(alertId) === reader.clientId;
  };
}

/** The cursor after all events of an owner so far. */
export async function endOfEvents(source: EventSource, owner: OwnerIdentity): Promise<string> {
  let end = 0;
  for await (const newest of readEvents(source, { owner, from: 0, order: "newest" })) {
    end = newest.at;
    break;
  }
  return readsAmongOthers(owner) ? sealedCursor(source, owner, end) : String(end);
}

/** Rows that are read at once. */
const PAGE = 500;

/** An event row. */
export interface AlertEvent extends EventRow {
  /** The webhook id. */
  readonly id: string;
  /** Milliseconds since the epoch; rises from event to event of the whole log. */
  readonly at: number;
}

/** Selects event rows. */
export interface EventSelection extends Pick<ArchiveSelection, "order"> {
  /** The owner of the alerts. For a client of a person, rows of earlier versions are those of all of the
   *  person's clients. */
  readonly owner: OwnerIdentity;
  /** Earliest instant, inclusive; no row is older than 30 days. */
  readonly from: number;
}

/** Subjects of the events of an owner: its own and, for a person, the one of earlier versions, which has
 *  no rows 30 days after the upgrade. */
const subjectsOf = (owner: OwnerIdentity): readonly string[] => [
  ...new Set([eventSubject(owner), ownerGroup(owner)]),
];

/** Reads events page by page, as long as the consumer asks for more. */
export async function* readEvents(
  source: EventSource,
  { owner, from, order }: EventSelection,
): AsyncGenerator<AlertEvent> {
  const opened = subjectsOf(owner).map(async (subject) => {
    const rows = readSubject(source, { subject, from, order });
    return { rows, head: (await rows.next()).value };
  });
  const sign = order === "oldest" ? 1 : -1;
  for (let open = await Promise.all(opened); ; ) {
    open = open
      .filter(({ head }) => head !== undefined)
      .toSorted((a, b) => sign * ((a.head?.at ?? 0) - (b.head?.at ?? 0)));
    const [next] = open;
    if (next?.head === undefined) return;
    yield next.head;
    next.head = (await next.rows.next()).value;
  }
}

async function* readSubject(
  { archive, now }: EventSource,
  { from, ...rest }: Pick<ArchiveSelection, "subject" | "order"> & { readonly from: number },
): AsyncGenerator<AlertEvent, undefined> {
  const oldest = now().getTime() - EVENTS_KEPT_MS;
  const selection = { ...rest, from: Math.max(from, oldest) };
  for await (const page of archivePages(archive, EVENT_KIND, selection, PAGE)) {
    yield* page.map(eventOf);
  }
}

/** The event of an owner with an id; `undefined` when the last 30 days have none. */
export async function findEvent(
  source: EventSource,
  owner: EventSelection["owner"],
  id: string,
): Promise<AlertEvent | undefined> {
  const at = messageTime(id);
  if (at === undefined) return findEarlierEvent(source, owner, id);
  const from = Math.max(at, source.now().getTime() - EVENTS_KEPT_MS);
  const selection = { from, to: at, order: "oldest", limit: 1 } as const;
  const found = await Promise.all(
    subjectsOf(owner).map((subject) => source.archive.read(EVENT_KIND, { subject, ...selection })),
  );
  const row = found.flat().find((each) => each.id === id);
  return row && eventOf(row);
}

/** An event of an earlier version, whose id contains no time. All of them are older than the first
 *  event whose id does, and 30 days after the upgrade there are none. */
async function findEarlierEvent(
  source: EventSource,
  owner: EventSelection["owner"],
  id: string,
): Promise<AlertEvent | undefined> {
  for await (const event of readEvents(source, { owner, from: 0, order: "oldest" })) {
    if (messageTime(event.id) !== undefined) return undefined;
    if (event.id === id) return event;
  }
  return undefined;
}

const eventOf = ({ id, at, body }: ArchiveRow): AlertEvent => ({ ...(body as EventRow), id, at });
