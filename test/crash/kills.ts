import type { Child } from "./child.ts";
import { crashRounds, creationRounds } from "./crash-rounds.ts";
import { temporaryPlace } from "./disks.ts";
import type { Outcome } from "./outcome.ts";

/** Kills writers (SIGKILL) under write load, and while they create their store. */
export async function processKills(rounds: number): Promise<Outcome> {
  const { folder, remove } = await temporaryPlace();
  const options = { folder, rounds, onRefusal: "go on", crash: killWriter } as const;
  try {
    const measures = [...(await crashRounds(options)), ...(await creationRounds(options))];
    return { title: "kill -9 in a write storm", measures };
  } finally {
    await remove();
  }
}

/** Kills a process (SIGKILL) and waits for its exit. */
export async function killWriter(writer: Child): Promise<void> {
  writer.kill();
  await writer.ended;
}
