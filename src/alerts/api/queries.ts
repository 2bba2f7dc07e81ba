import type { Caller } from "../../access/caller.ts";
import { Problem } from "../../lib/problem.ts";
import type { ArchiveRow } from "../../store/port/archive.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { RecordReader, Records } from "../../store/port/records.ts";
import {
  type Alert,
  type AlertStatus,
  accountAlertsGroup,
  alertStatusAt,
  alerts,
  isOwnedBy,
  ownerGroup,
  type StoredAlert,
} from "../alert.ts";
import { type Channel, type ChannelState, channels } from "../channels/channel.ts";
import { gatheringKey, isWaiting } from "../channels/digest.ts";
import {
  ATTEMPT_ARCHIVE_KIND,
  type DeliveryAttempt,
  deliveries,
  EVENT_RETENTION_MS,
  queuedDeliveriesGroup,
} from "../delivery/delivery.ts";
import { type EndpointHealth, endpointHealthRecords } from "../delivery/endpoint-health.ts";
import { openWebhookUrl } from "../delivery/sealed-webhook-url.ts";
import type { AlertDependencies } from "./dependencies.ts";
import { managedAccountOf } from "./ownership.ts";

/** Maximum number of queued deliveries that are counted for one alert. */
const MAX_COUNTED = 100;

/** Number of recent attempts that are searched for the last success. */
const MAX_SEARCHED = 100;

/** An alert in the form that its owner sees. */
export interface AlertView {
  readonly id: string;
  readonly alert: Alert;
  readonly status: AlertStatus;
  /** URL of the alert's webhook; absent if the alert has none. */
  readonly url?: string;
  /**
   * The channel to which the alert's events are sent; absent if the alert uses no channel or the
   * channel was deleted.
   */
  readonly channel?: Pick<Channel, "name" | "kind" | "state">;
}

/** Queued deliveries of an alert. */
interface WaitingDeliveries {
  /** Number of queued deliveries; 100 means 100 or more. */
  readonly count: number;
  /**
   * When the next queued delivery is due, in milliseconds since the epoch; `null` if none is
   * scheduled.
   */
  readonly nextAt: number | null;
}

/** An alert with the state of its deliveries. */
export interface AlertDetails extends AlertView {
  /** Failures since the last success; `undefined` if there are none. */
  readonly health: EndpointHealth | undefined;
  readonly waiting: WaitingDeliveries;
}

/** A delivery attempt with its time. */
export interface DeliveryAttemptView extends DeliveryAttempt {
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A page of delivery attempts, newest first. */
export interface DeliveryAttemptPage {
  readonly attempts: readonly DeliveryAttemptView[];
  readonly cursor: string | undefined;
}

/** Dependencies of `alertViewOf`. */
interface AlertViewOptions extends Pick<AlertDependencies, "vault" | "now"> {
  readonly records: RecordReader;
}

/**
 * Combines an alert with its current status. A paused or disabled channel overrides the alert's own
 * status, unless the alert has expired.
 */
export async function alertViewOf(
  { records, vault, now }: AlertViewOptions,
  { key, value }: Pick<StoredAlert, "key" | "value">,
): Promise<AlertView> {
  const { way } = value;
  const status = alertStatusAt(value, now().getTime());
  if (way.by === "poll") return { id: key, alert: value, status };
  if (way.by === "webhook") {
    return { id: key, alert: value, status, url: openWebhookUrl(vault, key, way) };
  }
  const channel = (await records.get(channels, way.channelId))?.value;
  return {
    id: key,
    alert: value,
    status: withChannel(status, channel?.state),
    ...(channel && { channel }),
  };
}

function withChannel(status: AlertStatus, state: ChannelState | undefined): AlertStatus {
  if (status === "expired" || state?.is === "active") return status;
  return state?.is === "paused" ? "paused" : "disabled";
}

/** The alerts that a caller may read. */
export interface AlertList {
  /**
   * The caller's own alerts or, with a person's API key, all alerts of the person's account; oldest
   * first.
   */
  readonly alerts: readonly AlertView[];
  /**
   * Number of the account's alerts that other callers registered and that are not listed, because
   * the caller may not see their URLs.
   */
  readonly others: number;
}

/** Lists the alerts that a caller may read. */
export async function listAlerts(options: AlertDependencies, caller: Caller): Promise<AlertList> {
  const { accountId } = caller;
  const group = accountId === undefined ? ownerGroup(caller) : accountAlertsGroup(accountId);
  const all = await alertsIn(options, group);
  if (managedAccountOf(caller) !== undefined) return { alerts: all, others: 0 };
  const own = all.filter(({ alert }) => isOwnedBy(alert.owner, caller));
  return { alerts: own, others: all.length - own.length };
}

/** Lists all alerts of an account, oldest first. */
export function listAlertsOfAccount(
  options: AlertDependencies,
  accountId: string,
): Promise<readonly AlertView[]> {
  return alertsIn(options, accountAlertsGroup(accountId));
}

async function alertsIn(options: AlertDependencies, group: string): Promise<readonly AlertView[]> {
  const found = await readAll(options.records, alerts, group);
  const views = await Promise.all(found.map((alert) => alertViewOf(options, alert)));
  return views.toSorted((a, b) => a.alert.createdAt - b.alert.createdAt || (a.id < b.id ? -1 : 1));
}

/** Combines an alert with the health of its webhook or channel and with its queued deliveries. */
export async function alertDetailsOf(
  options: AlertDependencies,
  alert: StoredAlert,
): Promise<AlertDetails> {
  const { records } = options;
  const { way } = alert.value;
  const [view, health, waiting] = await Promise.all([
    alertViewOf(options, alert),
    records.get(endpointHealthRecords, way.by === "channel" ? way.channelId : alert.key),
    waitingDeliveries(records, alert),
  ]);
  return { ...view, health: health?.value, waiting };
}

async function waitingDeliveries(
  records: Records,
  { key, value: { way } }: StoredAlert,
): Promise<WaitingDeliveries> {
  const selection = { group: queuedDeliveriesGroup(key), limit: MAX_COUNTED };
  const found = await records.list(deliveries, selection);
  const gathering =
    way.by === "channel" && found.some(isWaiting)
      ? await records.get(deliveries, gatheringKey(way.channelId))
      : undefined;
  const due = [...found, gathering].flatMap((each) => each?.dueAt ?? []);
  return { count: found.length, nextAt: due.length === 0 ? null : Math.min(...due) };
}

/**
 * The attempts of the last 30 days to deliver events of an alert, newest first.
 *
 * @throws {Problem} `invalid_request` for an invalid cursor.
 */
export async function listDeliveryAttempts(
  { archive, now }: AlertDependencies,
  alertId: string,
  { cursor, limit }: { readonly cursor: string | undefined; readonly limit: number },
): Promise<DeliveryAttemptPage> {
  const rows = await archive.read(ATTEMPT_ARCHIVE_KIND, {
    subject: alertId,
    from: now().getTime() - EVENT_RETENTION_MS,
    order: "newest",
    ...(cursor !== undefined && { after: parseCursor(cursor) }),
    limit: limit + 1,
  });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    attempts: page.map(({ at, body }) => ({ ...(body as DeliveryAttempt), at })),
    cursor: rows.length > limit && last ? `${last.at}-${last.id}` : undefined,
  };
}

/**
 * When a webhook or channel last accepted a delivery, in milliseconds since the epoch; `undefined`
 * if the last 100 attempts contain no success. If the webhook or channel is failing now, the 100
 * attempts are counted back from its first failure (`failingSince`), because all later attempts
 * have failed.
 *
 * @param id Id of the alert, or of the channel for messages about the channel itself.
 */
export async function lastSuccessfulDeliveryAt(
  { records, archive }: Pick<AlertDependencies, "records" | "archive">,
  id: string,
): Promise<number | undefined> {
  const health = await records.get(endpointHealthRecords, id);
  const rows = await archive.read(ATTEMPT_ARCHIVE_KIND, {
    subject: id,
    // Attempts after `failingSince` have all failed, so they are not searched.
    ...(health && { to: health.value.failingSince }),
    order: "newest",
    limit: MAX_SEARCHED,
  });
  return rows.find(({ body }) => (body as DeliveryAttempt).error === "none")?.at;
}

function parseCursor(cursor: string): Pick<ArchiveRow, "at" | "id"> {
  const [, at, id] = /^(\d{1,15})-([0-9a-f-]{36})$/.exec(cursor) ?? [];
  if (at !== undefined && id !== undefined) return { at: Number(at), id };
  throw new Problem("invalid_request", {
    detail: "cursor: it is not one of these deliveries.",
    next: "Send nextCursor as it came, or none.",
  });
}
