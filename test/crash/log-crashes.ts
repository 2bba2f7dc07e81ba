import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseCheckpoint } from "../../src/tree/checkpoint.ts";
import { postgresAvailable, startPostgres } from "../support/postgres.ts";
import { type Child, startChild } from "./child.ts";
import { crashableDisk, temporaryPlace } from "./disks.ts";
import { killWriter } from "./kills.ts";
import { type Measure, type Outcome, skip } from "./outcome.ts";
import { cutPower } from "./power-cuts.ts";
import type { Report } from "./reports.ts";

/** Maximum time before a crash, in milliseconds; a run takes about half as long. */
const APPEND_MS = 2_000;

/**
 * Checks that must be proved for the whole log. The check of times is missing, because the log has
 * no witnesses.
 */
const CHECKS = ["tree", "history", "entries", "methods", "runs", "settlements", "outcomes"];

/** How a log is crashed while runs of 10,000 signals and their settlements are appended. */
interface LogCrashes {
  /** Folder of the store, or URL of its database. */
  readonly store: string;
  /** Folder of the log-head file of each appending process. */
  readonly folders: readonly string[];
  readonly rounds: number;
  /** Ends the process and makes the store usable again. */
  crash(appender: Child): Promise<void>;
}

/** Kills the appending process (SIGKILL). */
export async function logKills(rounds: number): Promise<Outcome> {
  const { folder, remove } = await temporaryPlace();
  const store = join(folder, "store");
  try {
    const measures = await crashed({ store, folders: [store], rounds, crash: killWriter });
    return { title: "kill -9 while runs are logged", measures };
  } finally {
    await remove();
  }
}

/**
 * Runs two processes that append to one log, and kills them alternately, so that one always
 * continues.
 */
export async function logKillsOnPostgres(rounds: number): Promise<Outcome> {
  const title = "PostgreSQL: kill -9 of one of two processes that log runs";
  if (!postgresAvailable) return skip(title, "there is no PostgreSQL for this platform");
  const { folder, remove } = await temporaryPlace();
  const server = await startPostgres();
  try {
    const store = await server.createDatabase();
    const folders = ["one", "other"].map((name) => join(folder, name));
    return { title, measures: await crashed({ store, folders, rounds, crash: killWriter }) };
  } finally {
    await server.stop();
    await remove();
  }
}

/** Cuts the power of the disk that holds the store and log-head. */
export async function logPowerCuts(rounds: number): Promise<Outcome> {
  const title = "power cut while runs are logged";
  const disk = await crashableDisk();
  if ("missing" in disk) return skip(title, disk.missing);
  const store = join(disk.folder, "store");
  const crash = (appender: Child) => cutPower(disk, appender);
  try {
    return { title, measures: await crashed({ store, folders: [store], rounds, crash }) };
  } finally {
    await disk.remove();
  }
}

async function crashed(options: LogCrashes): Promise<readonly Measure[]> {
  const { store, folders, rounds, crash } = options;
  const told = new Told();
  const start = (at: number) => {
    const folder = folders[at % folders.length] ?? "";
    return startChild("log-appender", [`--store=${store}`, `--folder=${folder}`], told.note);
  };
  const running = folders.map((_, at) => start(at));
  // The first runs are settled only after later ones have been appended.
  await running[0]?.said("log settling");
  for (let round = 0; round < rounds; round++) {
    const at = round % folders.length;
    const appender = running[at] as Child;
    await appender.said("log open");
    await setTimeout(Math.random() * APPEND_MS);
    await crash(appender);
    running[at] = start(at);
  }
  for (const appender of running) {
    await appender.said("log open");
    await crash(appender);
  }
  return [
    { name: "crashes", value: rounds + running.length, least: rounds },
    {
      name: "starts in the middle of a run",
      value: told.inside.run,
      least: Math.floor(rounds / 5),
    },
    {
      name: "starts in the middle of a settlement",
      value: told.inside.settlement,
      least: Math.floor(rounds / 10),
    },
    ...(await verified(options, told)),
  ];
}

/** Completes the log in a new process and verifies it against every checkpoint that was served. */
async function verified({ store, folders }: LogCrashes, told: Told): Promise<readonly Measure[]> {
  const [folder = ""] = folders;
  const path = join(folder, "told.json");
  const sightings = [...told.roots].map(([size, root]) => ({ size, root, seenAt: 0 }));
  sightings.sort((a, b) => a.size - b.size);
  await writeFile(path, JSON.stringify({ origin: told.origin, keys: [], sightings }));
  const args = [`--store=${store}`, `--folder=${folder}`, `--told=${path}`];
  const check = startChild("log-appender", args, told.note);
  await check.ended;
  const { size, checks, refusals, settled, differing } = await check.said("log verified");
  const outcomeOf = (name: string) => checks.find((one) => one.name === name)?.outcome;
  const proved = CHECKS.filter((name) => outcomeOf(name) === "proved");
  for (const { outcome, detail } of checks) {
    if (outcome === "failed") process.stderr.write(`FAILED: ${detail}\n`);
  }
  return [
    { name: "checkpoints served", value: told.roots.size, least: 1 },
    { name: "tree sizes with two different roots", value: told.contradictions, most: 0 },
    {
      name: "starts that refused to sign the log",
      value: told.refusals + refusals.length,
      most: 0,
    },
    { name: "log entries at the end", value: size, least: Math.max(0, ...told.roots.keys()) },
    { name: "checks of the whole log that are proved", value: proved.length, least: CHECKS.length },
    { name: "settled runs", value: settled, least: 1 },
    { name: "horizons whose figures differ from the entries", value: differing, most: 0 },
  ];
}

/** Collects what the processes reported before they crashed. */
class Told {
  /** Roots of the served checkpoints in base64, by tree size. */
  readonly roots = new Map<number, string>();
  origin = "";
  contradictions = 0;
  refusals = 0;
  readonly inside = { run: 0, settlement: 0 };

  readonly note = (report: Report): void => {
    if (report.is === "log open" && report.inside !== null) this.inside[report.inside] += 1;
    if (report.is === "log refused") {
      this.refusals += 1;
      process.stderr.write(`REFUSED: ${report.reason}\n`);
    }
    if (report.is !== "signed") return;
    const { origin, size, root } = parseCheckpoint(report.note);
    const text = Buffer.from(root).toString("base64");
    const isOther = this.roots.has(size) && this.roots.get(size) !== text;
    if (isOther || ![origin, ""].includes(this.origin)) this.contradictions += 1;
    this.roots.set(size, text);
    this.origin = origin;
  };
}
