import type { Transaction } from "../../store/transact.ts";
import type { Delivery, DeliveryAttempt } from "./delivery.ts";
import type { WebhookResponse } from "./sender.ts";

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

/** Why an endpoint is disabled. */
export type DisabledReason = "gone" | "failing" | "unverified";

/** Where deliveries are sent: the webhook of an alert, or a channel. */
export interface Endpoint {
  /** Id of the alert or channel, which is also the key of the endpoint's health record. */
  readonly id: string;
  /** Groups of the endpoint's health record. */
  readonly groups: readonly string[];
  /**
   * Interprets a response.
   *
   * @param response `undefined` when there was none, for whatever reason.
   */
  verdictOn(delivery: Delivery, response: WebhookResponse | undefined): EndpointVerdict;
  /**
   * Changes the endpoint in the transaction that records a success.
   *
   * @param at When the message was sent, in milliseconds since the epoch.
   */
  afterSuccess(tx: Transaction, delivery: Delivery, at: number): Promise<void>;
  /**
   * Changes the endpoint in the transaction that records a failure, if the endpoint is not disabled.
   */
  afterFailure(tx: Transaction, response: WebhookResponse | undefined): Promise<void>;
  /**
   * Disables the endpoint and deletes its queued deliveries.
   *
   * @param at The current time, in milliseconds since the epoch.
   * @returns `false` when the endpoint is not disabled, because the reason does not apply to it or
   * the endpoint was changed since the attempt.
   */
  disable(tx: Transaction, reason: DisabledReason, at: number): Promise<boolean>;
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
