import { rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { openBackup, writeBackup } from "../../../src/maintenance/backup/backup.ts";
import { collection } from "../../../src/store/port/records.ts";
import type { DumpRow, Store, StoreIdentity } from "../../../src/store/port/store.ts";
import { isStorableName } from "../../../src/store/port/values.ts";
import { temporaryFolder } from "../../support/process.ts";
import {
  dumpStore,
  type Engine,
  embedded,
  inBatches,
  openStore,
  PATIENT,
  postgres,
  START,
  type TestStore,
} from "../../support/stores.ts";
import { random } from "./commands.ts";

const IDENTITY: StoreIdentity = { id: "the-store-of-all-runs", mode: "sandbox" };

/** Names that look like other things, or equal when they are normalized, folded or escaped. */
const oddNames = [
  ...["__proto__", "constructor", "", " ", "\n", "a\tb", "\u0001", "'\"\\", "%_", "{}", "\\u0041"],
  ...["é", "e\u0301", "ﬀ", "ff", "İ", "i", "ß", "\u2028", "\u202e", "\ufeff", "\uffff"],
  ...["\u{10ffff}", "😀".repeat(250), "k".repeat(512)],
];

const names = fc
  .oneof(fc.constantFrom(...oddNames), fc.string({ unit: "binary", maxLength: 20 }))
  .filter(isStorableName);
const instants = fc.constantFrom(
  ...[-8.64e15, START - 1, START, START + 1, START + 60_000, 8.64e15],
);
const texts = fc.jsonValue().map((value) => JSON.stringify(value));

const records = fc
  .uniqueArray(
    fc.record({
      table: fc.constant("record" as const),
      collection: names,
      key: names,
      text: texts,
      /** Distance from the revision before. */
      revision: fc.integer({ min: 1, max: 1_000_000 }),
      groups: fc.uniqueArray(names, { maxLength: 3 }),
      expiresAt: fc.option(instants),
      dueAt: fc.option(instants),
      consumedAt: fc.option(instants),
    }),
    { maxLength: 30, selector: ({ collection, key }) => JSON.stringify([collection, key]) },
  )
  .map((rows) => {
    let revision = 0;
    return rows.map((row) => {
      revision += row.revision;
      return { ...row, revision };
    });
  });

const archive = fc.uniqueArray(
  fc.record({
    table: fc.constant("archive" as const),
    kind: names,
    at: fc.constantFrom(Date.UTC(1, 0, 1), 0, START - 1, START, START + 1, 8.64e15),
    id: names,
    subject: fc.option(names),
    text: texts,
  }),
  { maxLength: 15, selector: ({ kind, at, id }) => JSON.stringify([kind, at, id]) },
);

const contents = fc.tuple(records, archive).map((rows): readonly DumpRow[] => rows.flat());

/** Backs a store up into a file with this ending, and restores that in another store. */
async function moved(from: Store, to: Store, ending: "gz" | "sqlite"): Promise<void> {
  const file = join(temporaryFolder(), `backup.${ending}`);
  await writeBackup({ store: from, file, now: () => START }, () => {});
  const { identity, batches } = await openBackup(file);
  await to.load(identity, batches);
  rmSync(file);
}

/** What a user of the store sees of its records: each list in its order, and what falls due. */
async function seenIn({ store: { records: stored } }: TestStore, rows: readonly DumpRow[]) {
  const kept = rows.filter((row) => row.table === "record");
  const collections = [...new Set(kept.map((row) => row.collection))].map((name) =>
    collection<unknown>(name),
  );
  const groups = [...new Set(kept.flatMap((row) => row.groups))];
  const seen: unknown[] = [];
  for (const each of collections) {
    seen.push(await stored.list(each, { limit: 100 }));
    for (const group of groups) seen.push(await stored.list(each, { group, limit: 100 }));
    const due = await stored.claimDue(each, { limit: 100, leaseMs: 1_000 });
    seen.push(due.map(({ key, value }) => [key, value]));
  }
  return [...seen, await stored.purgeExpired(1_000)];
}

const ways: readonly (readonly [Engine, Engine])[] = [
  [embedded, embedded],
  [embedded, postgres],
];

for (const [one, other] of ways) {
  const options = { ...PATIENT, tags: [...other.tags] };
  describe.skipIf(other.isMissing)(`a store that moves to ${other.name} and back`, options, () => {
    beforeAll(() => other.start(), 3 * PATIENT.timeout);

    it.each(["gz", "sqlite"] as const)(
      "has every record, group, time and revision in its order, by way of a .%s file",
      { timeout: random.timeoutMs },
      async (ending) => {
        const [first, there, back] = [
          await openStore(one),
          await openStore(other),
          await openStore(one),
        ];
        await fc.assert(
          fc.asyncProperty(contents, async (rows) => {
            await first.store.load(IDENTITY, inBatches(rows, 7));
            await moved(first.store, there.store, ending);
            expect(await dumpStore(there.store)).toEqual(rows);
            await moved(there.store, back.store, "gz");
            expect(await dumpStore(back.store)).toEqual(rows);
            expect([there.store.identity, back.store.identity]).toEqual([IDENTITY, IDENTITY]);
            const seen = await seenIn(first, rows);
            expect(await seenIn(there, rows)).toEqual(seen);
            expect(await seenIn(back, rows)).toEqual(seen);
          }),
          { seed: random.seed, numRuns: random.runs(15) },
        );
      },
    );
  });
}
