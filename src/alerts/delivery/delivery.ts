import { hash, randomUUID } from "node:crypto";
import { announce, insert } from "../../store/port/operations.ts";
import { collection, type Operation, type Stored } from "../../store/port/records.ts";
import { type Maker, makerKey, type StoredAlert } from "../alert.ts";
import { CHALLENGE_TYPE, challengeBody, FIRST_CHALLENGE_MS } from "./challenge.ts";
/** Something that waits to be sent to a webhook. */
export interface Delivery {
  readonly alertId: string;
  /** `signal.shift`, `volatility.alert`, `webhook.test`, `endpoint.verify` or `endpoint.disabled`. */
  readonly type: string;
  /** The body, byte for byte; it stays the same over all attempts. */
  readonly body: string;
  /** Attempts made. */
  readonly attempts: number;
  /** When it was decided to send it, milliseconds since the epoch. */
  readonly queuedAt: number;
}

/**
 * What waits to be sent, by its webhook id. Groups: those of the alert (`ofAlert` and whatever the
 * alert goes with), and `atEndpoint`. A delivery that is not due is held back, because the webhook
 * is not active.
 */
export const deliveries = collection<Delivery>("deliveries");

/** A delivery as it is kept. */
export type StoredDelivery = Stored<Delivery>;

/** Topic that is announced when there is something to send at once. */
export const DELIVERIES_TOPIC = "deliveries";

/** Kind of the archive rows of events. `subject` is the group `ownedBy` of the alert, `id` the
 *  webhook id, and `at` rises from row to row, so that it works as a cursor. */
export const EVENT_KIND = "alert-event";

/** Topic that is announced with events, once they can be read. */
export const EVENTS_TOPIC = "alert-events";

/** Kind of the archive rows of attempts; `subject` is the alert's id. */
export const ATTEMPT_KIND = "delivery-attempt";

/** How long events and attempts can be looked up, in milliseconds. */
export const EVENTS_KEPT_MS = 30 * 86_400_000;

/** Body of an event row. */
export interface EventRow {
  readonly alertId: string;
  /** The client through which a person made the alert; absent for others, and in rows of before. */
  readonly clientId?: string;
  readonly type: string;
  /** The payload as it is sent. */
  readonly body: string;
}

/** What became of one attempt, as its owner sees it. */
export interface Attempt {
  readonly alertId: string;
  readonly eventId: string;
  readonly type: string;
  /** From 1. */
  readonly number: number;
  /** HTTP status, `null` when there was no answer. */
  readonly status: number | null;
  /** Milliseconds to the end of the answer, `null` when there was none: how long a silence lasted
   *  would tell of the network that it was sent from. */
  readonly latencyMs: number | null;
  /** `none`: a 2xx; `http_status`: another status; `bad_challenge`: the challenge was not echoed;
   *  `unreachable`: no answer, for whatever reason. */
  readonly error: "none" | "http_status" | "bad_challenge" | "unreachable";
  /** First 1 kB of the answer. */
  readonly response: string;
  /** Milliseconds until the next attempt, `null` when there is none. */
  readonly nextInMs: number | null;
}

/** An alert that is there, or that the same commit makes. */
export type AlertTarget = Pick<StoredAlert, "key" | "value" | "groups">;

/** What is to be sent. */
export interface Message {
  /** The webhook id: never sent with another body. */
  readonly eventId: string;
  readonly type: string;
  /** The payload as it is sent. */
  readonly body: string;
  /** When it was decided, milliseconds since the epoch. */
  readonly at: number;
}

/** Begins the names of the groups that `endpointOf` makes. */
const ENDPOINT = "endpoint:";

/** Group of what waits for one address of one maker of alerts: their alerts share its cap and its breaker, and
 *  nobody else can fill the one or trip the other. */
export function endpointGroup(owner: Maker, url: string): string {
  return (
    ENDPOINT + hash("sha256", JSON.stringify([makerKey(owner), new URL(url).href]), "base64url")
  );
}

/** The endpoint that a delivery was queued for. */
export function endpointGroupIn(groups: readonly string[]): string {
  return groups.find((group) => group.startsWith(ENDPOINT)) ?? ENDPOINT;
}

/** Group of what waits for one alert, and of nothing else of it. */
export const queueGroup = (alertId: string): string => `waiting:${alertId}`;

/** A new webhook id. */
export const newMessageId = (): string => `msg_${randomUUID().replaceAll("-", "")}`;

/**
 * The steps that queue a message for an alert; none when it has no webhook. Whatever state the
 * webhook is in, the courier finds out and holds the message back. They do not hold while the same
 * message waits already.
 */
export function enqueueDelivery(alert: AlertTarget, message: Message): readonly Operation[] {
  const placed = queued(alert, message, 0);
  return placed === undefined ? [] : [placed, announce(DELIVERIES_TOPIC)];
}

/**
 * The steps that queue the challenge of a webhook that is pending; none for any other. It is first
 * sent a little later, so that the caller has the secret by then.
 *
 * @param at Now, in milliseconds since the epoch.
 */
export function enqueueChallenge(alert: AlertTarget, at: number): readonly Operation[] {
  const { way } = alert.value;
  if (way.by !== "webhook" || way.state.is !== "pending") return [];
  const body = challengeBody(alert.key, way.state.challenge, at);
  const message = { eventId: newMessageId(), type: CHALLENGE_TYPE, body, at };
  const placed = queued(alert, message, FIRST_CHALLENGE_MS);
  return placed === undefined ? [] : [placed];
}

function queued(alert: AlertTarget, message: Message, dueInMs: number): Operation | undefined {
  const { owner, way } = alert.value;
  if (way.by !== "webhook") return undefined;
  const { eventId, type, body, at } = message;
  const value: Delivery = { alertId: alert.key, type, body, attempts: 0, queuedAt: at };
  const groups = [...alert.groups, endpointGroup(owner, way.url), queueGroup(alert.key)];
  return insert(deliveries, { key: eventId, value, groups, ttlMs: EVENTS_KEPT_MS, dueInMs });
}
