import { randomUUID } from "node:crypto";
import type { Auditor } from "../../auth/auditor.ts";
import { announce, append, remove, removeAt, replace } from "../../store/port/operations.ts";
import type { Operation, Records } from "../../store/port/records.ts";
import { ALERTS_TOPIC, alerts, type StoredAlert } from "../alert.ts";
import {
  CHALLENGE_TYPE,
  echoesChallenge,
  isCurrentChallenge,
  nextChallengeMs,
} from "./challenge.ts";
import { ATTEMPT_KIND, type Attempt, deliveries, type StoredDelivery } from "./delivery.ts";
import {
  type DisabledReason,
  disableWebhook,
  type EndpointHealth,
  endpointHealth,
  hasFailedTooLong,
  withFailure,
  writeHealth,
} from "./endpoint-health.ts";
import { releaseHeld } from "./held-deliveries.ts";
import { nextAttemptMs } from "./retry-schedule.ts";
import type { WebhookResponse } from "./sender.ts";

/** Statuses whose `Retry-After` is honored (RFC 6585 section 4, RFC 9110 section 15.6.4). */
const RETRY_AFTER_STATUSES: readonly number[] = [429, 503];

/** The webhook is gone for good (RFC 9110 section 15.5.11, Standard Webhooks 1.0.0). */
const GONE = 410;

/** Dependencies of `recordAttempt`. */
export interface RecordAttemptOptions {
  readonly records: Records;
  readonly audit: Auditor;
  /** A random number from 0 to 1. */
  readonly random: () => number;
}

/** An attempt that has ended. */
export interface CompletedAttempt {
  readonly delivery: StoredDelivery;
  /** The alert as it was before the attempt. */
  readonly alert: StoredAlert;
  /** When it began, milliseconds since the epoch. Its end would tell how long an unreachable host
   *  stayed silent, which would let owners probe our network. */
  readonly at: number;
  /** `undefined`: no answer came, for whatever reason. */
  readonly response: WebhookResponse | undefined;
}

/** Why an attempt failed; `none` for a success. */
export function attemptError({ delivery, alert, response }: CompletedAttempt): Attempt["error"] {
  if (response === undefined) return "unreachable";
  if (response.status < 200 || response.status > 299) return "http_status";
  const { way } = alert.value;
  if (delivery.value.type !== CHALLENGE_TYPE || way.by !== "webhook") return "none";
  const isAnswered =
    way.state.is === "pending" && echoesChallenge(response.body, way.state.challenge);
  return isAnswered ? "none" : "bad_challenge";
}

/**
 * Records an attempt in one commit: the delivery ends or gets its next attempt, the attempt is logged,
 * and the webhook is verified or disabled if that follows. Writes nothing when the delivery was deleted
 * or leased to another process meanwhile.
 */
export async function recordAttempt(
  attempt: CompletedAttempt,
  options: RecordAttemptOptions,
): Promise<void> {
  const { records } = options;
  const { key, revision } = attempt.delivery;
  for (;;) {
    const operations =
      attemptError(attempt) === "none"
        ? await afterSuccess(attempt, options)
        : await afterFailure(attempt, options);
    if (await records.commit(operations)) return;
    const found = await records.get(deliveries, key);
    if (found?.revision !== revision) return;
  }
}

async function afterSuccess(
  attempt: CompletedAttempt,
  options: RecordAttemptOptions,
): Promise<readonly Operation[]> {
  const { delivery } = attempt;
  return [
    removeAt(deliveries, delivery),
    remove(endpointHealth, delivery.value.alertId),
    logAttempt(attempt, null),
    ...(isChallenge(attempt) ? await verifyWebhook(attempt, options) : []),
  ];
}

const isChallenge = ({ delivery }: CompletedAttempt): boolean =>
  delivery.value.type === CHALLENGE_TYPE;

/** Activates a webhook that answered its challenge, unless a newer challenge has replaced it. */
async function verifyWebhook(
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

async function afterFailure(
  attempt: CompletedAttempt,
  { records, audit, random }: RecordAttemptOptions,
): Promise<readonly Operation[]> {
  const { delivery, alert, at } = attempt;
  const { value } = delivery;
  const before = await records.get(endpointHealth, alert.key);
  const health = withFailure(before?.value, at);
  const nextInMs = nextAttemptInMs(attempt, random);
  const reason = reasonToDisable(attempt, health, nextInMs);
  const disabled = reason && (await disableWebhook(alert, reason, at, records, audit));
  if (disabled !== undefined) {
    return [removeAt(deliveries, delivery), logAttempt(attempt, null), ...disabled];
  }
  const again = { value: { ...value, attempts: value.attempts + 1 }, dueInMs: nextInMs ?? 0 };
  return [
    nextInMs === undefined ? removeAt(deliveries, delivery) : replace(deliveries, delivery, again),
    ...(isChallenge(attempt) ? [] : [writeHealth(alert, before, health)]),
    logAttempt(attempt, nextInMs ?? null),
  ];
}

/** Milliseconds until the next attempt; `undefined` when this was the last one. */
function nextAttemptInMs(attempt: CompletedAttempt, random: () => number): number | undefined {
  const { delivery, response } = attempt;
  const failures = delivery.value.attempts + 1;
  if (isChallenge(attempt)) return nextChallengeMs({ failures, random });
  const isHonored = response !== undefined && RETRY_AFTER_STATUSES.includes(response.status);
  const retryAfterMs = isHonored ? response.retryAfterMs : undefined;
  return nextAttemptMs({ failures, random, retryAfterMs });
}

function reasonToDisable(
  attempt: CompletedAttempt,
  health: EndpointHealth,
  nextInMs: number | undefined,
): DisabledReason | undefined {
  if (attempt.response?.status === GONE) return "gone";
  if (isChallenge(attempt)) return nextInMs === undefined ? "unverified" : undefined;
  return hasFailedTooLong(health, attempt.at) ? "failing" : undefined;
}

/** Writes the row that the owner sees. @param nextInMs `null`: there is no further attempt. */
function logAttempt(attempt: CompletedAttempt, nextInMs: number | null): Operation {
  const { delivery, at, response } = attempt;
  const { alertId, type, attempts } = delivery.value;
  const body: Attempt = {
    alertId,
    eventId: delivery.key,
    type,
    number: attempts + 1,
    status: response?.status ?? null,
    latencyMs: response?.latencyMs ?? null,
    error: attemptError(attempt),
    // An unverified host may belong to somebody else: its answer is not shown to the alert's owner.
    response: type === CHALLENGE_TYPE ? "" : (response?.body ?? ""),
    nextInMs,
  };
  return append({ kind: ATTEMPT_KIND, at, id: randomUUID(), subject: alertId, body });
}
