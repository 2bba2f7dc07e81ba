import { readableBody } from "../../answers/event.ts";
import type { Scope } from "../../auth/scopes.ts";
import { Problem } from "../../problem.ts";
import { alerts, type Maker } from "../alert.ts";
import type { AlertDependencies } from "./dependencies.ts";
import { type AlertEvent, readEvents } from "./event-rows.ts";

/** Events that are looked at for one page. */
const MOST_LOOKED_AT = 2_000;

/** Digits of an instant in milliseconds since the epoch. */
const CURSOR = /^\d{1,15}$/;

/** Who reads events. */
export interface EventReader extends Maker {
  /** What they may read. */
  readonly scopes: ReadonlySet<Scope>;
}

/** What events are read from. */
export type LogOptions = Pick<AlertDependencies, "archive" | "records" | "now">;

/** Which events a page has. */
export interface EventQuery {
  /** Events after this one; absent: the oldest that are kept, 30 days. */
  readonly cursor: string | undefined;
  /** Without a cursor: events from this instant on, milliseconds since the epoch. */
  readonly since?: number | undefined;
  /** Only events of this alert. */
  readonly alertId?: string | undefined;
  readonly limit: number;
}

/** Events in the order in which they were decided. */
export interface EventPage {
  readonly events: readonly AlertEvent[];
  /** Where to go on, also when there is no more yet; `undefined`: at the beginning. */
  readonly cursor: string | undefined;
  /** Whether there is more already. */
  readonly hasMore: boolean;
}

/** Names the place of an event among those of its owner. */
export const cursorOf = ({ at }: Pick<AlertEvent, "at">): string => String(at);

/** A page of the events of a reader's alerts, as far as they may read them. @throws {Problem}
 *  `invalid_request` for a cursor that is none. */
export async function eventPage(
  options: LogOptions,
  reader: EventReader,
  { cursor, since = 0, alertId, limit }: EventQuery,
): Promise<EventPage> {
  const from = cursor === undefined ? since : parseCursor(cursor) + 1;
  const isOwn = ownEvents(options, reader);
  const events: AlertEvent[] = [];
  let lookedAt = 0;
  let reached = cursor;
  for await (const event of readEvents(options, { owner: reader, from, order: "oldest" })) {
    if (events.length === limit || lookedAt === MOST_LOOKED_AT) {
      return { events, cursor: reached, hasMore: true };
    }
    const isAsked = alertId === undefined || event.alertId === alertId;
    if (isAsked && (await isOwn(event))) {
      events.push({ ...event, body: readableBody(event.body, reader.scopes) });
    }
    lookedAt += 1;
    reached = cursorOf(event);
  }
  return { events, cursor: reached, hasMore: false };
}

/** Tells events of the reader's own alerts from those of the same person's other clients. */
function ownEvents(
  { records }: LogOptions,
  reader: Maker,
): (event: AlertEvent) => Promise<boolean> {
  if (reader.kind !== "user") return async () => true;
  const clientIds = new Map<string, string | undefined>();
  return async ({ alertId, clientId }) => {
    if (clientId !== undefined) return clientId === reader.clientId;
    // A row of before: the alert says whose it is, while it is there.
    if (!clientIds.has(alertId)) {
      clientIds.set(alertId, (await records.get(alerts, alertId))?.value.owner.clientId);
    }
    return clientIds.get(alertId) === reader.clientId;
  };
}

/** The cursor after all of somebody's events so far. */
export async function endOfEvents(options: LogOptions, owner: Maker): Promise<string> {
  for await (const newest of readEvents(options, { owner, from: 0, order: "newest" })) {
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
