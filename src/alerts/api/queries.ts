import type { Caller } from "../../auth/caller.ts";
import { Problem } from "../../problem.ts";
import type { ArchiveRow } from "../../store/port/archive.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Records } from "../../store/port/records.ts";
import {
  type Alert,
  type AlertStatus,
  accountGroup,
  alerts,
  isOwnedBy,
  ownerGroup,
  type StoredAlert,
  statusOf,
} from "../alert.ts";
import { type Channel, type ChannelState, channels } from "../channels/channel.ts";
import {
  ATTEMPT_KIND,
  type Attempt,
  deliveries,
  EVENTS_KEPT_MS,
  queueGroup,
} from "../delivery/delivery.ts";
import { type EndpointHealth, endpointHealth } from "../delivery/endpoint-health.ts";
import type { AlertDependencies } from "./dependencies.ts";
import { managedAccountOf } from "./ownership.ts";

/** Maximum number of queued deliveries that are counted. */
const MAX_COUNTED = 100;

/** Number of attempts in which the last success is searched for. */
const MAX_SEARCHED = 100;

/** An alert as its owner sees it. */
export interface AlertView {
  readonly id: string;
  readonly alert: Alert;
  readonly status: AlertStatus;
  /** The channel that its events are sent to; absent if events are sent in another way, or the
   *  channel was deleted. */
  readonly channel?: Pick<Channel, "name" | "kind" | "state">;
}

/** Queued deliveries of a webhook. */
interface Waiting {
  /** Number of queued deliveries, counted up to 100. */
  readonly count: number;
  /** When the next one is due, milliseconds since the epoch; `null` if none is due. */
  readonly nextAt: number | null;
}

/** An alert with the state of its deliveries. */
export interface AlertDetails extends AlertView {
  /** `undefined`: nothing has failed since the last success. */
  readonly health: EndpointHealth | undefined;
  readonly waiting: Waiting;
}

/** An attempt with its time. */
export interface AttemptView extends Attempt {
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A page of attempts, newest first. */
export interface AttemptPage {
  readonly attempts: readonly AttemptView[];
  readonly cursor: string | undefined;
}

/** An alert with its current status; the status of its channel takes precedence if it is worse. */
export async function viewOf(
  { records, now }: Pick<AlertDependencies, "records" | "now">,
  { key, value }: Pick<StoredAlert, "key" | "value">,
): Promise<AlertView> {
  const status = statusOf(value, now().getTime());
  if (value.way.by !== "channel") return { id: key, alert: value, status };
  const channel = (await records.get(channels, value.way.channelId))?.value;
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
  /** The caller's own; with an API key of a person, all of the person's account. Oldest first. */
  readonly alerts: readonly AlertView[];
  /** How many more the account has through other clients, whose URLs the caller may not see. */
  readonly others: number;
}

/** The alerts of a caller. */
export async function listAlerts(options: AlertDependencies, caller: Caller): Promise<AlertList> {
  const { accountId } = caller;
  const group = accountId === undefined ? ownerGroup(caller) : accountGroup(accountId);
  const all = await alertsIn(options, group);
  if (managedAccountOf(caller) !== undefined) return { alerts: all, others: 0 };
  const own = all.filter(({ alert }) => isOwnedBy(alert.owner, caller));
  return { alerts: own, others: all.length - own.length };
}

/** The alerts of an account, oldest first. */
export function listForAccount(
  options: AlertDependencies,
  accountId: string,
): Promise<readonly AlertView[]> {
  return alertsIn(options, accountGroup(accountId));
}

async function alertsIn(options: AlertDependencies, group: string): Promise<readonly AlertView[]> {
  const found = await readAll(options.records, alerts, group);
  const views = await Promise.all(found.map((alert) => viewOf(options, alert)));
  return views.toSorted((a, b) => a.alert.createdAt - b.alert.createdAt || (a.id < b.id ? -1 : 1));
}

/** An alert with the health of its webhook and its queued deliveries. */
export async function detailsOf(
  options: AlertDependencies,
  alert: StoredAlert,
): Promise<AlertDetails> {
  const { records } = options;
  const { way } = alert.value;
  const [view, health, waiting] = await Promise.all([
    viewOf(options, alert),
    records.get(endpointHealth, way.by === "channel" ? way.channelId : alert.key),
    waitingDeliveries(records, alert.key),
  ]);
  return { ...view, health: health?.value, waiting };
}

async function waitingDeliveries(records: Records, alertId: string): Promise<Waiting> {
  const selection = { group: queueGroup(alertId), limit: MAX_COUNTED };
  const found = await records.list(deliveries, selection);
  const due = found.flatMap(({ dueAt }) => dueAt ?? []);
  return { count: found.length, nextAt: due.length === 0 ? null : Math.min(...due) };
}

/**
 * The attempts to deliver to an alert's webhook in 30 days, newest first.
 *
 * @throws {Problem} `invalid_request` for an invalid cursor.
 */
export async function listAttempts(
  { archive, now }: AlertDependencies,
  alertId: string,
  { cursor, limit }: { readonly cursor: string | undefined; readonly limit: number },
): Promise<AttemptPage> {
  const rows = await archive.read(ATTEMPT_KIND, {
    subject: alertId,
    from: now().getTime() - EVENTS_KEPT_MS,
    order: "newest",
    ...(cursor !== undefined && { after: parseCursor(cursor) }),
    limit: limit + 1,
  });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    attempts: page.map(({ at, body }) => ({ ...(body as Attempt), at })),
    cursor: rows.length > limit && last ? `${last.at}-${last.id}` : undefined,
  };
}

/** When a webhook or channel last accepted a delivery, milliseconds since the epoch; `undefined` if
 *  it never has, or if too many attempts have failed since. @param id Id of the alert, or of the
 *  channel for messages about the channel itself. */
export async function lastSuccess(
  { records, archive }: Pick<AlertDependencies, "records" | "archive">,
  id: string,
): Promise<number | undefined> {
  const health = await records.get(endpointHealth, id);
  const rows = await archive.read(ATTEMPT_KIND, {
    subject: id,
    // All later attempts have failed.
    ...(health && { to: health.value.failingSince }),
    order: "newest",
    limit: MAX_SEARCHED,
  });
  return rows.find(({ body }) => (body as Attempt).error === "none")?.at;
}

function parseCursor(cursor: string): Pick<ArchiveRow, "at" | "id"> {
  const [, at, id] = /^(\d{1,15})-([0-9a-f-]{36})$/.exec(cursor) ?? [];
  if (at !== undefined && id !== undefined) return { at: Number(at), id };
  throw new Problem("invalid_request", {
    detail: "cursor: it is not one of these deliveries.",
    next: "Send nextCursor as it came, or none.",
  });
}
