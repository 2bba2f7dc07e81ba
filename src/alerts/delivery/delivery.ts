import { hash, randomUUID } from "node:crypto";
import { announce, insert, replace } from "../../store/port/operations.ts";
import { collection, type Operation, type Stored } from "../../store/port/records.ts";
import { type OwnerIdentity, ownerKey, type StoredAlert } from "../alert.ts";
import { CHALLENGE_TYPE, challengeBody, FIRST_CHALLENGE_MS } from "./challenge.ts";

/** A message that is queued for a webhook or a channel. */
export interface Delivery {
  /** Absent for a channel's own messages: its code, a test, a digest. */
  readonly alertId?: string;
  /** The channel that sends it; absent for webhooks. */
  readonly channelId?: string;
  /** `signal.shift`, `volatility.alert`, `report.alert`, `range.alert`, `webhook.test`, `endpoint.verify` or
   *  `endpoint.disabled`; of a channel itself `channel.verify`, `channel.test` or `channel.digest`. */
  readonly type: string;
  /** The body, byte for byte; equal in all attempts. */
  readonly body: string;
  /** Number of attempts made so far. */
  readonly attempts: number;
  /** Set for a redelivery, a test or a notice, as in `WebhookMessage`. */
  readonly isRepeat?: true;
  /** Waits until then for the digest of its channel, for the end of its quiet hours, or for its next hour of
   *  messages; milliseconds since the epoch. `RELEASED`: the schedule decides anew, now. */
  readonly heldUntil?: number;
  /** Set if it waits because its channel had been sent the messages of an hour. */
  readonly isOverLimit?: true;
  /** The digest that contains it, and completes it. */
  readonly digestId?: string;
}

/** A `heldUntil` that is always past. */
export const RELEASED = 0;

/**
 * Queued deliveries by webhook id. Groups: those of the alert, `endpointGroup` and `queueGroup`;
 * for deliveries of a channel, also the `queueGroup` of the channel. A delivery without a due time
 * is held back because the webhook or channel is not active, or because it is part of a digest.
 */
export const deliveries = collection<Delivery>("deliveries");

/** A delivery with its key, revision and groups. */
export type StoredDelivery = Stored<Delivery>;

/** Topic that announces deliveries that are due at once. */
export const DELIVERIES_TOPIC = "deliveries";

/** Kind of the archive rows of events. `subject` is the `eventSubject` of the owner, `id` the webhook id,
 *  and `at` rises from row to row, so that it serves as a cursor. */
export const EVENT_KIND = "alert-event";

/** Topic that announces new event rows. */
export const EVENTS_TOPIC = "alert-events";

/** Kind of the archive rows of attempts; `subject` is the alert's id, or the channel's for its own
 *  messages. */
export const ATTEMPT_KIND = "delivery-attempt";

/** How long events and attempts are kept, in milliseconds. */
export const EVENTS_KEPT_MS = 30 * 86_400_000;

/** Body of an event row. */
export interface EventRow {
  readonly alertId: string;
  /** The OAuth client through which a person registered the alert; absent for other callers and in old
   *  rows. */
  readonly clientId?: string;
  readonly type: string;
  /** The payload as it is sent. */
  readonly body: string;
}

/** Body of an attempt row: the result of one attempt, as the owner sees it. */
export interface Attempt {
  /** Absent as in `Delivery`. */
  readonly alertId?: string;
  readonly eventId: string;
  /** Id of the digest that contained it. */
  readonly digestId?: string;
  readonly type: string;
  /** Number of the attempt, from 1. */
  readonly number: number;
  /** HTTP status, `null` when there was no answer. */
  readonly status: number | null;
  /** Milliseconds to the end of the answer, `null` when there was none: the time of a failure would let
   *  owners probe the network of this service. */
  readonly latencyMs: number | null;
  /** `none`: a 2xx; `http_status`: another status; `bad_challenge`: the challenge was not echoed;
   *  `unreachable`: no answer, for whatever reason. */
  readonly error: "none" | "http_status" | "bad_challenge" | "unreachable";
  /** First 1 kB of the answer. */
  readonly response: string;
  /** Milliseconds until the next attempt, `null` when there is none. */
  readonly nextInMs: number | null;
}

/** A stored alert, or one that the same commit creates. */
export type AlertTarget = Pick<StoredAlert, "key" | "value" | "groups">;

/** A message for a webhook. */
export interface WebhookMessage {
  /** The webhook id; never reused for another body. */
  readonly eventId: string;
  readonly type: string;
  /** The payload as it is sent. */
  readonly body: string;
  /** Set for a redelivery, a test or a notice: all attempts count against the limit
   *  `alert-repeats`. */
  readonly isRepeat?: true;
}

/** Prefix of `endpointGroup`. */
const ENDPOINT = "endpoint:";

/** Group of the deliveries to one URL of one owner. They share a queue and a circuit breaker, which no
 *  other owner can fill or trip. */
export function endpointGroup(owner: OwnerIdentity, url: string): string {
  return (
    ENDPOINT + hash("sha256", JSON.stringify([ownerKey(owner), new URL(url).href]), "base64url")
  );
}

/** The `endpointGroup` among the groups of a delivery. */
export function endpointGroupIn(groups: readonly string[]): string {
  return groups.find((group) => group.startsWith(ENDPOINT)) ?? ENDPOINT;
}

/** The `endpointGroup` of a channel. */
export const channelEndpointGroup = (channelId: string): string => ENDPOINT + channelId;

/** Group of the queued deliveries of one alert or channel. @param id Id of the alert or channel. */
export const queueGroup = (id: string): string => `waiting:${id}`;

/** Matches a webhook id; the first group is its time. */
const MESSAGE_ID = /^msg_([0-9a-f]{12})7[0-9a-f]{19}$/;

/**
 * A new webhook id: a UUID of version 7 (RFC 9562 section 5.7), which begins with a time, so that an
 * event is found by its id.
 *
 * @param at Milliseconds since the epoch; for an event, that of its archive row.
 */
export function newMessageId(at: number): string {
  const random = randomUUID().replaceAll("-", "");
  return `msg_${at.toString(16).padStart(12, "0")}7${random.slice(13)}`;
}

/** The time in a webhook id; `undefined` for ids of earlier versions, which were random, and for anything
 *  else. */
export function messageTime(eventId: string): number | undefined {
  const time = MESSAGE_ID.exec(eventId)?.[1];
  return time === undefined ? undefined : Number.parseInt(time, 16);
}

/**
 * The operations that enqueue a message for an alert; none when it is polled. The state of the webhook or
 * channel is checked at the attempt. They fail while the same message is queued.
 */
export function enqueueDelivery(alert: AlertTarget, message: WebhookMessage): readonly Operation[] {
  const inserted = insertDelivery(alert, message, 0);
  return inserted === undefined ? [] : [inserted, announce(DELIVERIES_TOPIC)];
}

/**
 * The operations that enqueue the challenge of a pending webhook; none for any other. The first attempt
 * is delayed, so that the caller has the secret by then.
 *
 * @param at Now, in milliseconds since the epoch.
 */
export function enqueueChallenge(alert: AlertTarget, at: number): readonly Operation[] {
  const { way } = alert.value;
  if (way.by !== "webhook" || way.state.is !== "pending") return [];
  const body = challengeBody(alert.key, way.state.challenge, at);
  const message = { eventId: newMessageId(at), type: CHALLENGE_TYPE, body };
  const inserted = insertDelivery(alert, message, FIRST_CHALLENGE_MS);
  return inserted === undefined ? [] : [inserted];
}

function insertDelivery(
  alert: AlertTarget,
  message: WebhookMessage,
  dueInMs: number,
): Operation | undefined {
  const queue = queueOf(alert);
  if (queue === undefined) return undefined;
  const { eventId, type, body, isRepeat } = message;
  const { groups, ...from } = queue;
  const value: Delivery = { ...from, type, body, attempts: 0, ...(isRepeat && { isRepeat }) };
  return insert(deliveries, { key: eventId, value, groups, ttlMs: EVENTS_KEPT_MS, dueInMs });
}

/** The operation that moves a queued message to where its alert sends now; `undefined` if the alert
 *  is polled. There the message waits for the schedule of its new target. */
export function moveDelivery(delivery: StoredDelivery, alert: AlertTarget): Operation | undefined {
  const queue = queueOf(alert);
  if (queue === undefined) return undefined;
  const { groups, ...to } = queue;
  const { type, body, attempts, isRepeat } = delivery.value;
  const value: Delivery = { ...to, type, body, attempts, ...(isRepeat && { isRepeat }) };
  return replace(deliveries, delivery, { value, groups, dueInMs: 0 });
}

/** The queue for the messages of an alert. */
interface Queue extends Pick<Delivery, "alertId" | "channelId"> {
  readonly groups: readonly string[];
}

/** The current queue for the messages of an alert; `undefined` if the alert is polled. */
function queueOf({ key, value, groups }: AlertTarget): Queue | undefined {
  const { owner, way } = value;
  const own = [...groups, queueGroup(key)];
  switch (way.by) {
    case "poll":
      return undefined;
    case "webhook":
      return { alertId: key, groups: [...own, endpointGroup(owner, way.url)] };
    case "channel": {
      const { channelId } = way;
      const ofChannel = [queueGroup(channelId), channelEndpointGroup(channelId)];
      return { alertId: key, channelId, groups: [...own, ...ofChannel] };
    }
  }
}
