import { randomUUID } from "node:crypto";
import { DAY_MS } from "../../lib/day.ts";
import {
  type Collection,
  collection,
  type RecordRevision,
  type Stored,
} from "../../store/port/records.ts";
import type { Change, Transaction } from "../../store/transact.ts";
import type { OwnerIdentity, StoredAlert, Webhook } from "../alert.ts";
import { CHALLENGE_MESSAGE_TYPE, challengeBody, FIRST_CHALLENGE_DELAY_MS } from "./challenge.ts";
import { webhookEndpoint } from "./sealed-webhook-url.ts";

/** A message that is queued for a webhook or a channel. */
export interface Delivery {
  /**
   * The alert that caused the message; absent for a channel's own messages: its code, a test, a
   * notice or a digest.
   */
  readonly alertId?: string;
  /** The channel that the message is sent to; absent for webhooks. */
  readonly channelId?: string;
  /**
   * Type of the message: for an alert, `signal.shift`, `volatility.alert`, `report.alert`,
   * `range.alert`, `steadiness.alert`, `method.changed`, `webhook.test`, `endpoint.verify` or
   * `endpoint.disabled`; for a channel's own messages, `channel.verify`, `channel.notice`,
   * `channel.digest`, and `channel.gathering`, which is never sent.
   */
  readonly type: string;
  /** The message body, byte for byte the same in all attempts. */
  readonly body: string;
  /** Number of attempts made so far. */
  readonly attempts: number;
  /** Set for a redelivery, a test or a notice. See `AlertMessage.isRepeat`. */
  readonly isRepeat?: true;
  /**
   * The message waits until this instant, in milliseconds since the epoch: the channel's next
   * digest, the end of its quiet hours, or the end of its message limit's hour. An event that waits
   * has no due time of its own, but that of the channel's gathering; version 1.0 gave it one.
   */
  readonly heldUntil?: number;
  /** Set if the message waits because its channel has reached its hourly message limit. */
  readonly isOverLimit?: true;
  /**
   * The digest that contains the message. When the digest is sent, this delivery is removed too.
   */
  readonly digestId?: string;
}

/**
 * Queued deliveries by `webhook-id`. A delivery is in the groups of its alert, in `endpointGroup`
 * and in `queuedDeliveriesGroup`; a delivery to a channel is also in the channel's
 * `queuedDeliveriesGroup`. A delivery without a due time is held back because the webhook or
 * channel is not active, because it waits for a digest, or because it is part of one.
 */
export const deliveries = collection<Delivery>("deliveries");

/** A delivery with its key, revision and groups. */
export type StoredDelivery = Stored<Delivery>;

/** Topic that announces deliveries that are due immediately. */
export const DELIVERIES_TOPIC = "deliveries";

/**
 * Archive kind of event rows. `subject` is the owner's `eventSubject`, `id` is the `webhook-id` of
 * the event, and `at` increases strictly from row to row, so that it can serve as a cursor.
 */
export const EVENT_ARCHIVE_KIND = "alert-event";

/** Topic that announces new event rows. */
export const EVENTS_TOPIC = "alert-events";

/**
 * Archive kind of attempt rows. `subject` is the id of the alert, or of the channel for the
 * channel's own messages.
 */
export const ATTEMPT_ARCHIVE_KIND = "delivery-attempt";

/** How long events and attempts are kept, in milliseconds. */
export const EVENT_RETENTION_MS = 30 * DAY_MS;

/** Body of an event row. */
export interface EventRowBody {
  readonly alertId: string;
  /**
   * The OAuth client through which a person registered the alert; absent for other callers and in
   * old rows.
   */
  readonly clientId?: string;
  readonly type: string;
  /** The payload as it is sent, as JSON. */
  readonly body: string;
}

/** Body of an attempt row: the result of one attempt in the form that the owner sees. */
export interface DeliveryAttempt {
  /** Absent for a channel's own messages, as in `Delivery`. */
  readonly alertId?: string;
  readonly eventId: string;
  /** Id of the digest in which the event was sent; absent if the event was not part of a digest. */
  readonly digestId?: string;
  readonly type: string;
  /** Number of the attempt, starting at 1. */
  readonly number: number;
  /** HTTP status; `null` when there was no response. */
  readonly status: number | null;
  /**
   * Milliseconds until the end of the response; `null` when there was no response, because the
   * duration of such an attempt would let owners scan the network of this service.
   */
  readonly latencyMs: number | null;
  /**
   * `none`: a 2xx status; `http_status`: another status; `bad_challenge`: the challenge was not
   * echoed; `unreachable`: no response, for whatever reason.
   */
  readonly error: "none" | "http_status" | "bad_challenge" | "unreachable";
  /** First 1 kB of the response body; empty if the owner may not see it. */
  readonly response: string;
  /** Milliseconds until the next attempt; `null` when there is none. */
  readonly nextInMs: number | null;
}

/** A stored alert, or an alert that the same commit creates. */
export type StorableAlert = Pick<StoredAlert, "key" | "value" | "groups">;

/** A message of an alert, for its webhook or channel. */
export interface AlertMessage {
  /** The `webhook-id` of the message, which is never reused for a different body. */
  readonly eventId: string;
  readonly type: string;
  /** The payload as it is sent, as JSON. */
  readonly body: string;
  /**
   * Set for a redelivery, a test or a notice, so that every attempt is counted against the limit
   * `events`. For other messages, only retries are counted.
   */
  readonly isRepeat?: true;
}

/** Prefix of `endpointGroup`. */
const ENDPOINT = "endpoint:";

/**
 * Group of the deliveries of one owner to one URL. They share a queue and a circuit breaker. No
 * other owner can fill that queue or open that breaker.
 */
export const endpointGroup = (owner: OwnerIdentity, webhook: Webhook): string =>
  ENDPOINT + webhookEndpoint(owner, webhook);

/** Finds the `endpointGroup` among the groups of a delivery. */
export function findEndpointGroup(groups: readonly string[]): string {
  return groups.find((group) => group.startsWith(ENDPOINT)) ?? ENDPOINT;
}

/** The `endpointGroup` of a channel. */
export const channelEndpointGroup = (channelId: string): string => ENDPOINT + channelId;

/** Group of the queued deliveries of one alert or channel. @param id Id of the alert or channel. */
export const queuedDeliveriesGroup = (id: string): string => `waiting:${id}`;

/**
 * Matches a `webhook-id`. The first capture group is its time, in hexadecimal milliseconds since
 * the epoch.
 */
const MESSAGE_ID = /^msg_([0-9a-f]{12})7[0-9a-f]{19}$/;

/**
 * Generates a `webhook-id` from a version 7 UUID (RFC 9562 section 5.7). The id begins with a time,
 * so that an event can be found by its id.
 *
 * @param at Milliseconds since the epoch; for an event, the `at` of its archive row.
 */
export function newMessageId(at: number): string {
  const random = randomUUID().replaceAll("-", "");
  return `msg_${at.toString(16).padStart(12, "0")}7${random.slice(13)}`;
}

/** The time in a `webhook-id`, in milliseconds since the epoch; `undefined` for any other text. */
export function messageIdTimeMs(eventId: string): number | undefined {
  const time = MESSAGE_ID.exec(eventId)?.[1];
  return time === undefined ? undefined : Number.parseInt(time, 16);
}

/**
 * Queues a message that is not queued yet for an alert, unless the alert is polled. The state of
 * the webhook or channel is checked later, at the attempt.
 */
export function enqueueDelivery(
  tx: Transaction,
  alert: StorableAlert,
  message: AlertMessage,
): void {
  if (alert.value.way.by === "poll") return;
  insertDelivery(tx, alert, message, 0);
  tx.announce(DELIVERIES_TOPIC);
}

/**
 * Queues the challenge of a pending webhook; nothing for any other alert. The first attempt is
 * delayed, so that the caller has time to receive the secret.
 *
 * @param at The current time, in milliseconds since the epoch.
 */
export function enqueueChallenge(tx: Transaction, alert: StorableAlert, at: number): void {
  const { way } = alert.value;
  if (way.by !== "webhook" || way.state.is !== "pending") return;
  const body = challengeBody(alert.key, way.state.challenge, at);
  const message = { eventId: newMessageId(at), type: CHALLENGE_MESSAGE_TYPE, body };
  insertDelivery(tx, alert, message, FIRST_CHALLENGE_DELAY_MS);
}

function insertDelivery(
  tx: Transaction,
  alert: StorableAlert,
  message: AlertMessage,
  dueInMs: number,
): void {
  const queue = queueOf(alert);
  if (queue === undefined) return;
  const { eventId, type, body, isRepeat } = message;
  const { groups, ...from } = queue;
  const value: Delivery = { ...from, type, body, attempts: 0, ...(isRepeat && { isRepeat }) };
  tx.insert(deliveries, { key: eventId, value, groups, ttlMs: EVENT_RETENTION_MS, dueInMs });
}

/** Whether a record is still as it was read before the transaction. */
export const isUnchanged = async <T>(
  tx: Transaction,
  of: Collection<T>,
  read: RecordRevision,
): Promise<boolean> => (await tx.get(of, read.key))?.revision === read.revision;

/**
 * Makes a delivery due later.
 *
 * @param dueInMs Milliseconds until the delivery is due; `null` to hold the delivery back until it
 * is released.
 */
export const rescheduleDelivery =
  (delivery: StoredDelivery, dueInMs: number | null): Change =>
  (tx) =>
    tx.update(deliveries, delivery, { value: delivery.value, dueInMs });

/**
 * Moves a queued message to the current webhook or channel of its alert. The message then follows
 * the schedule of the new target. A message of an alert that is polled is deleted.
 */
export function moveToCurrentTarget(
  tx: Transaction,
  delivery: StoredDelivery,
  alert: StorableAlert,
): void {
  const queue = queueOf(alert);
  if (queue === undefined) {
    tx.remove(deliveries, delivery.key);
    return;
  }
  const { groups, ...to } = queue;
  const { type, body, attempts, isRepeat } = delivery.value;
  const value: Delivery = { ...to, type, body, attempts, ...(isRepeat && { isRepeat }) };
  tx.update(deliveries, delivery, { value, groups, dueInMs: 0 });
}

/** Where the messages of an alert are queued. */
interface Queue extends Pick<Delivery, "alertId" | "channelId"> {
  readonly groups: readonly string[];
}

/** Where the messages of an alert are currently queued; `undefined` if the alert is polled. */
function queueOf({ key, value, groups }: StorableAlert): Queue | undefined {
  const { way } = value;
  const own = [...groups, queuedDeliveriesGroup(key)];
  switch (way.by) {
    case "poll":
      return undefined;
    case "webhook":
      return { alertId: key, groups: [...own, endpointGroup(value.owner, way)] };
    case "channel": {
      const { channelId } = way;
      const ofChannel = [queuedDeliveriesGroup(channelId), channelEndpointGroup(channelId)];
      return { alertId: key, channelId, groups: [...own, ...ofChannel] };
    }
  }
}
