import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { consume, put } from "../../../../src/store/port/operations.ts";
import { collection } from "../../../../src/store/port/records.ts";
import type { DumpRow, Store } from "../../../../src/store/port/store.ts";
import { type EmbeddedStore, openEmbedded } from "../../../../src/store/sqlite/open.ts";

/** Fixed time of the clock in these tests, Unix milliseconds. */
export const NOW = Date.UTC(2026, 10, 21, 12);

export const pages = collection<unknown>("pages");

/** Creates an empty folder that is removed at the end of the test. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "embedded-store-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Opens or creates the store in a folder. The store is closed at the end of the test. */
export async function openIn(
  folder: string,
  onWarning: (message: string, cause?: unknown) => void = () => undefined,
): Promise<EmbeddedStore> {
  const store = await openEmbedded({ folder, mode: "sandbox", now: () => NOW, onWarning });
  onTestFinished(() => store.close());
  return store;
}

/** Writes records and archive rows of every kind, enough to fill many pages. */
export async function fill({ records, archive }: Store): Promise<void> {
  const numbers = Array.from({ length: 300 }, (_, at) => at);
  await records.commit(
    numbers.map((at) =>
      put(pages, {
        key: `key ${at}`,
        value: { at, text: "x".repeat(at) },
        groups: [`group ${at % 7}`],
        ...(at % 3 === 0 ? { ttlMs: 60_000 + at } : {}),
        ...(at % 5 === 0 ? { dueInMs: at } : {}),
      }),
    ),
  );
  await records.commit([consume(pages, "key 8"), put(pages, { key: "last", value: "ключ 😀" })]);
  await archive.append(
    numbers.map((at) => ({
      kind: "audit",
      at,
      id: `row ${at}`,
      body: { at, text: "y".repeat(at) },
    })),
  );
}

/** Returns all rows of a store, in the order of its dump. */
export async function rowsOf(store: Store): Promise<readonly DumpRow[]> {
  const rows: DumpRow[] = [];
  for await (const batch of store.dump()) rows.push(...batch);
  return rows;
}

/** Copies the files of a folder as they are, which is what a crash would leave. */
export function copyOf(folder: string): string {
  const copy = newFolder();
  for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(copy, name));
  return copy;
}

/** Returns the file names in a folder, except the lock file, which always remains. */
export function namesIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name !== "store.lock")
    .sort();
}

/** Yields one batch of rows. */
export async function* batchOf(...rows: readonly DumpRow[]): AsyncIterable<readonly DumpRow[]> {
  yield rows;
}
