import { eventText } from "../../answers/event-text.ts";
import { DIRECTION_WORTH } from "../../answers/meaning.ts";
import { isEntitled } from "../../auth/entitlement.ts";
import type { Scope } from "../../auth/scopes.ts";
import { announce, removeAt, replace, unchanged } from "../../store/port/operations.ts";
import { readAll, recordPages } from "../../store/port/read-all.ts";
import type { Operation, Records } from "../../store/port/records.ts";
import { alerts, type Owner, type StoredAlert } from "../alert.ts";
import {
  DELIVERIES_TOPIC,
  deliveries,
  EVENTS_KEPT_MS,
  moveDelivery,
  queueGroup,
  type StoredDelivery,
} from "../delivery/delivery.ts";
import { reschedule } from "../delivery/repeat-limit.ts";
import type { StoredChannel } from "./channel.ts";
import type { ChannelMessage } from "./message.ts";
import { DIGEST_TYPE, type DigestPart, digestGroup, queueOwnMessage } from "./own-messages.ts";
import type { ChatServices } from "./services/chat-services.ts";
import { MAX_EMAIL_BYTES } from "./services/email.ts";
import { eventMessage, type TextOptions } from "./texts.ts";

/** Maximum number of events that one commit puts into a digest; the rest follow in another digest
 *  right after it. */
const MAX_EVENTS = 200;

/** Bytes of a message that are reserved for its title, the sentence on evidence and the link. */
const AROUND_BYTES = 800;

/** Dependencies of digests. */
interface DigestOptions {
  readonly records: Records;
  readonly scopesOf: (owner: Owner) => Promise<ReadonlySet<Scope>>;
  readonly channels: { readonly chat: ChatServices; readonly baseUrl: string };
  readonly now: () => Date;
}

/** Pause between the parts of a digest, in milliseconds: Slack and Telegram allow a message a second. */
const PART_EVERY_MS = 1_000;

/**
 * The operations that put the due events of a channel into one digest, in the order of the events.
 * A digest that is too long for one message has several parts.
 *
 * A single event gets a digest as well: from then on only the digest decides on it, so that an event
 * that another process is about to send cannot get into another digest.
 *
 * @param delivery One of them, that this process has leased.
 */
export async function digestSteps(
  delivery: StoredDelivery,
  channel: StoredChannel,
  options: DigestOptions,
): Promise<readonly Operation[]> {
  const now = options.now().getTime();
  const events = await eventsUntil(now, channel, options.records);
  const parts = partsOf(events, lineBytes(channel, options.channels.chat));
  const steps = parts.flatMap((members, index) => {
    const part: DigestPart = { part: index + 1, parts: parts.length, events: events.length };
    const content = { type: DIGEST_TYPE, body: JSON.stringify(part) };
    const place = { at: now, ttlMs: EVENTS_KEPT_MS, dueInMs: index * PART_EVERY_MS };
    const { id, operation } = queueOwnMessage(channel, { ...content, ...place });
    return [operation, ...members.map((member) => joined(member, id))];
  });
  // The next digest begins with it, unless another process has put it into one meanwhile.
  const isLeftOut = events.every(({ key }) => key !== delivery.key);
  return [...steps, ...(isLeftOut ? [reschedule(delivery, 0)] : []), announce(DELIVERIES_TOPIC)];
}

/**
 * The first events of a channel that waited until now, in order; their ids begin with their time.
 */
async function eventsUntil(
  now: number,
  { key }: StoredChannel,
  records: Records,
): Promise<readonly StoredDelivery[]> {
  let first: readonly StoredDelivery[] = [];
  for await (const page of recordPages(records, deliveries, { group: queueGroup(key) })) {
    const ready = page.filter(
      ({ value: { heldUntil, digestId } }) =>
        heldUntil !== undefined && heldUntil <= now && digestId === undefined,
    );
    const newest = new Map([...first, ...ready].map((each) => [each.key, each]));
    first = [...newest.values()].sort(byKey).slice(0, MAX_EVENTS);
  }
  return first;
}

const byKey = (one: StoredDelivery, other: StoredDelivery): number =>
  one.key < other.key ? -1 : 1;

/** Bytes of the line of an event, and the maximum for all lines of one message. */
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

const lineOf = ({ value: { body } }: StoredDelivery): string => `• ${eventText(body).headline}`;

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

/** Adds an event to a digest. */
function joined(member: StoredDelivery, digestId: string): Operation {
  const { heldUntil: _, ...rest } = member.value;
  const groups = [...member.groups, digestGroup(digestId)];
  return replace(deliveries, member, { value: { ...rest, digestId }, groups, dueInMs: null });
}

/** An event of a digest, and its alert. */
interface Told {
  readonly delivery: StoredDelivery;
  readonly alert: StoredAlert;
}

/** The events of a digest. */
interface Members {
  /** The events that belong in the digest, in order. */
  readonly told: readonly Told[];
  /** The operations for events that must not be in the digest now. */
  readonly others: readonly Operation[];
}

/** The events that a digest still contains. */
export async function membersOf(
  digest: StoredDelivery,
  options: Pick<DigestOptions, "records" | "scopesOf">,
): Promise<Members> {
  const all = await readAll(options.records, deliveries, digestGroup(digest.key));
  const known = new Map<string, StoredAlert | undefined>();
  const told: Told[] = [];
  const others: Operation[] = [];
  for (const member of all.toSorted(byKey)) {
    const { alertId = "" } = member.value;
    if (!known.has(alertId)) known.set(alertId, await entitledAlert(alertId, options));
    const alert = known.get(alertId);
    if (alert === undefined || !isSentBy(member, alert)) others.push(sentElsewhere(member, alert));
    else if (alert.value.isPaused) others.push(...takenOut(member, alert, digest.key));
    else told.push({ delivery: member, alert });
  }
  return { told, others };
}

/** The alert with an id, if its owner may have events now. */
export async function entitledAlert(
  alertId: string,
  { records, scopesOf }: Pick<DigestOptions, "records" | "scopesOf">,
): Promise<StoredAlert | undefined> {
  const alert = await records.get(alerts, alertId);
  return alert && isEntitled(await scopesOf(alert.value.owner)) ? alert : undefined;
}

/** Whether an alert still sends to the channel that one of its events is queued for. */
export const isSentBy = ({ value }: StoredDelivery, { value: { way } }: StoredAlert): boolean =>
  way.by === "channel" && way.channelId === value.channelId;

/** The operation for an event that its channel must no longer send: it moves the event to where the
 *  alert sends now, or deletes it. */
export const sentElsewhere = (event: StoredDelivery, alert: StoredAlert | undefined): Operation =>
  (alert && moveDelivery(event, alert)) ?? removeAt(deliveries, event);

/**
 * Takes the event of a paused alert out of a digest, and holds it back until the alert is resumed.
 */
function takenOut(
  member: StoredDelivery,
  alert: StoredAlert,
  digestId: string,
): readonly Operation[] {
  const { digestId: _, ...value } = member.value;
  const groups = member.groups.filter((group) => group !== digestGroup(digestId));
  return [replace(deliveries, member, { value, groups, dueInMs: null }), unchanged(alerts, alert)];
}

/** The message of a digest. A digest of a single event is the message of that event. @param told
 *  Events of the digest. */
export function digestMessage(
  { value }: StoredDelivery,
  told: readonly Told[],
  texts: TextOptions,
): ChannelMessage {
  const { part, parts, events } = JSON.parse(value.body) as DigestPart;
  const [first, ...more] = told;
  if (first !== undefined && more.length === 0 && parts === 1) {
    return eventMessage(first.delivery.value.body, first.alert, texts);
  }
  const hasDirections = told.some(({ delivery }) => delivery.value.type === "signal.shift");
  return {
    title: parts === 1 ? `${told.length} events` : `${events} events, part ${part} of ${parts}`,
    lines: [
      ...told.map(({ delivery }) => lineOf(delivery)),
      ...(hasDirections ? [DIRECTION_WORTH] : []),
    ],
    link: `${texts.baseUrl}/account#alerts`,
  };
}
