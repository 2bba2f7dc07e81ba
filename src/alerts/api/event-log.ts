import type { Scope } from "../../access/scopes.ts";
import { redactEventBody } from "../../answers/event.ts";
import type { Vault } from "../../keys/vault.ts";
import { Problem } from "../../lib/problem.ts";
import type { Archive, ArchiveRow, ArchiveSelection } from "../../store/port/archive.ts";
import { archivePages } from "../../store/port/read-all.ts";
import type { Records } from "../../store/port/records.ts";
import { eventSubject, type OwnerIdentity, ownerKey } from "../alert.ts";
import {
  EVENT_ARCHIVE_KIND,
  EVENT_RETENTION_MS,
  EVENTS_TOPIC,
  type EventRowBody,
  messageIdTimeMs,
} from "../delivery/delivery.ts";

/**
 * Maximum number of rows read for one page. More rows than events are read when the page is
 * filtered by alert.
 */
const MAX_SCANNED = 2_000;

/**
 * Pattern of a position: the `at` of an event row, in milliseconds since the epoch. A cursor is a
 * position, or one that version 1.0.0 encrypted.
 */
const POSITION = /^\d{1,15}$/;

/** A caller that reads events. */
interface EventReader extends OwnerIdentity {
  readonly scopes: ReadonlySet<Scope>;
}

/** Dependencies of the functions that read events. */
interface EventLogDependencies {
  readonly archive: Archive;
  readonly records: Records;
  /** Decrypts cursors of version 1.0.0. */
  readonly vault: Vault;
  readonly now: () => Date;
}

/** An event in the form in which a stream sends it. */
export interface LoggedEvent {
  /** Cursor of the event. Reading continues after this event. */
  readonly cursor: string;
  readonly type: string;
  /** The event as a single line of JSON. */
  readonly body: string;
}

/** Consecutive events of one reader. */
export interface LoggedEventPage {
  readonly events: readonly LoggedEvent[];
  /** Position from which to continue. */
  readonly position: string;
  /** Whether more events are already available. */
  readonly hasMore: boolean;
}

/** The event log, with the events of all alerts. Event streams read new events from it. */
export interface EventLog {
  /**
   * The first events after a cursor or position, oldest first, reduced to the data that the
   * reader's scopes allow.
   *
   * @throws {Problem} `invalid_request` when the cursor is invalid.
   */
  after(reader: EventReader, cursor: string, limit: number): Promise<LoggedEventPage>;
  /** The cursor of the end of the log, after all existing events. */
  end(reader: EventReader): Promise<string>;
  /** Listens for new events of any owner. @returns A function that stops listening. */
  onNewEvents(listener: () => void): () => void;
}

/** Creates the event log that reads from the given store. */
export function createEventLog(source: EventLogDependencies): EventLog {
  return {
    async after(reader, cursor, limit) {
      const { events, reached, hasMore } = await readOwnedPage(source, reader, { cursor, limit });
      return {
        events: events.map((event) => ({ ...event, cursor: cursorOf(event) })),
        position: String(reached),
        hasMore,
      };
    },
    end: (reader) => readLatestEventCursor(source, reader),
    onNewEvents: (listener) => source.records.onAnnounce(EVENTS_TOPIC, () => listener()),
  };
}

/** Selection of a page of events. */
export interface EventQuery {
  /**
   * Returns only events after this cursor. When absent, the page starts with the oldest event of
   * the last 30 days.
   */
  readonly cursor: string | undefined;
  /**
   * Earliest instant of an event, in milliseconds since the epoch; ignored when there is a cursor.
   */
  readonly since?: number | undefined;
  /** Returns only events of this alert. */
  readonly alertId?: string | undefined;
  readonly limit: number;
}

/** A page of events, oldest first. */
export interface EventPage {
  readonly events: readonly AlertEvent[];
  /** Cursor from which to continue, also if no event exists yet. */
  readonly cursor: string;
  /** Whether more events are already available. */
  readonly hasMore: boolean;
}

/** The cursor of an event: its instant as a decimal number. */
const cursorOf = ({ at }: Pick<AlertEvent, "at">): string => String(at);

/**
 * A page of the events of a reader's alerts, reduced to the data that the reader's scopes allow.
 *
 * @throws {Problem} `invalid_request` for an invalid cursor.
 */
export async function readEventPage(
  source: EventLogDependencies,
  reader: EventReader,
  query: EventQuery,
): Promise<EventPage> {
  const { events, reached, hasMore } = await readOwnedPage(source, reader, query);
  return { events, cursor: String(reached), hasMore };
}

/**
 * The newest events of an alert, newest first, reduced to the data that the reader's scopes allow.
 *
 * @param limit Maximum number of events.
 */
export async function readNewestEvents(
  source: EventLogDependencies,
  reader: EventReader,
  { alertId, limit }: { readonly alertId: string; readonly limit: number },
): Promise<readonly AlertEvent[]> {
  const events: AlertEvent[] = [];
  let scanned = 0;
  for await (const event of readEvents(source, { owner: reader, from: 0, order: "newest" })) {
    if (events.length === limit || scanned === MAX_SCANNED) break;
    scanned += 1;
    if (event.alertId === alertId) {
      events.push({ ...event, body: redactEventBody(event.body, reader.scopes) });
    }
  }
  return events;
}

/** Encryption context that binds a cursor to its reader. */
const cursorContext = (reader: OwnerIdentity): string => `event-cursor:${ownerKey(reader)}`;

/**
 * The position of a plain or encrypted cursor, in milliseconds since the epoch.
 *
 * @throws {Problem} `invalid_request` for an invalid cursor.
 */
function positionOf(
  { vault }: EventLogDependencies,
  reader: OwnerIdentity,
  cursor: string,
): number {
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

/** Events of a reader, and the position up to which the log was read. */
interface OwnedEventPage {
  readonly events: readonly AlertEvent[];
  /** Position of the last row that was read, else the one before the first that was asked for. */
  readonly reached: number;
  readonly hasMore: boolean;
}

async function readOwnedPage(
  source: EventLogDependencies,
  reader: EventReader,
  { cursor, since = 0, alertId, limit }: EventQuery,
): Promise<OwnedEventPage> {
  const from = cursor === undefined ? since : positionOf(source, reader, cursor) + 1;
  const events: AlertEvent[] = [];
  let scanned = 0;
  let reached = Math.max(0, from - 1);
  for await (const event of readEvents(source, { owner: reader, from, order: "oldest" })) {
    if (scanned === MAX_SCANNED) return { events, reached, hasMore: true };
    if (alertId === undefined || event.alertId === alertId) {
      if (events.length === limit) return { events, reached, hasMore: true };
      events.push({ ...event, body: redactEventBody(event.body, reader.scopes) });
    }
    scanned += 1;
    reached = event.at;
  }
  return { events, reached, hasMore: false };
}

/** The cursor of the end of an owner's log, after all existing events. */
export async function readLatestEventCursor(
  source: EventLogDependencies,
  owner: OwnerIdentity,
): Promise<string> {
  let end = 0;
  for await (const newest of readEvents(source, { owner, from: 0, order: "newest" })) {
    end = newest.at;
    break;
  }
  return String(end);
}

/** Number of rows read per query. */
const EVENT_PAGE_SIZE = 500;

/** An event row with its id and instant. */
export interface AlertEvent extends EventRowBody {
  /** The `webhook-id` of the event's messages (Standard Webhooks). */
  readonly id: string;
  /** Milliseconds since the epoch, strictly increasing over the whole log. */
  readonly at: number;
}

/** Selection of event rows. */
interface EventSelection extends Pick<ArchiveSelection, "order"> {
  /** The owner of the alerts. */
  readonly owner: OwnerIdentity;
  /** Earliest instant, inclusive, in milliseconds since the epoch. No row is older than 30 days. */
  readonly from: number;
}

/** Reads events lazily, page by page, while the consumer iterates. */
export async function* readEvents(
  { archive, now }: EventLogDependencies,
  { owner, from, order }: EventSelection,
): AsyncGenerator<AlertEvent> {
  const oldest = now().getTime() - EVENT_RETENTION_MS;
  const selection = { subject: eventSubject(owner), from: Math.max(from, oldest), order };
  for await (const page of archivePages(archive, EVENT_ARCHIVE_KIND, selection, EVENT_PAGE_SIZE)) {
    yield* page.map(eventOf);
  }
}

/** Finds an owner's event by id; `undefined` when it does not exist or is older than 30 days. */
export async function findEvent(
  { archive, now }: Pick<EventLogDependencies, "archive" | "now">,
  owner: EventSelection["owner"],
  id: string,
): Promise<AlertEvent | undefined> {
  const at = messageIdTimeMs(id);
  if (at === undefined || at < now().getTime() - EVENT_RETENTION_MS) return undefined;
  const selection = { from: at, to: at, order: "oldest", limit: 1 } as const;
  const [row] = await archive.read(EVENT_ARCHIVE_KIND, {
    subject: eventSubject(owner),
    ...selection,
  });
  return row?.id === id ? eventOf(row) : undefined;
}

const eventOf = ({ id, at, body }: ArchiveRow): AlertEvent => ({
  ...(body as EventRowBody),
  id,
  at,
});
