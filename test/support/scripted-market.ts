import type { z } from "zod";
import { allScopes } from "../../src/access/scopes.ts";
import type {
  Alert,
  AlertKind,
  AlertOwner,
  AlertThresholds,
  DeliveryMethod,
  InstrumentSelector,
} from "../../src/alerts/alert.ts";
import { alerts } from "../../src/alerts/alert.ts";
import {
  deliveries,
  EVENT_ARCHIVE_KIND,
  type EventRowBody,
} from "../../src/alerts/delivery/delivery.ts";
import {
  AlertEvaluator,
  type AlertEvaluatorOptions,
} from "../../src/alerts/rules/evaluate-sessions.ts";
import type {
  RangeAlertEvent,
  ReportAlertEvent,
  SignalShiftEvent,
  SteadinessAlertEvent,
  VolatilityAlertEvent,
} from "../../src/answers/event.ts";
import { missingReading } from "../../src/factors/reading.ts";
import { DAY_MS } from "../../src/lib/day.ts";
import type { AssetClass } from "../../src/market/instrument.ts";
import type { Market } from "../../src/market/market.ts";
import type { Bar, Fundamental, InstrumentRecords } from "../../src/market/records.ts";
import type { Direction } from "../../src/score/signal-hysteresis.ts";
import type { Snapshot } from "../../src/score/snapshot.ts";
import { createSnapshotArchive } from "../../src/score/snapshot-archive.ts";
import { STEADINESS_INPUTS, type SteadinessReading } from "../../src/score/steadiness.ts";
import { normalQuantile } from "../../src/statistics/normal.ts";
import { put } from "../../src/store/port/operations.ts";
import { readAll } from "../../src/store/port/read-all.ts";
import type { Records } from "../../src/store/port/records.ts";
import { looseLimits } from "./alert-service.ts";
import type { TestStore } from "./stores.ts";

/** Values of a snapshot that differ from the defaults. */
export interface SnapshotOverrides {
  readonly score?: number;
  readonly direction?: Direction;
  readonly status?: Snapshot["status"];
  readonly assetClass?: AssetClass;
  readonly steadiness?: SteadinessReading;
}

/** A reading of steadiness with a value in [0, 100], among 100 stocks. */
export function steadinessOf(value: number, at: number): SteadinessReading {
  const rank = 100.5 - value;
  const place = { rank, of: 100 };
  const inputs = Object.fromEntries(
    STEADINESS_INPUTS.map((name) => [name, { ...place, value: 1 }]),
  );
  return {
    ...{ at, value, peers: 100, isReference: false, riskZ: normalQuantile((rank - 0.5) / 100) },
    evidence: {
      risk: { ...place, value: 0 },
      inputs: inputs as SteadinessReading["evidence"]["inputs"],
    },
  };
}

const { listInputs: _, ...absent } = missingReading("not_observed");
const missing = { ...absent, inputs: [], weight: 0.25, contribution: 0 };

/** Creates a final snapshot of an instrument. */
export function snapshotOf(symbol: string, at: number, said: SnapshotOverrides = {}): Snapshot {
  const { score = 50, direction = "WAIT", status = "ok", assetClass = "stock", steadiness } = said;
  return {
    instrument: {
      ...{ symbol, name: `${symbol} Inc.`, assetClass, exchange: "NYSE" },
      ...{ currency: "USD", sector: null },
    },
    at,
    status,
    score,
    confidence: 0.8,
    coverage: 1,
    signal: {
      ...{ direction, since: 0, previous: null, smoothed: score },
      ...{ frozen: false, forcedWait: null },
    },
    missingFactors: [],
    price: null,
    factors: {
      momentum: { ...missing, contribution: score - 50 },
      ...{ valuation: missing, social: missing, darkpool: missing },
    },
    ...(steadiness && { steadiness }),
  };
}

/**
 * Creates bars with the given ranges (log of high over close), one per day. Each bar becomes known
 * at the end of its day.
 */
export function barsOf(ranges: readonly number[]): Bar[] {
  return ranges.map((range, day) => ({
    session: String(day),
    availableAt: (day + 1) * DAY_MS,
    open: 100,
    high: 100 * Math.exp(range),
    low: 100 * Math.exp(-range),
    close: 100,
    volume: 1_000,
    dividend: 0,
    split: 1,
    logReturn: day === 0 ? null : 0,
  }));
}

/** A market whose snapshots and clock the test controls. */
export interface ScriptedMarket {
  readonly snapshots: ReturnType<typeof createSnapshotArchive>;
  readonly market: Market;
  readonly knownUntil: () => number;
  /**
   * Closes the session at the end of this day for the given instruments; all other instruments get
   * no snapshot.
   */
  close(day: number, said: Readonly<Record<string, SnapshotOverrides>>): void;
  /** Sets the instant up to which everything is known, in days. */
  know(day: number): void;
}

/** Creates a market without history, or with some bars and the same filings for each instrument. */
export function createScriptedMarket(
  bars: Readonly<Record<string, readonly Bar[]>> = {},
  fundamentals: readonly Fundamental[] = [],
): ScriptedMarket {
  const snapshots = createSnapshotArchive();
  const list = Object.entries(bars).map(
    ([symbol, of]): InstrumentRecords => ({
      instrument: snapshotOf(symbol, 0).instrument,
      bars: of,
      fundamentals,
    }),
  );
  let until = 0;
  return {
    snapshots,
    market: {
      mode: "replay",
      source: { id: "staged", name: "Staged market", terms: "None.", simulated: true },
      dayMs: DAY_MS,
      recordsUntil: () => list,
      sessionAt: (at) => String(Math.floor(at / DAY_MS)),
      scoredFrom: () => 0,
      servedFrom: () => 0,
    },
    knownUntil: () => until,
    close(day, said) {
      for (const [symbol, one] of Object.entries(said)) {
        snapshots.addClosed(snapshotOf(symbol, day * DAY_MS, one));
      }
      until = Math.max(until, day * DAY_MS);
    },
    know(day) {
      until = day * DAY_MS;
    },
  };
}

/**
 * Members that differ from the default alert, which covers all instruments and has the method's
 * thresholds and a webhook.
 */
export interface AlertOverrides {
  readonly owner?: AlertOwner;
  readonly kinds?: readonly AlertKind[];
  readonly watched?: Partial<InstrumentSelector>;
  readonly thresholds?: Partial<AlertThresholds>;
  readonly way?: DeliveryMethod;
  readonly createdAt?: number;
  readonly expiresAt?: number;
  readonly snoozedUntil?: number;
  readonly isPaused?: boolean;
}

export const OWNER: AlertOwner = { kind: "agent", id: "client-1", accountId: undefined };

export const webhook = (
  state: Extract<DeliveryMethod, { by: "webhook" }>["state"],
): DeliveryMethod => ({
  by: "webhook",
  ...{ sealedUrl: "sealed", endpoint: "in" },
  secrets: { current: "sealed", previous: null },
  state,
});

const ACTIVE = webhook({ is: "active", since: 0 });

export const alertOf = (wanted: AlertOverrides = {}): Alert => ({
  owner: wanted.owner ?? OWNER,
  label: null,
  kinds: wanted.kinds ?? ["signal_shift"],
  watched: {
    by: "filter",
    assetClass: null,
    signal: null,
    ...wanted.watched,
  } as InstrumentSelector,
  thresholds: { scoreMove: 15, volatilityZ: 2.5, cooldownDays: null, ...wanted.thresholds },
  way: wanted.way ?? ACTIVE,
  createdAt: wanted.createdAt ?? 0,
  expiresAt: wanted.expiresAt ?? null,
  snoozedUntil: wanted.snoozedUntil ?? null,
  isPaused: wanted.isPaused ?? false,
});

/** Selects instruments by symbol. */
export const symbolSelector = (...symbols: string[]): InstrumentSelector => ({
  by: "symbols",
  symbols,
});

/** Operations that store an alert, or replace it. */
export function alertSteps(id: string, wanted: AlertOverrides = {}) {
  const value = alertOf(wanted);
  return [put(alerts, { key: id, value })];
}

type Payload =
  | z.infer<typeof SignalShiftEvent>
  | z.infer<typeof VolatilityAlertEvent>
  | z.infer<typeof ReportAlertEvent>
  | z.infer<typeof RangeAlertEvent>
  | z.infer<typeof SteadinessAlertEvent>;

/** An event in the archive, with its parsed payload. */
export interface RecordedEvent extends EventRowBody {
  readonly at: number;
  readonly id: string;
  readonly subject: string | undefined;
  readonly payload: Payload;
}

/** All events so far, oldest first. */
export async function recordedEventsIn({ archive }: TestStore): Promise<readonly RecordedEvent[]> {
  const rows = await archive.read(EVENT_ARCHIVE_KIND, { order: "oldest", limit: 10_000 });
  return rows.map(({ at, id, subject, body }) => {
    const row = body as EventRowBody;
    return { ...row, at, id, subject, payload: JSON.parse(row.body) as Payload };
  });
}

/** Every event as `symbol@day severity` or `symbol@day reason`, oldest first. */
export async function summaryOf(store: TestStore): Promise<readonly string[]> {
  return (await recordedEventsIn(store)).map(({ payload }) => {
    const { data } = payload;
    const what = "severity" in data ? data.severity : data.reason;
    return `${data.symbol}@${Date.parse(data.asOf) / DAY_MS} ${what}`;
  });
}

export const queuedIn = (store: TestStore) => readAll(store.records, deliveries);

/** The alert evaluator of a leading process. */
export interface Leader {
  readonly step: () => Promise<number>;
  /** Evaluates until nothing is left. @returns Number of steps that found something. */
  run(): Promise<number>;
}

/** Starts an evaluator on a store. */
export function leaderOf(
  { records, clock }: TestStore,
  { snapshots, market, knownUntil }: Pick<ScriptedMarket, "snapshots" | "market" | "knownUntil">,
  different: Partial<AlertEvaluatorOptions> & { readonly records?: Records } = {},
): Leader {
  const evaluator = new AlertEvaluator({
    records,
    snapshots,
    market,
    knownUntil,
    scopesOf: async () => new Set(allScopes),
    limits: looseLimits(),
    now: () => new Date(clock.now),
    ...different,
  });
  const step = () => evaluator.tick();
  const run = async (): Promise<number> => {
    let steps = 0;
    while ((await step()) > 0) steps++;
    return steps;
  };
  return { step, run };
}
