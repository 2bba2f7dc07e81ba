import { randomUUID } from "node:crypto";
import { announce, append, remove, removeAt, replace } from "../../store/port/operations.ts";
import type { Operation, Records } from "../../store/port/records.ts";
import { ALERTS_TOPIC, alerts, type StoredAlert } from "../alert.ts";
import { CHALLENGE_TYPE, isCurrentChallenge, isEchoed, nextChallengeMs } from "./challenge.ts";
import { ATTEMPT_KIND, type Attempt, deliveries, type StoredDelivery } from "./delivery.ts";
import {
  afterFailure,
  type DisabledReason,
  type DisablingOptions,
  disableWebhook,
  type EndpointHealth,
  endpointHealth,
  isGivenUp,
  writeHealth,
} from "./endpoint-health.ts";
import { releaseHeld } from "./held-deliveries.ts";
import { nextAttemptMs } from "./retry-schedule.ts";
import type { WebhookResponse } from "./sender.ts";
/** An attempt that was made. */
export interface CompletedAttempt {
  readonly delivery: StoredDelivery;
  /** The alert as it was before. */
  readonly alert: StoredAlert;
  /** When it began, milliseconds since the epoch: its end would tell how long a silence lasted. */
  readonly at: number;
  /** `undefined`: no answer came, for whatever reason. */
  readonly answer: WebhookResponse | undefined;
}

/** What was wrong with it, if anything. */
export function attemptError({ delivery, alert, answer }: CompletedAttempt): Attempt["error"] {
  if (answer === undefined) return "unreachable";
  if (answer.status < 200 || answer.status > 299) return "http_status";
  const { way } = alert.value;
  if (delivery.value.type !== CHALLENGE_TYPE || way.by !== "webhook") return "none";
  const isAnswered = way.state.is === "pending" && isEchoed(answer.response, way.state.challenge);
  return isAnswered ? "none" : "bad_challenge";
}

/** The steps that note an attempt for the owner. @param nextInMs `null`: there is no further one. */
export function attemptRows(
  tried: CompletedAttempt,
  nextInMs: number | null,
): readonly Operation[] {
  const { delivery, at, answer } = tried;
  const { alertId, type, attempts } = delivery.value;
  const body: Attempt = {
    ...{ alertId, eventId: delivery.key, type, number: attempts + 1 },
    status: answer?.status ?? null,
    latencyMs: answer?.latencyMs ?? null,
    error: attemptError(tried),
    // What a host says before it has agreed to be a webhook is not for whoever named it.
    response: type === CHALLENGE_TYPE ? "" : (answer?.response ?? ""),
    nextInMs,
  };
  return [append({ kind: ATTEMPT_KIND, at, id: randomUUID(), subject: alertId, body })];
}

/** What settling works with. */
export interface RecordAttemptOptions extends DisablingOptions {
  readonly records: Records;
  /** A number from 0 to 1 by chance. */
  readonly random: () => number;
}

/** Statuses whose `Retry-After` is honoured (RFC 6585 section 4, RFC 9110 section 15.6.4). */
const ASKS_TO_WAIT: readonly number[] = [429, 503];

/** The webhook is gone for good (RFC 9110 section 15.5.11, Standard Webhooks 1.0.0). */
const GONE = 410;

/**
 * Keeps what came of an attempt, in one commit: the delivery ends or waits for its next attempt, the
 * attempt is noted, and the webhook is verified or disabled if that follows. When the delivery has
 * ended meanwhile, or another process has it, nothing is kept.
 */
export async function recordAttempt(
  tried: CompletedAttempt,
  options: RecordAttemptOptions,
): Promise<void> {
  const { records } = options;
  const { key, revision } = tried.delivery;
  for (;;) {
    if (await records.commit(await stepsAfter(tried, options))) return;
    const found = await records.get(deliveries, key);
    if (found?.revision !== revision) return;
  }
}

async function stepsAfter(
  tried: CompletedAttempt,
  options: RecordAttemptOptions,
): Promise<readonly Operation[]> {
  const { delivery } = tried;
  if (attemptError(tried) !== "none") return stepsAfterFailure(tried, options);
  return [
    removeAt(deliveries, delivery),
    remove(endpointHealth, delivery.value.alertId),
    ...attemptRows(tried, null),
    ...(isChallenge(tried) ? await verified(tried, options) : []),
  ];
}

const isChallenge = ({ delivery }: CompletedAttempt): boolean =>
  delivery.value.type === CHALLENGE_TYPE;

/** The steps that let a webhook have its events, unless another challenge took the place of the one
 *  that it answered. */
async function verified(
  { delivery, at }: CompletedAttempt,
  { records, audit }: RecordAttemptOptions,
): Promise<readonly Operation[]> {
  const { alertId, body } = delivery.value;
  const alert = await records.get(alerts, alertId);
  const way = alert?.value.way;
  if (alert === undefined || way?.by !== "webhook") return [];
  if (!isCurrentChallenge(body, way.state)) return [];
  const value = { ...alert.value, way: { ...way, state: { is: "active", since: at } as const } };
  return [
    replace(alerts, alert, { value }),
    ...releaseHeld(alert),
    ...audit({ action: "alert.verified", actor: "system", target: alertId }),
    announce(ALERTS_TOPIC, alertId),
  ];
}

async function stepsAfterFailure(
  tried: CompletedAttempt,
  options: RecordAttemptOptions,
): Promise<readonly Operation[]> {
  const { delivery, alert, at } = tried;
  const { value } = delivery;
  const before = await options.records.get(endpointHealth, alert.key);
  const health = afterFailure(before?.value, at);
  const nextInMs = nextMs(tried, options.random);
  const reason = reasonToDisable(tried, health, nextInMs);
  const end = reason && (await disableWebhook(options, { tried: alert, reason, at }));
  if (end !== undefined) {
    return [removeAt(deliveries, delivery), ...attemptRows(tried, null), ...end];
  }
  const again = { value: { ...value, attempts: value.attempts + 1 }, dueInMs: nextInMs ?? 0 };
  return [
    nextInMs === undefined ? removeAt(deliveries, delivery) : replace(deliveries, delivery, again),
    ...(isChallenge(tried) ? [] : [writeHealth(alert, before, health)]),
    ...attemptRows(tried, nextInMs ?? null),
  ];
}

function nextMs(tried: CompletedAttempt, random: () => number): number | undefined {
  const { delivery, answer } = tried;
  const pausing = { failures: delivery.value.attempts + 1, random };
  if (isChallenge(tried)) return nextChallengeMs(pausing);
  const asks = answer !== undefined && ASKS_TO_WAIT.includes(answer.status);
  return nextAttemptMs({ ...pausing, retryAfterMs: asks ? answer.retryAfterMs : undefined });
}

function reasonToDisable(
  tried: CompletedAttempt,
  health: EndpointHealth,
  nextInMs: number | undefined,
): DisabledReason | undefined {
  if (tried.answer?.status === GONE) return "gone";
  if (isChallenge(tried)) return nextInMs === undefined ? "unverified" : undefined;
  return isGivenUp(health, tried.at) ? "failing" : undefined;
}
