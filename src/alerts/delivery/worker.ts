import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type Loop, type ScheduleTimer, startLoop } from "../../lib/loop.ts";
import { OutboundError } from "../../outbound/guarded-fetch.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Records } from "../../store/port/records.ts";
import { type Transaction, transact, transactOnce } from "../../store/transact.ts";
import { findQuotaGroup } from "../alert.ts";
import { channels } from "../channels/channel.ts";
import { ChannelEndpoint, type ChannelEndpointOptions } from "../channels/channel-endpoint.ts";
import { digestGroup, endGathering, GATHERING_TYPE } from "../channels/digest.ts";
import { findEntitledAlert, isQueuedFor, requeueOrDelete } from "./addressee.ts";
import { nextChallengeDelayMs } from "./challenge.ts";
import { MAX_CONCURRENT_ATTEMPTS } from "./circuit-breaker.ts";
import {
  ATTEMPT_ARCHIVE_KIND,
  DELIVERIES_TOPIC,
  type DeliveryAttempt,
  deliveries,
  findEndpointGroup,
  isUnchanged,
  rescheduleDelivery,
  type StoredDelivery,
} from "./delivery.ts";
import {
  type DisabledReason,
  drop,
  type Endpoint,
  type EndpointVerdict,
  type Instead,
  type Ready,
} from "./endpoint.ts";
import {
  type EndpointHealth,
  endpointHealthAfterFailure,
  endpointHealthRecords,
  hasFailedTooLong,
  writeEndpointHealth,
} from "./endpoint-health.ts";
import { type AttemptOutcome, EndpointQueues } from "./endpoint-queues.ts";
import { startReleaseLoop } from "./held-deliveries.ts";
import { nextAttemptDelayMs } from "./retry-schedule.ts";
import type { WebhookRequest, WebhookResponse, WebhookSender } from "./sender.ts";
import { WebhookEndpoint, type WebhookEndpointOptions } from "./webhook-endpoint.ts";

// One delivery, from its lease to its record, read from top to bottom:
//
// lease     `DeliveryWorker` claims what is due, for endpoints and owners that have room
// endpoint  `findEndpoint`: the webhook or channel to which the alert sends now
// prepare   `Endpoint.prepare`: the message, or what is written instead of sending it
// send      `send`: the response, or none
// record    `record`: one transaction, which also retries, verifies or disables
//
// A crash before the record leaves the delivery leased. When the lease has expired, it is sent
// again with the same id and body.

/**
 * Pause between two polls for due deliveries, in milliseconds. Polling is needed because retries
 * become due without an announcement, and announcements can be lost. The value is a tenth of the
 * shortest pause between two attempts.
 */
const POLL_EVERY_MS = 500;

/**
 * Maximum number of attempts that are running or waiting in one process: `maxTotal` for all owners
 * together, and `maxPerOwner` for one owner while no other owner has work.
 */
const CAPACITY = { maxTotal: 200, maxPerOwner: 40 } as const;

/**
 * Milliseconds after which another process may claim a delivery. The lease outlasts two attempts:
 * the delivery's own attempt, and one for which it may have to wait.
 */
const LEASE_MS = 60_000;

/** How long `stop` waits for running attempts, in milliseconds. */
const STOP_MS = 2_000;

/** Statuses whose `Retry-After` is honored (RFC 6585 section 4, RFC 9110 section 15.6.4). */
const RETRY_AFTER_STATUSES: readonly number[] = [429, 503];

/** Dependencies of `attemptDelivery`. */
export interface DeliveryAttemptOptions extends WebhookEndpointOptions, ChannelEndpointOptions {
  readonly records: Records;
  readonly sender: Pick<WebhookSender, "send">;
  /** Random number from 0 to 1, for jitter. */
  readonly random: () => number;
}

/** Dependencies of the delivery worker. */
export interface DeliveryWorkerOptions extends DeliveryAttemptOptions {
  /** The monotonic clock in milliseconds, such as `performance.now`. */
  readonly monotonic: () => number;
  readonly schedule: ScheduleTimer;
  /**
   * Called when an attempt could not be made or recorded. The delivery is attempted again. Not
   * called when a webhook rejects a delivery or is unreachable.
   */
  readonly onError: (error: unknown) => void;
}

/**
 * Sends due deliveries to webhooks and channels. Every process may run a worker; each delivery is
 * leased to one worker at a time. Delivery is at least once: if the process or the store fails
 * after the endpoint has responded and before the attempt is recorded, the delivery is sent again
 * with the same id.
 */
export class DeliveryWorker {
  readonly #options: DeliveryWorkerOptions;
  readonly #queues: EndpointQueues<StoredDelivery>;
  /** Aborted when the outcome of running attempts must no longer be recorded. */
  readonly #stopped = new AbortController();
  #loop: Loop | undefined;
  #releases: { stop(): Promise<void> } | undefined;
  #stopListening = () => {};

  constructor(options: DeliveryWorkerOptions) {
    this.#options = options;
    this.#queues = new EndpointQueues({
      attempt: (delivery) => this.#attempt(delivery),
      onCapacity: () => this.#loop?.wake(),
      maxTotal: CAPACITY.maxTotal,
      maxPerOwner: CAPACITY.maxPerOwner,
      monotonic: options.monotonic,
    });
  }

  start(): void {
    const { records, schedule, onError } = this.#options;
    const loop = startLoop({
      tick: () => this.#claim(),
      everyMs: POLL_EVERY_MS,
      onError,
      schedule,
    });
    this.#loop = loop;
    this.#releases = startReleaseLoop({ records, schedule, onError });
    this.#stopListening = records.onAnnounce(DELIVERIES_TOPIC, loop.wake);
  }

  /**
   * Stops the worker; nothing is sent afterwards. Deliveries that were claimed but not sent are
   * immediately due for another process.
   */
  async stop(): Promise<void> {
    this.#stopListening();
    await Promise.all([this.#loop?.stop(), this.#releases?.stop()]);
    const { waiting, ended } = this.#queues.stop();
    await this.#giveBack(waiting).catch(this.#options.onError);
    await Promise.race([ended, delay(STOP_MS, undefined, { ref: false })]);
    this.#stopped.abort();
  }

  /** Claims due deliveries. @returns How many were claimed; 0 when there are no more. */
  async #claim(): Promise<number> {
    // Claims at most as many deliveries as one endpoint may receive concurrently, because all of
    // them may belong to one endpoint, and at most one owner's share, because all of them may
    // belong to one owner. Further deliveries would wait here under a lease while another process
    // could send them.
    const { capacity, share } = this.#queues;
    const limit = Math.min(MAX_CONCURRENT_ATTEMPTS, capacity, share);
    if (limit <= 0) return 0;
    const due = await this.#options.records.claimDue(deliveries, {
      limit,
      leaseMs: LEASE_MS,
      except: this.#queues.saturated(),
    });
    for (const delivery of due) {
      this.#queues.add(
        delivery,
        findEndpointGroup(delivery.groups),
        findQuotaGroup(delivery.groups),
      );
    }
    if (due.length === limit) return due.length;
    return this.#queues.nextRound() ? 1 : 0;
  }

  async #attempt(delivery: StoredDelivery) {
    try {
      return await attemptDelivery(delivery, this.#options, this.#stopped.signal);
    } catch (error) {
      this.#options.onError(error);
      return "none";
    }
  }

  async #giveBack(claimed: readonly StoredDelivery[]): Promise<void> {
    const { records } = this.#options;
    await Promise.all(
      claimed.map((delivery) => transactOnce(records, rescheduleDelivery(delivery, 0))),
    );
  }
}

/**
 * Makes and records one attempt at a delivery that this process has leased. Sends nothing if the
 * delivery must wait or may not be sent at all.
 *
 * @param stopped Aborted when results must no longer be recorded.
 */
export async function attemptDelivery(
  delivery: StoredDelivery,
  options: DeliveryAttemptOptions,
  stopped: AbortSignal,
): Promise<AttemptOutcome> {
  const endpoint = await findEndpoint(delivery, options);
  if ("instead" in endpoint) return write(endpoint, delivery, options);
  const message = await endpoint.prepare(delivery);
  if ("instead" in message) return write(message, delivery, options);
  const at = options.now().getTime();
  const response = message.request && (await send(message.request, options));
  if (stopped.aborted) return "none";
  return (await record({ delivery, endpoint, message, at, response }, options))
    ? "success"
    : "failure";
}

/** Finds where a delivery goes now; what is written instead if it goes nowhere, or elsewhere. */
async function findEndpoint(
  delivery: StoredDelivery,
  options: DeliveryAttemptOptions,
): Promise<Endpoint | Instead> {
  const { alertId, channelId, type } = delivery.value;
  const [alert, channel] = await Promise.all([
    alertId === undefined ? undefined : findEntitledAlert(alertId, options),
    channelId === undefined ? undefined : options.records.get(channels, channelId),
  ]);
  if (alertId !== undefined && (alert === undefined || !isQueuedFor(delivery, alert))) {
    return { instead: requeueOrDelete(delivery, alert) };
  }
  if (channel !== undefined) return new ChannelEndpoint(channel, alert, options);
  if (channelId !== undefined && type === GATHERING_TYPE) {
    return { instead: endGathering(delivery, channelId) };
  }
  return alert?.value.way.by === "webhook"
    ? new WebhookEndpoint(alert, alert.value.way, options)
    : drop(delivery);
}

/** Writes what is done instead of sending. */
async function write(
  { instead }: Instead,
  delivery: StoredDelivery,
  { records }: DeliveryAttemptOptions,
): Promise<AttemptOutcome> {
  await transact(records, async (tx) => {
    if (await isUnchanged(tx, deliveries, delivery)) await instead(tx);
  });
  return "none";
}

/** Sends a request. @returns The response; `undefined` when no response arrived. */
async function send(
  request: WebhookRequest,
  { sender }: DeliveryAttemptOptions,
): Promise<WebhookResponse | undefined> {
  try {
    return await sender.send(request);
  } catch (error) {
    if (error instanceof OutboundError) return undefined;
    throw error;
  }
}

/** An attempt that has ended. */
interface Attempt {
  readonly delivery: StoredDelivery;
  /** The endpoint as it was before the attempt. */
  readonly endpoint: Endpoint;
  readonly message: Ready;
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
 * An attempt with the verdict on its response, and the members of a digest that are still queued.
 */
interface JudgedAttempt extends Attempt {
  readonly verdict: EndpointVerdict;
  readonly members: readonly StoredDelivery[];
}

/**
 * Records an attempt in one transaction: the delivery and its members are removed or rescheduled,
 * the attempt is logged, and the endpoint is verified or disabled if necessary. Writes nothing when
 * the delivery was deleted or leased to another process in the meantime.
 *
 * @returns Whether the endpoint accepted the delivery.
 */
async function record(attempt: Attempt, options: DeliveryAttemptOptions): Promise<boolean> {
  const verdict = attempt.message.verdictOn(attempt.response);
  const isAccepted = verdict.error === "none";
  await transact(options.records, async (tx) => {
    if (!(await isUnchanged(tx, deliveries, attempt.delivery))) return;
    const judged = { ...attempt, verdict, members: await remainingMembers(tx, attempt) };
    await (isAccepted ? recordSuccess(tx, judged) : recordFailure(tx, judged, options));
  });
  return isAccepted;
}

/**
 * The members of a digest that have not been deleted in the meantime. They are read with one group
 * query, because reading each member separately could occupy every database connection. Only
 * members that have left the digest, usually few, are read separately.
 */
async function remainingMembers(
  tx: Transaction,
  { delivery, message: { members = [] } }: Attempt,
): Promise<readonly StoredDelivery[]> {
  if (members.length === 0) return [];
  const within = await readAll(tx, deliveries, digestGroup(delivery.key));
  const byKey = new Map(within.map((member) => [member.key, member]));
  const found = await Promise.all(
    members.map(({ key }) => byKey.get(key) ?? tx.get(deliveries, key)),
  );
  return found.filter((member) => member !== undefined);
}

async function recordSuccess(tx: Transaction, attempt: JudgedAttempt): Promise<void> {
  removeAll(tx, attempt);
  tx.remove(endpointHealthRecords, attempt.endpoint.id);
  logAttempt(tx, attempt, null);
  await attempt.message.onAccepted?.(tx, attempt.at);
}

async function recordFailure(
  tx: Transaction,
  attempt: JudgedAttempt,
  { random }: DeliveryAttemptOptions,
): Promise<void> {
  const { delivery, endpoint, message, at, response } = attempt;
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
    // A retry has its own due time, which a new schedule of the channel does not change.
    const { heldUntil: _, ...value } = delivery.value;
    const again = { ...value, attempts: value.attempts + 1 };
    tx.update(deliveries, delivery, { value: again, dueInMs: nextInMs });
  }
  if (!message.isVerification) writeEndpointHealth(tx, endpoint, before, health);
  if (response !== undefined) await message.onRefused?.(tx, response);
  logAttempt(tx, attempt, nextInMs ?? null);
}

/** Removes the delivery and its members. */
function removeAll(tx: Transaction, { delivery, members }: JudgedAttempt): void {
  for (const { key } of [delivery, ...members]) tx.remove(deliveries, key);
}

/** Milliseconds until the next attempt; `undefined` when there is no further attempt. */
function nextAttemptInMs(attempt: JudgedAttempt, random: () => number): number | undefined {
  const { delivery, message, response, verdict } = attempt;
  const failures = delivery.value.attempts + 1;
  if (message.isVerification) return nextChallengeDelayMs({ failures, random });
  const isHonored = response !== undefined && RETRY_AFTER_STATUSES.includes(response.status);
  return nextAttemptDelayMs({
    failures,
    random,
    retryAfterMs: isHonored ? verdict.retryAfterMs : undefined,
  });
}

function reasonToDisable(
  { verdict, message, at }: JudgedAttempt,
  health: EndpointHealth,
  nextInMs: number | undefined,
): DisabledReason | undefined {
  if (verdict.isGone) return "gone";
  if (message.isVerification) return nextInMs === undefined ? "unverified" : undefined;
  return hasFailedTooLong(health, at) ? "failing" : undefined;
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
const isResponseShown = ({ delivery, message }: Attempt): boolean =>
  !message.isVerification && delivery.value.channelId === undefined;
