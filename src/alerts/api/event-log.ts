import { setImmediate } from "node:timers/promises";
import { readableBody } from "../../answers/event.ts";
import type { Scope } from "../../auth/scopes.ts";
import { Problem } from "../../problem.ts";
import type { Archive, ArchiveRow, ArchiveSelection } from "../../store/port/archive.ts";
import type { Records } from "../../store/port/records.ts";
import { alerts, type Owner, type OwnerIdentity, ownerGroup } from "../alert.ts";
import { EVENT_KIND, EVENTS_KEPT_MS, EVENTS_TOPIC, type EventRow } from "../delivery/delivery.ts";

/** Rows that are read for one page at most. */
const MAX_SCANNED = 2_000;

/** A cursor is `at` of an event row, milliseconds since the epoch. */
const CURSOR = /^\d{1,15}$/;

/** A caller that reads events. */
export interface EventReader extends OwnerIdentity {
  readonly scopes: ReadonlySet<Scope>;
}

/** What events are read from. */
export interface EventSource {
  readonly archive: Pick<Archive, "read">;
  readonly records: Records;
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
  /** Where to continue; beyond the last event when events of other owners follow it. */
  readonly cursor: string;
  /** Whether there are more already. */
  readonly hasMore: boolean;
}

/** The events of all alerts, as streams follow them. */
export interface EventLog {
  /**
   * The first events after a cursor, oldest first, cut down to what the reader may read.
   *
   * @throws {Problem} `invalid_request` when the cursor is invalid.
   */
  after(reader: EventReader, cursor: string, limit: number): Promise<LoggedPage>;
  /** The cursor after all events so far. */
  end(reader: EventReader): Promise<string>;
  /** Listens for new events of any owner. @returns Stops listening. */
  onNews(listener: () => void): () => void;
}

/** The event log of a store. */
export function eventLogOf(source: EventSource): EventLog {
  return {
    async after(reader, cursor, limit) {
      const page = await eventPage(source, reader, { cursor, limit });
      const events = page.events.map((event) => ({ ...event, cursor: cursorOf(event) }));
      return { events, cursor: page.cursor ?? cursor, hasMore: page.hasMore };
    },
    end: (reader) => endOfEvents(source, reader),
    onNews: (listener) => source.records.onAnnounce(EVENTS_TOPIC, () => listener()),
  };
}

/** Selects a page of events. */
export interface EventQuery {
  /** Events after this one; absent: from the oldest, 30 days back. */
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
  /** Where to continue, also when there are no more yet; `undefined`: at the beginning. */
  readonly cursor: string | undefined;
  /** Whether there are more already. */
  readonly hasMore: boolean;
}

/** The cursor of an event among those of its owner. */
export const cursorOf = ({ at }: Pick<AlertEvent, "at">): string => String(at);

/** A page of the events of a reader's alerts, cut down to the reader's scopes. @throws {Problem}
 *  `invalid_request` for an invalid cursor. */
export async function eventPage(
  source: EventSource,
  reader: EventReader,
  { cursor, since = 0, alertId, limit }: EventQuery,
): Promise<EventPage> {
  const from = cursor === undefined ? since : parseCursor(cursor) + 1;
  const isOwn = ownEvents(source, reader);
  const events: AlertEvent[] = [];
  let scanned = 0;
  let reached = cursor;
  for await (const event of readEvents(source, { owner: reader, from, order: "oldest" })) {
    if (events.length === limit || scanned === MAX_SCANNED) {
      return { events, cursor: reached, hasMore: true };
    }
    const isAsked = alertId === undefined || event.alertId === alertId;
    if (isAsked && (await isOwn(event))) {
      events.push({ ...event, body: readableBody(event.body, reader.scopes) });
    }
    scanned += 1;
    reached = cursorOf(event);
  }
  return { events, cursor: reached, hasMore: false };
}

/** Filters out the events of the same person's other clients. */
function ownEvents(
  { records }: EventSource,
  reader: OwnerIdentity,
): (event: AlertEvent) => Promise<boolean> {
  if (reader.kind !== "user") return async () => true;
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
  for await (const newest of readEvents(source, { owner, from: 0, order: "newest" })) {
    return cursorOf(newest);
  }
  return "0";
}

function parseCursor(cursor: string): number {
  if (CURSOR.test(cursor)) return Number(cursor);
  throw new Problem("invalid_request", {
    detail: "cursor: it is not one of these events.",
    next: "Send nextCursor as it came, or none.",
  });
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
  /** The owner of the alerts; for a person, the alerts of all their clients. */
  readonly owner: Pick<Owner, "kind" | "id">;
  /** Earliest instant, inclusive; no row is older than 30 days. */
  readonly from: number;
}

/** Reads events page by page, as long as the consumer asks for more. */
export async function* readEvents(
  { archive, now }: EventSource,
  { owner, from, order }: EventSelection,
): AsyncGenerator<AlertEvent> {
  const oldest = now().getTime() - EVENTS_KEPT_MS;
  const selection = {
    subject: ownerGroup(owner),
    from: Math.max(from, oldest),
    order,
    limit: PAGE,
  };
  for (let after: ArchiveRow | undefined; ; ) {
    const page = await archive.read(EVENT_KIND, { ...selection, ...(after && { after }) });
    yield* page.map(eventOf);
    after = page.at(-1);
    if (after === undefined || page.length < PAGE) return;
    // The embedded store reads synchronously: other requests must get a turn between two pages.
    await setImmediate();
  }
}

const eventOf = ({ id, at, body }: ArchiveRow): AlertEvent => ({ ...(body as EventRow), id, at });
