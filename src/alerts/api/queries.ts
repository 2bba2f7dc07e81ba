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
  isMadeBy,
  ownerGroup,
  type StoredAlert,
  statusOf,
} from "../alert.ts";
import {
  ATTEMPT_KIND,
  type Attempt,
  deliveries,
  EVENTS_KEPT_MS,
  queueGroup,
} from "../delivery/delivery.ts";
import { type EndpointHealth, endpointHealth } from "../delivery/endpoint-health.ts";
import type { AlertDependencies } from "./dependencies.ts";
import { managedAccount } from "./ownership.ts";

/** Deliveries that are counted at most. */
const MOST_COUNTED = 100;

/** Attempts among which the last success is looked for. */
const MOST_TRIED = 100;

/** An alert as its owner sees it. */
export interface AlertView {
  readonly id: string;
  readonly alert: Alert;
  readonly status: AlertStatus;
}

/** What waits to be sent to a webhook. */
interface Waiting {
  /** At most 100 are counted. */
  readonly count: number;
  /** When the next is attempted, milliseconds since the epoch; `null`: nothing is due. */
  readonly nextAt: number | null;
}

/** An alert with what became of its events. */
export interface AlertDetails extends AlertView {
  /** `undefined`: nothing has failed since the last success. */
  readonly health: EndpointHealth | undefined;
  readonly waiting: Waiting;
}

/** An attempt and when it was made. */
export interface AttemptView extends Attempt {
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A page of attempts, newest first. */
export interface AttemptPage {
  readonly attempts: readonly AttemptView[];
  readonly cursor: string | undefined;
}

/** What an alert looks like now. */
export function viewOf(
  { key, value }: Pick<StoredAlert, "key" | "value">,
  now: () => Date,
): AlertView {
  return { id: key, alert: value, status: statusOf(value, now().getTime()) };
}

/** The alerts that a caller may see whole. */
export interface AlertList {
  /** Those that the caller made; with a key of a person, all that the person answers for. Oldest
   *  first. */
  readonly alerts: readonly AlertView[];
  /** How many more the person has, made by other clients: their addresses are not for the caller. */
  readonly others: number;
}

/** The alerts of a caller. */
export async function listAlerts(options: AlertDependencies, caller: Caller): Promise<AlertList> {
  const { accountId } = caller;
  const group = accountId === undefined ? ownerGroup(caller) : accountGroup(accountId);
  const all = await alertsIn(options, group);
  if (managedAccount(caller) !== undefined) return { alerts: all, others: 0 };
  const own = all.filter(({ alert }) => isMadeBy(alert.owner, caller));
  return { alerts: own, others: all.length - own.length };
}

/** The alerts that a person answers for, oldest first. */
export function listForAccount(
  options: AlertDependencies,
  accountId: string,
): Promise<readonly AlertView[]> {
  return alertsIn(options, accountGroup(accountId));
}

async function alertsIn(
  { records, now }: AlertDependencies,
  group: string,
): Promise<readonly AlertView[]> {
  const found = await readAll(records, alerts, group);
  return found
    .map((alert) => viewOf(alert, now))
    .toSorted((a, b) => a.alert.createdAt - b.alert.createdAt || (a.id < b.id ? -1 : 1));
}

/** An alert with the health of its webhook and what waits. */
export async function detailsOf(
  { records, now }: AlertDependencies,
  alert: StoredAlert,
): Promise<AlertDetails> {
  const [health, waiting] = await Promise.all([
    records.get(endpointHealth, alert.key),
    waitingDeliveries(records, alert.key),
  ]);
  return { ...viewOf(alert, now), health: health?.value, waiting };
}

async function waitingDeliveries(
  records: Pick<Records, "list">,
  alertId: string,
): Promise<Waiting> {
  const selection = { group: queueGroup(alertId), limit: MOST_COUNTED };
  const found = await records.list(deliveries, selection);
  const due = found.flatMap(({ dueAt }) => dueAt ?? []);
  return { count: found.length, nextAt: due.length === 0 ? null : Math.min(...due) };
}

/**
 * The attempts to deliver to an alert's webhook in 30 days, newest first.
 *
 * @throws {Problem} `invalid_request` for a cursor that is none.
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

/** When a webhook last took something, milliseconds since the epoch; `undefined` when it has not, or
 *  has failed too often since. */
export async function lastSuccess(
  { records, archive }: Pick<AlertDependencies, "records" | "archive">,
  alertId: string,
): Promise<number | undefined> {
  const health = await records.get(endpointHealth, alertId);
  const rows = await archive.read(ATTEMPT_KIND, {
    subject: alertId,
    // Whatever came later has failed.
    ...(health && { to: health.value.failingSince }),
    order: "newest",
    limit: MOST_TRIED,
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
