import { alerts, type DeliveryMethod, type WebhookState } from "../../alerts/alert.ts";
import { deliveries } from "../../alerts/delivery/delivery.ts";
import { currentFault, providerStatuses } from "../../ingest/provider-status.ts";
import { type LogStatus, readLogStatus } from "../../log/log-status.ts";
import { lastBackupAt } from "../../maintenance/backup/last-backup.ts";
import { LEADER_LEASE_NAME } from "../../maintenance/maintenance.ts";
import type { ProcessReport } from "../../process/process-report.ts";
import { leases } from "../../store/lease.ts";
import { readAll } from "../../store/port/read-all.ts";
import type {
  Backlog,
  Store,
  StoreCounts,
  StoreIdentity,
  StoreSize,
} from "../../store/port/store.ts";
import { type CommandContext, defineStoreCommand } from "../command.ts";
import { durationText, formatCount, rowCountsText, sizeText } from "../format.ts";
import { isoOrNull, logRefusalOf, NEW_LOG_ADVICE } from "./shared.ts";

/** Shows the state of the service. */
export const statusCommand = defineStoreCommand({
  summary: "Says how the service is doing: market, store, alerts, queue, limits and last errors.",
  notes: [
    "Without a server it says what the store tells. market-signal doctor says more of providers.",
  ],

  async run(_args, context) {
    const found = await read(context);
    return {
      isGood: true,
      lines: statusLines(found, context.now()),
      result: resultOf(found),
      notes: [],
    };
  },
});

async function read(context: CommandContext): Promise<Status> {
  const { store, now, holder, report } = context;
  const log = await readLogStatus(store);
  const { engine, identity, records } = store;
  const [counts, size, queue, lease] = [
    await store.counts(),
    await store.size(),
    await store.backlog(deliveries),
    await records.get(leases, LEADER_LEASE_NAME),
  ];
  return {
    holder,
    engine,
    identity,
    counts,
    size,
    queue,
    isLed: lease !== undefined,
    alerts: await alertStates(context),
    providers: await providersOf({ records, now }),
    log: log && { ...log, refusal: (await logRefusalOf(context)) ?? null },
    lastBackupAt: (await lastBackupAt(records)) ?? null,
    report: report?.(),
  };
}

/** Number of alerts in each state. */
async function alertStates({ store }: CommandContext): Promise<Status["alerts"]> {
  const all = await readAll(store.records, alerts);
  const states = all.map(({ value: { way } }) => wayState(way));
  const count = (state: (typeof states)[number]) => states.filter((each) => each === state).length;
  return {
    active: count("active"),
    polled: count("polled"),
    pending: count("pending"),
    disabled: count("disabled"),
  };
}

/**
 * The state of an alert's delivery method. An alert with a channel counts as active, because the
 * state of a channel is private to its owner.
 */
function wayState(way: DeliveryMethod): "polled" | WebhookState["is"] {
  if (way.by === "poll") return "polled";
  return way.by === "channel" ? "active" : way.state.is;
}

async function providersOf(
  options: Parameters<typeof providerStatuses>[0],
): Promise<Status["providers"]> {
  const statuses = await providerStatuses(options);
  const followed = statuses?.providers.filter(({ feeds }) => feeds.length > 0) ?? [];
  return followed.map((one) => ({
    id: one.id,
    fault: currentFault(one)?.kind ?? null,
    newestAt: one.progress.newestAt,
  }));
}

/** The JSON result, with instants in ISO 8601. */
function resultOf({ holder, engine, identity, counts, size, log, report, ...rest }: Status) {
  const { id: storeId, mode } = identity;
  const { bytes } = size;
  return {
    storeId,
    mode,
    engine,
    ...counts,
    bytes,
    answeredBy: holder,
    ...rest,
    log: log === undefined ? null : { ...log, signedAt: iso(log.signedAt) },
    lastBackupAt: iso(rest.lastBackupAt),
    providers: rest.providers.map((one) => ({ ...one, newestAt: iso(one.newestAt) })),
    server: report && {
      ...report,
      startedAt: iso(report.startedAt),
      market: { ...report.market, asOf: iso(report.market.asOf) },
    },
  };
}

const iso = (at: number | null): string | null => isoOrNull(at ?? undefined);

/** The data that the command shows. */
interface Status {
  /** Whether a server answered, or the command opened the store. */
  readonly holder: CommandContext["holder"];
  readonly engine: Store["engine"];
  readonly identity: StoreIdentity;
  readonly counts: StoreCounts;
  readonly size: StoreSize;
  readonly queue: Backlog;
  /** Whether any process is the leader. */
  readonly isLed: boolean;
  /**
   * Number of alerts by state: an alert with a webhook has the state of the webhook, an alert with
   * a channel is `active`, and an alert with neither is `polled`.
   */
  readonly alerts: Readonly<Record<"active" | "polled" | "pending" | "disabled", number>>;
  /** The live providers in use. */
  readonly providers: readonly {
    readonly id: string;
    /** Kind of the current fault; `null` if there is none. */
    readonly fault: string | null;
    /** Time of the newest observation, Unix milliseconds; `null` if there is none. */
    readonly newestAt: number | null;
  }[];
  /** State of the signal log; `undefined` if the store has none. */
  readonly log: LogStatus | undefined;
  /** When the last backup was started, Unix milliseconds; `null` if none was written. */
  readonly lastBackupAt: number | null;
  /** Report of the server; `undefined` if no server runs. */
  readonly report: ProcessReport | undefined;
}

/**
 * The status as lines of text.
 * @param now Unix milliseconds.
 */
function statusLines(status: Status, now: number): readonly string[] {
  const { report, alerts, queue, providers, holder } = status;
  const lines: readonly (readonly [string, string])[] = [
    ...(report === undefined ? [] : processLines(report, now)),
    ["Store", storeText(status)],
    ["Log", logText(status, now)],
    ["Backup", backupText(status, now)],
    [
      "Alerts",
      Object.entries(alerts)
        .map(([state, n]) => `${formatCount(n)} ${state}`)
        .join(", "),
    ],
    ["Queue", queueText(queue)],
    ...providers.map((one) => ["Provider", providerText(one, now)] as const),
    ...(report?.lastErrors ?? []).map((one) => ["Error", errorText(one)] as const),
  ];
  const server = holder === "server" ? "A server runs and answered." : "No server answered.";
  return [...lines.map(([name, text]) => name.padEnd(10) + text), server];
}

function processLines(report: ProcessReport, now: number): readonly (readonly [string, string])[] {
  const { version, startedAt, isLeader, market, openStreams, denials, unclaimedCapacity, shed } =
    report;
  const part = isLeader ? "leads" : "does not lead";
  const behind = market.behindMs > 0 ? `, ${durationText(market.behindMs)} ago` : "";
  const refused = Object.entries(denials).map(([quota, n]) => `${quota} ${formatCount(n)}`);
  return [
    ["Server", `version ${version}, up ${durationText(now - startedAt)}, ${part}`],
    [
      "Market",
      `${market.mode}, as of ${new Date(market.asOf).toISOString()}${behind}, ${formatCount(market.instruments)} instruments`,
    ],
    ["Streams", `${formatCount(openStreams)} open`],
    ["Limits", `refused since the start: ${refused.join(", ") || "nothing"}`],
    [
      "Agents",
      `unclaimed, for want of room since the start: ${formatCount(unclaimedCapacity.evicted)} removed, ${formatCount(unclaimedCapacity.refused)} refused`,
    ],
    ["Overload", `${formatCount(shed)} requests turned away since the start`],
  ];
}

function storeText({ engine, identity, counts, size, isLed }: Status): string {
  const bytes = sizeText(size.bytes);
  const isShared = engine === "postgres";
  const led = isShared ? `; ${isLed ? "a" : "no"} process leads` : "";
  return `${identity.id}, ${engine}, mode ${identity.mode}: ${rowCountsText(counts)}, ${bytes}${led}`;
}

function logText({ log, identity }: Status, now: number): string {
  if (log === undefined)
    return identity.mode === "files" ? "none: the market stands still" : "none yet";
  const { origin, entries, signedAt, refusal } = log;
  const signed =
    signedAt === null ? "not signed yet" : `signed ${durationText(now - signedAt)} ago`;
  const state = refusal === null ? signed : `NOT SIGNED: ${refusal}. ${NEW_LOG_ADVICE}`;
  return `${origin}, ${formatCount(entries)} entries, ${state}`;
}

function backupText({ lastBackupAt: at, engine }: Status, now: number): string {
  if (at !== null) return `the last ${durationText(now - at)} ago, by store backup`;
  return `none by store backup${engine === "postgres" ? "; others are not seen" : ""}`;
}

function queueText({ waiting, due, oldestDueMs }: Backlog): string {
  const since = due > 0 ? `, the first since ${durationText(oldestDueMs)}` : "";
  return `${formatCount(waiting)} deliveries wait, ${formatCount(due)} are due${since}`;
}

function providerText({ id, fault, newestAt }: Status["providers"][number], now: number): string {
  const newest = newestAt === null ? "nothing yet" : `newest ${durationText(now - newestAt)} ago`;
  return `${id}: ${newest}${fault === null ? "" : `, ${fault}`}`;
}

const errorText = ({ at, text, requestId }: ProcessReport["lastErrors"][number]): string =>
  `${at} ${text}${requestId === null ? "" : ` (request ${requestId})`}`;
