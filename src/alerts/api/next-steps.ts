import type { AlertDependencies } from "./dependencies.ts";
import type { AlertView } from "./queries.ts";

/** What advice depends on besides the alert. */
type Setting = Pick<AlertDependencies, "baseUrl" | "standsStill">;

const POLL =
  "Poll with get_alert_events (GET /api/alerts/events), each time with nextCursor of the answer before.";

/** What to do with an alert that was just made. */
export function stepsAfterRegistration(
  { status, alert }: AlertView,
  setting: Setting,
): readonly string[] {
  const { by } = alert.way;
  const secret =
    "Keep the secret, which is shown once, and verify each request with it (Standard Webhooks, for example the library standardwebhooks).";
  return [
    ...still(setting),
    ...(by === "webhook" ? [secret, keys(setting)] : []),
    ...(status === "pending" ? [challenge()] : []),
    by === "webhook"
      ? "The same events can be polled with get_alert_events; its view deliveries shows every attempt."
      : POLL,
  ];
}

/** What to do with an alert that was changed so that its webhook must be verified. */
export function stepsWhilePending({ status }: AlertView): readonly string[] {
  return status === "pending" ? [challenge()] : [];
}

/** What to do with a new secret. @param until When the one before ends, milliseconds. */
export function stepsAfterRotation(until: number): readonly string[] {
  return [
    `Keep the secret, which is shown once. The one before signs as well until ${new Date(until).toISOString()}.`,
  ];
}

/** How to see what becomes of what is being sent. */
export const stepsAfterSending: readonly string[] = [
  "get_alert_events with view deliveries shows the attempts, in some seconds.",
];

const challenge = (): string =>
  "The URL gets a signed endpoint.verify in 5 seconds, again after 1, 5 and 30 minutes: answer 2xx with data.challenge as the body. Until then events wait; list_alerts shows when it is active.";

const keys = ({ baseUrl }: Setting): string =>
  `Signatures v1a verify with the public keys at ${baseUrl}/.well-known/webhook-keys.json.`;

const still = ({ standsStill }: Setting): readonly string[] =>
  standsStill() ? ["Time stands still in this market: no event will come."] : [];
