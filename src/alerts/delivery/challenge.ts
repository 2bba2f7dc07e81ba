import type { WebhookState } from "../alert.ts";
import { type Pausing, pauseMs } from "./retry-schedule.ts";

/** Type of the message that asks a webhook whether it wants events. */
export const CHALLENGE_TYPE = "endpoint.verify";

/** Until the challenge is sent for the first time, in milliseconds: who made the webhook knows its
 *  secret by then. */
export const FIRST_CHALLENGE_MS = 5_000;

/** Pauses between its attempts, in milliseconds: 1, 5 and 30 minutes after the first. */
const PAUSES_MS: readonly number[] = [60_000, 240_000, 1_500_000];

/** Milliseconds until a challenge is sent again; `undefined` when that was the last time. */
export function nextChallengeMs(pausing: Pausing): number | undefined {
  return pauseMs(PAUSES_MS, pausing);
}

/** Payload of the message. @param at Now, in milliseconds since the epoch. */
export function challengeBody(alertId: string, challenge: string, at: number): string {
  const timestamp = new Date(at).toISOString();
  return JSON.stringify({ type: CHALLENGE_TYPE, timestamp, data: { alertId, challenge } });
}

/** Whether a message asks for the answer that a webhook owes now: a changed URL is asked anew. */
export function isCurrentChallenge(body: string, state: WebhookState): boolean {
  return state.is === "pending" && challengeIn(body) === state.challenge;
}

function challengeIn(body: string): unknown {
  return (JSON.parse(body) as { data: { challenge: unknown } }).data.challenge;
}

/** Whether an answer says the challenge again: as bare text, or as the member `challenge` of JSON. */
export function isEchoed(response: string, challenge: string): boolean {
  return response.trim() === challenge || memberOf(response) === challenge;
}

function memberOf(response: string): unknown {
  try {
    return (JSON.parse(response) as { challenge?: unknown } | null)?.challenge;
  } catch {
    return undefined;
  }
}
