import type { Auditor } from "../../access/auditor.ts";
import type { Scope } from "../../access/scopes.ts";
import type { Vault } from "../../keys/vault.ts";
import type { LimitState, Limits } from "../../limits/limits.ts";
import type { Outbox, OutgoingMail } from "../../mail/outbox.ts";
import { OutboundError } from "../../outbound/guarded-fetch.ts";
import { accounts } from "../../principals/accounts/accounts.ts";
import type { RecordReader, Records } from "../../store/port/records.ts";
import { type Change, type Transaction, transact } from "../../store/transact.ts";
import {
  type AlertOwner,
  alerts,
  type EventSource,
  eventParty,
  type StoredAlert,
} from "../alert.ts";
import {
  DELIVERIES_TOPIC,
  deleteDelivery,
  deliveries,
  isUnchanged,
  queuedDeliveriesGroup,
  type StoredDelivery,
} from "../delivery/delivery.ts";
import type { AttemptOutcome } from "../delivery/endpoint-queues.ts";
import { type RecordAttemptOptions, recordAttempt } from "../delivery/record-attempt.ts";
import {
  countRepeatedAttempt,
  delayDeliveryUntilReset,
  isRepeatedAttempt,
  rescheduleDelivery,
} from "../delivery/repeat-limit.ts";
import type { WebhookRequest, WebhookResponse, WebhookSender } from "../delivery/sender.ts";
import {
  channelCodeEncryptionContext,
  channels,
  decryptChannelTarget,
  groupsOfChannel,
  type StoredChannel,
} from "./channel.ts";
import { ChannelEndpoint } from "./channel-endpoint.ts";
import {
  DIGEST_MESSAGE_TYPE,
  digestMessage,
  endGathering,
  findEntitledAlert,
  GATHERING_TYPE,
  gatherDigest,
  gatheringWaitEnd,
  isStillSentToChannel,
  readDigestMembers,
  requeueOrDelete,
  waitForDigest,
} from "./digest.ts";
import type { ChannelMessage } from "./message.ts";
import { NOTICE_MESSAGE_TYPE, VERIFICATION_CODE_MESSAGE_TYPE } from "./own-messages.ts";
import { quietHoursEnd, scheduledWaitEnd } from "./schedule.ts";
import { type ChatKind, chatServices } from "./services/chat-services.ts";
import { emailOfMessage } from "./services/email.ts";
import type { ChatSettings } from "./services/service.ts";
import { type ChannelTarget, channelTargetKey } from "./targets.ts";
import { eventMessage, verificationCodeMessage } from "./texts.ts";

/** Dependencies for sending messages to channels. */
export interface ChannelDependencies extends ChatSettings {
  readonly mailbox: Outbox;
  /** Display name of the service. */
  readonly serviceName: string;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  /** Creates the URL that unsubscribes an email channel. */
  readonly unsubscribeUrl: (channelId: string) => string;
}

/** Dependencies of a delivery attempt to a channel. */
export interface ChannelAttemptOptions extends RecordAttemptOptions {
  readonly sender: Pick<WebhookSender, "send">;
  readonly audit: Auditor;
  readonly vault: Vault;
  readonly scopesOf: (owner: AlertOwner) => Promise<ReadonlySet<Scope>>;
  readonly limits: Limits;
  readonly channels: ChannelDependencies;
  readonly now: () => Date;
}

/** A message that can be sent now. */
interface ReadyMessage {
  readonly message: ChannelMessage;
  /** The deliveries that a digest message contains; empty for other messages. */
  readonly members: readonly StoredDelivery[];
}

/** What to write instead of sending a message. */
interface InsteadOfSending {
  readonly instead: Change;
}

/**
 * When a channel has reached its hourly message limit, the end of the wait is rounded up to a
 * multiple of this many milliseconds, so that waiting events become due together.
 */
const LIMIT_GRAIN_MS = 60_000;

/** Makes one attempt to deliver to a channel; the counterpart of `attemptDelivery` for webhooks. */
export async function attemptChannelDelivery(
  delivery: StoredDelivery,
  channelId: string,
  options: ChannelAttemptOptions,
  stopped: AbortSignal,
): Promise<AttemptOutcome> {
  const { records, now, channels: outlets } = options;
  const [alert, channel] = await Promise.all([
    alertOf(delivery, options),
    records.get(channels, channelId),
  ]);
  const task = await prepare(delivery, alert, channel, options);
  if ("instead" in task || channel === undefined) {
    if ("instead" in task) await write(delivery, task, records);
    return "none";
  }
  const { message, members } = task;
  const at = now().getTime();
  const target = decryptChannelTarget(options.vault, channel);
  const response =
    target.kind === "email" ? undefined : await send(requestOf(target, message, outlets), options);
  if (stopped.aborted) return "none";
  const mail = mailOf(delivery, channel, { target, message }, outlets);
  const endpoint = new ChannelEndpoint(channel, mail, { ...options, ...outlets });
  const attempt = { delivery, members, endpoint, at, response };
  return (await recordAttempt(attempt, options)) ? "success" : "failure";
}

/** Writes what is done instead of sending, unless the delivery was deleted or leased anew. */
const write = (
  delivery: StoredDelivery,
  { instead }: InsteadOfSending,
  records: Records,
): Promise<void> =>
  transact(records, async (tx) => {
    if (await isUnchanged(tx, deliveries, delivery)) await instead(tx);
  });

/**
 * The alert that a delivery belongs to; `undefined` if the delivery belongs to no alert or the
 * alert's owner may no longer receive events.
 */
async function alertOf({ value: { alertId } }: StoredDelivery, options: ChannelAttemptOptions) {
  return alertId === undefined ? undefined : findEntitledAlert(alertId, options);
}

function prepare(
  delivery: StoredDelivery,
  alert: StoredAlert | undefined,
  channel: StoredChannel | undefined,
  options: ChannelAttemptOptions,
): ReadyMessage | InsteadOfSending | Promise<ReadyMessage | InsteadOfSending> {
  const isOfAlert = delivery.value.alertId !== undefined;
  if (isOfAlert && (alert === undefined || !isStillSentToChannel(delivery, alert))) {
    const requeue = requeueOrDelete(delivery, alert);
    return {
      instead: async (tx) => {
        await requeue(tx);
        tx.announce(DELIVERIES_TOPIC);
      },
    };
  }
  if (channel === undefined && delivery.value.type === GATHERING_TYPE) {
    return { instead: endGathering(delivery) };
  }
  if (channel === undefined || channel.value.state.is === "disabled") return drop(delivery);
  if (delivery.value.type === VERIFICATION_CODE_MESSAGE_TYPE)
    return prepareCode(delivery, channel, options);
  // The transaction that activates the channel also releases all deliveries held back until then.
  if (channel.value.state.is !== "active") {
    return hold(delivery, (tx) => isUnchanged(tx, channels, channel));
  }
  if (delivery.value.type === GATHERING_TYPE) return prepareGathering(delivery, channel, options);
  if (delivery.value.type === NOTICE_MESSAGE_TYPE) return prepareNotice(delivery, channel, options);
  if (delivery.value.type === DIGEST_MESSAGE_TYPE) return prepareDigest(delivery, channel, options);
  if (alert === undefined) return drop(delivery);
  return prepareEvent(delivery, alert, channel, options);
}

/**
 * Prepares the message with the verification code. The delivery is removed if the code was
 * replaced, has expired or has no attempts left.
 */
function prepareCode(
  delivery: StoredDelivery,
  { key, value: { state } }: StoredChannel,
  { vault, channels: outlets, now }: ChannelAttemptOptions,
): ReadyMessage | InsteadOfSending {
  const isCurrent =
    state.is === "pending" &&
    String(state.since) === delivery.value.body &&
    now().getTime() < state.codeUntil;
  if (!isCurrent || state.code === null) return drop(delivery);
  const code = vault.open(state.code, channelCodeEncryptionContext(key));
  return { message: verificationCodeMessage(code, outlets), members: [] };
}

async function prepareNotice(
  delivery: StoredDelivery,
  channel: StoredChannel,
  options: ChannelAttemptOptions,
): Promise<ReadyMessage | InsteadOfSending> {
  const instead =
    (await repeatsUsedUp(delivery, channel, options)) ??
    delayDeliveryUntilReset(delivery, await countMessage(delivery, channel, options));
  if (instead !== undefined) return { instead };
  return { message: JSON.parse(delivery.value.body) as ChannelMessage, members: [] };
}

function prepareGathering(
  gathering: StoredDelivery,
  channel: StoredChannel,
  options: ChannelAttemptOptions,
): InsteadOfSending {
  const now = options.now().getTime();
  const until = gatheringWaitEnd(gathering, channel.value.schedule, now);
  if (until !== undefined) return waitUntil(until, { delivery: gathering, channel, now });
  return { instead: gatherDigest(gathering, channel, now) };
}

async function prepareDigest(
  delivery: StoredDelivery,
  channel: StoredChannel,
  options: ChannelAttemptOptions,
): Promise<ReadyMessage | InsteadOfSending> {
  const now = options.now().getTime();
  const quiet = quietHoursEnd(channel.value.schedule, now);
  if (quiet !== undefined) return waitUntil(quiet, { delivery, channel, now });
  const { told, others } = await readDigestMembers(delivery, options);
  if (others.length > 0) {
    return {
      instead: async (tx) => {
        for (const requeue of others) await requeue(tx);
        rescheduleDigest(tx, delivery, 0);
        tx.announce(DELIVERIES_TOPIC);
      },
    };
  }
  if (told.length === 0) return drop(delivery);
  const repeats = await repeatsUsedUp(delivery, channel, options);
  if (repeats !== undefined) return { instead: repeats };
  const counted = await countMessage(delivery, channel, options);
  if (counted.isExceeded) {
    return { instead: (tx) => rescheduleDigest(tx, delivery, counted.resetMs) };
  }
  const message = digestMessage(delivery, told, { ...options.channels, limit: counted });
  return { message, members: told.map((event) => event.delivery) };
}

/**
 * Makes a digest due in `dueInMs` milliseconds. The digest then no longer waits for the end of
 * quiet hours.
 */
function rescheduleDigest(tx: Transaction, delivery: StoredDelivery, dueInMs: number): void {
  const { heldUntil: _, ...value } = delivery.value;
  tx.update(deliveries, delivery, { value, dueInMs });
}

async function prepareEvent(
  delivery: StoredDelivery,
  alert: StoredAlert,
  channel: StoredChannel,
  options: ChannelAttemptOptions,
): Promise<ReadyMessage | InsteadOfSending> {
  const { digestId, type } = delivery.value;
  // Redelivery can make the event due again, but the event is sent as part of its digest.
  if (digestId !== undefined) return { instead: rescheduleDelivery(delivery, null) };
  if (alert.value.isPaused) return hold(delivery, (tx) => isUnchanged(tx, alerts, alert));
  // A test event ignores the schedule, because a person requested it and is waiting for it.
  const isTest = type === "webhook.test";
  const now = options.now().getTime();
  if (!isTest) {
    // An event that waits goes on waiting, although redelivery or version 1.0 made it due.
    const until = delivery.value.heldUntil ?? scheduledWaitEnd(channel.value.schedule, now);
    if (until !== undefined) return { instead: waitForDigest(delivery, channel, { until, now }) };
  }
  const instead = isRepeatedAttempt(delivery)
    ? delayDeliveryUntilReset(delivery, await countRepeatedAttempt(alert.value, options.limits))
    : undefined;
  if (instead !== undefined) return { instead };
  const counted = await countMessage(delivery, channel, options);
  if (counted.isExceeded && !isTest) {
    const until = Math.ceil((now + counted.resetMs) / LIMIT_GRAIN_MS) * LIMIT_GRAIN_MS;
    return { instead: waitForDigest(delivery, channel, { until, now, isOverLimit: true }) };
  }
  if (counted.isExceeded) return { instead: rescheduleDelivery(delivery, counted.resetMs) };
  return { message: eventMessage(delivery.value.body, alert, options.channels), members: [] };
}

/** Makes a gathering or digest wait until `heldUntil`, or until the channel's schedule changes. */
const waitUntil = (
  heldUntil: number,
  { delivery, channel, now }: { delivery: StoredDelivery; channel: StoredChannel; now: number },
): InsteadOfSending => ({
  instead: async (tx) => {
    if (!(await isUnchanged(tx, channels, channel))) return;
    const value = { ...delivery.value, heldUntil };
    tx.update(deliveries, delivery, { value, dueInMs: heldUntil - now });
  },
});

/**
 * At the first attempt, counts a message against the limit of its mailbox or chat. Later attempts
 * only read the counter.
 */
async function countMessage(
  delivery: StoredDelivery,
  channel: StoredChannel,
  { limits, records, vault }: ChannelAttemptOptions,
): Promise<LimitState> {
  const target = channelTargetKey(decryptChannelTarget(vault, channel));
  const party = { ...eventParty(await sourceOf(channel, records)), target };
  if (delivery.value.attempts === 0) return limits.admit("messages", party);
  return { ...(await limits.check("messages", party)), isExceeded: false };
}

const drop = (delivery: StoredDelivery): InsteadOfSending => ({
  instead: (tx) => deleteDelivery(tx, delivery),
});

/**
 * Holds a delivery back without a due time.
 *
 * @param isStillSo Whether the record that causes the hold is still the same.
 */
const hold = (
  delivery: StoredDelivery,
  isStillSo: (tx: Transaction) => Promise<boolean>,
): InsteadOfSending => ({
  instead: async (tx) => {
    if (await isStillSo(tx)) await rescheduleDelivery(delivery, null)(tx);
  },
});

/**
 * Delays a repeated message while the person's limit on repeats is used up; `undefined` if the
 * message can be sent.
 */
async function repeatsUsedUp(
  delivery: StoredDelivery,
  channel: StoredChannel,
  { limits, records }: ChannelAttemptOptions,
): Promise<Change | undefined> {
  if (!isRepeatedAttempt(delivery)) return undefined;
  const source = await sourceOf(channel, records);
  return delayDeliveryUntilReset(delivery, await countRepeatedAttempt(source, limits));
}

/** The person of a channel, with the network in which the account was created. */
async function sourceOf(
  { value: { accountId } }: StoredChannel,
  records: RecordReader,
): Promise<EventSource> {
  const owner: AlertOwner = { kind: "user", id: accountId, accountId };
  const network = (await records.get(accounts, accountId))?.value.network;
  return network === undefined ? { owner } : { owner, network };
}

/** The HTTP request that sends a message to a chat. */
const requestOf = <Kind extends ChatKind>(
  target: ChannelTarget<Kind>,
  message: ChannelMessage,
  settings: ChatSettings,
): WebhookRequest => chatServices[target.kind].request(target, message, settings);

/**
 * The email with a message; `undefined` for chats. Like queued deliveries, an email that is not sent
 * yet is deleted together with its channel.
 */
function mailOf(
  { value: { type } }: StoredDelivery,
  { key: channelId, value: { accountId } }: StoredChannel,
  { target, message }: { readonly target: ChannelTarget; readonly message: ChannelMessage },
  { unsubscribeUrl }: ChannelDependencies,
): OutgoingMail | undefined {
  if (target.kind !== "email") return undefined;
  // A message with a code has no unsubscribe link, because an unverified channel receives nothing
  // else.
  const url = type === VERIFICATION_CODE_MESSAGE_TYPE ? undefined : unsubscribeUrl(channelId);
  const groups = [...groupsOfChannel(channelId, accountId), queuedDeliveriesGroup(channelId)];
  return { ...emailOfMessage(target, message, url), groups, cause: accountId };
}

/** Sends a request. @returns The response; `undefined` when no response arrived. */
async function send(
  request: WebhookRequest,
  { sender }: Pick<ChannelAttemptOptions, "sender">,
): Promise<WebhookResponse | undefined> {
  try {
    return await sender.send(request);
  } catch (error) {
    if (error instanceof OutboundError) return undefined;
    throw error;
  }
}
