import { readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DumpRow } from "../../../../src/store/port/store.ts";
import { copyOf, fill, namesIn, newFolder, openIn, rowsOf } from "./folders.ts";

/** Creates a closed store with records and archive rows of every kind. */
async function closedStore() {
  const folder = newFolder();
  const store = await openIn(folder);
  await fill(store);
  const rows = await rowsOf(store);
  await store.close();
  return { folder, rows };
}

/** Returns the names and contents of all files in a folder. */
function bytesIn(folder: string): readonly (readonly [string, string])[] {
  return namesIn(folder).map((name) => [name, readFileSync(join(folder, name), "latin1")]);
}

/** Returns a generator of deterministic random numbers in [0, 1) (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe("the file store.sqlite", () => {
  const name = "store.sqlite";
  const damages: readonly (readonly [string, (path: string) => void])[] = [
    ["with a zeroed header", (path) => overwrite(path, 0, Buffer.alloc(100))],
    ["with a zeroed page", (path) => overwrite(path, 2 * 4096, Buffer.alloc(4096))],
    ["truncated to half its size", (path) => truncateSync(path, statSync(path).size / 2)],
    ["truncated within a page", (path) => truncateSync(path, statSync(path).size - 100)],
    ["without content", (path) => truncateSync(path, 0)],
    ["with the content of another file", (path) => writeFileSync(path, "{}".repeat(9999))],
  ];

  it.each(damages)("%s is rejected with its path, and nothing is changed", async (_, damage) => {
    const { folder } = await closedStore();
    damage(join(folder, name));
    const before = bytesIn(folder);
    const opening = openIn(folder);
    await expect(opening).rejects.toThrow(join(folder, name));
    await expect(opening).rejects.toThrow("is damaged (");
    await expect(opening).rejects.toThrow("market-signal store restore <backup file>");
    expect(bytesIn(folder)).toEqual(before);
  });

  it("with a flipped bit is rejected, or returns the original data", {
    timeout: 60_000,
  }, async () => {
    const { folder, rows } = await closedStore();
    const random = randomNumbers(20_261_121);
    const path = join(folder, name);
    const whole = readFileSync(path);
    let refused = 0;
    for (let round = 0; round < 60; round++) {
      const bytes = Buffer.from(whole);
      const at = Math.floor(random() * bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8));
      writeFileSync(path, bytes);
      const outcome = await contentsOrRefusal(folder);
      if (typeof outcome !== "string") expect(outcome).toEqual(rows);
      else {
        expect(outcome).toContain(path);
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(30);
  });

  it("with a flipped bit in a text is rejected, even if its database pages are valid", async () => {
    const { folder } = await closedStore();
    const path = join(folder, name);
    const text = readFileSync(path, "latin1").replaceAll('{"at":150,', '{"at":151,');
    writeFileSync(path, text, "latin1");
    expect(await contentsOrRefusal(folder)).toContain("as it was written");
  });
});

it("a write-ahead log without its database is rejected", async () => {
  const folder = newFolder();
  await fill(await openIn(folder));
  const copy = copyOf(folder);
  rmSync(join(copy, "store.sqlite"));
  await expect(openIn(copy)).rejects.toThrow("store.sqlite is damaged (it is missing)");
});

function overwrite(path: string, at: number, bytes: Buffer): void {
  const whole = readFileSync(path);
  bytes.copy(whole, at);
  writeFileSync(path, whole);
}

/** Returns all rows, or the error message. The archive is also read completely. */
async function contentsOrRefusal(folder: string): Promise<readonly DumpRow[] | string> {
  try {
    const store = await openIn(folder);
    try {
      return await rowsOf(store);
    } finally {
      await store.close();
    }
  } catch (error) {
    const { message, cause } = error as Error;
    return `${message} ${cause instanceof Error ? cause.message : ""}`;
  }
}
