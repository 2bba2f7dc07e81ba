import type { Auditor } from "../../access/auditor.ts";
import { collection, type Stored } from "../../store/port/records.ts";
import type { Transaction } from "../../store/transact.ts";
import {
  ALERTS_TOPIC,
  type AlertOwner,
  alertStatusAt,
  alerts,
  type DeliveryMethod,
  isOwnedBy,
  ownerGroup,
  type StoredAlert,
  type Webhook,
  type WebhookState,
} from "../alert.ts";
import {
  type AlertMessage,
  enqueueDelivery,
  newMessageId,
  queuedDeliveriesGroup,
} from "./delivery.ts";
import type { DisabledReason, Endpoint } from "./endpoint.ts";
import { webhookEndpoint } from "./sealed-webhook-url.ts";

/**
 * A webhook or channel is disabled after `afterMs` milliseconds without a success, if it has failed
 * at least `failures` times since its last success.
 */
const GIVE_UP_RULES = { afterMs: 5 * 86_400_000, failures: 20 };

/**
 * Maximum number of an owner's alerts that are considered when a disabled webhook is reported to
 * the owner's other webhooks and channels.
 */
const MAX_NOTIFIED = 1_000;

/** Failures of a webhook or channel since its last success. */
export interface EndpointHealth {
  /** When the first failure since the last success occurred, in milliseconds since the epoch. */
  readonly failingSince: number;
  /** Number of failures since the last success. */
  readonly failures: number;
}

/**
 * Health of failing webhooks and channels, by the id of the alert or channel. A success deletes the
 * record.
 */
export const endpointHealthRecords = collection<EndpointHealth>("endpoint-health");

/** The health after one more failure. @param now Milliseconds since the epoch. */
export function endpointHealthAfterFailure(
  before: EndpointHealth | undefined,
  now: number,
): EndpointHealth {
  if (before === undefined) return { failingSince: now, failures: 1 };
  return { ...before, failures: before.failures + 1 };
}

/** Stores the health of an endpoint. */
export function writeEndpointHealth(
  tx: Transaction,
  { id: key, groups }: Pick<Endpoint, "id" | "groups">,
  before: Stored<EndpointHealth> | undefined,
  value: EndpointHealth,
): void {
  if (before === undefined) tx.insert(endpointHealthRecords, { key, value, groups });
  else tx.update(endpointHealthRecords, before, { value });
}

/**
 * Whether an endpoint has failed long enough and often enough to be disabled.
 *
 * @param now Milliseconds since the epoch.
 */
export function hasFailedTooLong({ failingSince, failures }: EndpointHealth, now: number): boolean {
  return failures >= GIVE_UP_RULES.failures && now - failingSince >= GIVE_UP_RULES.afterMs;
}

/**
 * Disables the webhook of an alert, deletes its queued deliveries, and notifies the other webhooks
 * and the channels of the alert's owner.
 *
 * @param attempted The alert as it was when the delivery was attempted.
 * @param at The current time, in milliseconds since the epoch.
 * @returns `false` if the webhook was removed, changed or enabled since the attempt.
 */
export async function disableWebhook(
  tx: Transaction,
  attempted: StoredAlert,
  reason: DisabledReason,
  at: number,
  audit: Auditor,
): Promise<boolean> {
  const alertId = attempted.key;
  const alert = await tx.get(alerts, alertId);
  const way = alert?.value.way;
  if (alert === undefined || way?.by !== "webhook") return false;
  const { owner } = alert.value;
  if (!isUnchanged(owner, way, attempted.value.way)) return false;
  const state: WebhookState = { is: "disabled", since: at, reason };
  const all = await tx.list(alerts, { group: ownerGroup(owner), limit: MAX_NOTIFIED });
  const others = all.filter(
    ({ key, value }) =>
      key !== alertId && isOwnedBy(value.owner, owner) && alertStatusAt(value, at) === "active",
  );
  tx.update(alerts, alert, { value: { ...alert.value, way: { ...way, state } } });
  tx.removeGroup(queuedDeliveriesGroup(alertId));
  tx.remove(endpointHealthRecords, alertId);
  for (const other of oncePerChannel(others)) {
    enqueueDelivery(tx, other, disabledNotice(alert, reason, at));
  }
  audit(tx, { action: "alert.disabled", actor: "system", target: alertId });
  tx.announce(ALERTS_TOPIC, alertId);
  return true;
}

/** Keeps one alert of each channel, so that a channel gets one notice. */
const oncePerChannel = (list: readonly StoredAlert[]): readonly StoredAlert[] => [
  ...new Map(
    list.map((alert) => {
      const { way } = alert.value;
      return [way.by === "channel" ? way.channelId : alert.key, alert];
    }),
  ).values(),
];

function isUnchanged(owner: AlertOwner, way: Webhook, before: DeliveryMethod): boolean {
  return (
    before.by === "webhook" &&
    webhookEndpoint(owner, way) === webhookEndpoint(owner, before) &&
    way.state.since === before.state.since
  );
}

function disabledNotice(
  { key, value }: StoredAlert,
  reason: DisabledReason,
  at: number,
): AlertMessage {
  const type = "endpoint.disabled";
  const data = { alertId: key, label: value.label, reason };
  const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
  return { eventId: newMessageId(at), type, body, isRepeat: true };
}
