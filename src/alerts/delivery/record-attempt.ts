import { randomUUID } from "node:crypto";
import { readAll } from "../../store/port/read-all.ts";
import type { Records } from "../../store/port/records.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import { digestGroup } from "../channels/digest.ts";
import { VERIFICATION_CODE_MESSAGE_TYPE } from "../channels/own-messages.ts";
import { CHALLENGE_MESSAGE_TYPE, nextChallengeDelayMs } from "./challenge.ts";
import {
  ATTEMPT_ARCHIVE_KIND,
  type DeliveryAttempt,
  deliveries,
  type StoredDelivery,
} from "./delivery.ts";
import type { DisabledReason, Endpoint, EndpointVerdict } from "./endpoint.ts";
import {
  type EndpointHealth,
  endpointHealthAfterFailure,
  endpointHealthRecords,
  hasFailedTooLong,
  writeEndpointHealth,
} from "./endpoint-health.ts";
import { nextAttemptDelayMs } from "./retry-schedule.ts";
import type { WebhookResponse } from "./sender.ts";

/** Statuses whose `Retry-After` is honored (RFC 6585 section 4, RFC 9110 section 15.6.4). */
const RETRY_AFTER_STATUSES: readonly number[] = [429, 503];

/** Dependencies of `recordAttempt`. */
export interface RecordAttemptOptions {
  readonly records: Records;
  /** Random number from 0 to 1, for jitter. */
  readonly random: () => number;
}

/** An attempt that has ended. */
export interface CompletedAttempt {
  readonly delivery: StoredDelivery;
  /** The deliveries that a digest contains; empty for other messages. */
  readonly members: readonly StoredDelivery[];
  /** The endpoint as it was before the attempt. */
  readonly endpoint: Endpoint;
  /**
   * When the attempt began, in milliseconds since the epoch. The end of the attempt is not
   * recorded: it would show how long an unreachable host did not respond, which would let owners
   * scan the network of this service.
   */
  readonly at: number;
  /** The response; `undefined` when there was none, for whatever reason. */
  readonly response: WebhookResponse | undefined;
}

/**
 * An attempt with the verdict on its response. `members` contains only the deliveries that are
 * still queued.
 */
interface JudgedAttempt extends CompletedAttempt {
  readonly verdict: EndpointVerdict;
}

/**
 * Records an attempt in one transaction: the delivery and its members are removed or rescheduled, the
 * attempt is logged, and the endpoint is verified or disabled if necessary. Writes nothing when the
 * delivery was deleted or leased to another process in the meantime.
 *
 * @returns Whether the endpoint accepted the delivery.
 */
export async function recordAttempt(
  attempt: CompletedAttempt,
  options: RecordAttemptOptions,
): Promise<boolean> {
  const { records } = options;
  const { delivery, endpoint, response } = attempt;
  const verdict = endpoint.verdictOn(delivery.value, response);
  const isAccepted = verdict.error === "none";
  await transact(records, async (tx) => {
    const found = await tx.get(deliveries, delivery.key);
    if (found?.revision !== delivery.revision) return;
    const judged = { ...attempt, members: await remainingDigestMembers(tx, attempt), verdict };
    await (isAccepted ? afterSuccess(tx, judged) : afterFailure(tx, judged, options));
  });
  return isAccepted;
}

/**
 * The members of a digest that have not been deleted in the meantime. They are read with one group
 * query, because reading each member separately could occupy every database connection. Only
 * members that have left the digest, usually few, are read separately.
 */
async function remainingDigestMembers(
  tx: Transaction,
  { delivery, members }: CompletedAttempt,
): Promise<readonly StoredDelivery[]> {
  if (members.length === 0) return [];
  const within = await readAll(tx, deliveries, digestGroup(delivery.key));
  const byKey = new Map(within.map((member) => [member.key, member]));
  const found = await Promise.all(
    members.map(({ key }) => byKey.get(key) ?? tx.get(deliveries, key)),
  );
  return found.filter((member) => member !== undefined);
}

async function afterSuccess(tx: Transaction, attempt: JudgedAttempt): Promise<void> {
  const { delivery, endpoint, at } = attempt;
  removeAll(tx, attempt);
  tx.remove(endpointHealthRecords, endpoint.id);
  logAttempt(tx, attempt, null);
  await endpoint.afterSuccess(tx, delivery.value, at);
}

/** Removes the delivery and its members. */
function removeAll(tx: Transaction, { delivery, members }: CompletedAttempt): void {
  for (const { key } of [delivery, ...members]) tx.remove(deliveries, key);
}

/** Whether the message of an attempt verifies its endpoint. */
const isVerification = ({ delivery }: CompletedAttempt): boolean =>
  delivery.value.type === CHALLENGE_MESSAGE_TYPE ||
  delivery.value.type === VERIFICATION_CODE_MESSAGE_TYPE;

async function afterFailure(
  tx: Transaction,
  attempt: JudgedAttempt,
  { random }: RecordAttemptOptions,
): Promise<void> {
  const { delivery, endpoint, at } = attempt;
  // A retry has its own due time, which a new schedule of the channel does not change.
  const { heldUntil: _, ...value } = delivery.value;
  const before = await tx.get(endpointHealthRecords, endpoint.id);
  const health = endpointHealthAfterFailure(before?.value, at);
  const nextInMs = nextAttemptInMs(attempt, random);
  const reason = reasonToDisable(attempt, health, nextInMs);
  if (reason !== undefined && (await endpoint.disable(tx, reason, at))) {
    removeAll(tx, attempt);
    logAttempt(tx, attempt, null);
    return;
  }
  if (nextInMs === undefined) removeAll(tx, attempt);
  else {
    const again = { ...value, attempts: value.attempts + 1 };
    tx.update(deliveries, delivery, { value: again, dueInMs: nextInMs });
  }
  if (!isVerification(attempt)) writeEndpointHealth(tx, endpoint, before, health);
  await endpoint.afterFailure(tx, attempt.response);
  logAttempt(tx, attempt, nextInMs ?? null);
}

/** Milliseconds until the next attempt; `undefined` when there is no further attempt. */
function nextAttemptInMs(attempt: JudgedAttempt, random: () => number): number | undefined {
  const { delivery, response, verdict } = attempt;
  const failures = delivery.value.attempts + 1;
  if (isVerification(attempt)) return nextChallengeDelayMs({ failures, random });
  const isHonored = response !== undefined && RETRY_AFTER_STATUSES.includes(response.status);
  return nextAttemptDelayMs({
    failures,
    random,
    retryAfterMs: isHonored ? verdict.retryAfterMs : undefined,
  });
}

function reasonToDisable(
  attempt: JudgedAttempt,
  health: EndpointHealth,
  nextInMs: number | undefined,
): DisabledReason | undefined {
  if (attempt.verdict.isGone) return "gone";
  if (isVerification(attempt)) return nextInMs === undefined ? "unverified" : undefined;
  return hasFailedTooLong(health, attempt.at) ? "failing" : undefined;
}

/**
 * Writes the attempt rows, one for the delivery and one for each member.
 *
 * @param nextInMs Milliseconds until the next attempt; `null` if there is none.
 */
function logAttempt(tx: Transaction, attempt: JudgedAttempt, nextInMs: number | null): void {
  const { delivery, members, endpoint, at, response, verdict } = attempt;
  const result = {
    number: delivery.value.attempts + 1,
    status: response?.status ?? null,
    latencyMs: response?.latencyMs ?? null,
    error: verdict.error,
    nextInMs,
  };
  const append = (
    told: StoredDelivery,
    more: Pick<DeliveryAttempt, "response" | "digestId">,
  ): void => {
    const { alertId, type } = told.value;
    const body: DeliveryAttempt = {
      ...(alertId !== undefined && { alertId }),
      eventId: told.key,
      type,
      ...result,
      ...more,
    };
    const subject = alertId ?? endpoint.id;
    tx.append({ kind: ATTEMPT_ARCHIVE_KIND, at, id: randomUUID(), subject, body });
  };
  append(delivery, { response: isResponseShown(attempt) ? (response?.body ?? "") : "" });
  for (const member of members) append(member, { response: "", digestId: delivery.key });
}

/**
 * Whether the response body may be shown to the alert's owner. The response of an unverified host
 * must not be shown, because the host may belong to someone else. The response of a chat service
 * must not be shown, because it can contain names of the person's chats and topics, which the
 * client that created the alert must not learn.
 */
const isResponseShown = (attempt: CompletedAttempt): boolean =>
  !isVerification(attempt) && attempt.delivery.value.channelId === undefined;
