import type { Collection, RecordRevision } from "../../store/port/records.ts";
import type { Change, Transaction } from "../../store/transact.ts";
import {
  type DeliveryAttempt,
  deliveries,
  isUnchanged,
  rescheduleDelivery,
  type StoredDelivery,
} from "./delivery.ts";
import type { WebhookRequest, WebhookResponse } from "./sender.ts";

/** Why an endpoint is disabled. */
export type DisabledReason = "gone" | "failing" | "unverified";

/** Where deliveries are sent: the webhook of an alert, or a channel. */
export interface Endpoint {
  /** Id of the alert or channel, which is also the key of the endpoint's health record. */
  readonly id: string;
  /** Groups of the endpoint's health record. */
  readonly groups: readonly string[];
  /** Makes the message of a delivery that is due, or says what is done instead of sending it. */
  prepare(delivery: StoredDelivery): Promise<Ready | Instead>;
  /**
   * Disables the endpoint and deletes its queued deliveries.
   *
   * @param at The current time, in milliseconds since the epoch.
   * @returns `false` when the endpoint is not disabled, because the reason does not apply to it or
   * the endpoint was changed since the attempt.
   */
  disable(tx: Transaction, reason: DisabledReason, at: number): Promise<boolean>;
}

/** A message that is to be sent now. */
export interface Ready {
  /** The request to send; `undefined` for a message that needs none. */
  readonly request: WebhookRequest | undefined;
  /** The deliveries that a digest contains; absent for other messages. */
  readonly members?: readonly StoredDelivery[];
  /** Whether the message verifies its endpoint. */
  readonly isVerification: boolean;
  /** Interprets the response. @param response `undefined` when there was none. */
  readonly verdictOn: (response: WebhookResponse | undefined) => EndpointVerdict;
  /**
   * What else the transaction changes that records a success.
   *
   * @param at When the message was sent, in milliseconds since the epoch.
   */
  readonly onAccepted?: (tx: Transaction, at: number) => void | Promise<void>;
  /** What else the transaction changes that records a failure, if the endpoint is not disabled. */
  readonly onRefused?: (tx: Transaction, response: WebhookResponse) => Promise<void>;
}

/**
 * What is written instead of sending, in a transaction of its own. Nothing is written if the
 * delivery was deleted or leased to another process in the meantime.
 */
export interface Instead {
  readonly instead: Change;
}

/** Deletes a delivery. */
export const drop = (delivery: StoredDelivery): Instead => ({
  instead: (tx) => tx.remove(deliveries, delivery.key),
});

/** Delays a delivery. */
export const delay = (delivery: StoredDelivery, dueInMs: number): Instead => ({
  instead: rescheduleDelivery(delivery, dueInMs),
});

/**
 * Holds a delivery back without a due time, if its cause is still the same: the transaction that
 * ends the cause releases the deliveries held back until then, and would miss one that is held back
 * later.
 */
export const holdBack = <T>(
  delivery: StoredDelivery,
  of: Collection<T>,
  cause: RecordRevision,
): Instead => ({
  instead: async (tx) => {
    if (await isUnchanged(tx, of, cause)) await rescheduleDelivery(delivery, null)(tx);
  },
});

/** Interpretation of an endpoint's response. */
export interface EndpointVerdict {
  readonly error: DeliveryAttempt["error"];
  /** Whether the response says that the endpoint no longer exists. */
  readonly isGone: boolean;
  /**
   * Delay that the response requests before the next request, in milliseconds; `undefined` if it
   * requests none.
   */
  readonly retryAfterMs: number | undefined;
}

/** The verdict on an accepted delivery. */
export const ACCEPTED_VERDICT: EndpointVerdict = {
  error: "none",
  isGone: false,
  retryAfterMs: undefined,
};

/** The verdict when there was no response. */
export const UNREACHABLE_VERDICT: EndpointVerdict = {
  error: "unreachable",
  isGone: false,
  retryAfterMs: undefined,
};

/**
 * The verdict on a response, based on its HTTP status alone.
 *
 * @param gone Statuses that mean that the endpoint no longer exists.
 */
export function verdictOfHttpStatus(
  { status, retryAfterMs }: WebhookResponse,
  gone: readonly number[],
): EndpointVerdict {
  if (status >= 200 && status <= 299) return ACCEPTED_VERDICT;
  return { error: "http_status", isGone: gone.includes(status), retryAfterMs };
}
