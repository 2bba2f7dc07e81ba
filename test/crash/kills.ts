import type { Child } from "./child.ts";
import { crashRounds, creationRounds } from "./crash-rounds.ts";
import { temporaryPlace } from "./disks.ts";
import type { Outcome } from "./outcome.ts";

/** Ends writers by kill -9: in the midst of a storm, and while they create their store. */
export async function kills(rounds: number): Promise<Outcome> {
  const { folder, remove } = await temporaryPlace();
  const options = { folder, rounds, onRefusal: "go on", crash: kill } as const;
  try {
    const measures = [...(await crashRounds(options)), ...(await creationRounds(options))];
    return { title: "kill -9 in a write storm", measures };
  } finally {
    await remove();
  }
}

/** Ends a process as it stands. */
export async function kill(writer: Child): Promise<void> {
  writer.kill();
  await writer.ended;
}
