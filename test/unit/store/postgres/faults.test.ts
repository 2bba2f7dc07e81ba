import { EventEmitter, once } from "node:events";
import { Client } from "pg";
import { expect, it, onTestFinished } from "vitest";
import {
  announce,
  consume,
  insert,
  put,
  removeGroup,
} from "../../../../src/store/port/operations.ts";
import { collection } from "../../../../src/store/port/records.ts";
import type { Store } from "../../../../src/store/port/store.ts";
import { lockKeySql } from "../../../../src/store/postgres/locks.ts";
import { startProxy } from "./proxy.ts";
import { describeOwnPostgres, describePostgres, open } from "./server.ts";
import { sql } from "./sql.ts";

const pages = collection<number>("pages");

/** Timeout in milliseconds, long enough for a restart on a very busy machine. */
const PATIENT_MS = 20_000;

/**
 * Timeout in milliseconds, short for quick rejections, but longer than a busy machine needs to
 * connect and respond.
 */
const IMPATIENT_MS = 2_000;

/** Starts writers that each insert one record after another, and collects the results. */
function startStorm({ records }: Store, writers: number) {
  const inserted: string[] = [];
  const twice: string[] = [];
  const progress = new EventEmitter();
  let isOver = false;
  const write = async (_: unknown, writer: number) => {
    for (let at = 0; !isOver; at++) {
      const key = `${writer}/${at}`;
      const isNew = await records.commit([insert(pages, { key, value: at })]);
      (isNew ? inserted : twice).push(key);
      progress.emit("write");
    }
  };
  const done = Promise.all(Array.from({ length: writers }, write));
  return {
    inserted,
    /** Keys whose insert was rejected because the key already existed. */
    twice,
    /** Waits for this many more acknowledged writes. */
    async more(count: number) {
      const goal = inserted.length + count;
      while (inserted.length < goal) await Promise.race([once(progress, "write"), done]);
    },
    async end() {
      isOver = true;
      await done;
    },
  };
}

async function keysOf(store: Store): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const batch of store.dump()) {
    for (const row of batch) if (row.table === "record") keys.push(row.key);
  }
  return keys;
}

/** Announces repeatedly until an announcement is received, because a single one may be lost. */
async function untilHeard({ records }: Store, heard: Promise<unknown>): Promise<string> {
  let isHeard = false;
  const done = heard.then(() => {
    isHeard = true;
  });
  while (!isHeard) {
    await records.commit([announce("topic", "again")]);
    await Promise.race([done, new Promise(setImmediate)]);
  }
  return "heard";
}

/** Terminates the database connections that listen for announcements. @returns Their number. */
async function endListening(url: string): Promise<number> {
  const ended = await sql(
    url,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and query like 'listen %'`,
  );
  return ended.length;
}

describeOwnPostgres("a temporarily unavailable database", (server) => {
  it.each(["fast", "immediate"] as const)(
    "neither loses, repeats nor rejects an operation when it restarts in the shutdown mode %s",
    async (how) => {
      const store = await open({
        url: await server().createDatabase(),
        budgetMs: PATIENT_MS,
      });
      const storm = startStorm(store, 20);
      await storm.more(100);
      await server().restart(how);
      await storm.more(100);
      await storm.end();
      expect(storm.twice).toEqual([]);
      expect((await keysOf(store)).toSorted()).toEqual(storm.inserted.toSorted());
    },
  );

  it("applies a commit only once when the response is lost", async () => {
    const proxy = await startProxy(await server().createDatabase());
    const { records } = await open({ url: proxy.url, budgetMs: PATIENT_MS });
    expect(await records.commit([put(pages, { key: "a", value: 1 })])).toBe(true);
    const cut = proxy.cutNextAnswer();
    const steps = [consume(pages, "a"), insert(pages, { key: "b", value: 1 })];
    const [held] = await Promise.all([records.commit(steps), cut]);
    expect(held).toBe(true);
    expect(await records.commit(steps)).toBe(false);
  });

  it("counts archive rows only once when the response is lost", async () => {
    const proxy = await startProxy(await server().createDatabase());
    const { archive } = await open({ url: proxy.url, budgetMs: PATIENT_MS });
    await archive.append([{ kind: "k", at: 0, id: "warm", body: 1 }]);
    const cut = proxy.cutNextAnswer();
    const [added] = await Promise.all([
      archive.append([{ kind: "k", at: 0, id: "a", body: 1 }]),
      cut,
    ]);
    expect(added).toBe(1);
  });
});

describePostgres("a database that accepts connections but does not respond", (server) => {
  const works: readonly [string, (store: Store) => Promise<unknown>][] = [
    ["get", ({ records }) => records.get(pages, "a")],
    ["list", ({ records }) => records.list(pages, { limit: 1 })],
    ["commit", ({ records }) => records.commit([put(pages, { key: "b", value: 1 })])],
    ["claimDue", ({ records }) => records.claimDue(pages, { limit: 1, leaseMs: 1 })],
    ["purgeExpired", ({ records }) => records.purgeExpired(1)],
    ["append", ({ archive }) => archive.append([{ kind: "k", at: 0, id: "a", body: 1 }])],
    ["read", ({ archive }) => archive.read("k", { order: "oldest", limit: 1 })],
    ["prune", ({ archive }) => archive.prune("k", 1)],
    ["counts", (store) => store.counts()],
  ];

  it("fails every operation within a limited time, and is used again when it recovers", async () => {
    const proxy = await startProxy(await server().createDatabase());
    const store = await open({ url: proxy.url, budgetMs: IMPATIENT_MS });
    for (const [, work] of works) await work(store);
    proxy.swallow();
    const start = performance.now();
    const burst = Array.from({ length: 5 }, () => works).flat();
    const outcomes = await Promise.allSettled(burst.map(([, work]) => work(store)));
    // The limit allows one timeout for the operation and one for connecting, with a margin for a
    // busy machine.
    expect(performance.now() - start).toBeLessThan(10 * IMPATIENT_MS);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ reason: { code: "store_unavailable" } });
    }
    proxy.heal();
    for (const [, work] of works) await work(store);
    expect((await store.records.get(pages, "b"))?.value).toBe(1);
  });

  it("never applies a rejected commit later, even if the request arrives late", async () => {
    const proxy = await startProxy(await server().createDatabase());
    const { records } = await open({ url: proxy.url, budgetMs: IMPATIENT_MS });
    await records.commit([put(pages, { key: "a", value: 1 })]);
    const release = proxy.hold();
    const commit = records.commit([put(pages, { key: "b", value: 1 })]);
    await expect(commit).rejects.toMatchObject({ code: "store_unavailable" });
    await release();
    expect(await records.get(pages, "b")).toBeUndefined();
    expect(await records.commit([insert(pages, { key: "c", value: 1 })])).toBe(true);
  });

  it("discloses no SQL statements to callers", async () => {
    const proxy = await startProxy(await server().createDatabase());
    const { records } = await open({ url: proxy.url, budgetMs: IMPATIENT_MS });
    proxy.swallow();
    const error = await records.get(pages, "a").catch((caught: unknown) => caught);
    expect(JSON.stringify(error)).toMatch(/does not answer/);
    expect(JSON.stringify(error)).not.toMatch(/select|market_signal/);
  });

  it("delivers announcements again when it recovers, even if the old connection stays silent", async () => {
    const url = await server().createDatabase();
    const proxy = await startProxy(url);
    const { records } = await open({ url: proxy.url, budgetMs: IMPATIENT_MS });
    const direct = await open({ url });
    const heard = new Promise((resolve) => records.onAnnounce("topic", resolve));
    proxy.swallow();
    await direct.records.commit([announce("topic", "lost")]);
    proxy.heal();
    expect(await untilHeard(direct, heard)).toBe("heard");
  });
});

describePostgres("a database locked by another session", (server) => {
  it("never applies a rejected commit later", async () => {
    const url = await server().createDatabase();
    const { records } = await open({ url, budgetMs: IMPATIENT_MS });
    const other = new Client({ connectionString: url });
    await other.connect();
    onTestFinished(() => other.end());
    await other.query(`select pg_advisory_lock(${lockKeySql("records")})`);
    const commit = records.commit([put(pages, { key: "a", value: 1 })]);
    await expect(commit).rejects.toMatchObject({ code: "store_unavailable" });
    await other.query(`select pg_advisory_unlock(${lockKeySql("records")})`);
    expect(await records.commit([insert(pages, { key: "b", value: 1 })])).toBe(true);
    expect(await records.get(pages, "a")).toBeUndefined();
  });
});

describePostgres("announcements over PostgreSQL", (server) => {
  it("are received again after their connection was terminated", async () => {
    const url = await server().createDatabase();
    const warnings: string[] = [];
    const { records } = await open({ url, onWarning: (text) => warnings.push(text) });
    const direct = await open({ url });
    const heard = new Promise((resolve) => records.onAnnounce("topic", resolve));
    expect(await endListening(url)).toBeGreaterThan(0);
    expect(await untilHeard(direct, heard)).toBe("heard");
    expect(warnings.filter((text) => /announcements/.test(text))).toHaveLength(1);
  });

  it("are rejected together with the whole commit when they are too long for PostgreSQL", async () => {
    const { records } = await open({ url: await server().createDatabase() });
    const steps = [put(pages, { key: "a", value: 1 }), announce("topic", "x".repeat(8_000))];
    await expect(records.commit(steps)).rejects.toThrow(RangeError);
    expect(await records.get(pages, "a")).toBeUndefined();
  });

  it("are still received after foreign notifications on the same channel", async () => {
    const url = await server().createDatabase();
    const { records } = await open({ url });
    const heard = new Promise((resolve) => records.onAnnounce("topic", resolve));
    await sql(url, "select pg_notify('market_signal', 'no json')");
    await sql(url, "select pg_notify('market_signal', '7')");
    await records.commit([announce("topic", "mine")]);
    expect(await heard).toBe("mine");
  });
});

describePostgres("concurrent commits of many callers", (server) => {
  it("are batched, and succeed or fail independently", async () => {
    const { records } = await open({ url: await server().createDatabase() });
    const numbers = Array.from({ length: 500 }, (_, at) => at);
    const held = await Promise.all(
      numbers.map((at) =>
        records.commit([
          put(pages, { key: `${at}`, value: at, groups: ["all"] }),
          insert(pages, { key: `every tenth ${Math.floor(at / 10)}`, value: at }),
        ]),
      ),
    );
    expect(numbers.filter((at) => held[at])).toEqual(numbers.filter((at) => at % 10 === 0));
    expect(await records.list(pages, { group: "all", limit: 1_000 })).toHaveLength(50);
    await records.commit([removeGroup("all")]);
    expect(await records.list(pages, { limit: 1_000 })).toHaveLength(50);
  });

  it("succeed even if PostgreSQL rejects one of them", async () => {
    const url = await server().createDatabase();
    const { records } = await open({ url });
    await sql(url, "alter table market_signal.record add check (key <> 'refused')");
    const outcomes = await Promise.allSettled([
      records.commit([put(pages, { key: "first", value: 1 })]),
      records.commit([put(pages, { key: "a", value: 1 })]),
      records.commit([
        put(pages, { key: "b", value: 1 }),
        put(pages, { key: "refused", value: 1 }),
      ]),
      records.commit([put(pages, { key: "c", value: 1 })]),
    ]);
    expect(outcomes).toMatchObject([
      ...[{ value: true }, { value: true }],
      ...[{ reason: { code: "store_unavailable" } }, { value: true }],
    ]);
    const kept = await records.list(pages, { limit: 9 });
    expect(kept.map((stored) => stored.key)).toEqual(["first", "a", "c"]);
  });

  it("become visible in the order of their revisions", async () => {
    const url = await server().createDatabase();
    const stores = await Promise.all([open({ url }), open({ url }), open({ url })]);
    let isOver = false;
    const follow = async () => {
      const seen: number[] = [];
      for (;;) {
        const isLast = isOver;
        const after = seen.at(-1) ?? 0;
        const page = await stores[0]?.records.list(pages, { after, limit: 10_000 });
        seen.push(...(page ?? []).map(({ revision }) => revision));
        if (isLast) return seen;
      }
    };
    const following = follow();
    await Promise.all(
      Array.from({ length: 600 }, (_, at) =>
        stores[at % 3]?.records.commit([insert(pages, { key: `${at}`, value: at })]),
      ),
    );
    isOver = true;
    expect(await following).toHaveLength(600);
  });
});
