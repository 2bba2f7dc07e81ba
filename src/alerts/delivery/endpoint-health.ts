import type { Auditor } from "../../auth/auditor.ts";
import { announce, insert, remove, removeGroup, replace } from "../../store/port/operations.ts";
import { collection, type Operation, type Records, type Stored } from "../../store/port/records.ts";
import {
  ALERTS_TOPIC,
  alerts,
  isMadeBy,
  ownerGroup,
  type StoredAlert,
  statusOf,
  type Way,
  type WebhookState,
} from "../alert.ts";
import { enqueueDelivery, newMessageId, queueGroup } from "./delivery.ts";
/** How the webhook of an alert has done since it last took something. */
export interface EndpointHealth {
  /** When the first of the failures was, milliseconds since the epoch. */
  readonly failingSince: number;
  /** Attempts that failed since then. */
  readonly failures: number;
}

/** Webhooks that fail, by the id of their alert; the first success removes the record. */
export const endpointHealth = collection<EndpointHealth>("endpoint-health");

/** When a webhook is given up: so long without a success, in milliseconds, and so many failures. */
const GIVEN_UP = { afterMs: 5 * 86_400_000, failures: 20 };

/** What one more failure makes of the health of a webhook. @param now Milliseconds since the epoch. */
export function afterFailure(before: EndpointHealth | undefined, now: number): EndpointHealth {
  if (before === undefined) return { failingSince: now, failures: 1 };
  return { ...before, failures: before.failures + 1 };
}

/** The step that keeps the health of a webhook; it does not hold when another came before. */
export function writeHealth(
  { key, groups }: StoredAlert,
  before: Stored<EndpointHealth> | undefined,
  value: EndpointHealth,
): Operation {
  if (before === undefined) return insert(endpointHealth, { key, value, groups });
  return replace(endpointHealth, before, { value });
}

/** Whether a webhook is to be disabled. @param now Milliseconds since the epoch. */
export function isGivenUp({ failingSince, failures }: EndpointHealth, now: number): boolean {
  return failures >= GIVEN_UP.failures && now - failingSince >= GIVEN_UP.afterMs;
}

/** Why nothing is sent to a webhook any more. */
export type DisabledReason = Extract<WebhookState, { is: "disabled" }>["reason"];

type Webhook = Extract<Way, { by: "webhook" }>;

/** Alerts of one agent, key or person that are looked at. */
const MOST_ALERTS = 1_000;

/** What disabling works with. */
export interface DisablingOptions {
  readonly records: Pick<Records, "get" | "list">;
  readonly audit: Auditor;
}

/** Which webhook is disabled, and why. */
export interface Disabling {
  /** The alert as it was when the webhook was tried. */
  readonly tried: StoredAlert;
  readonly reason: DisabledReason;
  /** Now, milliseconds since the epoch. */
  readonly at: number;
}

/**
 * The steps that disable a webhook: what waits for it goes, and the other webhooks of whoever made it
 * are told.
 *
 * @returns `undefined` when its owner has changed or enabled it meanwhile.
 */
export async function disableWebhook(
  { records, audit }: DisablingOptions,
  disabling: Disabling,
): Promise<readonly Operation[] | undefined> {
  const { tried, reason, at } = disabling;
  const alertId = tried.key;
  const alert = await records.get(alerts, alertId);
  const way = alert?.value.way;
  if (alert === undefined || way?.by !== "webhook") return undefined;
  if (!isAsBefore(way, tried.value.way)) return undefined;
  const state: WebhookState = { is: "disabled", since: at, reason };
  const group = ownerGroup(alert.value.owner);
  const all = await records.list(alerts, { group, limit: MOST_ALERTS });
  const others = all.filter(
    ({ key, value }) =>
      key !== alertId &&
      isMadeBy(value.owner, alert.value.owner) &&
      statusOf(value, at) === "active",
  );
  return [
    replace(alerts, alert, { value: { ...alert.value, way: { ...way, state } } }),
    removeGroup(queueGroup(alertId)),
    remove(endpointHealth, alertId),
    ...others.flatMap((other) => enqueueDelivery(other, notice(alert, disabling))),
    ...audit({ action: "alert.disabled", actor: "system", target: alertId }),
    announce(ALERTS_TOPIC, alertId),
  ];
}

function isAsBefore(way: Webhook, before: Way): boolean {
  return (
    before.by === "webhook" && way.url === before.url && way.state.since === before.state.since
  );
}

function notice({ key, value }: StoredAlert, { reason, at }: Disabling) {
  const type = "endpoint.disabled";
  const data = { alertId: key, label: value.label, reason };
  const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
  return { eventId: newMessageId(), type, body, at };
}
