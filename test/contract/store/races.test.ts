import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  consume,
  insert,
  put,
  remove,
  removeGroup,
  removeUnchanged,
  replace,
  requireUnchanged,
} from "../../../src/store/port/operations.ts";
import { collection, type Operation, type Records } from "../../../src/store/port/records.ts";
import { describeStores, type Engine, openStore, slowRecords } from "../../support/stores.ts";

const codes = collection<number>("codes");
const jobs = collection<number>("jobs");

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);

/** Returns one handle on a store, or two if two processes can share the store. */
async function handles(engine: Engine): Promise<readonly Records[]> {
  const opened = await openStore(engine);
  if (!engine.isShared) return [opened.records];
  return [opened.records, (await opened.openBeside()).records];
}

/** Makes `count` concurrent calls, distributed over the handles of a store. */
function atOnce<T>(
  on: readonly Records[],
  count: number,
  call: (records: Records, number: number) => Promise<T>,
): Promise<readonly T[]> {
  const handle = (at: number) => on[at % on.length] as Records;
  return Promise.all(numbers(count).map((at) => call(handle(at), at)));
}

describeStores("100 concurrent commits to one key", (engine) => {
  const ways: readonly [string, (records: Records) => Records][] = [
    ["", (records) => records],
    [", with a store slowed by 3 ms", slowRecords],
  ];

  describe.each(ways)("exactly one commit succeeds%s", (_, way) => {
    /**
     * Returns the successful callers among 100 that all read the record before any of them commits.
     */
    async function winners(
      steps: (at: number, revision: number) => readonly Operation[],
      first?: Operation,
    ) {
      const on = (await handles(engine)).map(way);
      if (first) await on[0]?.commit([first]);
      const read = await atOnce(on, 100, (records) => records.get(codes, "one"));
      const held = await atOnce(on, 100, (records, at) =>
        records.commit(steps(at, read[at]?.revision ?? 0)),
      );
      return { on, won: numbers(100).filter((at) => held[at]) };
    }

    it.each<[string, readonly Operation[]]>([
      ["without other steps", []],
      [
        "between other steps",
        [put(jobs, { key: "a", value: 1 }), put(jobs, { key: "b", value: 1 })],
      ],
    ])("when all consume the record, %s", async (_where, [before, after]) => {
      const steps = [before, consume(codes, "one"), after].filter((step) => step !== undefined);
      const { on, won } = await winners(() => steps, put(codes, { key: "one", value: 1 }));
      expect(won).toHaveLength(1);
      expect((await on[0]?.get(codes, "one"))?.consumedAt).toBeTypeOf("number");
    });

    it("when all insert the record", async () => {
      const { on, won } = await winners((value) => [insert(codes, { key: "one", value })]);
      expect(won).toHaveLength(1);
      for (const records of on) expect((await records.get(codes, "one"))?.value).toBe(won[0]);
    });

    it("when all insert the record in place of an expired one", async () => {
      const expired = put(codes, { key: "one", value: 1, ttlMs: 0 });
      const { on, won } = await winners((value) => [insert(codes, { key: "one", value })], expired);
      expect(won).toHaveLength(1);
      for (const records of on) expect((await records.get(codes, "one"))?.value).toBe(won[0]);
    });

    it("when all replace the record", async () => {
      const { on, won } = await winners(
        (value, revision) => [replace(codes, { key: "one", revision }, { value })],
        put(codes, { key: "one", value: -1 }),
      );
      expect(won).toHaveLength(1);
      for (const records of on) expect((await records.get(codes, "one"))?.value).toBe(won[0]);
    });

    it("when all remove the record at its revision", async () => {
      const { on, won } = await winners(
        (_at, revision) => [removeUnchanged(codes, { key: "one", revision })],
        put(codes, { key: "one", value: 1 }),
      );
      expect(won).toHaveLength(1);
      for (const records of on) expect(await records.get(codes, "one")).toBeUndefined();
    });

    it("when they consume, replace or remove the record", async () => {
      const { won } = await winners(
        (at, revision) => {
          const read = { key: "one", revision };
          const ways3 = [replace(codes, read, { value: at }), removeUnchanged(codes, read)];
          return [ways3[at % 3] ?? consume(codes, "one")];
        },
        put(codes, { key: "one", value: 1 }),
      );
      // After a replacement, one `consume` can succeed, but no other step at the old revision.
      expect(won.filter((at) => at % 3 !== 2).length).toBeLessThanOrEqual(1);
      expect(won.filter((at) => at % 3 === 2).length).toBeLessThanOrEqual(1);
      expect(won.length).toBeGreaterThanOrEqual(1);
    });

    it("and the rejected commits leave no data behind", async () => {
      const { on, won } = await winners(
        (at) => [
          put(jobs, { key: `before ${at}`, value: at, groups: ["left"] }),
          consume(codes, "one"),
          put(jobs, { key: `after ${at}`, value: at, groups: ["left"] }),
        ],
        put(codes, { key: "one", value: 1 }),
      );
      for (const records of on) {
        const left = await records.list(jobs, { group: "left", limit: 1000 });
        expect(left.map(({ value }) => value)).toEqual([won[0], won[0]]);
      }
    });
  });
});

describeStores("50 concurrent workers", (engine) => {
  it("claim each job exactly once", async () => {
    const on = await handles(engine);
    await on[0]?.commit(
      numbers(500).map((at) => put(jobs, { key: `job ${at}`, value: at, dueInMs: 0 })),
    );
    const got = await atOnce(on, 50, async (records) => {
      const mine: string[] = [];
      for (;;) {
        const batch = await records.claimDue(jobs, { limit: 7, leaseMs: 60_000 });
        if (batch.length === 0) return mine;
        mine.push(...batch.map(({ key }) => key));
      }
    });
    const all = got.flat();
    expect(all).toHaveLength(500);
    expect(new Set(all).size).toBe(500);
  });

  it("claim each job once, even while other workers finish or remove jobs", async () => {
    const on = await handles(engine);
    const due = (at: number) =>
      put(jobs, { key: `job ${at}`, value: at, groups: [`${at % 10}`], dueInMs: 0 });
    await on[0]?.commit(numbers(200).map(due));
    const finished = await atOnce(on, 51, async (records, at) => {
      if (at === 50) {
        await records.commit([removeGroup("3"), removeGroup("7")]);
        return [];
      }
      const batch = await records.claimDue(jobs, { limit: 4, leaseMs: 60_000 });
      const done = batch.map(async (job) =>
        (await records.commit([removeUnchanged(jobs, job)])) ? [job.key] : [],
      );
      return (await Promise.all(done)).flat();
    });
    const all = finished.flat();
    expect(new Set(all).size).toBe(all.length);
    const left = (await on[0]?.list(jobs, { limit: 1000 })) ?? [];
    expect(left.filter(({ key }) => all.includes(key))).toEqual([]);
    expect(left.filter(({ value }) => value % 10 === 3 || value % 10 === 7)).toEqual([]);
    expect(all.length + left.length).toBeGreaterThanOrEqual(160);
  });
});

describeStores("100 commits that check a record's revision", (engine) => {
  it("are applied before the commit that replaces the record, and rejected after it", async () => {
    const on = await handles(engine);
    await on[0]?.commit([put(codes, { key: "one", value: 1 })]);
    const read = await on[0]?.get(codes, "one");
    if (read === undefined) throw new Error("It was put there.");
    const held = await atOnce(on, 101, (records, at) =>
      records.commit(
        at === 50
          ? [replace(codes, read, { value: 2 })]
          : [requireUnchanged(codes, read), put(jobs, { key: `k${at}`, value: at })],
      ),
    );
    expect(held[50]).toBe(true);
    const { revision } = (await on[0]?.get(codes, "one")) ?? { revision: 0 };
    const written = (await on[0]?.list(jobs, { limit: 1000 })) ?? [];
    const won = numbers(101).filter((at) => at !== 50 && held[at]);
    expect(written.map(({ value }) => value).sort((a, b) => a - b)).toEqual(won);
    expect(written.filter((job) => job.revision > revision)).toEqual([]);
    expect(won.length).toBeGreaterThan(0);
    expect(won.length).toBeLessThan(100);
  });
});

describeStores("concurrent commits", (engine) => {
  it("that touch the same records in opposite orders are all applied", async () => {
    const on = await handles(engine);
    const steps = (at: number): readonly Operation[] => {
      const keys = at % 2 === 0 ? ["a", "b", "c"] : ["c", "b", "a"];
      const writes = keys.map((key) => put(codes, { key, value: at, groups: [key] }));
      return at % 5 === 0 ? [removeGroup(keys[0] ?? ""), ...writes] : writes;
    };
    const results = await atOnce(on, 100, (records, at) => records.commit(steps(at)));
    expect(results.every((held) => held)).toBe(true);
    const values = (await on[0]?.list(codes, { limit: 9 }))?.map(({ value }) => value);
    expect(new Set(values).size).toBe(1);
    expect(values).toHaveLength(3);
  });

  it("are visible either as a whole or not at all", async () => {
    const on = await handles(engine);
    const [from, to] = ["from", "to"];
    await on[0]?.commit([
      put(codes, { key: from, value: 1000 }),
      put(codes, { key: to, value: 0 }),
    ]);
    const move = async (records: Records) => {
      const [a, b] = await Promise.all([records.get(codes, from), records.get(codes, to)]);
      if (!(a && b)) throw new Error("They never go.");
      return records.commit([
        replace(codes, a, { value: a.value - 1 }),
        replace(codes, b, { value: b.value + 1 }),
      ]);
    };
    const sums = await atOnce(on, 200, async (records, at) => {
      if (at % 2 === 0) return (await move(records)) ? [] : [];
      const list = await records.list(codes, { limit: 9 });
      return [list.reduce((sum, { value }) => sum + value, 0)];
    });
    expect(new Set(sums.flat())).toEqual(new Set([1000]));
    expect((await on[0]?.get(codes, to))?.value).toBeGreaterThan(0);
  });

  it("do not hide a write from a reader that follows the revisions", async () => {
    const on = await handles(engine);
    let writing = true;
    const follow = async (records: Records) => {
      const seen: string[] = [];
      let after = 0;
      for (let isLast = false; !isLast; ) {
        isLast = !writing;
        const page = await records.list(codes, { after, limit: 1000 });
        seen.push(...page.map(({ key }) => key));
        after = page.at(-1)?.revision ?? after;
        await setImmediate();
      }
      return seen;
    };
    const following = Promise.all(on.map(follow));
    await atOnce(on, 20, async (records, at) => {
      for (const round of numbers(10)) {
        await records.commit(
          numbers((at % 3) + 1).map((step) =>
            put(codes, { key: `${at}/${round}/${step}`, value: 1 }),
          ),
        );
      }
    });
    writing = false;
    const all = ((await on[0]?.list(codes, { limit: 1000 })) ?? []).map(({ key }) => key);
    for (const seen of await following) expect(seen).toEqual(all);
  });

  it("are readable through every open store handle as soon as they are announced", async () => {
    const on = await handles(engine);
    for (const round of numbers(20)) {
      const writer = on[round % on.length];
      await writer?.commit([put(codes, { key: "a", value: round })]);
      const read = await Promise.all(on.map((records) => records.get(codes, "a")));
      expect(read.map((stored) => stored?.value)).toEqual(on.map(() => round));
    }
  });

  it("do not fail because another commit in the same batch fails", async () => {
    const on = await handles(engine);
    const kinds: readonly (readonly [string, (at: number) => Operation])[] = [
      ["holds", (at) => put(codes, { key: `k${at}`, value: at })],
      ["does not", () => consume(codes, "none")],
      ["holds", (at) => put(jobs, { key: `k${at}`, value: at, groups: [`g${at}`] })],
      ["is refused", () => put(codes, { key: "a\0", value: 1 })],
      ["holds", (at) => insert(codes, { key: `k${at}`, value: at, ttlMs: 1e300, dueInMs: -1e300 })],
      ["is refused", (at) => put(collection<unknown>("big"), { key: `k${at}`, value: BigInt(at) })],
    ];
    const told = await atOnce(on, 120, async (records, at) => {
      const steps = [
        put(jobs, { key: `with ${at}`, value: at }),
        ...kinds.map(([, step]) => step(at)).slice(at % 6, (at % 6) + 1),
      ];
      return records.commit(steps).then(
        (held) => (held ? "holds" : "does not"),
        () => "is refused",
      );
    });
    expect(told).toEqual(numbers(120).map((at) => kinds[at % 6]?.[0]));
    const left = (await on[0]?.list(jobs, { limit: 1000 })) ?? [];
    expect(left.filter(({ key }) => key.startsWith("with"))).toHaveLength(60);
  });

  it("can replace an expired record while it is being purged", async () => {
    const on = await handles(engine);
    const key = (at: number) => `k${at % 50}`;
    const expired = numbers(50).map((at) => put(codes, { key: key(at), value: -1, ttlMs: 0 }));
    await on[0]?.commit([...expired, put(jobs, { key: "gone", value: 1, ttlMs: 0 })]);
    const held = await atOnce(on, 120, async (records, at) => {
      if (at >= 100) return void (await records.purgeExpired(10));
      return records.commit([insert(codes, { key: key(at), value: at })]);
    });
    expect(held.filter((each) => each)).toHaveLength(50);
    while ((await on[0]?.purgeExpired(10)) !== 0);
    const left = (await on[0]?.list(codes, { limit: 100 })) ?? [];
    expect(new Set(left.map(({ value }) => value))).toEqual(
      new Set(numbers(100).filter((at) => held[at])),
    );
  });

  it("can put, insert and remove one key, and the last commit determines the result", async () => {
    const on = await handles(engine);
    const results = await atOnce(on, 150, (records, at) => {
      const ways = [put(codes, { key: "a", value: at }), remove(codes, "a")];
      return records.commit([ways[at % 3] ?? insert(codes, { key: "a", value: at })]);
    });
    expect(results.filter((_, at) => at % 3 !== 2).every((held) => held)).toBe(true);
    const left = await on[0]?.get(codes, "a");
    const list = await on[0]?.list(codes, { limit: 9 });
    expect(list).toEqual(left ? [left] : []);
    expect(await on[0]?.commit([insert(codes, { key: "a", value: 0 })])).toBe(left === undefined);
  });
});
