import type { Child } from "./child.ts";
import { crashRounds, creationRounds } from "./crash-rounds.ts";
import { type CrashableDisk, crashableDisk } from "./disks.ts";
import { type Outcome, skip } from "./outcome.ts";

const TITLE = "power cut in a write storm";

/** Stops the file system under writers, so that only what was synced is left:during a
 *  storm, and while they create their store. */
export async function powerCuts(rounds: number): Promise<Outcome> {
  const disk = await crashableDisk();
  if ("missing" in disk) return skip(TITLE, disk.missing);
  const { folder } = disk;
  const crash = (writer: Child) => cut(disk, writer);
  const options = { folder, rounds, onRefusal: "fall silent", crash } as const;
  try {
    const measures = [...(await crashRounds(options)), ...(await creationRounds(options))];
    return { title: TITLE, measures };
  } finally {
    await disk.remove();
  }
}

/** The writer is halted first: a sync that the kernel is doing while the file system is shut down
 *  may report success and not be done, which no lost power could tell anybody. */
export async function cut(disk: CrashableDisk, writer: Child): Promise<void> {
  await writer.freeze();
  await disk.cut();
  writer.kill();
  await writer.ended;
  await disk.restore();
}
