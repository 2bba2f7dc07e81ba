import { describe, expect, it } from "vitest";
import {
  AUDIT_TREE_KEY,
  type AuditTree,
  auditTrees,
  PRUNED_KEY,
  prunedAudit,
  sealAudit,
} from "../../../../src/maintenance/audit/audit-tree.ts";
import { applyRetention } from "../../../../src/maintenance/retention.ts";
import { auditRowId, writeAuditEntry } from "../../../../src/store/audit-entry.ts";
import { put, remove } from "../../../../src/store/port/operations.ts";
import type { DumpRow } from "../../../../src/store/port/store.ts";
import type { KnownLog } from "../../../../src/tree/known-log.ts";
import { signCheckpoint } from "../../../../src/tree/signers.ts";
import { treeEdgeOf } from "../../../../src/tree/tree-store.ts";
import { AUDIT_KEYS, auditOf, newSigningKeys, sealAll } from "../../../support/audit.ts";
import { stepsOf } from "../../../support/steps-of.ts";
import {
  dumpStore,
  embedded,
  inBatches,
  openStore,
  type TestStore,
} from "../../../support/stores.ts";

type HistoryRow = Extract<DumpRow, { table: "archive" }>;
type Change = (rows: readonly HistoryRow[]) => readonly HistoryRow[];

const DAY_MS = 86_400_000;

async function add(store: TestStore, count: number): Promise<void> {
  const steps = Array.from({ length: count }, (_, index) => {
    const target = `row ${index + 1}`;
    return stepsOf(
      writeAuditEntry,
      { action: "tested", actor: "system", target },
      store.clock.now + index,
    );
  });
  await store.records.commit(steps.flat());
  store.clock.now += 1_000;
}

/** Adds rows and seals them. */
async function sealed(store: TestStore, count: number): Promise<void> {
  await add(store, count);
  await sealAll(store);
}

async function tenRows(): Promise<TestStore> {
  const store = await openStore(embedded);
  for (let n = 0; n < 5; n++) await sealed(store, 2);
  return store;
}

/** Changes archive rows of one kind without using the service. */
async function tamper({ store }: TestStore, kind: string, change: Change): Promise<void> {
  const rows = await dumpStore(store);
  const isOf = (row: DumpRow): row is HistoryRow => row.table === "archive" && row.kind === kind;
  const history = rows.filter(isOf).toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
  const others = rows.filter((row) => !isOf(row));
  await store.load(store.identity, inBatches([...others, ...change(history)], 100));
}

/** Changes the stored record of the audit tree. */
async function tamperTree({ records }: TestStore, change: (tree: AuditTree) => AuditTree) {
  const tree = (await records.get(auditTrees, AUDIT_TREE_KEY))?.value as AuditTree;
  await records.commit([put(auditTrees, { key: AUDIT_TREE_KEY, value: change(tree) })]);
}

/** Returns a change of the row at a position. */
const at =
  (position: number, change: (row: HistoryRow) => Partial<HistoryRow>): Change =>
  (rows) =>
    rows.map((row, index) => (index === position - 1 ? { ...row, ...change(row) } : row));

const rowAt = (rows: readonly HistoryRow[], position: number) => rows[position - 1] as HistoryRow;

const NOT_LEAF = "it is not the one in the tree.";

describe("the verification of the audit log", () => {
  it("reports no problem in rows that the service wrote", async () => {
    expect(await auditOf(await tenRows())).toMatchObject({
      ...{ rows: 10, firstPosition: 1, lastPosition: 10, unsealed: 0, problems: [] },
      checkpoint: expect.stringMatching(/^audit\/[0-9a-f]{12}\n10\n/),
    });
  });

  it("reports no problem in an empty store", async () => {
    expect(await auditOf(await openStore(embedded))).toEqual({
      ...{ rows: 0, firstPosition: undefined, lastPosition: undefined, checkpoint: undefined },
      ...{ unsealed: 0, beforeTree: 0, problems: [] },
    });
  });

  it("counts rows that are not sealed yet", async () => {
    const store = await tenRows();
    await sealed(store, 2);
    await add(store, 3);
    expect(await auditOf(store)).toMatchObject({ rows: 12, unsealed: 3, problems: [] });
  });

  it("reports its progress", async () => {
    const seen: (readonly number[])[] = [];
    await auditOf(await tenRows(), { onProgress: (...done) => seen.push(done) });
    expect(seen).toEqual([[10, 10]]);
  });

  it("accepts gaps left by retention, and no other gaps", async () => {
    const store = await tenRows();
    await applyRetention(store, store.clock.now);
    expect(await auditOf(store)).toMatchObject({ rows: 10, firstPosition: 1, problems: [] });

    store.clock.now += 395 * DAY_MS;
    await sealed(store, 5);
    store.clock.now += 10 * DAY_MS;
    await applyRetention(store, store.clock.now);
    const report = await auditOf(store);
    expect(report).toMatchObject({ rows: 5, firstPosition: 11, lastPosition: 15, problems: [] });

    await tamper(store, "audit", (rows) => rows.slice(1));
    expect((await auditOf(store)).problems).toEqual(["Row 11 is missing."]);
  });

  it("accepts an interrupted retention run, and a retention run that removed every row", async () => {
    const store = await tenRows();
    store.clock.now += 401 * DAY_MS;
    const { records, archive } = store;
    const interrupted = { ...archive, prune: () => Promise.reject(new Error("crashed")) };
    const pruning = applyRetention({ records, archive: interrupted }, store.clock.now);
    await expect(pruning).rejects.toThrow("crashed");
    expect(await auditOf(store)).toMatchObject({ rows: 10, problems: [] });
    await tamper(store, "audit", (rows) => rows.toSpliced(6, 1).slice(4));
    expect(await auditOf(store)).toMatchObject({ firstPosition: 5, problems: [] });

    await applyRetention(store, store.clock.now);
    expect(await auditOf(store)).toMatchObject({ rows: 0, problems: [] });
    await sealed(store, 1);
    expect(await auditOf(store)).toMatchObject({ firstPosition: 11, problems: [] });
  });

  it("accepts a retention run that removes fewer rows than another process did", async () => {
    const store = await tenRows();
    const { records, archive, clock } = store;
    const fifth = await archive.read("audit", { order: "oldest", limit: 5 });
    clock.now += 401 * DAY_MS;
    await applyRetention(store, clock.now);
    const outdated = { ...archive, read: async () => fifth.slice(-1), prune: async () => 0 };
    await applyRetention({ records, archive: outdated }, clock.now);
    await sealed(store, 1);
    expect(await auditOf(store)).toMatchObject({ firstPosition: 11, problems: [] });
  });

  it("succeeds while rows are written, sealed and removed by retention", async () => {
    const store = await openStore(embedded);
    for (let day = 0; day < 3; day++) {
      await sealed(store, 400);
      store.clock.now += 200 * DAY_MS;
    }
    const { records, archive } = store;
    const busy = {
      ...archive,
      async read(...given: Parameters<typeof archive.read>) {
        const rows = await archive.read(...given);
        if (given[0] !== "audit") return rows;
        await applyRetention(store, store.clock.now);
        await sealed(store, 2);
        return rows;
      },
    };
    const report = await auditOf({ records, archive: busy });
    expect(report).toMatchObject({ firstPosition: 1, problems: [] });
    expect(report.rows).toBeGreaterThan(1_000);
  });
});

describe("the verification of an audit log that was tampered with", () => {
  const problemsAfter = async (change: Change): Promise<readonly string[]> => {
    const store = await tenRows();
    await tamper(store, "audit", change);
    return (await auditOf(store)).problems;
  };

  it("reports rows whose content, subject or timestamp was changed", async () => {
    const actor = at(4, ({ text }) => ({ text: text.replace("system", "nobody") }));
    expect(await problemsAfter(actor)).toEqual([`Row 4 was changed: ${NOT_LEAF}`]);
    const subject = at(6, () => ({ subject: "row 9" }));
    expect(await problemsAfter(subject)).toEqual([`Row 6 was changed: ${NOT_LEAF}`]);
    const later = at(6, (row) => ({ at: row.at + DAY_MS }));
    expect(await problemsAfter(later)).toEqual(["Row 6 stands after row 10.", "Row 6 is missing."]);
    const earlier = at(6, (row) => ({ at: row.at - DAY_MS }));
    expect(await problemsAfter(earlier)).toEqual([
      `Row 6 was changed: ${NOT_LEAF}`,
      "Row 6 is missing.",
    ]);
  });

  it("reports every changed row", async () => {
    const store = await openStore(embedded);
    await sealed(store, 300);
    const wrong = [1, 2, 256, 257, 300];
    await tamper(store, "audit", (rows) =>
      rows.map((row, index) => (wrong.includes(index + 1) ? { ...row, subject: "x" } : row)),
    );
    const told = wrong.map((position) => `Row ${position} was changed: ${NOT_LEAF}`);
    expect((await auditOf(store)).problems).toEqual(told);
  });

  it("reports rows removed at the start, in the middle and at the end", async () => {
    expect(await problemsAfter((rows) => rows.slice(2))).toEqual(["Rows 1 to 2 are missing."]);
    expect(await problemsAfter((rows) => rows.toSpliced(4, 1))).toEqual(["Row 5 is missing."]);
    const end = await problemsAfter((rows) => rows.slice(0, 7));
    expect(end).toEqual(["Rows 8 to 10 are missing."]);
    expect(await problemsAfter(() => [])).toEqual(["Rows 1 to 10 are missing."]);
  });

  it("reports inserted rows", async () => {
    const plain: Change = (rows) => [...rows, { ...rowAt(rows, 4), id: "other" }];
    expect(await problemsAfter(plain)).toEqual(['Row "other" was inserted: it has no position.']);
    const between: Change = (rows) => [...rows, { ...rowAt(rows, 5), at: rowAt(rows, 5).at + 1 }];
    expect(await problemsAfter(between)).toEqual(["Row 5 stands after row 6."]);
    const atTheEnd: Change = (rows) => [...rows, { ...rowAt(rows, 10), id: "0000000000000011" }];
    expect(await problemsAfter(atTheEnd)).toEqual(["Row 11 was inserted: the log ends at row 10."]);
  });

  it("reports reordered rows", async () => {
    const swapped: Change = ([...rows]) => {
      const [third, sixth] = [rowAt(rows, 3), rowAt(rows, 6)];
      const moved = (row: HistoryRow, to: HistoryRow) => ({ ...row, at: to.at, id: to.id });
      return rows.with(2, moved(sixth, third)).with(5, moved(third, sixth));
    };
    expect(await problemsAfter(swapped)).toEqual([
      `Row 3 was changed: ${NOT_LEAF}`,
      `Row 6 was changed: ${NOT_LEAF}`,
    ]);
  });

  it("lists at most 100 problems", async () => {
    const store = await openStore(embedded);
    await sealed(store, 120);
    await tamper(store, "audit", (rows) => rows.map((row) => ({ ...row, subject: "changed" })));
    expect((await auditOf(store)).problems).toHaveLength(100);
  });

  it("reports the tile that was changed, removed or broken", async () => {
    for (const body of [Buffer.alloc(8_192, 1).toString("base64"), "AAAA", 5, undefined]) {
      const store = await openStore(embedded);
      await sealed(store, 300);
      await tamper(store, "log-tile", (rows) =>
        rows.flatMap((row) => (body === undefined ? [] : [{ ...row, text: JSON.stringify(body) }])),
      );
      const { problems, known } = await auditOf(store);
      expect(problems.at(0)).toMatch(/^The tree of the audit log, from row 1 on: .*tile/);
      expect(known).toBeUndefined();
    }
  });

  it("reports a tree that differs from the signed tree", async () => {
    const forged = async (change: (tree: AuditTree) => AuditTree) => {
      const store = await tenRows();
      await tamperTree(store, change);
      return (await auditOf(store)).problems.join(" ");
    };
    expect(await forged((tree) => ({ ...tree, edge: [] }))).toMatch(/from row 1 on: .*not whole/);
    expect(await forged((tree) => ({ ...tree, edge: ["AAAA"] }))).toMatch(/not whole/);
    const longer = ([level = ""]: readonly string[]) => [
      Buffer.concat([Buffer.from(level, "base64"), Buffer.alloc(32)]).toString("base64"),
    ];
    const more = await forged((tree) => ({ ...tree, edge: longer(tree.edge) }));
    expect(more).toMatch(/record is not of the tree/);
    const note = await forged((tree) => ({ ...tree, checkpoint: "10 rows" }));
    expect(note).toMatch(/not a signed note/);
    expect(await forged((tree) => ({ ...tree, first: 2 }))).toMatch(/Row 2 was changed/);
    expect(await forged((tree) => ({ ...tree, last: 9 }))).toMatch(/Row 10 was inserted/);
    const unsealed = await forged((tree) => ({ ...tree, last: 11 }));
    expect(unsealed).toMatch(/record is not of the tree/);
    const other = await forged(({ checkpoint, ...tree }) => ({
      ...tree,
      checkpoint: checkpoint.replace("\n10\n", "\n9\n"),
    }));
    expect(other).toMatch(/signature by the key \w+ does not fit the text.*root of the checkpoint/);
    const store = await tenRows();
    await store.records.commit([remove(auditTrees, AUDIT_TREE_KEY)]);
    expect((await auditOf(store)).problems).not.toEqual([]);
  });
});

describe("the saved state of an audit log", () => {
  const lookAt = async (store: TestStore, known?: KnownLog) => {
    const { known: seen, problems } = await auditOf(store, { known, now: () => store.clock.now });
    return { seen, problems };
  };

  it("is consistent with every later state of the log, even after retention and a key rotation", async () => {
    const store = await tenRows();
    const { seen } = await lookAt(store);
    expect(seen?.sightings).toMatchObject([{ size: 10 }]);
    await sealed(store, 290);
    store.clock.now += 401 * DAY_MS;
    await applyRetention(store, store.clock.now);
    await add(store, 1);
    const [old, next] = [
      AUDIT_KEYS.keys("log-signing")[0],
      newSigningKeys().keys("log-signing")[0],
    ];
    const both = { keys: () => [next, old] } as unknown as typeof AUDIT_KEYS;
    await sealAudit({ records: store.records, keyring: both }, () => store.clock.now);
    const later = await lookAt(store, seen);
    expect(later.problems).toEqual([]);
    expect(later.seen?.sightings).toMatchObject([{ size: 10 }, { size: 301 }]);
    expect(later.seen?.keys).toHaveLength(2);
  });

  it("exposes a tree that was rebuilt by a holder of the signing keys", async () => {
    const { seen } = await lookAt(await tenRows());
    const store = await openStore(embedded);
    await sealed(store, 10);
    await tamperTree(store, (tree) => {
      const origin = seen?.origin ?? "";
      const edge = treeEdgeOf(tree);
      const checkpoint = signCheckpoint(AUDIT_KEYS, { origin, size: edge.size, root: edge.root() });
      return { ...tree, origin, checkpoint };
    });
    expect((await lookAt(store, seen)).problems).toEqual([
      expect.stringMatching(
        /^The history of the audit log: the first 10 entries are not those seen/,
      ),
    ]);
  });

  it("counts the rows that versions before 1.0.0 sealed apart from the tree", async () => {
    const store = await openStore(embedded);
    const before = [1, 2, 3].map((position) => ({
      kind: "audit",
      at: position,
      id: auditRowId(position),
      body: { action: "tested", actor: "system", target: "t", position, hash: "of the chain" },
    }));
    await store.archive.append(before);
    const facts = { id: "tree", origin: "audit/tree", checkpoint: "", keys: [], sealedAt: 3 };
    const value: AuditTree = { ...facts, edge: [], first: 4, last: 3 };
    await store.records.commit([put(auditTrees, { key: AUDIT_TREE_KEY, value })]);
    await sealed(store, 2);
    expect(await auditOf(store)).toMatchObject({
      ...{ rows: 5, beforeTree: 3, firstPosition: 1, lastPosition: 5, problems: [] },
    });
  });

  it("exposes rows that were removed before their retention period ended", async () => {
    const store = await tenRows();
    const { seen } = await lookAt(store);
    await sealed(store, 5);
    const removed = { position: 12, sealedAt: 0 };
    await store.records.commit([put(prunedAudit, { key: PRUNED_KEY, value: removed })]);
    await tamper(store, "audit", (rows) => rows.slice(12));
    expect((await lookAt(store, seen)).problems).toEqual([
      "The tree of the audit log, from row 11 on: rows were removed before their time.",
    ]);
    store.clock.now += 401 * DAY_MS;
    expect((await lookAt(store, seen)).problems).toEqual([]);
  });

  it("exposes a tree with another key or name, a tree that was rolled back, and a missing tree", async () => {
    const store = await tenRows();
    const before = (await dumpStore(store.store)).map((row) => ({ ...row }));
    await sealed(store, 3);
    const { seen } = await lookAt(store);
    await store.store.load(store.store.identity, inBatches(before, 100));
    expect((await lookAt(store, seen)).problems).toEqual([
      expect.stringMatching(/^The history of the audit log.*rolled back: 13 entries were seen/),
    ]);
    expect((await lookAt(await tenRows(), seen)).problems).toEqual([
      expect.stringMatching(
        /^The signature of the audit log: the log has another origin than "audit/,
      ),
      expect.stringMatching(/^The history/),
    ]);
    expect((await lookAt(await openStore(embedded), seen)).problems).toEqual([
      expect.stringMatching(/^The audit log audit\/.* that was seen is gone/),
    ]);
  });
});
