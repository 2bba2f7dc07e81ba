import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { type Child, startChild } from "./child.ts";
import { createLedger } from "./ledger.ts";
import type { Measure } from "./outcome.ts";
import { checkStore, type Finding, promises } from "./store-check.ts";

/** How often and how a store is crashed. */
export interface CrashRounds {
  /** Where the stores are created. */
  readonly folder: string;
  readonly rounds: number;
  /** Whether a refusal is an answer, or the disk has gone and nothing is known any more. */
  readonly onRefusal: "go on" | "fall silent";
  /** Ends the writer, whatever it is doing, and makes the folder ready to be opened again. */
  crash(writer: Child): Promise<void>;
}

/** Records that lie in the store while it is crashed. */
const FILL = 10_000;

/** Goal for opening a store of that size, in milliseconds. */
const OPEN_MS = 1_000;

/** Longest storm before a crash, in milliseconds. */
const STORM_MS = 1_000;

/** Interval, in rounds, at which the crash comes while the store is being opened. */
const EARLY_EVERY = 5;

/** Span in which an early crash comes after the start, in milliseconds. */
const EARLY_MS = 40;

/** Crashes a store while it is created, every time another one, half as many times. */
export async function creationRounds(options: CrashRounds): Promise<readonly Measure[]> {
  let unusable = 0;
  const rounds = Math.ceil(options.rounds / 2);
  for (let round = 1; round <= rounds; round++) {
    const folder = join(options.folder, `store-${round}`);
    const ledger = createLedger();
    const writer = startChild("writer", ["--store", folder, "--silent"], ledger.note);
    await writer.said("start");
    await setTimeout((Math.random() * EARLY_MS * round) / rounds);
    await options.crash(writer);
    const { damages } = await checkStore(folder, ledger);
    unusable += damages.length + ledger.tally.lost;
  }
  return [
    { name: "crashes during creation", value: rounds },
    { name: "stores that cannot be used afterwards", value: unusable, most: 0 },
  ];
}

/** Crashes a store again and again in the midst of a storm and checks it every time. */
export async function crashRounds(options: CrashRounds): Promise<readonly Measure[]> {
  const { rounds } = options;
  const folder = join(options.folder, "store");
  const ledger = createLedger();
  const full = startChild("writer", writerOf(folder, { fill: FILL }), ledger.note);
  await full.said("complete");
  await full.ended;

  const findings: Finding[] = [];
  for (let life = 1; life <= rounds; life++) {
    const storm = writerOf(folder, { life, lanes: 10 });
    const args = options.onRefusal === "fall silent" ? [...storm, "--silent"] : storm;
    const writer = startChild("writer", args, ledger.note);
    await crashInTime(writer, life, options);
    findings.push(await checkStore(folder, ledger));
    if (findings.at(-1)?.damages.length !== 0) break;
  }
  const { refused } = ledger.tally;
  return [
    { name: "crashes", value: findings.length, least: rounds },
    ...promises(ledger),
    { name: "files damaged", value: findings.flatMap(({ damages }) => damages).length, most: 0 },
    { name: "writes refused", value: refused, most: 0 },
    { name: "records when opened", value: findings.at(-1)?.records ?? 0, least: FILL },
    { name: "open again, median", unit: "ms", value: median(findings) },
    { name: "open again, longest", unit: "ms", value: longest(findings), most: OPEN_MS },
  ];
}

async function crashInTime(
  writer: Child,
  life: number,
  { crash }: Pick<CrashRounds, "crash">,
): Promise<void> {
  const isEarly = life % EARLY_EVERY === 0;
  await writer.said(isEarly ? "start" : "open");
  await setTimeout(Math.random() * (isEarly ? EARLY_MS : STORM_MS));
  await crash(writer);
}

function writerOf(
  store: string,
  { fill = 0, life = 0, lanes = 0 }: Readonly<Record<string, number>>,
): readonly string[] {
  const flags = { store, fill, life, lanes };
  return Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
}

function median(findings: readonly Finding[]): number {
  const times = findings.map(({ openMs }) => openMs).sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)] ?? 0;
}

function longest(findings: readonly Finding[]): number {
  return Math.max(0, ...findings.map(({ openMs }) => openMs));
}
