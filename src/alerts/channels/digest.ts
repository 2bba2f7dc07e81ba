import { eventTextOf } from "../../answers/event-text.ts";
import { DIRECTION_EVIDENCE_TEXT, DIRECTION_LIMITS_TEXT } from "../../answers/meaning.ts";
import type { LimitState } from "../../limits/limits.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Change, Transaction } from "../../store/transact.ts";
import type { StoredAlert } from "../alert.ts";
import {
  type EntitlementOptions,
  findEntitledAlert,
  isQueuedFor,
  requeueOrDelete,
} from "../delivery/addressee.ts";
import {
  DELIVERIES_TOPIC,
  deliveries,
  EVENT_RETENTION_MS,
  isUnchanged,
  queuedDeliveriesGroup,
  type StoredDelivery,
} from "../delivery/delivery.ts";
import { channels, type StoredChannel } from "./channel.ts";
import type { ChannelMessage } from "./message.ts";
import { groupsOfChannelMessage, queueChannelMessage } from "./own-messages.ts";
import { type ChannelSchedule, quietHoursEnd, scheduledWaitEnd } from "./schedule.ts";
import { chatServices } from "./services/chat-services.ts";
import { MAX_EMAIL_BYTES } from "./services/email.ts";
import { eventMessage, type MessageTextOptions } from "./texts.ts";

// The digests of a channel, in the order of their lives.
//
// Events wait. Each has `heldUntil` and no due time; all of them wait for the channel's gathering,
// a record of the queue that has their due time. A new schedule changes this one record.
//
// The gathering is due. One transaction puts the waiting events into messages: who is in which part
// of the digest, and with which id it is sent, is stored before anything is sent. An event that
// comes meanwhile makes the transaction run again.
//
// The parts are delivered. Each is a delivery with the retries of any other, and every attempt
// sends the events that are in it: but for those whose alert was paused or sends elsewhere in the
// meantime, which are queued for themselves again. The attempt that succeeds removes the part and
// its events; whatever was left out is still queued, and comes later.

/**
 * Type of a message with several events. The message body is a `DigestPart` as JSON; the deliveries
 * of the events are in the group `digestGroup`.
 */
export const DIGEST_MESSAGE_TYPE = "channel.digest";

/** Type of the record that has the due time of a channel's waiting events. It has no body. */
export const GATHERING_TYPE = "channel.gathering";

/** Key of the gathering of a channel. */
export const gatheringKey = (channelId: string): string => `gathering:${channelId}`;

/** Value of `heldUntil` of a gathering that applies the channel's schedule anew. */
const SCHEDULE_CHANGED = 0;

/**
 * Maximum number of events in one digest, which is created in one transaction. The rest follows in
 * another one.
 */
const MAX_EVENTS = 1_000;

/**
 * Bytes of a message reserved for everything except the event lines: the title, the sentences on
 * how predictive directions are (`DIRECTION_EVIDENCE_TEXT`, `DIRECTION_LIMITS_TEXT`) and on the
 * message limit, and the link.
 */
const AROUND_BYTES = 900;

/**
 * Pause between the parts of a digest, in milliseconds: Slack and Telegram allow one message per
 * second.
 */
const PART_EVERY_MS = 1_000;

/**
 * Identifies a message as one part of a digest. A digest that is too long for one message has
 * several parts.
 */
interface DigestPart {
  /** Number of this part, starting at 1. */
  readonly part: number;
  readonly parts: number;
  /** Number of events in all parts together. */
  readonly events: number;
  /**
   * Set if some of the events are in a digest because the channel had reached its hourly message
   * limit.
   */
  readonly isOverLimit?: true;
}

/** Group of the deliveries that belong to a digest. */
export const digestGroup = (digestId: string): string => `digest:${digestId}`;

/** Whether a delivery is an event that waits for its channel's gathering. */
export const isWaiting = ({
  value: { alertId, digestId, heldUntil },
}: Pick<StoredDelivery, "value">): boolean =>
  alertId !== undefined && digestId === undefined && heldUntil !== undefined;

/** How long an event waits. Instants are milliseconds since the epoch. */
interface Wait {
  readonly until: number;
  readonly now: number;
  /** Set if it waits because its channel has reached its hourly message limit. */
  readonly isOverLimit?: true;
}

/**
 * Lets an event wait for the channel's gathering, which is due at the end of the wait or earlier.
 */
export const waitForDigest =
  (event: StoredDelivery, channel: StoredChannel, { until, now, isOverLimit }: Wait): Change =>
  async (tx) => {
    // The transaction that changes the schedule applies it to what waits, and would miss this
    // event.
    const [isSame, gathering] = await Promise.all([
      isUnchanged(tx, channels, channel),
      tx.get(deliveries, gatheringKey(channel.key)),
    ]);
    if (!isSame) return;
    const value = { ...event.value, heldUntil: until, ...(isOverLimit && { isOverLimit }) };
    tx.update(deliveries, event, { value, dueInMs: null });
    if (gathering?.dueAt !== undefined && gathering.dueAt <= until) return;
    putGathering(tx, channel, until, Math.max(0, until - now));
  };

/** Applies a channel's schedule anew to the events that wait, soon after the transaction. */
export async function applyScheduleAnew(tx: Transaction, channelId: string): Promise<void> {
  const channel = await tx.get(channels, channelId);
  if (channel !== undefined) putGathering(tx, channel, SCHEDULE_CHANGED, 0);
}

function putGathering(
  tx: Transaction,
  { key: channelId, value: { accountId } }: StoredChannel,
  heldUntil: number,
  dueInMs: number,
): void {
  const value = { channelId, type: GATHERING_TYPE, body: "", attempts: 0, heldUntil };
  const groups = groupsOfChannelMessage(channelId, accountId);
  tx.put(deliveries, { key: gatheringKey(channelId), value, groups, dueInMs });
}

/**
 * The instant until which a gathering that is due must wait longer, in milliseconds since the
 * epoch; `undefined` if it need not.
 */
export const gatheringWaitEnd = (
  { value: { heldUntil } }: StoredDelivery,
  schedule: ChannelSchedule,
  now: number,
): number | undefined =>
  heldUntil === SCHEDULE_CHANGED ? scheduledWaitEnd(schedule, now) : quietHoursEnd(schedule, now);

/**
 * Puts the waiting events of a channel into a digest, in order of time. A digest that is too long
 * for one message is split into several parts. A single event also gets a digest, so that from then
 * on only the digest sends it.
 *
 * @param now Milliseconds since the epoch.
 */
export const gatherDigest =
  (gathering: StoredDelivery, channel: StoredChannel, now: number): Change =>
  async (tx) => {
    const waiting = await readWaiting(tx, channel.key);
    const parts = partsOf(waiting.slice(0, MAX_EVENTS), lineBytes(channel));
    queueDigest(tx, parts, channel, now);
    if (waiting.length > MAX_EVENTS) {
      const dueInMs = parts.length * PART_EVERY_MS;
      tx.update(deliveries, gathering, { value: gathering.value, dueInMs });
    } else tx.remove(deliveries, gathering.key);
    tx.announce(DELIVERIES_TOPIC);
  };

/**
 * Ends the gathering of a channel that no longer exists: its events are attempted by themselves.
 */
export const endGathering =
  (gathering: StoredDelivery, channelId: string): Change =>
  async (tx) => {
    for (const event of await readWaiting(tx, channelId)) {
      const { heldUntil: _, ...value } = event.value;
      tx.update(deliveries, event, { value, dueInMs: 0 });
    }
    tx.remove(deliveries, gathering.key);
    tx.announce(DELIVERIES_TOPIC);
  };

async function readWaiting(tx: Transaction, channelId: string): Promise<readonly StoredDelivery[]> {
  const queued = await readAll(tx, deliveries, queuedDeliveriesGroup(channelId));
  return queued.filter(isWaiting).toSorted(compareByKey);
}

/** Compares two deliveries by time, for sorting. Their ids begin with the time. */
const compareByKey = (one: StoredDelivery, other: StoredDelivery): number =>
  one.key < other.key ? -1 : 1;

/** The line for one event in a digest. */
const lineOf = ({ value: { body } }: StoredDelivery): string => `• ${eventTextOf(body).headline}`;

/**
 * How many bytes the line of an event takes, and how many bytes all lines of one message may take.
 */
interface LineBytes {
  readonly most: number;
  readonly of: (delivery: StoredDelivery) => number;
}

function lineBytes({ value: { kind } }: StoredChannel): LineBytes {
  if (kind === "email")
    return { most: MAX_EMAIL_BYTES - AROUND_BYTES, of: bytesIn((text) => text) };
  const { maxBytes, textOf } = chatServices[kind];
  const escaped = (line: string) => textOf({ title: line, lines: [], link: "" });
  return { most: maxBytes - AROUND_BYTES, of: bytesIn(escaped) };
}

const bytesIn = (escaped: (line: string) => string) => (delivery: StoredDelivery) =>
  Buffer.byteLength(escaped(lineOf(delivery))) + 1;

/** Splits events into consecutive parts, each of which fits into one message. */
function partsOf(
  events: readonly StoredDelivery[],
  { most, of }: LineBytes,
): readonly (readonly StoredDelivery[])[] {
  const parts: StoredDelivery[][] = [];
  let left = 0;
  for (const event of events) {
    const bytes = of(event);
    if (bytes > left) {
      parts.push([]);
      left = most;
    }
    parts.at(-1)?.push(event);
    left -= bytes;
  }
  return parts;
}

/** Queues a digest, part by part, and adds the events to it. */
function queueDigest(
  tx: Transaction,
  parts: readonly (readonly StoredDelivery[])[],
  channel: StoredChannel,
  at: number,
): void {
  const all = parts.flat();
  const isOverLimit = all.some(({ value }) => value.isOverLimit);
  for (const [index, members] of parts.entries()) {
    const part: DigestPart = {
      part: index + 1,
      parts: parts.length,
      events: all.length,
      ...(isOverLimit && { isOverLimit }),
    };
    const id = queueChannelMessage(tx, channel, {
      type: DIGEST_MESSAGE_TYPE,
      body: JSON.stringify(part),
      at,
      ttlMs: EVENT_RETENTION_MS,
      dueInMs: index * PART_EVERY_MS,
    });
    for (const member of members) addToDigest(tx, member, id);
  }
}

function addToDigest(tx: Transaction, member: StoredDelivery, digestId: string): void {
  const { heldUntil: _, isOverLimit: __, ...rest } = member.value;
  const groups = [...member.groups, digestGroup(digestId)];
  tx.update(deliveries, member, { value: { ...rest, digestId }, groups, dueInMs: null });
}

/** An event of a digest, with its alert. */
interface DigestedEvent {
  readonly delivery: StoredDelivery;
  readonly alert: StoredAlert;
}

/** The events of a digest, divided into those to send and those to requeue or delete. */
interface Members {
  /** The events to send in the digest, in order of time. */
  readonly told: readonly DigestedEvent[];
  /** Queues or deletes the events that may not be sent in the digest, one by one. */
  readonly others: readonly Change[];
}

/** Reads the events of a digest that are still queued, and checks which of them may be sent. */
export async function readDigestMembers(
  digest: StoredDelivery,
  options: EntitlementOptions,
): Promise<Members> {
  const all = await readAll(options.records, deliveries, digestGroup(digest.key));
  const known = new Map<string, StoredAlert | undefined>();
  const told: DigestedEvent[] = [];
  const others: Change[] = [];
  for (const member of all.toSorted(compareByKey)) {
    const { alertId = "" } = member.value;
    if (!known.has(alertId)) known.set(alertId, await findEntitledAlert(alertId, options));
    const alert = known.get(alertId);
    if (alert === undefined || !isQueuedFor(member, alert) || alert.value.isPaused) {
      others.push(requeueOrDelete(member, alert));
    } else told.push({ delivery: member, alert });
  }
  return { told, others };
}

/** Options for the text of a digest. */
interface DigestTextOptions extends MessageTextOptions {
  /** The limit on messages to one mailbox or chat. */
  readonly limit: Pick<LimitState, "most" | "seconds">;
}

/**
 * The message for a digest. If the digest has a single event, this is the message for that event.
 *
 * @param told The events of the digest.
 */
export function digestMessage(
  { value }: StoredDelivery,
  told: readonly DigestedEvent[],
  { limit, ...texts }: DigestTextOptions,
): ChannelMessage {
  const { part, parts, events, isOverLimit = false } = JSON.parse(value.body) as DigestPart;
  const reason = isOverLimit ? [overLimitText(limit)] : [];
  const [first, ...more] = told;
  if (first !== undefined && more.length === 0 && parts === 1) {
    const { lines, ...message } = eventMessage(first.delivery.value.body, first.alert, texts);
    return { ...message, lines: [...lines, ...reason] };
  }
  const hasDirections = told.some(({ delivery }) => delivery.value.type === "signal.shift");
  return {
    title: parts === 1 ? `${told.length} events` : `${events} events, part ${part} of ${parts}`,
    lines: [
      ...reason,
      ...told.map(({ delivery }) => lineOf(delivery)),
      ...(hasDirections ? [`${DIRECTION_EVIDENCE_TEXT} ${DIRECTION_LIMITS_TEXT}`] : []),
    ],
    link: `${texts.baseUrl}/account#alerts`,
  };
}

const overLimitText = ({ most, seconds }: DigestTextOptions["limit"]): string =>
  `Gathered, because at most ${most} messages in ${seconds / 60} minutes are sent here.`;
