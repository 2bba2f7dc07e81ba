import { eventPayload, type News } from "../../answers/event.ts";
import { isEntitled } from "../../auth/entitled.ts";
import type { Scope } from "../../auth/scopes.ts";
import type { Limits } from "../../limits/limits.ts";
import type { Market } from "../../market/market.ts";
import { announce, append, put, unchanged } from "../../store/port/operations.ts";
import { collection, type Operation, type Records } from "../../store/port/records.ts";
import {
  type Alert,
  type AlertStatus,
  alerts,
  type Owner,
  ownerGroup,
  quotaGroup,
  type StoredAlert,
  statusOf,
} from "../alert.ts";
import { EVENT_KIND, EVENTS_TOPIC, type EventRow } from "../delivery/delivery.ts";
import { type Message, newMessageId } from "../delivery/queue.ts";
import type { Condition } from "./condition.ts";
import { isSubscribed } from "./matching.ts";

/** News, and what found them. */
export interface Found extends News {
  readonly watch: Condition;
}

/** A commit that is being put together. */
export interface Draft {
  readonly steps: Operation[];
  /** `at` of the newest event row, in it or before it. */
  newestEventAt: number;
  /** Sequence numbers that it gives, by their keys. */
  readonly sequences: Map<string, number>;
}

/** What telling alerts needs. */
export interface FanOutOptions {
  readonly records: Pick<Records, "get">;
  readonly market: Pick<Market, "mode" | "source">;
  /** The scopes that whoever made an alert holds now. */
  readonly scopesOf: (owner: Owner) => Promise<ReadonlySet<Scope>>;
  /** The steps that send a message to the webhook of an alert; none when it has none. */
  readonly queueDelivery: (alert: StoredAlert, message: Message) => readonly Operation[];
  readonly limits: Pick<Limits, "count">;
  /** Time on the wall. */
  readonly now: () => Date;
}

/** Number of the newest event of an alert about an instrument, from 1; goes with the alert. */
const sequences = collection<number>("alert-sequences");

/** An alert that hears the news, and the number of the last event that it heard of. */
interface Listener {
  readonly alert: StoredAlert;
  /** Key of the sequence. */
  readonly key: string;
  readonly last: number;
}

/**
 * Makes the function that adds to a draft what some alerts are told of news: for each a row in the
 * archive and, if it has a webhook, a delivery, with the same body. The draft only holds while
 * these alerts stay as they are.
 */
export function createFanOut(options: FanOutOptions) {
  return async (found: Found, alertIds: readonly string[], draft: Draft): Promise<void> => {
    const at = options.now().getTime();
    const asked = alertIds.map((id) => listenerOf(id, { ...options, found, at }));
    for (const listener of await Promise.all(asked)) {
      if (listener === undefined) continue;
      draft.steps.push(...toldTo(listener, { ...options, found, at, draft }));
    }
  };
}

interface Telling extends FanOutOptions {
  readonly found: Found;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Events of a webhook that is disabled are kept: they can be read, and sent once it is enabled. */
const isTold = (status: AlertStatus): boolean =>
  status === "active" || status === "pending" || status === "disabled";

const isSent = ({ way }: Alert): boolean => way.by === "webhook" && way.state.is !== "disabled";

async function listenerOf(
  alertId: string,
  { records, limits, scopesOf, found: { watch, snapshot }, at }: Telling,
): Promise<Listener | undefined> {
  const alert = await records.get(alerts, alertId);
  if (alert === undefined || !isSubscribed(alert.value, watch, snapshot)) return undefined;
  const status = statusOf(alert.value, at);
  if (!isTold(status)) return undefined;
  const { owner } = alert.value;
  if (!isEntitled(await scopesOf(owner))) return undefined;
  // Events are kept for 30 days: no account may fill the disk with them.
  if ((await limits.count("alert-events", quotaGroup(owner))).isExceeded) return undefined;
  const key = `${alertId}:${snapshot.instrument.symbol}`;
  const last = await records.get(sequences, key);
  return { alert, key, last: last?.value ?? 0 };
}

function toldTo(
  { alert, key, last }: Listener,
  { found, market, queueDelivery, at, draft }: Telling & { readonly draft: Draft },
): readonly Operation[] {
  const eventId = newMessageId();
  const sequence = (draft.sequences.get(key) ?? last) + 1;
  draft.sequences.set(key, sequence);
  // A clock that was put back must not put events behind those that were read already.
  draft.newestEventAt = Math.max(at, draft.newestEventAt + 1);

  const payload = eventPayload(found, { alertId: alert.key, eventId, sequence, at }, { market });
  const { type } = payload;
  const body = JSON.stringify(payload);
  const { owner } = alert.value;
  const { clientId } = owner;
  const row: EventRow = { alertId: alert.key, ...(clientId && { clientId }), type, body };
  const subject = ownerGroup(owner);
  return [
    unchanged(alerts, alert),
    put(sequences, { key, value: sequence, groups: alert.groups }),
    append({ kind: EVENT_KIND, at: draft.newestEventAt, id: eventId, subject, body: row }),
    announce(EVENTS_TOPIC),
    ...(isSent(alert.value) ? queueDelivery(alert, { eventId, type, body, at }) : []),
  ];
}
