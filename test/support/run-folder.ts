import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Gives the workers of a run, in `TEST_FOLDER`, a folder for what outlives a test file; it goes when
 *  the run is over, however its workers end. */
export async function setup(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "market-signal-run-"));
  process.env.TEST_FOLDER = folder;
  return () => rm(folder, { recursive: true, force: true });
}
