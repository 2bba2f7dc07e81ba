import { Problem } from "../problem.ts";
import type { Owner } from "./alert.ts";
import type { DeskOptions } from "./desk-options.ts";
import { eventRows, type KeptEvent } from "./event-rows.ts";

/** Events that are looked at for one page. */
const MOST_LOOKED_AT = 2_000;

/** Digits of an instant in milliseconds since the epoch. */
const CURSOR = /^\d{1,15}$/;

/** Who reads events. */
export type Reader = Pick<Owner, "kind" | "id">;

/** What is read events from. */
type LogOptions = Pick<DeskOptions, "archive" | "now">;

/** Which events a page has. */
export interface EventsAsked {
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
  readonly events: readonly KeptEvent[];
  /** Where to go on, also when there is no more yet; `undefined`: at the beginning. */
  readonly cursor: string | undefined;
  /** Whether there is more already. */
  readonly hasMore: boolean;
}

/** Names the place of an event among those of its owner. */
export const cursorOf = ({ at }: Pick<KeptEvent, "at">): string => String(at);

/** A page of somebody's events. @throws {Problem} `invalid_request` for a cursor that is none. */
export async function eventPage(
  options: LogOptions,
  owner: Reader,
  { cursor, since = 0, alertId, limit }: EventsAsked,
): Promise<EventPage> {
  const from = cursor === undefined ? since : placeOf(cursor) + 1;
  const events: KeptEvent[] = [];
  let lookedAt = 0;
  let reached = cursor;
  for await (const event of eventRows(options, { owner, from, order: "oldest" })) {
    if (events.length === limit || lookedAt === MOST_LOOKED_AT) {
      return { events, cursor: reached, hasMore: true };
    }
    if (alertId === undefined || event.alertId === alertId) events.push(event);
    lookedAt += 1;
    reached = cursorOf(event);
  }
  return { events, cursor: reached, hasMore: false };
}

/** The cursor after all of somebody's events so far. */
export async function endOfEvents(options: LogOptions, owner: Reader): Promise<string> {
  for await (const newest of eventRows(options, { owner, from: 0, order: "newest" })) {
    return cursorOf(newest);
  }
  return "0";
}

function placeOf(cursor: string): number {
  if (CURSOR.test(cursor)) return Number(cursor);
  throw new Problem("invalid_request", {
    detail: "cursor: it is not one of these events.",
    next: "Send nextCursor as it came, or none.",
  });
}
