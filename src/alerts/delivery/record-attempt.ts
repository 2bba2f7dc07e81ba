import { randomUUID } from "node:crypto";
import { appendToArchive, remove, removeUnchanged, replace } from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Operation, Records } from "../../store/port/records.ts";
import { digestGroup, VERIFICATION_CODE_MESSAGE_TYPE } from "../channels/own-messages.ts";
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
   * probe the network of this service.
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
 * Records an attempt in one commit: the delivery and its members are removed or rescheduled, the
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
  for (;;) {
    const members = await remainingDigestMembers(attempt, records);
    const judged = { ...attempt, members, verdict };
    const operations = isAccepted
      ? await afterSuccess(judged)
      : await afterFailure(judged, options);
    if (await records.commit(operations)) return isAccepted;
    const found = await records.get(deliveries, delivery.key);
    if (found?.revision !== delivery.revision) return isAccepted;
  }
}

/**
 * The members of a digest that have not been deleted in the meantime. They are read with one group
 * query, because reading each member separately could occupy every database connection. Only
 * members that have left the digest, usually few, are read separately.
 */
async function remainingDigestMembers(
  { delivery, members }: CompletedAttempt,
  records: Records,
): Promise<readonly StoredDelivery[]> {
  if (members.length === 0) return [];
  const within = await readAll(records, deliveries, digestGroup(delivery.key));
  const byKey = new Map(within.map((member) => [member.key, member]));
  const found = await Promise.all(
    members.map(({ key }) => byKey.get(key) ?? records.get(deliveries, key)),
  );
  return found.filter((member) => member !== undefined);
}

async function afterSuccess(attempt: JudgedAttempt): Promise<readonly Operation[]> {
  const { delivery, endpoint, at } = attempt;
  return [
    ...removals(attempt),
    remove(endpointHealthRecords, endpoint.id),
    ...logAttempt(attempt, null),
    ...(await endpoint.afterSuccess(delivery.value, at)),
  ];
}

/** The operations that remove the delivery and its members. */
const removals = ({ delivery, members }: CompletedAttempt): readonly Operation[] =>
  [delivery, ...members].map((each) => removeUnchanged(deliveries, each));

/** Whether the message of an attempt verifies its endpoint. */
const isVerification = ({ delivery }: CompletedAttempt): boolean =>
  delivery.value.type === CHALLENGE_MESSAGE_TYPE ||
  delivery.value.type === VERIFICATION_CODE_MESSAGE_TYPE;

async function afterFailure(
  attempt: JudgedAttempt,
  { records, random }: RecordAttemptOptions,
): Promise<readonly Operation[]> {
  const { delivery, endpoint, at } = attempt;
  // A retry has its own due time, which a new schedule of the channel does not change.
  const { heldUntil: _, ...value } = delivery.value;
  const before = await records.get(endpointHealthRecords, endpoint.id);
  const health = endpointHealthAfterFailure(before?.value, at);
  const nextInMs = nextAttemptInMs(attempt, random);
  const reason = reasonToDisable(attempt, health, nextInMs);
  const disabled = reason && (await endpoint.disable(reason, at));
  if (disabled !== undefined) {
    return [...removals(attempt), ...logAttempt(attempt, null), ...disabled];
  }
  const again = { value: { ...value, attempts: value.attempts + 1 }, dueInMs: nextInMs ?? 0 };
  return [
    ...(nextInMs === undefined ? removals(attempt) : [replace(deliveries, delivery, again)]),
    ...(isVerification(attempt) ? [] : [writeEndpointHealth(endpoint, before, health)]),
    ...(await endpoint.afterFailure(attempt.response)),
    ...logAttempt(attempt, nextInMs ?? null),
  ];
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
 * The operations that write the attempt rows, one for the delivery and one for each member.
 *
 * @param nextInMs Milliseconds until the next attempt; `null` if there is none.
 */
function logAttempt(attempt: JudgedAttempt, nextInMs: number | null): readonly Operation[] {
  const { delivery, members, endpoint, at, response, verdict } = attempt;
  const result = {
    number: delivery.value.attempts + 1,
    status: response?.status ?? null,
    latencyMs: response?.latencyMs ?? null,
    error: verdict.error,
    nextInMs,
  };
  const row = (
    told: StoredDelivery,
    more: Pick<DeliveryAttempt, "response" | "digestId">,
  ): Operation => {
    const { alertId, type } = told.value;
    const body: DeliveryAttempt = {
      ...(alertId !== undefined && { alertId }),
      eventId: told.key,
      type,
      ...result,
      ...more,
    };
    const subject = alertId ?? endpoint.id;
    return appendToArchive({ kind: ATTEMPT_ARCHIVE_KIND, at, id: randomUUID(), subject, body });
  };
  return [
    row(delivery, { response: isResponseShown(attempt) ? (response?.body ?? "") : "" }),
    ...members.map((member) => row(member, { response: "", digestId: delivery.key })),
  ];
}

/**
 * Whether the response body may be shown to the alert's owner. The response of an unverified host
 * must not be shown, because the host may belong to someone else. The response of a chat service
 * must not be shown, because it can contain names of the person's chats and topics, which the
 * client that created the alert must not learn.
 */
const isResponseShown = (attempt: CompletedAttempt): boolean =>
  !isVerification(attempt) && attempt.delivery.value.channelId === undefined;
