import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Backlog, StoreSize } from "../store/port/store.ts";
import { durationHistogram } from "../telemetry/durations.ts";
import type { Meters } from "../telemetry/meters.ts";
import type { ProcessReport } from "./process-report.ts";

/** Gauges read from the store; a gauge is absent if it cannot be read. */
export interface StoreGauges {
  readonly deliveries?: Backlog | undefined;
  readonly size?: StoreSize | undefined;
  /** Whether the signal log is signed. */
  readonly isLogSigned?: boolean | undefined;
  /** Age of the last backup, in milliseconds. */
  readonly backupAgeMs?: number | undefined;
  /** The live providers in use. */
  readonly providers?: readonly ProviderLag[] | undefined;
}

/** Lag and failures of a provider. */
interface ProviderLag {
  readonly id: string;
  /** Age of the newest observation, in milliseconds; `null` without observations. */
  readonly lagMs: number | null;
  /** Number of consecutive failures. */
  readonly failures: number;
}

/** The metrics of a process. */
export interface Metrics {
  readonly meters: Meters;
  readonly contentType: string;
  /** All metrics in the Prometheus text exposition format. */
  text(values: GaugeValues): Promise<string>;
}

/** The values of all gauges at a scrape. */
export interface GaugeValues extends ProcessReport, StoreGauges {}

const PREFIX = "market_signal_";

/** Labels of the request histogram. */
const REQUEST_LABELS = ["method", "route", "status"] as const;

/** Creates the metrics, including the default ones of Node.js. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const setGauges = createGauges(registry);
  return {
    meters: createMeters(registry),
    contentType: registry.contentType,
    text(values) {
      setGauges(values);
      return registry.metrics();
    },
  };
}

function createMeters(registry: Registry): Meters {
  const named = <L extends string>(name: string, help: string, ...labelNames: readonly L[]) =>
    durationHistogram(registry, { name: `${PREFIX}${name}_duration_seconds`, help, labelNames });
  const attempts = named("delivery_attempt", "Time of an attempt to deliver.", "outcome");
  const commits = named("store_commit", "Time until a commit is on disk.", "outcome");
  return {
    request: named(
      "http_request",
      "Time from a request to the end of its answer.",
      ...REQUEST_LABELS,
    ),
    toolCall: named("tool_call", "Time of a call of a tool, by MCP or REST.", "tool", "outcome"),
    attempt: (outcome, seconds) => attempts({ outcome }, seconds),
    commit: (outcome, seconds) => commits({ outcome }, seconds),
  };
}

/**
 * Registers the gauges and counters that are set at each scrape.
 *
 * @returns A function that sets all of them.
 */
function createGauges(registry: Registry): (values: GaugeValues) => void {
  const gauge = (name: string, help: string, ...labelNames: readonly string[]) =>
    new Gauge({ name: PREFIX + name, help, labelNames, registers: [registry] });
  const counter = (name: string, help: string, ...labelNames: readonly string[]) =>
    new Counter({ name: PREFIX + name, help, labelNames, registers: [registry] });
  const build = gauge("build_info", "1, with what the process runs.", "version");
  const leader = gauge("leader", "1 in the process that does what only one may do.");
  const streams = gauge("open_streams", "Answers that stay open.");
  const age = gauge("snapshot_age_seconds", "How far what is served lies behind the market.");
  const denials = counter("limit_denials_total", "Refusals by the limit exceeded.", "quota");
  const evicted = counter("agents_evicted_total", "Unclaimed agents removed to make room.");
  const refused = counter("agents_refused_total", "Registrations refused for want of room.");
  const shed = counter("requests_shed_total", "Requests turned away because of too many.");
  const setStoreGauges = createStoreGauges(gauge);
  return (values) => {
    build.set({ version: values.version }, 1);
    leader.set(values.isLeader ? 1 : 0);
    streams.set(values.openStreams);
    age.set(values.market.behindMs / 1_000);
    denials.reset();
    for (const [quota, count] of Object.entries(values.denials)) denials.inc({ quota }, count);
    evicted.reset();
    evicted.inc(values.unclaimedCapacity.evicted);
    refused.reset();
    refused.inc(values.unclaimedCapacity.refused);
    shed.reset();
    shed.inc(values.shed);
    setStoreGauges(values);
  };
}

type MakeGauge = (name: string, help: string, ...labelNames: readonly string[]) => Gauge<string>;

/**
 * Gauges of the store, which have the same value in all processes. A gauge that cannot be read is
 * left out of the scrape.
 */
function createStoreGauges(gauge: MakeGauge) {
  const setters = [
    createQueueGauges(gauge),
    createSizeGauges(gauge),
    createSafetyGauges(gauge),
    createProviderGauges(gauge),
  ];
  return (values: StoreGauges): void => {
    for (const set of setters) set(values);
  };
}

function createQueueGauges(gauge: MakeGauge) {
  const deliveries = gauge("deliveries", "Deliveries that wait, and those that are due.", "state");
  const oldest = gauge("delivery_oldest_due_seconds", "How long the first has been due.");
  return ({ deliveries: queue }: StoreGauges): void => {
    deliveries.reset();
    oldest.remove();
    if (queue === undefined) return;
    deliveries.set({ state: "waiting" }, queue.waiting);
    deliveries.set({ state: "due" }, queue.due);
    oldest.set(queue.oldestDueMs / 1_000);
  };
}

function createSizeGauges(gauge: MakeGauge) {
  const records = gauge("store_records", "Records in the store; on PostgreSQL an estimate.");
  const bytes = gauge("store_bytes", "Bytes on disk.");
  return ({ size }: StoreGauges): void => {
    bytes.remove();
    records.remove();
    if (size === undefined) return;
    records.set(size.records);
    bytes.set(size.bytes);
  };
}

function createSafetyGauges(gauge: MakeGauge) {
  const signed = gauge("log_signed", "1 if the log of signals is signed, 0 if it must not be.");
  const backup = gauge("backup_age_seconds", "Age of the last backup by store backup.");
  return ({ isLogSigned, backupAgeMs }: StoreGauges): void => {
    signed.remove();
    backup.remove();
    if (isLogSigned !== undefined) signed.set(isLogSigned ? 1 : 0);
    if (backupAgeMs !== undefined) backup.set(backupAgeMs / 1_000);
  };
}

function createProviderGauges(gauge: MakeGauge) {
  const lag = gauge("provider_lag_seconds", "Age of the newest datum of a provider.", "provider");
  const faults = gauge("provider_faults", "Faults of a provider in a row.", "provider");
  return ({ providers = [] }: StoreGauges): void => {
    lag.reset();
    faults.reset();
    for (const { id: provider, lagMs, failures } of providers) {
      if (lagMs !== null) lag.set({ provider }, lagMs / 1_000);
      faults.set({ provider }, failures);
    }
  };
}
