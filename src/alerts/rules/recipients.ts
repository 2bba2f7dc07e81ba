import type { Scope } from "../../access/scopes.ts";
import { eventPayload, type MarketEvent } from "../../answers/event.ts";
import { methodChangePayload } from "../../answers/method-change.ts";
import { isEntitledToEvents } from "../../auth/entitlement.ts";
import type { Limits } from "../../limits/limits.ts";
import type { Market } from "../../market/market.ts";
import { collection, type Records } from "../../store/port/records.ts";
import type { Change, Transaction } from "../../store/transact.ts";
import {
  type Alert,
  type AlertOwner,
  type AlertStatus,
  alertStatusAt,
  alerts,
  eventParty,
  eventSubject,
  type StoredAlert,
} from "../alert.ts";
import {
  EVENT_ARCHIVE_KIND,
  EVENTS_TOPIC,
  type EventRowBody,
  enqueueDelivery,
  newMessageId,
} from "../delivery/delivery.ts";
import { resolveSelector, type StoredWatchlist, watchlists } from "../watchlists/watchlist.ts";
import { type AlertCondition, receivesEventsOf } from "./condition.ts";
import type { MethodChange, PendingCommit } from "./evaluation-state.ts";

/** An event, with the condition that fired. */
export interface FiredEvent extends MarketEvent {
  readonly condition: AlertCondition;
}

/** Dependencies of `fanOutEvents`. */
export interface FanOutOptions {
  readonly records: Records;
  readonly market: Market;
  /** The scopes that an owner currently has. */
  readonly scopesOf: (owner: AlertOwner) => Promise<ReadonlySet<Scope>>;
  readonly limits: Limits;
  /** Wall clock. */
  readonly now: () => Date;
}

/**
 * Sequence number of an alert's newest event for an instrument, starting at 1; deleted with the
 * alert.
 */
const sequences = collection<number>("alert-sequences");

/** An alert that receives the event, with the sequence number of its previous event. */
interface Recipient {
  readonly alert: StoredAlert;
  /**
   * The watchlist through which the alert covers the instrument; `undefined` if the alert uses no
   * watchlist.
   */
  readonly list: StoredWatchlist | undefined;
  /** Record key of the sequence number. */
  readonly key: string;
  readonly last: number;
}

/**
 * Adds an event to a pending commit for the given alerts: for each alert, an archive row and, if it
 * has a webhook or channel, a delivery with the same body. Nothing is committed if these alerts or
 * their watchlists have changed.
 */
export async function fanOutEvents(
  event: FiredEvent,
  alertIds: readonly string[],
  pending: PendingCommit,
  options: FanOutOptions,
): Promise<void> {
  const at = options.now().getTime();
  const found = await Promise.all(alertIds.map((id) => recipientOf(id, event, at, options)));
  for (const recipient of found) {
    if (recipient === undefined) continue;
    pending.events.push(eventOf(recipient, event, at, pending, options.market));
  }
}

/**
 * Whether an alert with this status records events. An alert whose webhook is disabled still
 * records events: they can be polled, and redelivered once the webhook is enabled.
 */
const recordsEvents = (status: AlertStatus): boolean =>
  status === "active" || status === "pending" || status === "disabled";

const sendsEvents = ({ way }: Alert): boolean =>
  way.by === "channel" || (way.by === "webhook" && way.state.is !== "disabled");

/** Determines whether an alert receives the event. @returns `undefined` when it does not. */
async function recipientOf(
  alertId: string,
  { condition, snapshot }: FiredEvent,
  at: number,
  options: FanOutOptions,
): Promise<Recipient | undefined> {
  const { records } = options;
  const alert = await records.get(alerts, alertId);
  if (alert === undefined) return undefined;
  const { watched, list } = await resolveSelector(records, alert.value.watched);
  if (!receivesEventsOf({ ...alert.value, watched }, condition, snapshot)) return undefined;
  if (!(await mayRecord(alert, at, options))) return undefined;
  const key = `${alertId}:${snapshot.instrument.symbol}`;
  const last = await records.get(sequences, key);
  return { alert, list, key, last: last?.value ?? 0 };
}

/** Whether an event may be recorded for an alert now; counts it against the limits if so. */
async function mayRecord(
  { value }: StoredAlert,
  at: number,
  { limits, scopesOf }: FanOutOptions,
): Promise<boolean> {
  const { owner } = value;
  if (!recordsEvents(alertStatusAt(value, at))) return false;
  if (!isEntitledToEvents(await scopesOf(owner))) return false;
  // Events are kept for 30 days, so without a limit a few accounts could fill the disk.
  return !(await limits.admit("events", eventParty(value))).isExceeded;
}

/** Adds the event that another method scores to a pending commit, for one alert. */
export async function addMethodChange(
  change: MethodChange,
  alertId: string,
  pending: PendingCommit,
  options: FanOutOptions,
): Promise<void> {
  const at = options.now().getTime();
  const alert = await options.records.get(alerts, alertId);
  if (alert === undefined || !(await mayRecord(alert, at, options))) return;
  const eventId = nextEventId(at, pending);
  const payload = methodChangePayload(change, { alertId, eventId, at });
  const record = eventRecord(alert, eventId, payload, pending);
  pending.events.push((tx) => {
    tx.check(alerts, alert);
    record(tx);
  });
}

function eventOf(
  { alert, list, key, last }: Recipient,
  event: FiredEvent,
  at: number,
  pending: PendingCommit,
  market: Market,
): Change {
  const sequence = (pending.sequences.get(key) ?? last) + 1;
  pending.sequences.set(key, sequence);
  const eventId = nextEventId(at, pending);
  const payload = eventPayload(event, { alertId: alert.key, eventId, sequence, at }, { market });
  const record = eventRecord(alert, eventId, payload, pending);
  return (tx) => {
    tx.check(alerts, alert);
    if (list !== undefined) tx.check(watchlists, list);
    tx.put(sequences, { key, value: sequence, groups: alert.groups });
    record(tx);
  };
}

/**
 * Id of the next event. Readers paginate by its instant, so it increases if the clock goes back.
 */
function nextEventId(at: number, pending: PendingCommit): string {
  pending.newestEventAt = Math.max(at, pending.newestEventAt + 1);
  return newMessageId(pending.newestEventAt);
}

/** Records the newest event of a commit and queues it for delivery. */
function eventRecord(
  alert: StoredAlert,
  eventId: string,
  payload: { readonly type: string },
  { newestEventAt: at }: PendingCommit,
): (tx: Transaction) => void {
  const { type } = payload;
  const body = JSON.stringify(payload);
  const { owner } = alert.value;
  const { clientId } = owner;
  const row: EventRowBody = { alertId: alert.key, ...(clientId && { clientId }), type, body };
  const subject = eventSubject(owner);
  return (tx) => {
    tx.append({ kind: EVENT_ARCHIVE_KIND, at, id: eventId, subject, body: row });
    tx.announce(EVENTS_TOPIC);
    if (sendsEvents(alert.value)) enqueueDelivery(tx, alert, { eventId, type, body });
  };
}
