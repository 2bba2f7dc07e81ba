import type { CallerManners } from "./callers.ts";
import { mixFor, type RequestKind } from "./mix.ts";
import { median, quantile } from "./numbers.ts";
import { type OfferedLoadResult, offerLoad, saturate } from "./offered.ts";
import { startLoaded } from "./service.ts";

/*
 * What the service does when more is asked of it than it can do: offered load against goodput.
 *
 * All is counted by the time that its process had of the processor, not by the clock: who else uses
 * the machine changes how much that is, not what becomes of it. Capacity is what callers get who wait
 * for each answer. `offered` and `goodput` are multiples of it.
 */

/** Load, as a multiple of what the service could do just before. */
const FACTORS = (process.env.FACTORS ?? "0.5,1,2,3,5,8").split(",").map(Number);

/** Callers for measuring capacity: enough to saturate the service, too few to cause rejections. */
const CALLERS = 64;

/** Time of one measurement, in milliseconds. */
const ROUND_MS = Number(process.env.ROUND_MS ?? 6_000);

/** Time until a load is steady, in milliseconds: queues are full, and everybody is connected. */
const RISE_MS = 3_000;

/** Number of measurements of each load; the median counts. */
const ROUNDS = Number(process.env.ROUNDS ?? 5);

/** How long a caller waits, in milliseconds: a later answer does not count. */
const PATIENCE_MS = 5_000;

/** Whether agents wait as long as they are told; the server holds up those that do not. */
const MANNERS: CallerManners = process.env.MANNERS === "rude" ? "rude" : "polite";

/** Measurements of one load. */
interface Row {
  /** Requests that came, and good answers, for each second of the processor. */
  readonly offered: number;
  readonly goodput: number;
  /** Time of the processor that the good answers take by themselves, as a part of all that was used. */
  readonly work: number;
  readonly goodP99: number;
  readonly refusedP50: number;
  readonly refusedP99: number;
  readonly healthP99: number;
  /** Answers that are neither 200 nor refusals in good order. */
  readonly wrong: number;
  /** Good answers for each second of the clock. */
  readonly perSecond: number;
}

const service = await startLoaded();
const { port, usage } = service;
try {
  const kinds = await mixFor(service.baseUrl);
  const load = { port, kinds, ms: ROUND_MS, riseMs: RISE_MS, manners: MANNERS };
  await saturate({ ...load, callers: CALLERS });
  const costs = await costsOf(kinds);
  for (const [{ name }, ms] of costs) say(`${name}: ${ms.toFixed(2)} ms of the processor`);
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

/** Time of the processor for one request of each kind, in milliseconds. */
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
  say(`\nMedians; capacity ${peak.toFixed(0)} for each second of the processor:`);
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
