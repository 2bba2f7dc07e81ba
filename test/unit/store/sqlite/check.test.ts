import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { copyOf, fill, newFolder, openIn } from "./folders.ts";

/** An open store whose rows are all in its main file and have been read into memory. */
async function readStore() {
  const folder = newFolder();
  const filled = await openIn(folder);
  await fill(filled);
  await filled.close();
  const store = await openIn(folder);
  return { folder, store };
}

/**
 * Overwrites a text in an open file. The position is searched in a copy, because closing the file
 * would release this process's locks.
 */
function overwrite(folder: string, name: string, text: string, other: string): void {
  const at = readFileSync(join(copyOf(folder), name)).indexOf(text);
  const file = openSync(join(folder, name), "r+");
  writeSync(file, Buffer.from(other), 0, other.length, at);
  closeSync(file);
}

describe("the integrity check of an open store", () => {
  it("reports nothing for an intact store", async () => {
    const { store } = await readStore();
    expect(await store.check()).toEqual([]);
  });

  it("reports a record that was changed on disk", async () => {
    const { folder, store } = await readStore();
    overwrite(folder, "store.sqlite", '{"at":150,', '{"at":151,');
    expect(await store.check()).toEqual([
      expect.stringMatching(/^store.sqlite: the record in row \d+ is not as it was written$/),
    ]);
  });

  it("reports a broken page", async () => {
    const name = "store.sqlite";
    const { folder, store } = await readStore();
    const file = openSync(join(folder, name), "r+");
    writeSync(file, Buffer.alloc(4096, 1), 0, 4096, 5 * 4096);
    closeSync(file);
    const problems = await store.check();
    expect(problems.length).toBeGreaterThan(0);
    for (const problem of problems) expect(problem.startsWith(`${name}: `)).toBe(true);
  });
});
