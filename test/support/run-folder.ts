import { spawn } from "node:child_process";
import { statfsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";

/** Where Linux keeps files in memory. There `fsync`, for which every commit of a store waits, takes no
 *  time; on a disk it takes milliseconds. What survives a power cut is for `npm run crash`, on a disk. */
const IN_MEMORY = "/dev/shm";

/** Memory that must be free for it, in bytes: many times what tests were seen to use (112 MB). */
const NEEDED = 2 * 2 ** 30;

/** Waits for the end of the process that started it, however that comes; then no memory stays taken. */
const JANITOR = 'cat >/dev/null; rm -rf "$1"';

/** Gives a run a folder of its own for temporary files, in memory where there is enough. It goes when
 *  the run is over, however its workers end. What outlives a run is for `MACHINE_FOLDER`. */
export async function setup(): Promise<() => Promise<void>> {
  process.env.MACHINE_FOLDER = tmpdir();
  const isInMemory = hasMemory();
  const folder = await mkdtemp(join(isInMemory ? IN_MEMORY : tmpdir(), "market-signal-run-"));
  if (isInMemory) startJanitor(folder);
  process.env.TMPDIR = folder;
  return () => rm(folder, { recursive: true, force: true });
}

function hasMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return Math.min(bavail * bsize, freemem()) > NEEDED;
  } catch {
    return false; // Other systems have no such folder.
  }
}

function startJanitor(folder: string): void {
  const janitor = spawn("sh", ["-c", JANITOR, "janitor", folder], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  janitor.unref();
  (janitor.stdin as Socket).unref();
}
