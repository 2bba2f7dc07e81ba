import { hash, randomUUID } from "node:crypto";
import { announce, insert } from "../../store/port/operations.ts";
import type { Operation } from "../../store/port/records.ts";
import { type Maker, makerKey, type StoredAlert } from "../alert.ts";
import { CHALLENGE_TYPE, challengeBody, FIRST_CHALLENGE_MS } from "./challenge.ts";
import { DELIVERIES_TOPIC, type Delivery, deliveries, EVENTS_KEPT_MS } from "./delivery.ts";

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
