import { collection, type Stored } from "../../store/port/records.ts";

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
