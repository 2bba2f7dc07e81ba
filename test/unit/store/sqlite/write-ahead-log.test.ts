import { readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { put } from "../../../../src/store/port/operations.ts";
import { copyOf, fill, newFolder, openIn, pages, rowsOf } from "./folders.ts";

const FRAME_BYTES = 24 + 4096;

/**
 * Returns a copy of the files of an open store after many transactions, as a crash would leave
 * them.
 */
async function crashedStore() {
  const folder = newFolder();
  const store = await openIn(folder);
  await fill(store);
  for (let at = 0; at < 20; at++) {
    await store.records.commit([put(pages, { key: `later ${at}`, value: at })]);
    await store.archive.append([{ kind: "audit", at: 1_000 + at, id: `${at}`, body: at }]);
  }
  return { folder: copyOf(folder), rows: await rowsOf(store) };
}

function change(path: string, change: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path);
  change(bytes);
  writeFileSync(path, bytes);
}

function flip(bytes: Buffer, at: number): void {
  bytes[at] = (bytes[at] ?? 0) ^ 1;
}

it("a store whose process was killed is opened with all its data", async () => {
  const { folder, rows } = await crashedStore();
  expect(await rowsOf(await openIn(folder))).toEqual(rows);
});

describe("the file store.sqlite-wal", () => {
  const name = "store.sqlite-wal";
  const damages: readonly (readonly [string, string, (path: string) => void])[] = [
    ["with a zeroed header", "its header", (path) => change(path, (bytes) => bytes.fill(0, 0, 32))],
    ["with a flipped bit in its header", "its header", (path) => change(path, (b) => flip(b, 17))],
    [
      "with a flipped bit in its first frame",
      "a frame",
      (path) => change(path, (b) => flip(b, 2_000)),
    ],
    [
      "with a flipped bit in the checksum of a frame",
      "a frame",
      (path) => change(path, (bytes) => flip(bytes, 32 + FRAME_BYTES + 17)),
    ],
  ];

  it.each(damages)(
    "%s is rejected, and is rejected again at the next attempt",
    async (_, what, damage) => {
      const { folder } = await crashedStore();
      damage(join(folder, name));
      for (let times = 0; times < 2; times++) {
        await expect(openIn(folder)).rejects.toThrow(`${join(folder, name)} is damaged (${what}`);
      }
    },
  );

  const torn: readonly (readonly [string, (path: string) => void])[] = [
    ["truncated its last frame", (path) => truncateSync(path, statSync(path).size - 1_000)],
    [
      "left a wrong bit in its last frame",
      (path) => change(path, (b) => flip(b, b.length - 1_000)),
    ],
    ["truncated its header", (path) => truncateSync(path, 20)],
    ["left only zeros", (path) => change(path, (bytes) => bytes.fill(0))],
  ];

  it.each(torn)("is not treated as damaged when a power failure %s", async (_, tear) => {
    const { folder } = await crashedStore();
    tear(join(folder, name));
    const store = await openIn(folder);
    expect((await rowsOf(store)).length).toBeGreaterThanOrEqual(0);
  });
});

it("a missing write-ahead log is accepted if the store was closed", async () => {
  const folder = newFolder();
  const store = await openIn(folder);
  await fill(store);
  const rows = await rowsOf(store);
  await store.close();
  expect(await rowsOf(await openIn(copyOf(folder)))).toEqual(rows);
});
