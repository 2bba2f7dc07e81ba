import { readRecordPages } from "../../store/port/read-all.ts";
import type { Records } from "../../store/port/records.ts";
import { type Transaction, transactOnce } from "../../store/transact.ts";
import {
  DELIVERIES_TOPIC,
  deliveries,
  EVENT_RETENTION_MS,
  queuedDeliveriesGroup,
  type StoredDelivery,
  WAIT_ENDED_EARLY,
} from "../delivery/delivery.ts";
import type { StoredChannel } from "./channel.ts";
import { compareDeliveriesByKey, digestLineOf } from "./digest-contents.ts";
import {
  DIGEST_MESSAGE_TYPE,
  type DigestPart,
  digestGroup,
  queueChannelMessage,
} from "./own-messages.ts";
import { chatServices } from "./services/chat-services.ts";
import { MAX_EMAIL_BYTES } from "./services/email.ts";

/**
 * Maximum number of events in one digest, which is created in one transaction. Remaining events go into
 * another digest immediately afterwards.
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

/** Dependencies of `DigestGatherer`. */
interface GatheringOptions {
  readonly records: Records;
  readonly now: () => Date;
}

/**
 * Gathers waiting events into digests, with at most one gathering per channel at a time. Every
 * event that becomes due requests a gathering, and the first gathering takes all due events.
 */
export class DigestGatherer {
  /** The last gathering, running or waiting, of each channel, by channel id. */
  readonly #last = new Map<string, Promise<void>>();

  /**
   * Puts the due events of a channel into digests, in order of time. A digest that is too long for
   * one message is split into several parts.
   *
   * A single event also gets a digest. From then on only the digest sends the event, so that no
   * other digest can include an event that another process is about to send.
   *
   * @param delivery One of the due events, leased by this process. If its wait was ended early
   * (`WAIT_ENDED_EARLY`), all waiting events of the channel count as due.
   */
  async gather(
    delivery: StoredDelivery,
    channel: StoredChannel,
    options: GatheringOptions,
  ): Promise<void> {
    const before = this.#last.get(channel.key);
    const own = (async () => {
      await before;
      await gatherDue(delivery, channel, options);
    })();
    const ended = own.catch(() => {});
    this.#last.set(channel.key, ended);
    try {
      await own;
    } finally {
      if (this.#last.get(channel.key) === ended) this.#last.delete(channel.key);
    }
  }
}

async function gatherDue(
  delivery: StoredDelivery,
  channel: StoredChannel,
  { records, now: clock }: GatheringOptions,
): Promise<void> {
  const current = await records.get(deliveries, delivery.key);
  // An earlier gathering has already taken this event.
  if (current?.revision !== delivery.revision) return;
  const now = clock().getTime();
  const until = delivery.value.heldUntil === WAIT_ENDED_EARLY ? Number.POSITIVE_INFINITY : now;
  const events = await waitingUntil(until, channel, records);
  const bytes = lineBytes(channel);
  let parts = 0;
  for (let from = 0; from < events.length; from += MAX_EVENTS) {
    const digest = partsOf(events.slice(from, from + MAX_EVENTS), bytes);
    const place = { at: now, partsBefore: parts };
    // If another process has taken or removed some of the events, the remaining events are attempted
    // again.
    if (!(await transactOnce(records, (tx) => queueDigest(tx, digest, channel, place)))) return;
    parts += digest.length;
  }
}

/**
 * The events of a channel that belong to no digest and whose waiting time has ended at the instant
 * `until`, ordered by the time in their ids.
 */
async function waitingUntil(
  until: number,
  { key }: StoredChannel,
  records: Records,
): Promise<readonly StoredDelivery[]> {
  const newest = new Map<string, StoredDelivery>();
  for await (const page of readRecordPages(records, deliveries, {
    group: queuedDeliveriesGroup(key),
  })) {
    for (const each of page) newest.set(each.key, each);
  }
  return [...newest.values()]
    .filter(
      ({ value: { alertId, digestId, heldUntil } }) =>
        alertId !== undefined &&
        digestId === undefined &&
        heldUntil !== undefined &&
        heldUntil <= until,
    )
    .toSorted(compareDeliveriesByKey);
}

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
  Buffer.byteLength(escaped(digestLineOf(delivery))) + 1;

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

/**
 * When a digest was created, in milliseconds since the epoch, and how many parts of other digests
 * are sent before it.
 */
interface DigestPlace {
  readonly at: number;
  readonly partsBefore: number;
}

/** Queues a digest, part by part, and adds the events to it. */
function queueDigest(
  tx: Transaction,
  parts: readonly (readonly StoredDelivery[])[],
  channel: StoredChannel,
  { at, partsBefore }: DigestPlace,
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
      dueInMs: (partsBefore + index) * PART_EVERY_MS,
    });
    for (const member of members) addToDigest(tx, member, id);
  }
  tx.announce(DELIVERIES_TOPIC);
}

function addToDigest(tx: Transaction, member: StoredDelivery, digestId: string): void {
  const { heldUntil: _, isOverLimit: __, ...rest } = member.value;
  const groups = [...member.groups, digestGroup(digestId)];
  tx.update(deliveries, member, { value: { ...rest, digestId }, groups, dueInMs: null });
}
