import { describe, expect, it } from "vitest";
import {
  chainPointOf,
  chainPoints,
  HEAD,
  type SealedEntry,
  sealAudit,
  sealRow,
} from "../../../../src/store/audit/chain.ts";
import { audited } from "../../../../src/store/audit/entry.ts";
import { verifyAudit } from "../../../../src/store/audit/verify-chain.ts";
import { put, remove } from "../../../../src/store/port/operations.ts";
import type { DumpRow } from "../../../../src/store/port/store.ts";
import { applyRetention } from "../../../../src/store/retention.ts";
import { dumped, embedded, inBatches, openStore, type TestStore } from "../../../support/stores.ts";

type HistoryRow = Extract<DumpRow, { table: "archive" }>;

const DAY_MS = 86_400_000;

async function add(store: TestStore, count: number): Promise<void> {
  const steps = Array.from({ length: count }, (_, index) => {
    const target = `row ${index + 1}`;
    return audited({ action: "tested", actor: "system", target }, store.clock.now + index);
  });
  await store.records.commit(steps.flat());
  store.clock.now += 1_000;
}

async function seal({ records, clock }: TestStore): Promise<void> {
  while ((await sealAudit(records, () => clock.now)) > 0);
}

/** Changes the archive behind the back of the service. */
async function tamper(
  { store }: TestStore,
  change: (rows: readonly HistoryRow[]) => readonly HistoryRow[],
): Promise<void> {
  const rows = await dumped(store);
  const records = rows.filter(({ table }) => table === "record");
  const history = rows.filter((row) => row.table === "archive").toSorted((a, b) => a.at - b.at);
  await store.load(store.identity, inBatches([...records, ...change(history)], 100));
}

/** Changes what one row holds. */
const changed =
  (position: number, change: (entry: SealedEntry) => SealedEntry) =>
  (rows: readonly HistoryRow[]): readonly HistoryRow[] =>
    rows.map((row, index) =>
      index === position - 1 ? { ...row, text: JSON.stringify(change(JSON.parse(row.text))) } : row,
    );

/** Makes a row anew so that its own hash is right. */
function forged(row: HistoryRow, after: HistoryRow): HistoryRow {
  const end = chainPointOf({ ...after, subject: "", body: JSON.parse(after.text) });
  const made = sealRow({ ...row, subject: "forged", body: { action: "forged" } }, end, after.at);
  const { at, id, body } = made;
  return { ...row, at, id, subject: "forged", text: JSON.stringify(body) };
}

async function tenRows(): Promise<TestStore> {
  const store = await openStore(embedded);
  for (let n = 0; n < 5; n++) {
    await add(store, 2);
    await seal(store);
  }
  return store;
}

describe("the verification of the audit chain", () => {
  it("finds nothing wrong with what the service wrote", async () => {
    expect(await verifyAudit(await tenRows())).toMatchObject({
      ...{ rows: 10, firstPosition: 1, lastPosition: 10, unsealed: 0, problems: [] },
      lastHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it("finds nothing wrong with an empty store", async () => {
    expect(await verifyAudit(await openStore(embedded))).toEqual({
      ...{ rows: 0, firstPosition: undefined, lastPosition: undefined, lastHash: undefined },
      ...{ unsealed: 0, problems: [] },
    });
  });

  it("counts rows that are not chained yet", async () => {
    const store = await tenRows();
    await add(store, 2);
    await sealAudit(store.records, () => store.clock.now);
    await add(store, 3);
    expect(await verifyAudit(store)).toMatchObject({ rows: 12, unsealed: 3, problems: [] });
  });

  it("reports progress", async () => {
    const seen: (readonly number[])[] = [];
    await verifyAudit(await tenRows(), (...progress) => seen.push(progress));
    expect(seen).toEqual([[10, 10]]);
  });

  it("accepts rows removed by retention, and no other gaps", async () => {
    const store = await tenRows();
    await applyRetention(store, store.clock.now);
    expect(await verifyAudit(store)).toMatchObject({ rows: 10, firstPosition: 1, problems: [] });

    store.clock.now += 395 * DAY_MS;
    await add(store, 5);
    await seal(store);
    store.clock.now += 10 * DAY_MS;
    await applyRetention(store, store.clock.now);
    const report = await verifyAudit(store);
    expect(report).toMatchObject({ rows: 5, firstPosition: 11, lastPosition: 15, problems: [] });

    await tamper(store, (rows) => rows.slice(1));
    expect((await verifyAudit(store)).problems).toEqual(["Row 11 is missing."]);
  });

  it("accepts an interrupted retention, and one that removed everything", async () => {
    const store = await tenRows();
    store.clock.now += 401 * DAY_MS;
    const { records, archive } = store;
    const interrupted = { ...archive, prune: () => Promise.reject(new Error("crashed")) };
    const pruning = applyRetention({ records, archive: interrupted }, store.clock.now);
    await expect(pruning).rejects.toThrow("crashed");
    expect(await verifyAudit(store)).toMatchObject({ rows: 10, problems: [] });
    await tamper(store, (rows) => rows.slice(4));
    expect(await verifyAudit(store)).toMatchObject({ firstPosition: 5, problems: [] });

    await applyRetention(store, store.clock.now);
    expect(await verifyAudit(store)).toMatchObject({ rows: 0, problems: [] });
    await add(store, 1);
    await seal(store);
    expect(await verifyAudit(store)).toMatchObject({ firstPosition: 11, problems: [] });
  });

  it("accepts a process that removes less than another did", async () => {
    const store = await tenRows();
    const { records, archive, clock } = store;
    const fifth = await archive.read("audit", { order: "oldest", limit: 5 });
    clock.now += 401 * DAY_MS;
    await applyRetention(store, clock.now);
    const outdated = { ...archive, read: async () => fifth.slice(-1), prune: async () => 0 };
    await applyRetention({ records, archive: outdated }, clock.now);
    await add(store, 1);
    await seal(store);
    expect(await verifyAudit(store)).toMatchObject({ firstPosition: 11, problems: [] });
  });

  it("continues while rows are written, chained and removed by retention", async () => {
    const store = await openStore(embedded);
    await add(store, 1_500);
    await seal(store);
    store.clock.now += 401 * DAY_MS;
    const { records, archive } = store;
    const busy = {
      ...archive,
      read: async (...given: Parameters<typeof archive.read>) => {
        const rows = await archive.read(...given);
        await applyRetention(store, store.clock.now);
        await add(store, 2);
        await seal(store);
        return rows;
      },
    };
    const report = await verifyAudit({ records, archive: busy });
    expect(report).toMatchObject({ firstPosition: 1, problems: [] });
    expect(report.rows).toBeGreaterThan(1_000);
  });
});

describe("the verification of a chain that was tampered with", () => {
  const problemsAfter = async (
    change: (rows: readonly HistoryRow[]) => readonly HistoryRow[],
  ): Promise<readonly string[]> => {
    const store = await tenRows();
    await tamper(store, change);
    return (await verifyAudit(store)).problems;
  };

  it("reports a row with changed content", async () => {
    const change = changed(4, (entry) => ({ ...entry, actor: "somebody else" }));
    expect(await problemsAfter(change)).toEqual(["Row 4 was changed: it does not fit its hash."]);
  });

  it("reports a row with a changed subject or instant", async () => {
    const subject = (rows: readonly HistoryRow[]) =>
      rows.map((row, index) => (index === 5 ? { ...row, subject: "row 1" } : row));
    expect(await problemsAfter(subject)).toEqual(["Row 6 was changed: it does not fit its hash."]);
    const instant = (rows: readonly HistoryRow[]) =>
      rows.map((row, index) => (index === 5 ? { ...row, at: row.at + DAY_MS } : row));
    expect(await problemsAfter(instant)).toEqual([
      "Row 6 is missing.",
      "Row 6 was changed: it does not fit its hash.",
    ]);
  });

  it("reports a forged row with a recomputed hash", async () => {
    const middle = ([...rows]: readonly HistoryRow[]) =>
      rows.with(4, forged(rows[4] as HistoryRow, rows[3] as HistoryRow));
    expect(await problemsAfter(middle)).toEqual([
      "Row 6 does not follow from row 5: one of them was replaced.",
    ]);
    const newest = ([...rows]: readonly HistoryRow[]) =>
      rows.with(9, forged(rows[9] as HistoryRow, rows[8] as HistoryRow));
    expect(await problemsAfter(newest)).toEqual([
      "Row 10 was replaced: another hash was noted for it.",
    ]);
  });

  it("reports rows removed at the start, in the middle and at the end", async () => {
    expect(await problemsAfter((rows) => rows.slice(2))).toEqual(["Rows 1 to 2 are missing."]);
    expect(await problemsAfter((rows) => rows.toSpliced(4, 1))).toEqual(["Row 5 is missing."]);
    expect(await problemsAfter((rows) => rows.slice(0, 7))).toEqual([
      "Rows 8 to 10 are missing at the end.",
    ]);
    expect(await problemsAfter(() => [])).toEqual(["Rows 1 to 10 are missing at the end."]);
  });

  it("reports inserted rows", async () => {
    const plain = (rows: readonly HistoryRow[]) => [
      ...rows,
      { ...(rows[3] as HistoryRow), id: "other", text: JSON.stringify({ action: "inserted" }) },
    ];
    expect(await problemsAfter(plain)).toEqual([
      'Row "other" was inserted: it has no place in the chain.',
    ]);
    const chained = (rows: readonly HistoryRow[]) => {
      const before = { ...(rows[3] as HistoryRow), at: (rows[3] as HistoryRow).at + 1 };
      return [...rows, forged(before, before)];
    };
    expect(await problemsAfter(chained)).toEqual([
      "Row 5 stands after row 5.",
      "Row 6 does not follow from row 5: one of them was replaced.",
    ]);
    const atTheEnd = (rows: readonly HistoryRow[]) => [
      ...rows,
      forged(rows[9] as HistoryRow, rows[9] as HistoryRow),
    ];
    expect(await problemsAfter(atTheEnd)).toEqual([
      "The chain goes on to row 11, but row 10 was noted as its end.",
    ]);
  });

  it("reports swapped rows", async () => {
    const swapped = ([...rows]: readonly HistoryRow[]) => {
      const [third, sixth] = [rows[2] as HistoryRow, rows[5] as HistoryRow];
      const moved = (row: HistoryRow, { at, id }: HistoryRow) => ({ ...row, at, id });
      return rows.with(2, moved(sixth, third)).with(5, moved(third, sixth));
    };
    expect(await problemsAfter(swapped)).toEqual([
      "Row 6 was changed: it does not fit its hash.",
      "Row 3 is missing.",
      "Row 3 was changed: it does not fit its hash.",
      "Row 6 is missing.",
    ]);
  });

  it("reports a head that was set back or removed", async () => {
    const store = await tenRows();
    const [fifth] = (await store.archive.read("audit", { order: "oldest", limit: 5 })).slice(-1);
    if (fifth === undefined) throw new Error("there are ten rows");
    await store.records.commit([put(chainPoints, { key: HEAD, value: chainPointOf(fifth) })]);
    const told = "The chain goes on to row 10, but row 5 was noted as its end.";
    expect((await verifyAudit(store)).problems).toEqual([told]);
    await store.records.commit([remove(chainPoints, HEAD)]);
    expect((await verifyAudit(store)).problems).toEqual([told.replace("row 5", "row 0")]);
  });

  it("lists at most 100 problems", async () => {
    const store = await openStore(embedded);
    await add(store, 120);
    await seal(store);
    await tamper(store, (rows) => rows.map((row) => ({ ...row, subject: "changed" })));
    expect((await verifyAudit(store)).problems).toHaveLength(100);
  });

  it("reports a first row that does not follow the last one removed by retention", async () => {
    const store = await openStore(embedded);
    await add(store, 3);
    await seal(store);
    store.clock.now += 401 * DAY_MS;
    await add(store, 1);
    await seal(store);
    await applyRetention(store, store.clock.now);
    await tamper(store, ([row]) => {
      const made = { position: 3, hash: "f".repeat(64), sealedAt: 0 };
      const { at, id, body } = sealRow(
        { kind: "audit", at: 0, id: "", body: {} },
        made,
        row?.at ?? 0,
      );
      return [{ ...(row as HistoryRow), at, id, subject: null, text: JSON.stringify(body) }];
    });
    expect((await verifyAudit(store)).problems).toContain(
      "Row 4 does not follow from row 3: one of them was replaced.",
    );
  });
});
