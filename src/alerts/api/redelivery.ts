import { Problem } from "../../lib/problem.ts";
import { archivePages } from "../../store/port/read-all.ts";
import type { RecordReader } from "../../store/port/records.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import type { AlertStatus, StoredAlert } from "../alert.ts";
import {
  type AlertMessage,
  ATTEMPT_ARCHIVE_KIND,
  DELIVERIES_TOPIC,
  type DeliveryAttempt,
  deliveries,
  enqueueDelivery,
  newMessageId,
} from "../delivery/delivery.ts";
import type { AlertRequest } from "./changes.ts";
import type { AlertDependencies } from "./dependencies.ts";
import { type AlertEvent, findEvent, readEvents } from "./event-log.ts";
import { requireOwnedAlert } from "./ownership.ts";
import { alertViewOf } from "./queries.ts";
import { alertNotActiveProblem, noWebhookProblem } from "./validation.ts";

/** Maximum number of events that one request redelivers. */
const MAX_EVENTS = 1_000;

/** Number of events queued per commit. */
const BATCH = 100;

/** Alert statuses in which a queued event would never be sent. */
const NEVER_SENDING: readonly AlertStatus[] = ["disabled"];

/** Alert statuses in which a queued event is not sent immediately. */
const NOT_SENDING_NOW: readonly AlertStatus[] = [...NEVER_SENDING, "pending", "paused", "expired"];

/**
 * Sends an event again under the same id. If the event is still queued, it becomes due immediately.
 *
 * @throws {Problem} `not_found` when the last 30 days contain no event with this id; `wrong_state`
 * when the event would never be sent.
 */
export function redeliverEvent(
  options: AlertDependencies,
  wanted: AlertRequest,
  eventId: string,
): Promise<StoredAlert> {
  return transact(options.records, async (tx) => {
    const alert = await sendingAlert(tx, options, wanted, NEVER_SENDING);
    const event = await eventOf(options, alert, eventId);
    const waiting = await tx.get(deliveries, eventId);
    if (waiting === undefined) enqueueDelivery(tx, alert, { ...event, eventId, isRepeat: true });
    else {
      tx.update(deliveries, waiting, { value: waiting.value, dueInMs: 0 });
      tx.announce(DELIVERIES_TOPIC);
    }
    auditAction(tx, options, alert, "alert.redelivered");
    return alert;
  });
}

async function eventOf(
  options: AlertDependencies,
  { key, value: { owner } }: StoredAlert,
  eventId: string,
): Promise<AlertEvent> {
  const event = await findEvent(options, owner, eventId);
  if (event?.alertId === key) return event;
  throw new Problem("not_found", {
    detail: "The alert had no event of that id in the last 30 days.",
    next: "get_alert_events lists its events; tests and challenges are not sent again.",
  });
}

/** The result of redelivering failed events. */
interface RedeliveryResult {
  readonly alert: StoredAlert;
  /** Number of events that were queued for delivery. */
  readonly queued: number;
  /**
   * Instant from which the next request should continue, in milliseconds since the epoch;
   * `undefined` if no event remains.
   */
  readonly next: number | undefined;
}

/**
 * Redelivers the events that occurred since an instant, except those that were accepted or are
 * still queued. One call considers the oldest 1,000 events.
 *
 * @throws {Problem} `not_found`, `wrong_state`.
 */
export async function redeliverSince(
  options: AlertDependencies,
  wanted: AlertRequest,
  since: number,
): Promise<RedeliveryResult> {
  const alert = await sendingAlert(options.records, options, wanted, NEVER_SENDING);
  const events = await eventsSince(options, alert, since);
  const next = events[MAX_EVENTS]?.at;
  const accepted = await acceptedSince(options, alert.key, events[0]?.at ?? since);
  const failed = events.slice(0, MAX_EVENTS).filter(({ id }) => !accepted.has(id));
  let queued = 0;
  for (let start = 0; start < failed.length; start += BATCH) {
    const isAudited = queued > 0;
    queued += await queueBatch(options, wanted, failed.slice(start, start + BATCH), isAudited);
  }
  return { alert, queued, next };
}

/**
 * The oldest events of an alert since an instant: at most `MAX_EVENTS`, plus the event at which the
 * next request should continue.
 */
async function eventsSince(
  options: AlertDependencies,
  { key, value: { owner } }: StoredAlert,
  since: number,
): Promise<readonly AlertEvent[]> {
  const found: AlertEvent[] = [];
  for await (const event of readEvents(options, { owner, from: since, order: "oldest" })) {
    if (event.alertId === key) found.push(event);
    if (found.length > MAX_EVENTS) break;
  }
  return found;
}

/** Ids of those events of an alert that the webhook or channel has accepted since an instant. */
async function acceptedSince(
  { archive }: AlertDependencies,
  alertId: string,
  from: number,
): Promise<ReadonlySet<string>> {
  const accepted = new Set<string>();
  const selection = { subject: alertId, from, order: "oldest" } as const;
  for await (const page of archivePages(archive, ATTEMPT_ARCHIVE_KIND, selection)) {
    for (const { body } of page) {
      const { eventId, error } = body as DeliveryAttempt;
      if (error === "none") accepted.add(eventId);
    }
  }
  return accepted;
}

/**
 * Queues those events of a batch that are not queued yet.
 *
 * @param isAudited Whether an audit row for the request was already written.
 * @returns The number of events that were queued.
 */
function queueBatch(
  options: AlertDependencies,
  wanted: AlertRequest,
  events: readonly AlertEvent[],
  isAudited: boolean,
): Promise<number> {
  return transact(options.records, async (tx) => {
    const alert = await sendingAlert(tx, options, wanted, NEVER_SENDING);
    const waiting = await Promise.all(events.map(({ id }) => tx.get(deliveries, id)));
    const absent = events.filter((_, at) => waiting[at] === undefined);
    if (absent.length === 0) return 0;
    for (const event of absent) {
      enqueueDelivery(tx, alert, { ...event, eventId: event.id, isRepeat: true });
    }
    if (!isAudited) auditAction(tx, options, alert, "alert.redelivered");
    return absent.length;
  });
}

/**
 * Sends a test event, which is retried like any other event.
 *
 * @throws {Problem} `not_found`; `wrong_state` when the event would not be sent immediately.
 */
export function sendTestEvent(
  options: AlertDependencies,
  wanted: AlertRequest,
): Promise<{ readonly alert: StoredAlert; readonly eventId: string }> {
  const message = testMessage(wanted.alertId, options.now().getTime());
  return transact(options.records, async (tx) => {
    const alert = await sendingAlert(tx, options, wanted, NOT_SENDING_NOW);
    enqueueDelivery(tx, alert, message);
    auditAction(tx, options, alert, "alert.tested");
    return { alert, eventId: message.eventId };
  });
}

function testMessage(alertId: string, at: number): AlertMessage {
  const eventId = newMessageId(at);
  const type = "webhook.test";
  const data = { alertId, eventId };
  const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
  return { eventId, type, body, isRepeat: true };
}

async function sendingAlert(
  records: RecordReader,
  options: AlertDependencies,
  { caller, alertId }: AlertRequest,
  refused: readonly AlertStatus[],
): Promise<StoredAlert> {
  const alert = await requireOwnedAlert({ records }, caller, alertId);
  if (alert.value.way.by === "poll") throw noWebhookProblem("poll");
  const { status } = await alertViewOf({ ...options, records }, alert);
  if (refused.includes(status)) throw alertNotActiveProblem(status);
  return alert;
}

function auditAction(
  tx: Transaction,
  { audit }: AlertDependencies,
  { key, value }: StoredAlert,
  action: string,
): void {
  audit(tx, { action, actor: value.owner.id, target: key });
}
