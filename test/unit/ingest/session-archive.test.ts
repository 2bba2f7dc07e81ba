import { describe, expect, it } from "vitest";
import {
  createSessionArchiveJob,
  type SessionArchiveJobOptions,
} from "../../../src/ingest/session-archive.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Archive } from "../../../src/store/port/archive.ts";
import { describeEngines, embedded, openStore, type TestStore } from "../../support/stores.ts";

const at = (day: number) => Date.UTC(2014, 0, 1) + day * DAY_MS;

interface Final {
  readonly instrument: { readonly symbol: string };
  readonly at: number;
  readonly score: number;
  readonly tables: { readonly epoch: number; readonly momentum: ReadonlyMap<string, number> };
}

/** Creates scores in memory, which are known up to an instant that the test sets. */
function memory(symbols: readonly string[]) {
  const finals: Final[] = [];
  let until = 0;
  return {
    /** Closes a session of every symbol. */
    close(day: number, score = 50) {
      const tables = { epoch: at(day - 1), momentum: new Map([["", score]]) };
      for (const symbol of symbols) {
        finals.push({ instrument: { symbol }, at: at(day), score, tables });
      }
      until = at(day);
    },
    know(time: number) {
      until = time;
    },
    knownUntil: () => until,
    snapshots: {
      allNewest: () =>
        symbols.map((symbol) => finals.findLast((s) => s.instrument.symbol === symbol)),
      history: (symbol: string, from: number, to: number) =>
        finals.filter((s) => s.instrument.symbol === symbol && s.at >= from && s.at <= to),
    } as unknown as SessionArchiveJobOptions["snapshots"],
  };
}

type Memory = ReturnType<typeof memory>;

function recorder({ snapshots, knownUntil }: Memory, archive: Archive, hasWholeHistory = true) {
  const idOf: SessionArchiveJobOptions["idOf"] = ({ instrument, at }) =>
    `${instrument.symbol}/${at}`;
  return createSessionArchiveJob({
    ...{ archive, snapshots, knownUntil, dayMs: DAY_MS, hasWholeHistory, idOf },
  });
}

/**
 * @returns The number of snapshots that each step wrote, without the final step, which wrote none.
 */
async function run(step: () => Promise<number>): Promise<readonly number[]> {
  const found: number[] = [];
  for (;;) {
    const count = await step();
    if (count === 0) return found;
    found.push(count);
  }
}

async function recorded({ archive }: TestStore) {
  const rows = await archive.read("snapshot", { order: "oldest", limit: 10_000 });
  return rows.map(({ at, subject }) => `${new Date(at).toISOString().slice(0, 10)} ${subject}`);
}

describe("the recorder of sessions", () => {
  it("stores every final snapshot once, in the order of closes", async () => {
    const store = await openStore(embedded);
    const market = memory(["A", "B"]);
    market.close(0, 61);
    market.close(1, 62);
    const step = recorder(market, store.archive);
    expect(await run(step)).toEqual([4]);
    expect(await recorded(store)).toEqual([
      "2014-01-01 A",
      "2014-01-01 B",
      "2014-01-02 A",
      "2014-01-02 B",
    ]);
    const [first] = await store.archive.read("snapshot", { order: "oldest", limit: 1 });
    expect(first).toEqual({
      kind: "snapshot",
      at: at(0),
      id: `A/${at(0)}`,
      subject: "A",
      body: { instrument: { symbol: "A" }, at: at(0), score: 61, tablesEpoch: at(-1) },
    });

    expect(await run(step)).toEqual([]);
    market.know(at(1) + 3_600_000);
    expect(await run(step)).toEqual([]);
    market.close(2);
    expect(await run(step)).toEqual([2]);
    expect(await recorded(store)).toHaveLength(6);
  });

  it("starts with the first close after its own first start when history arrives gradually", async () => {
    const store = await openStore(embedded);
    const market = memory(["A"]);
    market.close(0);
    market.close(1);
    market.know(at(1) + 3_600_000);
    const step = recorder(market, store.archive, false);
    expect(await run(step)).toEqual([]);
    market.close(2);
    expect(await run(step)).toEqual([1]);
    market.close(3);
    expect(await run(recorder(market, store.archive, false))).toEqual([2]);
    expect(await recorded(store)).toEqual(["2014-01-03 A", "2014-01-04 A"]);
  });

  it("writes at most 200 snapshots per step", async () => {
    const store = await openStore(embedded);
    const market = memory(Array.from({ length: 350 }, (_, index) => `S${index}`));
    market.close(0);
    expect(await run(recorder(market, store.archive))).toEqual([200, 150]);
    expect(await recorded(store)).toHaveLength(350);
  });

  it("resumes after a restart where it stopped, even within a session, without duplicates", async () => {
    const store = await openStore(embedded);
    const market = memory(Array.from({ length: 350 }, (_, index) => `S${index}`));
    market.close(0);
    market.close(1);
    const first = recorder(market, store.archive);
    expect([await first(), await first()]).toEqual([200, 200]);
    expect(await recorded(store)).toHaveLength(400);

    const reopened = await store.reopen();
    market.close(2);
    const step = recorder(market, reopened.archive);
    // Completed sessions are not written again.
    expect(await run(step)).toEqual([200, 200, 200, 100]);
    expect(await recorded(reopened)).toHaveLength(1_050);
    expect(await run(step)).toEqual([]);
  });

  it("keeps the first snapshot that was recorded for a session", async () => {
    const store = await openStore(embedded);
    const believed = memory(["A"]);
    believed.close(0, 70);
    await run(recorder(believed, store.archive));
    const revised = memory(["A"]);
    revised.close(0, 30);
    await run(recorder(revised, store.archive));
    const rows = await store.archive.read("snapshot", { order: "oldest", limit: 10 });
    expect(rows.map(({ body }) => (body as Final).score)).toEqual([70]);
  });

  it("catches up on at most 30 days", async () => {
    const store = await openStore(embedded);
    const market = memory(["A"]);
    for (let day = 0; day <= 100; day++) market.close(day);
    await run(recorder(market, store.archive));
    const days = await recorded(store);
    expect([days.length, days[0], days.at(-1)]).toEqual([31, "2014-03-12 A", "2014-04-11 A"]);
  });

  it("records a session that is earlier than the existing records", async () => {
    const store = await openStore(embedded);
    const later = memory(["A"]);
    later.close(200);
    await run(recorder(later, store.archive));
    const earlier = memory(["A"]);
    earlier.close(10);
    await run(recorder(earlier, store.archive));
    expect(await recorded(store)).toEqual(["2014-01-11 A", "2014-07-20 A"]);
  });

  it("repeats failed writes", async () => {
    const store = await openStore(embedded);
    const market = memory(["A", "B"]);
    market.close(0);
    let failures = 2;
    const failing = {
      ...store.archive,
      append: async (rows: Parameters<Archive["append"]>[0]) => {
        if (failures-- > 0) throw new Error("the disk is full");
        return store.archive.append(rows);
      },
    };
    const step = recorder(market, failing);
    await expect(step()).rejects.toThrow("the disk is full");
    market.close(1);
    await expect(step()).rejects.toThrow("the disk is full");
    await run(step);
    expect(await recorded(store)).toHaveLength(4);
  });
});

describeEngines("the recorders of two leaders", (engine) => {
  it("writes no duplicates when two recorders run concurrently", async () => {
    const store = await openStore(engine);
    const market = memory(["A", "B"]);
    for (let day = 0; day < 20; day++) market.close(day);
    const steps = [recorder(market, store.archive), recorder(market, store.archive)];
    await Promise.all(steps.map(run));
    expect(await recorded(store)).toHaveLength(40);
  });
});
