import fc from "fast-check";
import { expect, it } from "vitest";
import {
  AUDIT_TREE_KEY,
  auditTrees,
  sealAudit,
} from "../../../../src/maintenance/audit/audit-tree.ts";
import { unsealedAudit, writeAuditEntry } from "../../../../src/store/audit-entry.ts";
import type { Records } from "../../../../src/store/port/records.ts";
import type { Store } from "../../../../src/store/port/store.ts";
import { parseCheckpoint } from "../../../../src/tree/checkpoint.ts";
import { AUDIT_KEYS, auditOf } from "../../../support/audit.ts";
import { stepsOf } from "../../../support/steps-of.ts";
import { describeEngines, model, openStore, type TestStore } from "../../../support/stores.ts";

/** Decides when, and whether, each call of the store is made. */
type Gate = <T>(call: () => Promise<T>) => Promise<T>;

const gated = (records: Records, gate: Gate): Records => ({
  ...records,
  get: (from, key) => gate(() => records.get(from, key)),
  list: (from, selection) => gate(() => records.list(from, selection)),
  commit: (operations) => gate(() => records.commit(operations)),
});

/** Simulates a crash at call number `at`, before or after the store has executed the call. */
function crash(at: number, moment: "before" | "after"): Gate {
  let calls = 0;
  return async (call) => {
    calls += 1;
    if (calls < at) return call();
    if (calls === at && moment === "after") await call();
    throw new Error("crashed");
  };
}

const entry = (number: number) => ({
  ...{ action: "tested", actor: "system", target: `row ${number}` },
  detail: { number },
});

function add(store: TestStore, number: number): Promise<boolean> {
  return store.records.commit(stepsOf(writeAuditEntry, entry(number), store.clock.now));
}

const sealerOf =
  ({ clock }: TestStore, records: Records) =>
  () =>
    sealAudit({ records, keyring: AUDIT_KEYS }, () => clock.now);

async function drain(store: TestStore): Promise<void> {
  const seal = sealerOf(store, store.records);
  while ((await seal()) > 0);
}

async function numbers({ archive }: Pick<Store, "archive">): Promise<readonly number[]> {
  const rows = await archive.read("audit", { order: "oldest", limit: 10_000 });
  return rows.map(({ body }) => (body as { detail: { number: number } }).detail.number);
}

describeEngines("the sealer of the audit log", (engine) => {
  it("appends rows to the archive in commit order", async () => {
    const store = await openStore(engine);
    for (let number = 1; number <= 5; number++) await add(store, number);
    await drain(store);
    expect(await numbers(store)).toEqual([1, 2, 3, 4, 5]);
    expect(await store.records.list(unsealedAudit, { limit: 10 })).toEqual([]);
    expect(await auditOf(store)).toMatchObject({ rows: 5, firstPosition: 1, problems: [] });
  });

  it("adds the canonical JSON of a row as a leaf, and signs the tree in the same commit", async () => {
    const store = await openStore(engine);
    const at = store.clock.now;
    await add(store, 1);
    store.clock.now += 250;
    await drain(store);
    const leaf =
      `\0{"at":${at + 250},"body":{"action":"tested","actor":"system","detail":{"number":1},` +
      `"doneAt":${at},"target":"row 1"},"id":"0000000000000001","kind":"audit","subject":"row 1"}`;
    const root = await crypto.subtle.digest("SHA-256", Buffer.from(leaf));
    const tree = (await store.records.get(auditTrees, AUDIT_TREE_KEY))?.value;
    const signed = parseCheckpoint(tree?.checkpoint ?? "");
    expect(signed).toMatchObject({ origin: tree?.origin, size: 1 });
    expect(Buffer.from(signed.root)).toEqual(Buffer.from(root));
  });

  it("keeps the commit order when the clock is set back", async () => {
    const store = await openStore(engine);
    for (let number = 1; number <= 12; number++) {
      await add(store, number);
      await drain(store);
      store.clock.now -= 10_000;
    }
    expect(await numbers(store)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect((await auditOf(store)).problems).toEqual([]);
  });

  it("accepts any text in a row", async () => {
    const store = await openStore(engine);
    const text = "a\0b\ud800c";
    const strange = { ...entry(1), target: text, detail: { text } };
    await store.records.commit(stepsOf(writeAuditEntry, strange, store.clock.now));
    await add(store, 2);
    await drain(store);
    const rows = await store.archive.read("audit", { order: "oldest", limit: 10 });
    expect(rows.map(({ subject }) => subject)).toEqual(["a\uFFFDb\uFFFDc", "row 2"]);
  });

  it("continues the tree after a restart", async () => {
    const store = await openStore(engine);
    await add(store, 1);
    await drain(store);
    await add(store, 2);
    const again = await store.reopen();
    await drain(again);
    expect(await auditOf(again)).toMatchObject({ rows: 2, lastPosition: 2, problems: [] });
  });

  const title =
    "never loses, duplicates or forks rows, wherever a step is killed and however many steps run concurrently";
  it(title, { timeout: 60_000 }, async () => {
    const runs = engine === model ? 300 : 12;
    const property = fc.asyncProperty(fc.array(action, { maxLength: 12 }), fc.scheduler(), inOrder);
    await fc.assert(property, { numRuns: runs, seed: 3 });

    async function inOrder(actions: readonly Action[], scheduler: fc.Scheduler): Promise<void> {
      const world = { store: await openStore(engine), scheduler, added: 0 };
      for (const { kind, ...how } of actions) await events[kind](world, how);
      await drain(world.store);
      const expected = Array.from({ length: world.added }, (_, number) => number);
      expect(await numbers(world.store)).toEqual(expected);
      expect(await auditOf(world.store)).toMatchObject({ unsealed: 0, problems: [] });
    }
  });
});

interface World {
  readonly store: TestStore;
  readonly scheduler: fc.Scheduler;
  added: number;
}

interface How {
  readonly count: number;
  readonly moment: "before" | "after";
}

/** Events that can occur between the commits of a service. */
const events = {
  async add(world: World, { count }: How) {
    for (let n = 0; n < count; n++) await add(world.store, world.added++);
  },
  async setClockBack({ store }: World, { count }: How) {
    store.clock.now -= count * 1_000;
  },
  async crash({ store }: World, { count, moment }: How) {
    const seal = sealerOf(store, gated(store.records, crash(count, moment)));
    // When no rows are waiting, each run of the sealer makes only one call.
    const ended = seal().then(seal).then(seal).then(seal);
    await expect(ended).rejects.toThrow("crashed");
  },
  /** Runs several sealers concurrently, each of which may be delayed at any call. */
  async race({ store, scheduler }: World, { count }: How) {
    const gate: Gate = async (call) => {
      await scheduler.schedule(Promise.resolve());
      return call();
    };
    const sealers = Array.from({ length: count }, () =>
      sealerOf(store, gated(store.records, gate)),
    );
    await scheduler.waitFor(Promise.all(sealers.map((seal) => seal().then(seal))));
  },
};

const kinds = ["add", "setClockBack", "crash", "race"] as const;

interface Action extends How {
  readonly kind: (typeof kinds)[number];
}

const action: fc.Arbitrary<Action> = fc.record({
  kind: fc.constantFrom(...kinds),
  count: fc.integer({ min: 1, max: 4 }),
  moment: fc.constantFrom("before" as const, "after" as const),
});
