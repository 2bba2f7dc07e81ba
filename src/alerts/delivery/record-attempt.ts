import { randomUUID } from "node:crypto";
import { append, remove, removeAt, replace } from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Operation, Records } from "../../store/port/records.ts";
import { CODE_TYPE, digestGroup } from "../channels/own-messages.ts";
import { CHALLENGE_TYPE, nextChallengeMs } from "./challenge.ts";
import { ATTEMPT_KIND, type Attempt, deliveries, type StoredDelivery } from "./delivery.ts";
import type { DisabledReason, Endpoint, Verdict } from "./endpoint.ts";
import {
  type EndpointHealth,
  endpointHealth,
  hasFailedTooLong,
  withFailure,
  writeHealth,
} from "./endpoint-health.ts";
import { nextAttemptMs } from "./retry-schedule.ts";
import type { WebhookResponse } from "./sender.ts";

/** Statuses whose `Retry-After` is honored (RFC 6585 section 4, RFC 9110 section 15.6.4). */
const RETRY_AFTER_STATUSES: readonly number[] = [429, 503];

/** Dependencies of `recordAttempt`. */
export interface RecordAttemptOptions {
  readonly records: Records;
  /** A random number from 0 to 1. */
  readonly random: () => number;
}

/** An attempt that has ended. */
export interface CompletedAttempt {
  readonly delivery: StoredDelivery;
  /** The deliveries that it contains, if it is a digest. */
  readonly members: readonly StoredDelivery[];
  /** The endpoint as it was before the attempt. */
  readonly endpoint: Endpoint;
  /** When it began, milliseconds since the epoch. Its end would tell how long an unreachable host
   *  stayed silent, which would let owners probe our network. */
  readonly at: number;
  /** `undefined`: no answer came, for whatever reason. */
  readonly response: WebhookResponse | undefined;
}

/** An attempt, what its answer means, and which of its members are still queued. */
interface JudgedAttempt extends CompletedAttempt {
  readonly verdict: Verdict;
}

/**
 * Records an attempt in one commit: the delivery and its members end or get their next attempt; the
 * attempt is logged, and the endpoint is verified or disabled if that follows. Writes nothing when
 * the delivery was deleted or leased to another process meanwhile.
 *
 * @returns Whether the endpoint accepted it.
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
    const members = await queuedNow(attempt, records);
    const judged = { ...attempt, members, verdict };
    const operations = isAccepted
      ? await afterSuccess(judged)
      : await afterFailure(judged, options);
    if (await records.commit(operations)) return isAccepted;
    const found = await records.get(deliveries, delivery.key);
    if (found?.revision !== delivery.revision) return isAccepted;
  }
}

/** Members that were not deleted meanwhile. They are read at once: one by one, those of some digests would
 *  keep every connection to the database busy. Few have left the digest. */
async function queuedNow(
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
    remove(endpointHealth, endpoint.id),
    ...logAttempt(attempt, null),
    ...(await endpoint.afterSuccess(delivery.value, at)),
  ];
}

/** The operations that remove the delivery and its members. */
const removals = ({ delivery, members }: CompletedAttempt): readonly Operation[] =>
  [delivery, ...members].map((each) => removeAt(deliveries, each));

/** Whether it is a message that verifies its endpoint. */
const isVerification = ({ delivery }: CompletedAttempt): boolean =>
  delivery.value.type === CHALLENGE_TYPE || delivery.value.type === CODE_TYPE;

async function afterFailure(
  attempt: JudgedAttempt,
  { records, random }: RecordAttemptOptions,
): Promise<readonly Operation[]> {
  const { delivery, endpoint, at } = attempt;
  // A retry waits for its own time, which no other schedule of the channel changes.
  const { heldUntil: _, ...value } = delivery.value;
  const before = await records.get(endpointHealth, endpoint.id);
  const health = withFailure(before?.value, at);
  const nextInMs = nextAttemptInMs(attempt, random);
  const reason = reasonToDisable(attempt, health, nextInMs);
  const disabled = reason && (await endpoint.disable(reason, at));
  if (disabled !== undefined) {
    return [...removals(attempt), ...logAttempt(attempt, null), ...disabled];
  }
  const again = { value: { ...value, attempts: value.attempts + 1 }, dueInMs: nextInMs ?? 0 };
  return [
    ...(nextInMs === undefined ? removals(attempt) : [replace(deliveries, delivery, again)]),
    ...(isVerification(attempt) ? [] : [writeHealth(endpoint, before, health)]),
    ...(await endpoint.afterFailure(attempt.response)),
    ...logAttempt(attempt, nextInMs ?? null),
  ];
}

/** Milliseconds until the next attempt; `undefined` when this was the last one. */
function nextAttemptInMs(attempt: JudgedAttempt, random: () => number): number | undefined {
  const { delivery, response, verdict } = attempt;
  const failures = delivery.value.attempts + 1;
  if (isVerification(attempt)) return nextChallengeMs({ failures, random });
  const isHonored = response !== undefined && RETRY_AFTER_STATUSES.includes(response.status);
  return nextAttemptMs({
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

/** Writes the rows that the owner sees: of the delivery, and of each of its members. @param
 *  nextInMs `null`: there is no further attempt. */
function logAttempt(attempt: JudgedAttempt, nextInMs: number | null): readonly Operation[] {
  const { delivery, members, endpoint, at, response, verdict } = attempt;
  const result = {
    number: delivery.value.attempts + 1,
    status: response?.status ?? null,
    latencyMs: response?.latencyMs ?? null,
    error: verdict.error,
    nextInMs,
  };
  const row = (told: StoredDelivery, more: Pick<Attempt, "response" | "digestId">): Operation => {
    const { alertId, type } = told.value;
    const body: Attempt = {
      ...(alertId !== undefined && { alertId }),
      eventId: told.key,
      type,
      ...result,
      ...more,
    };
    const subject = alertId ?? endpoint.id;
    return append({ kind: ATTEMPT_KIND, at, id: randomUUID(), subject, body });
  };
  return [
    row(delivery, { response: isResponseShown(attempt) ? (response?.body ?? "") : "" }),
    ...members.map((member) => row(member, { response: "", digestId: delivery.key })),
  ];
}

/** Whether the answer may be shown to the owner of the alert. That of an unverified host may not,
 *  since the host may belong to somebody else. Those of chat services may not, since they name
 *  chats and topics of the person, which the client that created the alert must not learn. */
const isResponseShown = (attempt: CompletedAttempt): boolean =>
  !isVerification(attempt) && attempt.delivery.value.channelId === undefined;
