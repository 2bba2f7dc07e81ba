import type { Operation } from "../../store/port/records.ts";
import type { Attempt, Delivery } from "./delivery.ts";
import type { WebhookResponse } from "./sender.ts";

/** What the answer of an endpoint means. */
export interface Verdict {
  readonly error: Attempt["error"];
  /** The endpoint says that it does not exist any more. */
  readonly isGone: boolean;
  /** Delay that it requests before the next request, in milliseconds. */
  readonly retryAfterMs: number | undefined;
}

/** Why an endpoint is disabled. */
export type DisabledReason = "gone" | "failing" | "unverified";

/** Where deliveries go: the webhook of an alert, or a channel. */
export interface Endpoint {
  /** Id of the alert or channel, and key of its health. */
  readonly id: string;
  /** Groups of its health. */
  readonly groups: readonly string[];
  /** @param response `undefined`: no answer came, for whatever reason. */
  verdictOn(delivery: Delivery, response: WebhookResponse | undefined): Verdict;
  /** Further operations of the commit that records a success. @param at When it was sent. */
  afterSuccess(delivery: Delivery, at: number): Promise<readonly Operation[]>;
  /** Further operations of the commit that records a failure after which it is tried again. */
  afterFailure(response: WebhookResponse | undefined): Promise<readonly Operation[]>;
  /**
   * The operations that disable it and delete what is queued for it.
   *
   * @param at Now, milliseconds since the epoch.
   * @returns `undefined` when it is not disabled: the reason does not apply to it, or it was
   *   changed since.
   */
  disable(reason: DisabledReason, at: number): Promise<readonly Operation[] | undefined>;
}

/** The verdict on an accepted delivery. */
export const ACCEPTED: Verdict = { error: "none", isGone: false, retryAfterMs: undefined };

/** The verdict where no answer came. */
export const UNREACHABLE: Verdict = { ...ACCEPTED, error: "unreachable" };

/**
 * The verdict on an answer by its status alone.
 *
 * @param gone Statuses that say that the endpoint does not exist any more.
 */
export function verdictByStatus(
  { status, retryAfterMs }: WebhookResponse,
  gone: readonly number[],
): Verdict {
  if (status >= 200 && status <= 299) return ACCEPTED;
  return { error: "http_status", isGone: gone.includes(status), retryAfterMs };
}
