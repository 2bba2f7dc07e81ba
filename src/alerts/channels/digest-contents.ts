import type { Scope } from "../../access/scopes.ts";
import { eventTextOf } from "../../answers/event-text.ts";
import { DIRECTION_EVIDENCE_TEXT, DIRECTION_LIMITS_TEXT } from "../../answers/meaning.ts";
import { isEntitledToEvents } from "../../auth/entitlement.ts";
import type { LimitState } from "../../limits/limits.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Records } from "../../store/port/records.ts";
import type { Change } from "../../store/transact.ts";
import { type AlertOwner, alerts, isSentToChannel, type StoredAlert } from "../alert.ts";
import {
  deleteDelivery,
  deliveries,
  moveToCurrentTarget,
  type StoredDelivery,
} from "../delivery/delivery.ts";
import type { ChannelMessage } from "./message.ts";
import { type DigestPart, digestGroup } from "./own-messages.ts";
import { eventMessage, type MessageTextOptions } from "./texts.ts";

/** Dependencies of digests. */
interface DigestOptions {
  readonly records: Records;
  readonly scopesOf: (owner: AlertOwner) => Promise<ReadonlySet<Scope>>;
}

/** Compares two deliveries by time, for sorting. Their ids begin with the time. */
export const compareDeliveriesByKey = (one: StoredDelivery, other: StoredDelivery): number =>
  one.key < other.key ? -1 : 1;

/** The line for one event in a digest. */
export const digestLineOf = ({ value: { body } }: StoredDelivery): string =>
  `• ${eventTextOf(body).headline}`;

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
  options: DigestOptions,
): Promise<Members> {
  const all = await readAll(options.records, deliveries, digestGroup(digest.key));
  const known = new Map<string, StoredAlert | undefined>();
  const told: DigestedEvent[] = [];
  const others: Change[] = [];
  for (const member of all.toSorted(compareDeliveriesByKey)) {
    const { alertId = "" } = member.value;
    if (!known.has(alertId)) known.set(alertId, await findEntitledAlert(alertId, options));
    const alert = known.get(alertId);
    if (alert === undefined || !isStillSentToChannel(member, alert) || alert.value.isPaused) {
      others.push(requeueOrDelete(member, alert));
    } else told.push({ delivery: member, alert });
  }
  return { told, others };
}

/** Finds an alert by id, if its owner may receive events now. */
export async function findEntitledAlert(
  alertId: string,
  { records, scopesOf }: DigestOptions,
): Promise<StoredAlert | undefined> {
  const alert = await records.get(alerts, alertId);
  return alert && isEntitledToEvents(await scopesOf(alert.value.owner)) ? alert : undefined;
}

/** Whether an alert still sends to the channel for which the event was queued. */
export const isStillSentToChannel = (
  { value: { channelId } }: StoredDelivery,
  alert: StoredAlert,
): boolean => channelId !== undefined && isSentToChannel(alert, channelId);

/**
 * Moves an event that may no longer be sent where it was queued to the current queue of its alert,
 * outside any digest; it is held back there while the alert is paused. The event is deleted if
 * `alert` is `undefined`, or has no webhook or channel.
 */
export const requeueOrDelete =
  (event: StoredDelivery, alert: StoredAlert | undefined): Change =>
  (tx) =>
    alert === undefined ? deleteDelivery(tx, event) : moveToCurrentTarget(tx, event, alert);

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
      ...told.map(({ delivery }) => digestLineOf(delivery)),
      ...(hasDirections ? [`${DIRECTION_EVIDENCE_TEXT} ${DIRECTION_LIMITS_TEXT}`] : []),
    ],
    link: `${texts.baseUrl}/account#alerts`,
  };
}

const overLimitText = ({ most, seconds }: DigestTextOptions["limit"]): string =>
  `Gathered, because at most ${most} messages in ${seconds / 60} minutes are sent here.`;
