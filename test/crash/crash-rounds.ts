import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { type Child, startChild } from "./child.ts";
import { createLedger } from "./ledger.ts";
import type { Measure } from "./outcome.ts";
import { checkStore, commonMeasures, type Finding } from "./store-check.ts";

/** How, and how often, a store is crashed. */
export interface CrashRounds {
  /** Folder in which the stores are created. */
  readonly folder: string;
  readonly rounds: number;
  /**
   * `go on`: the writer treats a refusal as an answer. `fall silent`: the disk is gone, so the
   * writer reports nothing more.
   */
  readonly onRefusal: "go on" | "fall silent";
  /** Ends the writer at an arbitrary moment, and makes the folder usable again. */
  crash(writer: Child): Promise<void>;
}

/** Number of records in the store before the crashes. */
const FILL = 10_000;

/** Goal for opening a store with `FILL` records, in milliseconds. */
const OPEN_MS = 1_000;

/** Maximum duration of the write load before a crash, in milliseconds. */
const STORM_MS = 1_000;

/** Every fifth crash happens while the store is being opened. */
const EARLY_EVERY = 5;

/** Maximum delay of an early crash after the start of the process, in milliseconds. */
const EARLY_MS = 40;

/**
 * Crashes stores while they are created. Each round has a new store; there are half as many rounds
 * as in the options.
 */
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

/** Crashes one store repeatedly under write load, and checks it after every crash. */
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
    ...commonMeasures(ledger),
    { name: "files damaged", value: findings.flatMap(({ damages }) => damages).length, most: 0 },
    { name: "writes refused", value: refused, most: 0 },
    { name: "records after the last crash", value: findings.at(-1)?.records ?? 0, least: FILL },
    { name: "reopening the store, median", unit: "ms", value: median(findings) },
    { name: "reopening the store, longest", unit: "ms", value: longest(findings), most: OPEN_MS },
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
