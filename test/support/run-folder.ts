import { spawn } from "node:child_process";
import { statfsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Folder of the memory file system on Linux. `fsync`, for which every commit of a store waits,
 * takes no time there, but milliseconds on a disk. `npm run crash` tests on a disk what survives a
 * power cut.
 */
const IN_MEMORY = "/dev/shm";

/**
 * Free memory that the folder requires, in bytes: many times the observed need of the tests (112
 * MB).
 */
const NEEDED = 2 * 2 ** 30;

/** Shell script that waits until its parent process exits for any reason, then frees the memory. */
const JANITOR = 'cat >/dev/null; rm -rf "$1"';

/**
 * Creates a folder for the temporary files of a test run, in memory if there is enough. It is
 * removed after the run, even if workers crash. Files that outlive a run belong in
 * `MACHINE_FOLDER`.
 */
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
