import type { Child } from "./child.ts";
import { crashRounds, creationRounds } from "./crash-rounds.ts";
import { type CrashableDisk, crashableDisk } from "./disks.ts";
import { type Outcome, skip } from "./outcome.ts";

const TITLE = "power cut in a write storm";

/**
 * Cuts the power of the file system, so that only synced data is left, during a write load and
 * while writers create their store.
 */
export async function powerCuts(rounds: number): Promise<Outcome> {
  const disk = await crashableDisk();
  if ("missing" in disk) return skip(TITLE, disk.missing);
  const { folder } = disk;
  const crash = (writer: Child) => cutPower(disk, writer);
  const options = { folder, rounds, onRefusal: "fall silent", crash } as const;
  try {
    const measures = [...(await crashRounds(options)), ...(await creationRounds(options))];
    return { title: TITLE, measures };
  } finally {
    await disk.remove();
  }
}

/**
 * Cuts the power of the disk while a writer uses it, and mounts the disk again. The writer is
 * suspended first: otherwise, a sync during the shutdown of the file system may report success
 * without having written, which no real power loss could do.
 */
export async function cutPower(disk: CrashableDisk, writer: Child): Promise<void> {
  await writer.freeze();
  await disk.cut();
  writer.kill();
  await writer.ended;
  await disk.restore();
}
