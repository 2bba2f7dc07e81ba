import { Problem } from "../../problem.ts";
import type { AlertStatus } from "../alert.ts";

/** For what only a webhook has. */
export function noWebhook(): Problem {
  return new Problem("wrong_state", {
    detail: "The alert has no webhook: its events are polled.",
    next: "Poll with get_alert_events, or register an alert with a webhook.",
  });
}

/** What helps an alert that sends nothing. */
const ways: Readonly<Record<AlertStatus, string>> = {
  active: "Try again.",
  snoozed: "Use the action resume.",
  paused: "Use the action resume.",
  pending: "Let its endpoint answer the challenge; the action enable sends it again.",
  disabled: "Use the action enable, and let its endpoint answer the challenge.",
  expired: "Set a later expiresAt.",
};

/** For what would send something now. */
export function notSending(status: AlertStatus): Problem {
  return new Problem("wrong_state", {
    detail: `The alert is ${status}, so that nothing is sent.`,
    next: ways[status],
  });
}
