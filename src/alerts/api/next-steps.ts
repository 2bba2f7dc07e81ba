import { isPersonWithoutClient } from "../alert.ts";
import type { AlertDependencies } from "./dependencies.ts";
import type { AlertView } from "./queries.ts";

/** Facts about the service on which the next steps depend. */
type ServiceFacts = Pick<AlertDependencies, "baseUrl" | "standsStill">;

const POLL =
  "Poll with get_alert_events (GET /api/alerts/events), each time with nextCursor of the answer before.";

/** Next steps for the owner after an alert is registered. */
export function nextStepsAfterRegistration(
  { status, alert }: AlertView,
  setting: ServiceFacts,
): readonly string[] {
  const { by } = alert.way;
  const secret =
    "Keep the secret, which is shown once, and verify each request with it (Standard Webhooks, for example the library standardwebhooks).";
  return [
    ...standstillNote(setting),
    ...(by === "webhook" ? [secret, keys(setting)] : []),
    ...(status === "pending" ? [challenge()] : []),
    isPersonWithoutClient(alert.owner)
      ? "The page of the alert shows its events and every attempt."
      : by === "poll"
        ? POLL
        : "The same events can be polled with get_alert_events; its view deliveries shows every attempt.",
  ];
}

/** Next steps for the owner while the webhook is not verified; empty otherwise. */
export function nextStepsWhilePending({ status }: AlertView): readonly string[] {
  return status === "pending" ? [challenge()] : [];
}

/**
 * Next steps for the owner after a signing secret is rotated.
 *
 * @param until When the previous secret expires, in milliseconds since the epoch.
 */
export function nextStepsAfterRotation(until: number): readonly string[] {
  return [
    `Keep the secret, which is shown once. The one before signs as well until ${new Date(until).toISOString()}.`,
  ];
}

/** Next steps for the owner after an event is queued for delivery. */
export const nextStepsAfterSending: readonly string[] = [
  "get_alert_events with view deliveries shows the attempts, in some seconds.",
];

const challenge = (): string =>
  "The URL gets a signed endpoint.verify in 5 seconds, again after 1, 5 and 30 minutes: answer 2xx with data.challenge as the body. Until then events wait; list_alerts shows when it is active.";

const keys = ({ baseUrl }: ServiceFacts): string =>
  `Signatures v1a verify with the public keys at ${baseUrl}/.well-known/webhook-keys.json.`;

const standstillNote = ({ standsStill }: ServiceFacts): readonly string[] =>
  standsStill() ? ["This market is fixed at one instant: no event will come."] : [];
