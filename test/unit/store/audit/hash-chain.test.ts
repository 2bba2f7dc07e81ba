import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { expect, it } from "vitest";
import {
  CHAIN_HEAD_KEY,
  type SealedPoint,
  sealedPoints,
} from "../../../../src/maintenance/audit/hash-chain.ts";
import { applyRetention } from "../../../../src/maintenance/retention.ts";
import { auditOperations } from "../../../../src/store/audit-entry.ts";
import { put } from "../../../../src/store/port/operations.ts";
import type { DumpRow } from "../../../../src/store/port/store.ts";
import { auditOf, chainedStore, sealAll } from "../../../support/audit.ts";
import {
  describeEngines,
  dumpStore,
  type Engine,
  inBatches,
  openStore,
  type TestStore,
} from "../../../support/stores.ts";

type HistoryRow = Extract<DumpRow, { table: "archive" }>;
type Change = (rows: readonly HistoryRow[]) => readonly HistoryRow[];

const DAY_MS = 86_400_000;

/** Timestamp of the last row of the old store, Unix milliseconds. */
const WRITTEN_AT = Date.UTC(2026, 1, 12, 9, 0, 4);

/** Hash of the last row in the old chain, at position 12. */
const HEAD_HASH = "c65ca9c8a369e38f4f77edc3eb857e0af3457985d96caa5620bede4baf1d3cb0";

const isHistory = (row: DumpRow): row is HistoryRow => row.table === "archive";

/** Opens a store from before the audit tree, with `change` applied to its audit rows. */
async function oldStore(engine: Engine, change: Change = (rows) => rows): Promise<TestStore> {
  const store = await openStore(engine);
  store.clock.now = WRITTEN_AT;
  await tamper(store, chainedStore(), change);
  return store;
}

/** Loads rows with a change applied to the archive rows. */
async function tamper({ store }: TestStore, rows: readonly DumpRow[], change: Change) {
  const records = rows.filter((row) => !isHistory(row));
  const all = [...records, ...change(rows.filter(isHistory))];
  await store.load(store.identity, inBatches(all, 100));
}

/** A row with other content and the correct hash for it. */
function forged(row: HistoryRow): HistoryRow {
  const { hash: _, ...body } = { ...JSON.parse(row.text), actor: "nobody" };
  const { kind, at, id, subject } = row;
  const text = `${body.previousHash}${canonicalize({ kind, at, id, subject, body })}`;
  const hash = createHash("sha256").update(text).digest("hex");
  return { ...row, text: JSON.stringify({ ...body, hash }) };
}

/** Returns a change of the row at a position. Retention has removed the first two rows. */
const at =
  (position: number, change: (row: HistoryRow) => HistoryRow): Change =>
  (rows) =>
    rows.map((row, index) => (index === position - 3 ? change(row) : row));

describeEngines("an audit log that earlier versions chained by hash", (engine) => {
  it("is still verified successfully", async () => {
    expect(await auditOf(await oldStore(engine))).toEqual({
      ...{ rows: 10, firstPosition: 3, lastPosition: 12, checkpoint: undefined },
      ...{ unsealed: 2, problems: [] },
    });
  });

  it("is continued by one tree whose first leaf contains the last hash of the chain", async () => {
    const before = await oldStore(engine);
    await sealAll(before);
    const store = await before.reopen();
    await store.records.commit(
      auditOperations({ action: "tested", actor: "a", target: "b" }, WRITTEN_AT),
    );
    await sealAll(store);
    const rows = await store.archive.read("audit", { order: "newest", limit: 4 });
    expect(rows.map(({ body }) => body)).toMatchObject([
      { action: "tested" },
      { action: "client.registered", target: "client-14" },
      { action: "client.registered", target: "client-13" },
      { action: "audit.tree_started", target: HEAD_HASH, detail: { position: 12 } },
    ]);
    const whole = { rows: 14, firstPosition: 3, lastPosition: 16, unsealed: 0, problems: [] };
    expect(await auditOf(store)).toMatchObject(whole);
  });

  it("loses its chained rows to retention first, and then the rows of the tree", async () => {
    const store = await oldStore(engine);
    store.clock.now += 200 * DAY_MS;
    await sealAll(store);
    store.clock.now += 201 * DAY_MS;
    await applyRetention(store, store.clock.now);
    const tree = { rows: 3, firstPosition: 13, lastPosition: 15, problems: [] };
    expect(await auditOf(store)).toMatchObject(tree);
    store.clock.now += 200 * DAY_MS;
    await applyRetention(store, store.clock.now);
    expect(await auditOf(store)).toMatchObject({ rows: 0, problems: [] });
  });

  const cases: Readonly<Record<string, readonly [Change, readonly string[]]>> = {
    "a changed row": [
      at(4, (row) => ({ ...row, subject: "client-9" })),
      ["Row 4 was changed: it does not fit its hash."],
    ],
    "a row with a changed timestamp": [
      at(6, (row) => ({ ...row, at: row.at - DAY_MS })),
      ["Row 6 was changed: it does not fit its hash.", "Row 6 is missing."],
    ],
    "a forged row": [
      at(6, forged),
      ["Row 7 does not follow from row 6: one of them was replaced."],
    ],
    "a forged last row": [at(12, forged), ["Row 12 was replaced: another hash was noted for it."]],
    "rows dropped at the start": [(rows) => rows.slice(2), ["Rows 3 to 4 are missing."]],
    "a row dropped in the middle": [(rows) => rows.toSpliced(2, 1), ["Row 5 is missing."]],
    "rows dropped at the end": [
      (rows) => rows.slice(0, -2),
      ["Rows 11 to 12 are missing at the end of the chain."],
    ],
    "an inserted row": [
      (rows) => [...rows, forged({ ...(rows[4] as HistoryRow), at: WRITTEN_AT })],
      ["Row 7 stands after row 12."],
    ],
    "a row without a hash": [
      at(5, (row) => ({ ...row, text: '{"action":"inserted"}' })),
      ['Row "0000000000000005" was inserted: it has no place in the chain.', "Row 5 is missing."],
    ],
    "reordered rows": [
      ([...rows]) => {
        const [one, other] = [rows[2] as HistoryRow, rows[6] as HistoryRow];
        return rows
          .with(2, { ...other, at: one.at, id: one.id })
          .with(6, { ...one, at: other.at, id: other.id });
      },
      [
        "Row 9 was changed: it does not fit its hash.",
        "Row 5 is missing.",
        "Row 5 was changed: it does not fit its hash.",
        "Row 9 is missing.",
      ],
    ],
  };

  it.each(Object.entries(cases))(
    "is reported to have %s, both before and after the tree is started",
    async (...given) => {
      const [, [change, problems]] = given;
      const store = await oldStore(engine, change);
      expect((await auditOf(store)).problems).toEqual(problems);
      await sealAll(store);
      expect((await auditOf(store)).problems).toEqual(problems);
    },
  );

  it("is reported to lack its last rows even if the recorded end of the chain was moved back as well", async () => {
    const store = await oldStore(engine);
    await sealAll(store);
    const tenth = (await store.archive.read("audit", { order: "oldest", limit: 8 })).at(-1);
    const { position, hash } = (tenth?.body ?? {}) as SealedPoint;
    await tamper(store, await dumpStore(store.store), (rows) =>
      rows.filter(({ id }) => !/1[12]$/.test(id)),
    );
    const value = { position, ...(hash && { hash }), sealedAt: tenth?.at ?? 0 };
    await store.records.commit([put(sealedPoints, { key: CHAIN_HEAD_KEY, value })]);
    expect((await auditOf(store)).problems).toEqual([
      "Row 13 names another end of the hash chain than the one that is noted.",
    ]);
  });
});
