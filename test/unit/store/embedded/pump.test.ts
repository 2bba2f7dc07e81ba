import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { openFiles } from "../../../../src/store/embedded/files.ts";
import { createGate } from "../../../../src/store/embedded/gate.ts";
import { pathsIn } from "../../../../src/store/embedded/paths.ts";
import { createPump, type Job } from "../../../../src/store/embedded/pump.ts";
import { newFolder, openIn } from "./folders.ts";

/** Writes nothing. */
const job: Job<boolean> = { reads: "memory", run: () => true };

/** A pump over a new store. */
async function newPump() {
  const folder = newFolder();
  await (await openIn(folder)).close();
  const holder = { files: openFiles(pathsIn(folder)) };
  onTestFinished(() => holder.files.close());
  const gate = createGate(
    () => undefined,
    () => undefined,
  );
  const transactions = { count: 0 };
  const onDone = () => {
    transactions.count += 1;
  };
  return { pump: createPump({ holder, gate, onDone }), transactions };
}

describe("the pump of the embedded store", () => {
  it("does in one transaction what comes in turns one after the other", async () => {
    const { pump, transactions } = await newPump();
    const first = pump.add(job);
    await turn();
    expect(transactions.count).toBe(0);
    await Promise.all([first, pump.add(job)]);
    expect(transactions.count).toBe(1);
  });

  it("waits only while more comes", async () => {
    const { pump, transactions } = await newPump();
    void pump.add(job);
    await turn();
    await turn();
    expect(transactions.count).toBe(1);
  });

  it("does not wait for an end that does not come", async () => {
    const { pump } = await newPump();
    let isDone = false;
    void pump.add(job).then(() => {
      isDone = true;
    });
    for (let turns = 0; turns < 4; turns++) {
      void pump.add(job);
      await turn();
    }
    expect(isDone).toBe(true);
  });
});
