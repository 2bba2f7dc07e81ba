import { parseJson } from "../../lib/json.ts";
import type { WebhookState } from "../alert.ts";
import { type RetryOptions, retryPauseMs } from "./retry-schedule.ts";

/** Type of the message that asks an endpoint to confirm that it wants events. */
export const CHALLENGE_MESSAGE_TYPE = "endpoint.verify";

/**
 * Delay of the first challenge, in milliseconds. It gives the caller that registered the webhook
 * time to receive the secret.
 */
export const FIRST_CHALLENGE_DELAY_MS = 5_000;

/**
 * Pauses between attempts, in milliseconds. The retries follow 1, 5 and 30 minutes after the first
 * attempt.
 */
const PAUSES_MS: readonly number[] = [60_000, 240_000, 1_500_000];

/** Milliseconds until a challenge is sent again; `undefined` after the last attempt. */
export function nextChallengeDelayMs(retry: RetryOptions): number | undefined {
  return retryPauseMs(PAUSES_MS, retry);
}

/**
 * JSON payload of the challenge message.
 *
 * @param at The current time, in milliseconds since the epoch.
 */
export function challengeBody(alertId: string, challenge: string, at: number): string {
  const timestamp = new Date(at).toISOString();
  return JSON.stringify({ type: CHALLENGE_MESSAGE_TYPE, timestamp, data: { alertId, challenge } });
}

/**
 * Whether a message contains the current challenge of a webhook. A new URL gets a new challenge.
 */
export function isCurrentChallenge(body: string, state: WebhookState): boolean {
  return state.is === "pending" && challengeIn(body) === state.challenge;
}

function challengeIn(body: string): unknown {
  return (JSON.parse(body) as { data: { challenge: unknown } }).data.challenge;
}

/** Whether a response echoes the challenge, as bare text or as the JSON member `challenge`. */
export function echoesChallenge(response: string, challenge: string): boolean {
  if (response.trim() === challenge) return true;
  const json = parseJson(response) as { readonly challenge?: unknown } | null | undefined;
  return json?.challenge === challenge;
}
