import { statfsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";

/** Where Linux keeps files in memory. There `fsync`, for which every commit of a store waits, takes no
 *  time; on a disk it takes milliseconds. What survives a power cut is for `npm run crash`, on a disk. */
const IN_MEMORY = "/dev/shm";

/** Memory that must be free for it, in bytes; a run uses a tenth. */
const NEEDED = 2 * 2 ** 30;

/** Gives a run a folder of its own for temporary files, in memory where there is enough. It goes when
 *  the run is over, however its workers end. What outlives a run is for `MACHINE_FOLDER`. */
export async function setup(): Promise<() => Promise<void>> {
  process.env.MACHINE_FOLDER = tmpdir();
  const folder = await mkdtemp(join(hasMemory() ? IN_MEMORY : tmpdir(), "market-signal-run-"));
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
