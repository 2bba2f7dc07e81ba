import { Client } from "pg";
import { expect, it, onTestFinished } from "vitest";
import type { ArchiveRow } from "../../../../src/store/port/archive.ts";
import { describePostgres, open, START_MS } from "./server.ts";
import { sql } from "./sql.ts";

const row = (at: number, kind = "audit"): ArchiveRow => ({ kind, at, id: "x", body: { at } });

/** Retry budget of stores that wait for a lock, in milliseconds. */
const PATIENT = { budgetMs: START_MS };

/** The months, as YYYYMM, that have a partition. */
async function monthsOf(url: string): Promise<readonly unknown[]> {
  const rows = await sql(
    url,
    `select right(relname, 6) as month from pg_inherits join pg_class on pg_class.oid = inhrelid
     where inhparent = 'market_signal.archive'::regclass order by month`,
  );
  return rows.map((one) => Object.values(one)[0]);
}

const [january, february, march] = [0, 1, 2].map((month) => Date.UTC(2024, month)) as [
  number,
  number,
  number,
];

describePostgres("the archive, which is partitioned by month,", (server) => {
  it("has a partition for each UTC month that contains rows", async () => {
    const url = await server().createDatabase();
    const { archive } = await open({ url });
    await archive.append([row(february - 1), row(february), row(Date.UTC(1929, 9, 24))]);
    await archive.append([row(march - 1), row(february)]);
    expect(await monthsOf(url)).toEqual(["192910", "202401", "202402"]);
  });

  it("creates each partition only once when many processes need it concurrently", async () => {
    const url = await server().createDatabase();
    const stores = await Promise.all([open({ url }), open({ url }), open({ url })]);
    const rows = Array.from({ length: 36 }, (_, month) => row(Date.UTC(2020, month)));
    const added = await Promise.all(
      stores.map(({ archive }, at) => archive.append(at === 1 ? rows.toReversed() : rows)),
    );
    expect(added.reduce((sum, count) => sum + count)).toBe(36);
    expect(await monthsOf(url)).toHaveLength(36);
  });

  it("creates a partition while a reader has the archive open", async () => {
    const url = await server().createDatabase();
    const { archive, dump } = await open({ url });
    await archive.append([row(january)]);
    const reading = dump()[Symbol.asyncIterator]();
    await reading.next();
    expect(await archive.append([row(february)])).toBe(1);
    expect(await monthsOf(url)).toEqual(["202401", "202402"]);
    await reading.return?.();
  });

  it("drops the partition of a month whose rows are all to be pruned, and otherwise deletes the pruned rows", async () => {
    const url = await server().createDatabase();
    const { archive } = await open({ url });
    await archive.append([
      ...[row(january), row(january + 1), row(february), row(march), row(march + 1)],
      row(february, "delivery"),
    ]);
    expect(await archive.prune("audit", march + 1)).toBe(4);
    expect(await monthsOf(url)).toEqual(["202402", "202403"]);
    expect(await archive.read("delivery", { order: "oldest", limit: 9 })).toHaveLength(1);
    expect(await archive.read("audit", { order: "oldest", limit: 9 })).toEqual([row(march + 1)]);
    expect(await archive.append([row(january)])).toBe(1);
    expect(await monthsOf(url)).toEqual(["202401", "202402", "202403"]);
  });

  it("deletes the rows of a month when a reader prevents dropping the partition", async () => {
    const url = await server().createDatabase();
    const { archive } = await open({ url });
    await archive.append([row(january), row(march)]);
    const reader = new Client({ connectionString: url });
    await reader.connect();
    onTestFinished(() => reader.end());
    await reader.query("begin; select from market_signal.archive");
    expect(await archive.prune("audit", march)).toBe(1);
    expect(await monthsOf(url)).toEqual(["202401", "202403"]);
    expect(await archive.read("audit", { order: "oldest", limit: 9 })).toEqual([row(march)]);
  });

  it("shows rows in the order of their places, even if another append was first and commits last", async () => {
    const url = await server().createDatabase();
    const [slow, fast] = [await open({ url, ...PATIENT }), await open({ url, ...PATIENT })];
    await slow.archive.append([row(january), row(march)]);
    const kinds = new Set(["audit"]);
    const place = await fast.archive.lastPlace();
    const blocker = new Client({ connectionString: url });
    await blocker.connect();
    onTestFinished(() => blocker.end());
    const blocked = () =>
      sql(url, "select pid from pg_stat_activity where wait_event_type = 'Lock'");
    await blocker.query(
      "begin; lock table market_signal.archive_202403 in share row exclusive mode",
    );
    // The first row has its place before the second one waits for the lock.
    const first = slow.archive.append([row(january + 1), row(march + 1)]);
    await expect.poll(blocked, { timeout: START_MS }).toHaveLength(1);
    const second = fast.archive.append([row(january + 2)]);
    await expect.poll(blocked, { timeout: START_MS }).toHaveLength(2);
    expect(await fast.archive.follow(kinds, place, 9)).toEqual({ rows: [], place });
    await blocker.query("rollback");
    await Promise.all([first, second]);
    const { rows } = await fast.archive.follow(kinds, place, 9);
    expect(rows).toEqual([row(january + 1), row(march + 1), row(january + 2)]);
  });

  it("prunes more rows than fit in one step", async () => {
    const { archive } = await open({ url: await server().createDatabase() });
    const rows = Array.from({ length: 12_000 }, (_, at) => row(january + at));
    await archive.append([...rows, row(january, "delivery")]);
    expect(await archive.prune("audit", january + 11_999)).toBe(11_999);
    expect(await archive.read("audit", { order: "oldest", limit: 9 })).toHaveLength(1);
  });

  it("accepts names of the maximum length, and rejects names with more bytes", async () => {
    const { archive } = await open({ url: await server().createDatabase() });
    // 1,000 bytes of text that cannot be compressed.
    const name = (from: number) =>
      Array.from({ length: 333 }, (_, at) => String.fromCodePoint(from + 37 * at))
        .join("")
        .concat("x");
    const longest = { kind: name(0x4e00), at: 0, id: name(0x4e01), subject: name(0x4e02), body: 1 };
    expect(await archive.append([longest])).toBe(1);
    for (const part of ["kind", "id", "subject"] as const) {
      const long = { ...longest, [part]: `${longest[part]}x` };
      await expect(archive.append([long])).rejects.toThrow(RangeError);
    }
  });

  it("rejects instants outside the years 1 to 9999, and fractions of a millisecond", async () => {
    const { archive } = await open({ url: await server().createDatabase() });
    const bounds = [Date.parse("0001-01-01T00:00:00Z"), Date.parse("9999-12-31T23:59:59.999Z")];
    expect(await archive.append(bounds.map((at) => row(at)))).toBe(2);
    for (const at of [Number(bounds[0]) - 1, Number(bounds[1]) + 1, 0.5, Number.NaN]) {
      await expect(archive.append([row(at)])).rejects.toThrow(RangeError);
    }
    const selection = { order: "oldest", from: -Infinity, to: Infinity, limit: 9 } as const;
    expect(await archive.read("audit", selection)).toHaveLength(2);
    expect(await archive.prune("audit", Infinity)).toBe(2);
  });
});
