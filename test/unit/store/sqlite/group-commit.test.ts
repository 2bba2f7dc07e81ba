import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { StoreGate } from "../../../../src/store/sqlite/gate.ts";
import { GroupCommit } from "../../../../src/store/sqlite/group-commit.ts";
import { RecordTable } from "../../../../src/store/sqlite/record-table.ts";
import { StoreFile } from "../../../../src/store/sqlite/store-file.ts";
import { newFolder, openIn } from "./folders.ts";

/** A unit of work that writes nothing. */
const work = () => true;

/** Creates a group commit on a new store, with a counter of its transactions. */
async function newCommits() {
  const folder = newFolder();
  await (await openIn(folder)).close();
  const file = StoreFile.open(join(folder, "store.sqlite"));
  onTestFinished(() => file.close());
  const table = new RecordTable(file);
  const gate = new StoreGate(
    () => undefined,
    () => undefined,
  );
  const transactions = { count: 0 };
  const counted = <T>(works: () => T): T => {
    transactions.count += 1;
    return table.transaction(works);
  };
  const part = <T>(each: () => T) => table.part(each);
  const undoablePart = <T>(each: () => T) => table.undoablePart(each);
  const counting = { transaction: counted, part, undoablePart };
  return { commits: new GroupCommit(counting, gate), transactions };
}

describe("the group commit of the embedded store", () => {
  it("combines writes that callers make one after another into one transaction", async () => {
    const { commits, transactions } = await newCommits();
    const first = commits.add(work);
    await turn();
    expect(transactions.count).toBe(0);
    await Promise.all([first, commits.add(work)]);
    expect(transactions.count).toBe(1);
  });

  it("waits only while more commits arrive", async () => {
    const { commits, transactions } = await newCommits();
    const done = commits.add(work);
    await turn();
    await turn();
    expect(transactions.count).toBe(1);
    await done;
  });

  it("waits for a limited time even if more commits keep arriving", async () => {
    const { commits } = await newCommits();
    let isDone = false;
    const first = commits.add(work).then(() => {
      isDone = true;
    });
    const works = [first];
    for (let turns = 0; turns < 4; turns++) {
      works.push(commits.add(work).then(() => undefined));
      await turn();
    }
    expect(isDone).toBe(true);
    await Promise.all(works);
  });
});
