import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { type Child, startChild } from "./child.ts";
import { smallDisk } from "./disks.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { type Measure, type Outcome, skip } from "./outcome.ts";
import { createPace, untilHealed } from "./pace.ts";
import type { Report } from "./reports.ts";
import { checkStore, commonMeasures, contentsCollector } from "./store-check.ts";

/**
 * Size of the disk, in megabytes: large enough for everything that the load writes, including the
 * write-ahead log of 4 MB.
 */
const TIGHT_MB = 32;

/**
 * Duration of the write load before the disk is filled, and of the full disk before a kill, in
 * milliseconds.
 */
const CALM_MS = 500;

/** Goal for the time from the return of free space until writes succeed, in milliseconds. */
const HEAL_MS = 1_000;

/** Interval at which space that the store releases is filled again, in milliseconds. */
const REFILL_MS = 50;

/** Writes while the disk is full. @param seconds Time for which the disk is full. */
export async function diskFull(seconds: number): Promise<Outcome> {
  const title = "disk full";
  const disk = await smallDisk(1_024 * TIGHT_MB);
  if ("missing" in disk) return skip(title, disk.missing);
  try {
    const folder = join(disk.folder, "store");
    return { title, measures: await fullFor(seconds, { folder, full: disk.folder }) };
  } finally {
    await disk.remove();
  }
}

interface Places {
  /** Folder of the store. */
  readonly folder: string;
  /** Mount point of the disk that is filled. */
  readonly full: string;
}

async function fullFor(seconds: number, places: Places): Promise<readonly Measure[]> {
  const [ledger, pace, live] = [createLedger(), createPace(), contentsCollector()];
  const writer = startWriter(places, 0, (report) => {
    for (const { note } of [ledger, pace, live]) note(report);
  });
  await writer.said("open");
  await setTimeout(CALM_MS);
  const takeAway = putBallast(places.full);
  pace.restart();
  await setTimeout(seconds * 1_000);
  const [meanwhile, { refused }] = [pace.acknowledged(), { ...ledger.tally }];
  takeAway();
  const healMs = await untilHealed(pace);

  writer.stop();
  await writer.said("complete");
  await writer.ended;
  ledger.settle(live.map);
  const { damages } = await checkStore(places.folder, ledger);
  const later = await killWhileFull(places, ledger);
  return [
    { name: "time with a full disk", unit: "s", value: seconds },
    { name: "writes acknowledged while the disk was full", value: meanwhile },
    ...commonMeasures(ledger),
    { name: "writes refused", value: refused, least: 1 },
    { name: "refusals other than store_unavailable", value: ledger.tally.strange, most: 0 },
    { name: "files damaged", value: damages.length + later.length, most: 0 },
    { name: "all writes succeed again after", unit: "ms", value: healMs, most: HEAL_MS },
  ];
}

/** Kills a writer while the disk is full. @returns Damage found once there is free space again. */
async function killWhileFull(places: Places, ledger: Ledger): Promise<readonly string[]> {
  const writer = startWriter(places, 1, ledger.note);
  await writer.said("held");
  const takeAway = putBallast(places.full);
  await setTimeout(CALM_MS);
  writer.kill();
  await writer.ended;
  takeAway();
  const { damages } = await checkStore(places.folder, ledger);
  return damages;
}

function startWriter({ folder }: Places, life: number, note: (report: Report) => void): Child {
  const args = ["--store", folder, `--life=${life}`, "--lanes=20", "--pause-ms=10"];
  return startChild("writer", args, note);
}

/** Fills a disk and keeps it full. @returns A function that frees the space. */
function putBallast(disk: string): () => void {
  const path = join(disk, "ballast");
  const file = openSync(path, "w");
  const fill = () => {
    for (const bytes of [1 << 16, 1 << 12]) writeUntilFull(file, Buffer.alloc(bytes));
  };
  fill();
  const timer = setInterval(fill, REFILL_MS);
  return () => {
    clearInterval(timer);
    closeSync(file);
    rmSync(path);
  };
}

function writeUntilFull(file: number, block: Buffer): void {
  try {
    while (writeSync(file, block) === block.length);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}
