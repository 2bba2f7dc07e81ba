import { deliveries } from "../alerts/delivery/delivery.ts";
import type { OpenStreams } from "../http/open-streams.ts";
import { providerStatuses } from "../ingest/provider-status.ts";
import { readLogStatus } from "../log/log-status.ts";
import { lastBackupAt } from "../maintenance/backup/last-backup.ts";
import type { MarketView } from "../market/market-view.ts";
import type { PersistentState } from "../state.ts";
import type { Store } from "../store/port/store.ts";
import type { LoggedError } from "../telemetry/log.ts";
import { programVersion } from "../telemetry/program-version.ts";
import type { Metrics, StoreGauges } from "./metrics.ts";
import type { ProcessReport, ReadProcessReport } from "./process-report.ts";

/** The parts of a report that come from the HTTP server and the log of the process. */
export interface ReportParts {
  /** Number of requests shed since the start because of overload. */
  readonly shed: number;
  /** The latest logged errors, oldest first. */
  readonly lastErrors: readonly LoggedError[];
}

/** Dependencies of `createProcessReporter`. */
interface ProcessReporterOptions {
  readonly now: () => Date;
  readonly state: PersistentState;
  readonly market: MarketView;
  readonly streams: OpenStreams;
  readonly denials: () => ProcessReport["denials"];
  readonly unclaimedCapacity: () => ProcessReport["unclaimedCapacity"];
  readonly processParts?: (() => ReportParts) | undefined;
}

/** Parts of the report of a service without an HTTP server, as in tests. */
const NO_PARTS: ReportParts = { shed: 0, lastErrors: [] };

/** Creates the report of this process. Its start time is the time of this call. */
export function createProcessReporter(options: ProcessReporterOptions): ReadProcessReport {
  const {
    now,
    state,
    market,
    streams,
    denials,
    unclaimedCapacity,
    processParts = () => NO_PARTS,
  } = options;
  const { mode, knownUntil, instruments } = market;
  const startedAt = now().getTime();
  return () => ({
    version: programVersion(),
    startedAt,
    market: {
      mode,
      asOf: knownUntil(),
      instruments: instruments().length,
      behindMs: Math.max(0, market.now() - knownUntil()),
    },
    isLeader: state.isLeader(),
    openStreams: streams.size,
    denials: denials(),
    unclaimedCapacity: unclaimedCapacity(),
    ...processParts(),
  });
}

/** Creates the metrics; `undefined` unless METRICS_PORT is set. Only then is prom-client loaded. */
export async function openMetrics(metricsPort: number | undefined): Promise<Metrics | undefined> {
  if (metricsPort === undefined) return undefined;
  const { createMetrics } = await import("./metrics.ts");
  return createMetrics();
}

/** Response body and media type of `GET /metrics`. */
export interface ServedMetrics {
  readonly contentType: string;
  readonly text: () => Promise<string>;
}

/** Creates the source of `GET /metrics`, which reads all gauges at every scrape. */
export function createServedMetrics(
  metrics: Metrics,
  store: Store,
  report: ReadProcessReport,
  now: () => Date,
): ServedMetrics {
  const { contentType, text } = metrics;
  const read = async () => text({ ...report(), ...(await storeGauges(store, now().getTime())) });
  return { contentType, text: read };
}

/**
 * Reads gauges from the store. Gauges that cannot be read are absent, so that a failing store does
 * not hide the others.
 */
async function storeGauges(store: Store, now: number): Promise<StoreGauges> {
  const [queue, size, providers, log, backedUpAt] = await Promise.allSettled([
    store.backlog(deliveries),
    store.size(),
    providerLags(store, now),
    readLogStatus(store),
    lastBackupAt(store.records),
  ]);
  const refusal = fulfilled(log)?.refusal;
  const backupAt = fulfilled(backedUpAt);
  return {
    deliveries: fulfilled(queue),
    size: fulfilled(size),
    isLogSigned: refusal === undefined ? undefined : refusal === null,
    backupAgeMs: backupAt === undefined ? undefined : Math.max(0, now - backupAt),
    providers: fulfilled(providers),
  };
}

const fulfilled = <T>(result: PromiseSettledResult<T>): T | undefined =>
  result.status === "fulfilled" ? result.value : undefined;

async function providerLags({ records }: Store, now: number) {
  const statuses = await providerStatuses({ records, now: () => now });
  const followed = statuses?.providers.filter(({ feeds }) => feeds.length > 0) ?? [];
  return followed.map(({ id, progress: { newestAt, failures } }) => ({
    id,
    failures,
    lagMs: newestAt === null ? null : Math.max(0, now - newestAt),
  }));
}
