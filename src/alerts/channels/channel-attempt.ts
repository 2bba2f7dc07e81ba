import type { Auditor } from "../../auth/auditor.ts";
import type { Scope } from "../../auth/scopes.ts";
import type { Limits, QuotaState } from "../../limits/quotas.ts";
import type { Mailbox } from "../../mail/outbox.ts";
import { OutboundError } from "../../outbound/guarded-fetch.ts";
import type { Vault } from "../../store/keys/vault.ts";
import { announce, removeAt, replace, unchanged } from "../../store/port/operations.ts";
import type { Operation } from "../../store/port/records.ts";
import { alerts, type Owner, type StoredAlert } from "../alert.ts";
import {
  DELIVERIES_TOPIC,
  deliveries,
  queueGroup,
  RELEASED,
  type StoredDelivery,
} from "../delivery/delivery.ts";
import type { AttemptOutcome } from "../delivery/endpoint-queues.ts";
import { type RecordAttemptOptions, recordAttempt } from "../delivery/record-attempt.ts";
import { countRepeat, isRepeat, reschedule, waitsFor } from "../delivery/repeat-limit.ts";
import type { Sender, SentRequest, WebhookResponse } from "../delivery/sender.ts";
import {
  type ChannelTarget,
  channels,
  codeContext,
  groupsOfChannel,
  openTarget,
  type StoredChannel,
} from "./channel.ts";
import { ChannelEndpoint } from "./channel-endpoint.ts";
import {
  digestMessage,
  entitledAlert,
  isSentBy,
  membersOf,
  queuedAnew,
} from "./digest-contents.ts";
import type { DigestGathering } from "./make-digest.ts";
import type { ChannelMessage } from "./message.ts";
import { CODE_TYPE, DIGEST_TYPE, NOTICE_TYPE } from "./own-messages.ts";
import { type ChannelSchedule, quietUntil, waitsUntil } from "./schedule.ts";
import type { ChatServices } from "./services/chat-services.ts";
import { emailOf } from "./services/email.ts";
import { targetKey } from "./targets.ts";
import { codeMessage, eventMessage } from "./texts.ts";

/** Dependencies of sending messages to channels. */
export interface ChannelOutlets {
  readonly chat: ChatServices;
  readonly mailbox: Mailbox;
  /** Shared by the attempts of a process. */
  readonly gathering: DigestGathering;
  /** Display name of the service. */
  readonly serviceName: string;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  /** URL that unsubscribes an email channel. */
  readonly unsubscribeUrl: (channelId: string) => string;
}

/** Dependencies of an attempt by a channel. */
export interface ChannelAttemptOptions extends RecordAttemptOptions {
  readonly sender: Pick<Sender, "send">;
  readonly audit: Auditor;
  readonly vault: Vault;
  readonly scopesOf: (owner: Owner) => Promise<ReadonlySet<Scope>>;
  readonly limits: Limits;
  readonly channels: ChannelOutlets;
  readonly now: () => Date;
}

/** A message that can be sent now. */
interface Ready {
  readonly message: ChannelMessage;
  /** The deliveries that it contains, if it is a digest. */
  readonly members: readonly StoredDelivery[];
}

/** Operations to commit instead of sending; none: it was gathered into a digest. */
interface Instead {
  readonly instead: readonly Operation[];
}

/** An event that was gathered into a digest, or will be when it is attempted again. */
const GATHERED: Instead = { instead: [] };

/** A full hour of messages is waited for to the next full minute, so that what waits becomes due
 *  together. In milliseconds. */
const LIMIT_GRAIN_MS = 60_000;

/** Makes one attempt at a delivery by a channel, as `attemptDelivery` does by a webhook. */
export async function attemptByChannel(
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
    if ("instead" in task) await records.commit(task.instead);
    return "none";
  }
  const { message, members } = task;
  const at = now().getTime();
  const target = openTarget(options.vault, channel);
  const request = requestOf(target, message, outlets.chat);
  const response = request && (await send(request, options));
  if (stopped.aborted) return "none";
  const mail = mailOf(delivery, channel, { target, message }, outlets);
  const endpoint = new ChannelEndpoint(channel, mail, { ...options, ...outlets });
  const attempt = { delivery, members, endpoint, at, response };
  return (await recordAttempt(attempt, options)) ? "success" : "failure";
}

/** The alert of an event, if its owner may have events now. */
async function alertOf({ value: { alertId } }: StoredDelivery, options: ChannelAttemptOptions) {
  return alertId === undefined ? undefined : entitledAlert(alertId, options);
}

function prepare(
  delivery: StoredDelivery,
  alert: StoredAlert | undefined,
  channel: StoredChannel | undefined,
  options: ChannelAttemptOptions,
): Ready | Instead | Promise<Ready | Instead> {
  const isOfAlert = delivery.value.alertId !== undefined;
  if (isOfAlert && (alert === undefined || !isSentBy(delivery, alert))) {
    return { instead: [queuedAnew(delivery, alert), announce(DELIVERIES_TOPIC)] };
  }
  if (channel === undefined || channel.value.state.is === "disabled") {
    return { instead: [removeAt(deliveries, delivery)] };
  }
  if (delivery.value.type === CODE_TYPE) return prepareCode(delivery, channel, options);
  // The commit that makes the channel active releases what is held by then.
  if (channel.value.state.is !== "active") return hold(delivery, unchanged(channels, channel));
  if (delivery.value.type === NOTICE_TYPE) return prepareNotice(delivery, channel, options);
  if (delivery.value.type === DIGEST_TYPE) return prepareDigest(delivery, channel, options);
  if (alert === undefined) return { instead: [removeAt(deliveries, delivery)] };
  return prepareEvent(delivery, alert, channel, options);
}

/** The message with the current code, unless the code was replaced or can no longer be used. */
function prepareCode(
  delivery: StoredDelivery,
  { key, value: { state } }: StoredChannel,
  { vault, channels: outlets, now }: ChannelAttemptOptions,
): Ready | Instead {
  const isCurrent =
    state.is === "pending" &&
    String(state.since) === delivery.value.body &&
    now().getTime() < state.codeUntil;
  if (!isCurrent || state.code === null) return { instead: [removeAt(deliveries, delivery)] };
  const code = vault.open(state.code, codeContext(key));
  return { message: codeMessage(code, outlets), members: [] };
}

async function prepareNotice(
  delivery: StoredDelivery,
  channel: StoredChannel,
  options: ChannelAttemptOptions,
): Promise<Ready | Instead> {
  const instead =
    (await repeatsUsedUp(delivery, channel, options)) ??
    waitsFor(delivery, await countMessage(delivery, channel, options));
  if (instead !== undefined) return { instead };
  return { message: JSON.parse(delivery.value.body) as ChannelMessage, members: [] };
}

async function prepareDigest(
  delivery: StoredDelivery,
  channel: StoredChannel,
  options: ChannelAttemptOptions,
): Promise<Ready | Instead> {
  const now = options.now().getTime();
  const quiet = quietUntil(channel.value.schedule, now);
  if (quiet !== undefined) return waitUntil(quiet, { delivery, channel, now });
  const { told, others } = await membersOf(delivery, options);
  if (others.length > 0) {
    return { instead: [...others, rescheduleDigest(delivery, 0), announce(DELIVERIES_TOPIC)] };
  }
  if (told.length === 0) return { instead: [removeAt(deliveries, delivery)] };
  const repeats = await repeatsUsedUp(delivery, channel, options);
  if (repeats !== undefined) return { instead: repeats };
  const counted = await countMessage(delivery, channel, options);
  if (counted.isExceeded) return { instead: [rescheduleDigest(delivery, counted.resetMs)] };
  const message = digestMessage(delivery, told, { ...options.channels, limit: counted.policy });
  return { message, members: told.map((event) => event.delivery) };
}

/** Makes a digest due later; it no longer waits for the end of quiet hours. */
function rescheduleDigest(delivery: StoredDelivery, dueInMs: number): Operation {
  const { heldUntil: _, ...value } = delivery.value;
  return replace(deliveries, delivery, { value, dueInMs });
}

async function prepareEvent(
  delivery: StoredDelivery,
  alert: StoredAlert,
  channel: StoredChannel,
  options: ChannelAttemptOptions,
): Promise<Ready | Instead> {
  const { digestId, type } = delivery.value;
  // Redelivering makes it due, but its digest sends it.
  if (digestId !== undefined) return { instead: [reschedule(delivery, null)] };
  if (alert.value.isPaused) return hold(delivery, unchanged(alerts, alert));
  // A test is asked for by somebody who waits for it.
  const isTest = type === "webhook.test";
  const now = options.now().getTime();
  if (!isTest) {
    const until = untilOf(delivery.value.heldUntil, channel.value.schedule, now);
    if (until !== undefined) return waitUntil(until, { delivery, channel, now });
    if (delivery.value.heldUntil !== undefined) {
      await options.channels.gathering.gather(delivery, channel, options);
      return GATHERED;
    }
  }
  const instead = isRepeat(delivery)
    ? waitsFor(delivery, await countRepeat(alert.value.owner, options))
    : undefined;
  if (instead !== undefined) return { instead };
  const counted = await countMessage(delivery, channel, options);
  if (counted.isExceeded && !isTest) {
    const ends = Math.ceil((now + counted.resetMs) / LIMIT_GRAIN_MS) * LIMIT_GRAIN_MS;
    return waitUntil(ends, { delivery, channel, now, isOverLimit: true });
  }
  if (counted.isExceeded) return { instead: [reschedule(delivery, counted.resetMs)] };
  return { message: eventMessage(delivery.value.body, alert, options.channels), members: [] };
}

/** An event or digest that waits, and why. */
interface Waiting {
  readonly delivery: StoredDelivery;
  readonly channel: StoredChannel;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly isOverLimit?: true;
}

/** Lets an event or digest wait until an instant, unless the channel gets another schedule. An event is then
 *  gathered into a digest. */
function waitUntil(heldUntil: number, { delivery, channel, now, isOverLimit }: Waiting): Instead {
  const value = { ...delivery.value, heldUntil, ...(isOverLimit && { isOverLimit }) };
  return {
    instead: [
      replace(deliveries, delivery, { value, dueInMs: heldUntil - now }),
      unchanged(channels, channel),
    ],
  };
}

/** Counts a message to the mailbox or chat at its first attempt; later attempts only look. */
async function countMessage(
  delivery: StoredDelivery,
  channel: StoredChannel,
  { limits, vault }: ChannelAttemptOptions,
): Promise<QuotaState> {
  const key = `${channel.value.accountId} ${targetKey(openTarget(vault, channel))}`;
  if (delivery.value.attempts === 0) return limits.count("channel-messages", key);
  return { ...(await limits.peek("channel-messages", key)), isExceeded: false };
}

/** Holds a delivery back. The commit fails if the record that is the reason for it has changed. */
const hold = (delivery: StoredDelivery, because: Operation): Instead => ({
  instead: [reschedule(delivery, null), because],
});

/** The instant until which an event waits; `undefined` when it can be sent now. Retries also
 *  respect the quiet hours. */
function untilOf(
  heldUntil: number | undefined,
  schedule: ChannelSchedule,
  now: number,
): number | undefined {
  if (heldUntil === undefined || heldUntil === RELEASED) return waitsUntil(schedule, now);
  return heldUntil > now ? heldUntil : quietUntil(schedule, now);
}

/** The operations that delay a repeated message while the person's limit is used up. */
async function repeatsUsedUp(
  delivery: StoredDelivery,
  { value: { accountId } }: StoredChannel,
  options: ChannelAttemptOptions,
): Promise<readonly Operation[] | undefined> {
  if (!isRepeat(delivery)) return undefined;
  const person: Owner = { kind: "user", id: accountId, accountId };
  return waitsFor(delivery, await countRepeat(person, options));
}

/** The request to a chat service; `undefined` for email, which goes through the outbox. */
function requestOf(
  target: ChannelTarget,
  message: ChannelMessage,
  chat: ChatServices,
): SentRequest | undefined {
  switch (target.kind) {
    case "email":
      return undefined;
    case "slack":
      return chat.slack.request(target, message);
    case "discord":
      return chat.discord.request(target, message);
    case "telegram":
      return chat.telegram.request(target, message);
    case "ntfy":
      return chat.ntfy.request(target, message);
  }
}

/** The operations that put a message into the outbox; none for chats. Until it is sent, it ends with its
 *  channel, like the deliveries that wait. */
function mailOf(
  { value: { type } }: StoredDelivery,
  { key: channelId, value: { accountId } }: StoredChannel,
  { target, message }: { readonly target: ChannelTarget; readonly message: ChannelMessage },
  { mailbox, unsubscribeUrl }: ChannelOutlets,
): readonly Operation[] {
  if (target.kind !== "email") return [];
  // There is nothing to unsubscribe from before the code was entered.
  const url = type === CODE_TYPE ? undefined : unsubscribeUrl(channelId);
  const groups = [...groupsOfChannel(channelId, accountId), queueGroup(channelId)];
  return mailbox.queueSteps({ ...emailOf(target, message, url), groups, cause: accountId });
}

/** @returns `undefined` when no answer came. */
async function send(
  request: SentRequest,
  { sender }: Pick<ChannelAttemptOptions, "sender">,
): Promise<WebhookResponse | undefined> {
  try {
    return await sender.send(request);
  } catch (error) {
    if (error instanceof OutboundError) return undefined;
    throw error;
  }
}
