import type { CallerManners } from "./callers.ts";
import { mixFor, type RequestKind } from "./mix.ts";
import { median, quantile } from "./numbers.ts";
import { type OfferedLoadResult, offerLoad, saturate } from "./offered.ts";
import { startLoaded } from "./service.ts";

/*
 * Measures the service under more load than it can handle: goodput against offered load.
 *
 * Rates are per second of the service's CPU time, not of wall-clock time, because other processes
 * on the machine change how much CPU time the service gets, but not how much work it does per
 * second of CPU time. The capacity is the goodput of callers that wait for each answer. The report
 * shows `offered` and `goodput` relative to the capacity.
 */

/** Offered loads, as multiples of the capacity that was measured just before. */
const FACTORS = (process.env.FACTORS ?? "0.5,1,2,3,5,8").split(",").map(Number);

/**
 * Number of callers in a capacity measurement: enough to saturate the service, too few to cause
 * rejections.
 */
const CALLERS = 64;

/** Duration of one measurement, in milliseconds. */
const ROUND_MS = Number(process.env.ROUND_MS ?? 6_000);

/** Warm-up of a load in milliseconds, until queues are full and all callers are connected. */
const RISE_MS = 3_000;

/** Number of measurements of each load; the median is reported. */
const ROUNDS = Number(process.env.ROUNDS ?? 5);

/** Maximum response time in milliseconds; later answers do not count as good. */
const PATIENCE_MS = 5_000;

/** Whether agents wait for Retry-After; the server delays those that do not. */
const MANNERS: CallerManners = process.env.MANNERS === "rude" ? "rude" : "polite";

/** Result of one measurement. */
interface Row {
  /** Requests, and good answers, per second of CPU time. */
  readonly offered: number;
  readonly goodput: number;
  /** Fraction of the CPU time that is spent on the good answers themselves, from 0 to 1. */
  readonly work: number;
  readonly goodP99: number;
  readonly refusedP50: number;
  readonly refusedP99: number;
  readonly healthP99: number;
  /** Number of answers that are neither good nor a rejection with 429 or 503. */
  readonly wrong: number;
  /** Good answers per second of wall-clock time. */
  readonly perSecond: number;
}

const service = await startLoaded();
const { port, usage } = service;
try {
  const kinds = await mixFor(service.baseUrl);
  const load = { port, kinds, ms: ROUND_MS, riseMs: RISE_MS, manners: MANNERS };
  await saturate({ ...load, callers: CALLERS });
  const costs = await costsOf(kinds);
  for (const [{ name }, ms] of costs) say(`${name}: ${ms.toFixed(2)} ms of CPU`);
  const rows = new Map<string, Row[]>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const factor of FACTORS) {
      const best = await row(costs, (onTime) => saturate({ ...load, callers: CALLERS, onTime }));
      add(rows, "capacity", best);
      const perSecond = factor * best.perSecond;
      add(
        rows,
        `${factor} x`,
        await row(costs, (onTime) => offerLoad({ ...load, perSecond, onTime })),
      );
    }
  }
  report(rows);
  say(`memory ${usage().rssMb.toFixed(0)} MB, ${usage().files} files`);
} finally {
  await service.stop();
}

/** CPU time per request of each kind, in milliseconds. */
async function costsOf(kinds: readonly RequestKind[]): Promise<ReadonlyMap<RequestKind, number>> {
  const costs = new Map<RequestKind, number>();
  for (const kind of kinds) {
    const before = usage().cpuMs;
    const { outcomes } = await saturate({ port, kinds: [kind], ms: 2_000, callers: 16 });
    costs.set(kind, (usage().cpuMs - before) / outcomes.length);
  }
  return costs;
}

async function row(
  costs: ReadonlyMap<RequestKind, number>,
  run: (onTime: () => void) => Promise<OfferedLoadResult>,
): Promise<Row> {
  const cpuMs: number[] = [];
  const { from, to, health, ...all } = await run(() => cpuMs.push(usage().cpuMs));
  const cpuSeconds = ((cpuMs[1] ?? Number.NaN) - (cpuMs[0] ?? 0)) / 1000;
  const outcomes = all.outcomes.filter(({ at }) => from <= at && at <= to);
  const good = outcomes.filter(({ status, ms }) => status === 200 && ms <= PATIENCE_MS);
  const refused = outcomes.filter(({ status }) => status === 429 || status === 503);
  const workMs = good.reduce((sum, { kind }) => sum + (costs.get(kind) ?? 0), 0);
  const refusedMs = refused.map(({ ms }) => ms);
  const goodMs = good.map(({ ms }) => ms);
  return {
    offered: outcomes.length / cpuSeconds,
    goodput: good.length / cpuSeconds,
    work: workMs / 1000 / cpuSeconds,
    goodP99: quantile(goodMs, 0.99),
    ...{ refusedP50: quantile(refusedMs, 0.5), refusedP99: quantile(refusedMs, 0.99) },
    healthP99: quantile(health, 0.99),
    wrong: outcomes.length - good.length - refused.length,
    perSecond: (1000 * good.length) / (to - from),
  };
}

function add(rows: Map<string, Row[]>, name: string, one: Row): void {
  rows.set(name, [...(rows.get(name) ?? []), one]);
  const text = Object.entries(one).map(([key, value]) => `${key} ${value.toFixed(2)}`);
  say(`${name.padEnd(9)} ${text.join("  ")}`);
}

function report(rows: ReadonlyMap<string, readonly Row[]>): void {
  const of = (name: string, key: keyof Row) => median((rows.get(name) ?? []).map((r) => r[key]));
  const peak = of("capacity", "goodput");
  const peakWork = of("capacity", "work");
  say(`\nMedians; capacity ${peak.toFixed(0)} good answers per second of CPU time:`);
  for (const name of rows.keys()) {
    const percent = (part: number) => `${(100 * part).toFixed(0)} %`;
    const ms = (key: keyof Row) => `${of(name, key).toFixed(1)} ms`;
    const columns = [
      `offered ${(of(name, "offered") / peak).toFixed(1)}`,
      `goodput ${percent(of(name, "goodput") / peak)}`,
      `work ${percent(of(name, "work") / peakWork)}`,
      `good p99 ${ms("goodP99")}`,
      `refused p50 ${ms("refusedP50")} p99 ${ms("refusedP99")}`,
      `health p99 ${ms("healthP99")}`,
      `wrong ${of(name, "wrong")}`,
    ];
    say(`${name.padEnd(9)} ${columns.join("  ")}`);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
