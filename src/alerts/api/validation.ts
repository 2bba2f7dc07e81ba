import { Problem } from "../../lib/problem.ts";
import { type UrlPolicy, urlFault } from "../../outbound/url-policy.ts";
import type { AlertStatus, DeliveryMethod } from "../alert.ts";

/**
 * Validates and normalizes the URL of a webhook. The IP addresses of its host are checked later, at
 * every connection.
 *
 * @throws {Problem} `invalid_request` when the URL is not allowed.
 */
export function validateWebhookUrl(url: string, policy: UrlPolicy): string {
  const fault = urlFault(url, policy);
  if (fault === undefined) return new URL(url).href;
  throw new Problem("invalid_request", {
    detail: `url: ${fault}`,
    next: "Name a public https address, or poll. To try webhooks on one machine, start the service with ALLOW_INSECURE_WEBHOOKS=1.",
  });
}

/** @throws {Problem} `invalid_request` when one of the instants has passed. */
export function validateAlertTimes(
  times: { readonly expiresAt?: number | null; readonly snoozedUntil?: number | null },
  now: number,
): void {
  for (const name of ["expiresAt", "snoozedUntil"] as const) {
    const at = times[name] ?? null;
    if (at === null || at > now) continue;
    throw new Problem("invalid_request", {
      detail: `${name}: it has passed; it is ${new Date(now).toISOString()}.`,
      next: "Name a later instant.",
    });
  }
}

/**
 * The problem of a request that needs an alert with a webhook.
 *
 * @param by The delivery method that the alert has instead of a webhook.
 */
export function noWebhookProblem(by: Exclude<DeliveryMethod["by"], "webhook">): Problem {
  if (by === "poll") {
    return new Problem("wrong_state", {
      detail: "The alert has no webhook: its events are polled.",
      next: "Poll with get_alert_events, or register an alert with a webhook.",
    });
  }
  return new Problem("wrong_state", {
    detail: "The alert has no webhook: its events are sent by a channel of the person.",
    next: "The person manages channels on the account page.",
  });
}

/**
 * The problem when a request would redirect the events of an alert that has a webhook. A webhook
 * cannot be replaced by a channel or by polling.
 */
export const alreadyHasWebhookProblem = (): Problem =>
  new Problem("wrong_state", {
    detail: "The alert has a webhook, which stays: only its URL can be another.",
    next: "Register another alert with a channel, and delete this one.",
  });

/**
 * The problem of a change based on an outdated version, because the record was changed after the
 * caller read it.
 */
export function editConflictProblem(): Problem {
  return new Problem("wrong_state", {
    detail: "It was changed after you opened it.",
    next: "Look at it as it is now, and decide again.",
  });
}

/** The problem of a change by which an alert on a signal alone would lose its only filter. */
export const selectsEverythingProblem = (): Problem =>
  new Problem("invalid_request", {
    detail: "signal: without it the alert would watch everything.",
    next: "Give symbols or a watchlist as well, or another signal.",
  });

/** What the owner can do about an alert that cannot send now, by alert status. */
const ways: Readonly<Record<AlertStatus, string>> = {
  active: "Try again.",
  snoozed: "Use the action resume.",
  paused: "Use the action resume.",
  pending: "Let its endpoint answer the challenge; the action enable sends it again.",
  disabled: "Use the action enable, and let its endpoint answer the challenge.",
  expired: "Set a later expiresAt.",
};

/** The problem of a request to send an event now through an alert that cannot send. */
export function alertNotActiveProblem(status: AlertStatus): Problem {
  return new Problem("wrong_state", {
    detail: `The alert is ${status}, so that nothing is sent.`,
    next: ways[status],
  });
}
