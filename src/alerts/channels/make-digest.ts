import { announce, replace } from "../../store/port/operations.ts";
import { recordPages } from "../../store/port/read-all.ts";
import type { Operation, Records } from "../../store/port/records.ts";
import {
  DELIVERIES_TOPIC,
  deliveries,
  EVENTS_KEPT_MS,
  queueGroup,
  RELEASED,
  type StoredDelivery,
} from "../delivery/delivery.ts";
import type { StoredChannel } from "./channel.ts";
import { byKey, lineOf } from "./digest-contents.ts";
import { DIGEST_TYPE, type DigestPart, digestGroup, queueOwnMessage } from "./own-messages.ts";
import type { ChatServices } from "./services/chat-services.ts";
import { MAX_EMAIL_BYTES } from "./services/email.ts";

/** Events of one digest, which one commit makes; further ones get another digest right after it. */
const MAX_EVENTS = 1_000;

/** Bytes of a message that are reserved for its title, the sentence on evidence, that on the limit, and the
 *  link. */
const AROUND_BYTES = 900;

/** Pause between the parts of a digest, in milliseconds: Slack and Telegram allow a message a second. */
const PART_EVERY_MS = 1_000;

/** Dependencies of gathering. */
interface GatheringOptions {
  readonly records: Records;
  readonly channels: { readonly chat: ChatServices };
  readonly now: () => Date;
}

/**
 * Gathers waiting events into digests, one gathering at a time for each channel: every event that
 * becomes due requests a gathering, and the first gathering takes all of them.
 */
export class DigestGathering {
  /** The last gathering of a channel that runs or waits, by the channel's id. */
  readonly #last = new Map<string, Promise<void>>();

  /**
   * Puts the due events of a channel into digests, in the order of the events. A digest that is too long for
   * one message has several parts.
   *
   * A single event gets a digest as well: from then on only the digest decides on it, so that an event
   * that another process is about to send cannot get into another digest.
   *
   * @param delivery One of them, that this process has leased. If it was released before its time, all that
   *   wait are due.
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
  { records, channels: { chat }, now: clock }: GatheringOptions,
): Promise<void> {
  const current = await records.get(deliveries, delivery.key);
  // An earlier gathering has taken it.
  if (current?.revision !== delivery.revision) return;
  const now = clock().getTime();
  const until = delivery.value.heldUntil === RELEASED ? Number.POSITIVE_INFINITY : now;
  const events = await waitingUntil(until, channel, records);
  const bytes = lineBytes(channel, chat);
  let parts = 0;
  for (let from = 0; from < events.length; from += MAX_EVENTS) {
    const digest = partsOf(events.slice(from, from + MAX_EVENTS), bytes);
    const operations = digestOperations(digest, channel, { at: now, partsBefore: parts });
    // Another process has taken some meanwhile, or they were removed: the others are attempted again.
    if (!(await records.commit(operations))) return;
    parts += digest.length;
  }
}

/** The events of a channel that waited until an instant and are in no digest, in their order: their ids begin
 *  with their time. */
async function waitingUntil(
  until: number,
  { key }: StoredChannel,
  records: Records,
): Promise<readonly StoredDelivery[]> {
  const newest = new Map<string, StoredDelivery>();
  for await (const page of recordPages(records, deliveries, { group: queueGroup(key) })) {
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
    .toSorted(byKey);
}

/** Bytes of the line of an event, and the most that all of one message have. */
interface LineBytes {
  readonly most: number;
  readonly of: (delivery: StoredDelivery) => number;
}

function lineBytes({ value: { kind } }: StoredChannel, chat: ChatServices): LineBytes {
  if (kind === "email")
    return { most: MAX_EMAIL_BYTES - AROUND_BYTES, of: bytesIn((text) => text) };
  const { maxBytes, textOf } = chat[kind];
  const escaped = (line: string) => textOf({ title: line, lines: [], link: "" });
  return { most: maxBytes - AROUND_BYTES, of: bytesIn(escaped) };
}

const bytesIn = (escaped: (line: string) => string) => (delivery: StoredDelivery) =>
  Buffer.byteLength(escaped(lineOf(delivery))) + 1;

/** Consecutive events that fit into one message each. */
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

/** When a digest was made, and how many parts of others are sent before it. */
interface DigestPlace {
  readonly at: number;
  readonly partsBefore: number;
}

/** The operations that queue a digest, part by part, and put the events into it. */
function digestOperations(
  parts: readonly (readonly StoredDelivery[])[],
  channel: StoredChannel,
  { at, partsBefore }: DigestPlace,
): readonly Operation[] {
  const all = parts.flat();
  const isOverLimit = all.some(({ value }) => value.isOverLimit);
  const operations = parts.flatMap((members, index) => {
    const part: DigestPart = {
      part: index + 1,
      parts: parts.length,
      events: all.length,
      ...(isOverLimit && { isOverLimit }),
    };
    const { id, operation } = queueOwnMessage(channel, {
      type: DIGEST_TYPE,
      body: JSON.stringify(part),
      at,
      ttlMs: EVENTS_KEPT_MS,
      dueInMs: (partsBefore + index) * PART_EVERY_MS,
    });
    return [operation, ...members.map((member) => joined(member, id))];
  });
  return [...operations, announce(DELIVERIES_TOPIC)];
}

/** Puts an event into a digest. */
function joined(member: StoredDelivery, digestId: string): Operation {
  const { heldUntil: _, isOverLimit: __, ...rest } = member.value;
  const groups = [...member.groups, digestGroup(digestId)];
  return replace(deliveries, member, { value: { ...rest, digestId }, groups, dueInMs: null });
}
