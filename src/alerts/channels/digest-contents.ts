import { eventText } from "../../answers/event-text.ts";
import { DIRECTION_WORTH } from "../../answers/meaning.ts";
import { isEntitled } from "../../auth/entitlement.ts";
import type { Scope } from "../../auth/scopes.ts";
import type { Quota } from "../../limits/quotas.ts";
import { removeAt } from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Operation, Records } from "../../store/port/records.ts";
import { alerts, type Owner, type StoredAlert } from "../alert.ts";
import { deliveries, moveDelivery, type StoredDelivery } from "../delivery/delivery.ts";
import type { ChannelMessage } from "./message.ts";
import { type DigestPart, digestGroup } from "./own-messages.ts";
import { eventMessage, type TextOptions } from "./texts.ts";

/** Dependencies of digests. */
interface DigestOptions {
  readonly records: Records;
  readonly scopesOf: (owner: Owner) => Promise<ReadonlySet<Scope>>;
}

/** The order of events: their ids begin with their time. */
export const byKey = (one: StoredDelivery, other: StoredDelivery): number =>
  one.key < other.key ? -1 : 1;

/** The line of a digest that reports an event. */
export const lineOf = ({ value: { body } }: StoredDelivery): string =>
  `• ${eventText(body).headline}`;

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
export async function membersOf(digest: StoredDelivery, options: DigestOptions): Promise<Members> {
  const all = await readAll(options.records, deliveries, digestGroup(digest.key));
  const known = new Map<string, StoredAlert | undefined>();
  const told: Told[] = [];
  const others: Operation[] = [];
  for (const member of all.toSorted(byKey)) {
    const { alertId = "" } = member.value;
    if (!known.has(alertId)) known.set(alertId, await entitledAlert(alertId, options));
    const alert = known.get(alertId);
    if (alert === undefined || !isSentBy(member, alert) || alert.value.isPaused) {
      others.push(queuedAnew(member, alert));
    } else told.push({ delivery: member, alert });
  }
  return { told, others };
}

/** The alert with an id, if its owner may have events now. */
export async function entitledAlert(
  alertId: string,
  { records, scopesOf }: DigestOptions,
): Promise<StoredAlert | undefined> {
  const alert = await records.get(alerts, alertId);
  return alert && isEntitled(await scopesOf(alert.value.owner)) ? alert : undefined;
}

/** Whether an alert still sends to the channel that one of its events is queued for. */
export const isSentBy = ({ value }: StoredDelivery, { value: { way } }: StoredAlert): boolean =>
  way.by === "channel" && way.channelId === value.channelId;

/** The operation for an event that must not be sent as it is queued: it is queued alone where its alert sends
 *  now, and held back there while the alert is paused; or deleted if it is sent nowhere. */
export const queuedAnew = (event: StoredDelivery, alert: StoredAlert | undefined): Operation =>
  (alert && moveDelivery(event, alert)) ?? removeAt(deliveries, event);

/** Options of the text of a digest. */
interface DigestTextOptions extends TextOptions {
  /** The limit on messages to a mailbox or chat. */
  readonly limit: Quota;
}

/**
 * The message of a digest; for a single event, the message of that event.
 *
 * @param told The events of the digest.
 */
export function digestMessage(
  { value }: StoredDelivery,
  told: readonly Told[],
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
      ...(hasDirections ? [DIRECTION_WORTH] : []),
    ],
    link: `${texts.baseUrl}/account#alerts`,
  };
}

const overLimitText = ({ points, windowSeconds }: Quota): string =>
  `Gathered, because at most ${points} messages in ${windowSeconds / 60} minutes are sent here.`;
