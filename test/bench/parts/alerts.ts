import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { allScopes } from "../../../src/access/scopes.ts";
import { AlertEvaluator } from "../../../src/alerts/rules/evaluate-sessions.ts";
import { createLimits } from "../../../src/limits/limits.ts";
import type { Records } from "../../../src/store/port/records.ts";
import { openEmbedded } from "../../../src/store/sqlite/open.ts";
import { alertSteps, createScriptedMarket, symbolSelector } from "../../support/scripted-market.ts";
import { median } from "../harness/numbers.ts";
import { showProgress } from "../harness/progress.ts";
import type { Effort, Part } from "../harness/report.ts";

const COUNTS = [100, 1_000, 10_000];

/** Number of instruments; the alerts are spread evenly over them. */
const INSTRUMENTS = 100;

/** Number of instruments whose signal changes in a session with news. */
const CHANGING = 5;

const symbolOf = (at: number): string => `S${at}`;

/** Measures the time to evaluate all alerts after a session close, including the commits. */
export async function alerts({ isQuick }: Effort): Promise<Part> {
  const raw: Record<number, Decided> = {};
  for (const count of COUNTS) {
    showProgress(`Evaluating sessions with ${count.toLocaleString("en")} alerts`);
    raw[count] = await decided(count, isQuick ? 4 : 10);
  }
  const lines = Object.entries(raw).map(([count, { quietMs, newsMs }]) => {
    const told = (Number(count) * CHANGING) / INSTRUMENTS;
    const [quiet, news] = [median(quietMs), median(newsMs)];
    return [Number(count), quiet, news, told, (1_000 * (news - quiet)) / told];
  });
  const columns = ["alerts", "ms without events", "ms with events", "events", "us per event"];
  const title = `Evaluation of a session with ${INSTRUMENTS} instruments, embedded store, fsync`;
  return { curves: [{ title, columns, lines }], raw };
}

interface Decided {
  /**
   * Evaluation times in milliseconds: in sessions without a changed signal, and in sessions in
   * which the signals of some instruments changed.
   */
  readonly quietMs: readonly number[];
  readonly newsMs: readonly number[];
}

async function decided(count: number, sessions: number): Promise<Decided> {
  const folder = mkdtempSync(join(tmpdir(), "bench-alerts-"));
  const { records, close } = await openEmbedded({ folder, mode: "sandbox", now: Date.now });
  await keep(records, count);
  const stage = createScriptedMarket();
  const evaluator = new AlertEvaluator({
    ...stage,
    records,
    now: () => new Date(),
    scopesOf: async () => new Set(allScopes),
    limits: createLimits({ overrides: { events: { caller: 1e9, network: 1e9, total: 2e9 } } }),
  });
  const signals = createSignals();
  const session = async (day: number, changing: number): Promise<number> => {
    stage.close(day, signals(changing));
    const startedAt = performance.now();
    while ((await evaluator.tick()) > 0);
    return performance.now() - startedAt;
  };
  const [quietMs, newsMs]: [number[], number[]] = [[], []];
  // The first four sessions are a warm-up: watching begins, and V8 compiles the hot code.
  for (let day = 1; day <= 2 * sessions + 4; day++) {
    const isNews = day % 2 === 0;
    const ms = await session(day, isNews ? CHANGING : 0);
    if (day > 4) (isNews ? newsMs : quietMs).push(ms);
  }
  await close();
  rmSync(folder, { recursive: true });
  return { quietMs, newsMs };
}

async function keep(records: Records, count: number): Promise<void> {
  const steps = Array.from({ length: count }, (_, at) =>
    alertSteps(`alert_${at}`, { watched: symbolSelector(symbolOf(at % INSTRUMENTS)) }),
  ).flat();
  while (steps.length > 0) await records.commit(steps.splice(0, 1_000));
}

/**
 * Creates a function that returns the signals of all instruments; each call changes the next few of
 * them.
 */
function createSignals() {
  const directions = Array.from({ length: INSTRUMENTS }, () => "WAIT" as "WAIT" | "LONG");
  let changed = 0;
  return (changing: number) => {
    for (let left = changing; left > 0; left--) {
      const at = changed++ % INSTRUMENTS;
      directions[at] = directions[at] === "LONG" ? "WAIT" : "LONG";
    }
    return Object.fromEntries(
      directions.map((direction, at) => [symbolOf(at), { direction }] as const),
    );
  };
}
