import { Client } from "pg";
import { expect, it, onTestFinished } from "vitest";
import { insert, put } from "../../../../src/store/port/operations.ts";
import { collection } from "../../../../src/store/port/records.ts";
import { DEADLINE_PASSED_SQLSTATE } from "../../../../src/store/postgres/once-sql.ts";
import { startProxy } from "./proxy.ts";
import { describePostgres, open } from "./server.ts";
import { sql } from "./sql.ts";

const pages = collection<number>("pages");

/** Timeout in milliseconds, short for quick rejections. */
const IMPATIENT_MS = 300;

/** SQL that makes each insert of a row with "slow" in its key or id take `seconds`. */
const slow = (table: string, seconds: number) => `
  create function slow() returns trigger language plpgsql as $$
  begin
    perform pg_sleep(${seconds});
    return new;
  end $$;
  create trigger slow before insert on market_signal.${table}
    for each row when (new.${table === "record" ? "key" : "id"} like 'slow%') execute function slow()`;

/** Waits until no other session of the database is active or waiting. */
async function untilIdle(url: string): Promise<void> {
  const busy = `select from pg_stat_activity where datname = current_database()
    and state <> 'idle' and pid <> pg_backend_pid()`;
  while ((await sql(url, busy)).length > 0);
}

describePostgres("a database operation that starts in time but exceeds its deadline", (server) => {
  it("is rolled back, whether it is a commit of one or several operations or an append of rows", async () => {
    const url = await server().createDatabase();
    const { records, archive, counts } = await open({ url, budgetMs: IMPATIENT_MS });
    await sql(url, slow("record", 0.6));
    await sql(url, slow("archive", 0.6).replaceAll(/slow\(\)/g, "slow_row()"));
    await records.commit([put(pages, { key: "warm", value: 1 })]);
    const refused = [
      () => records.commit([put(pages, { key: "slow", value: 1 })]),
      () => records.commit(["slow 1", "slow 2"].map((key) => put(pages, { key, value: 1 }))),
      () => archive.append([{ kind: "k", at: 0, id: "slow", body: 1 }]),
    ];
    for (const work of refused) {
      await expect(work()).rejects.toMatchObject({ code: "store_unavailable" });
      await untilIdle(url);
    }
    expect(await counts()).toEqual({ records: 1, archive: 0 });
    expect(await records.commit([insert(pages, { key: "quick", value: 1 })])).toBe(true);
  });

  it("is rolled back when another session temporarily locks the table", async () => {
    const url = await server().createDatabase();
    const { records } = await open({ url, budgetMs: IMPATIENT_MS });
    await records.commit([put(pages, { key: "warm", value: 1 })]);
    const other = new Client({ connectionString: url });
    await other.connect();
    onTestFinished(() => other.end());
    await other.query("begin; lock table market_signal.record in share mode");
    const commit = records.commit([put(pages, { key: "a", value: 1 })]);
    await expect(commit).rejects.toMatchObject({ code: "store_unavailable" });
    await other.query("rollback");
    await untilIdle(url);
    expect(await records.list(pages, { limit: 9 })).toHaveLength(1);
  });

  it("is committed when it is large, because large commits have a longer deadline", async () => {
    const url = await server().createDatabase();
    const { records } = await open({ url, budgetMs: IMPATIENT_MS });
    await sql(url, slow("record", 0.6));
    const keys = ["slow", ...Array.from({ length: 20_000 }, (_, at) => `${at}`)];
    const many = keys.map((key) => put(pages, { key, value: 1 }));
    expect(await records.commit(many)).toBe(true);
  });
});

describePostgres("a commit that exceeds its deadline", (server) => {
  it("is rejected alone: the commits that wait for it are tried", async () => {
    const url = await server().createDatabase();
    const { records } = await open({ url });
    await sql(
      url,
      `alter function market_signal.once rename to once_given;
       create function market_signal.once(uuid, text, json, bigint, bigint, bigint, uuid)
       returns json language plpgsql as $$
       begin
         if $3::text like '%slow%' then
           raise sqlstate '${DEADLINE_PASSED_SQLSTATE}';
         end if;
         return market_signal.once_given($1, $2, $3, $4, $5, $6, $7);
       end $$`,
    );
    const [slowOne, quickOne] = await Promise.allSettled(
      ["slow", "quick"].map((key) => records.commit([put(pages, { key, value: 1 })])),
    );
    expect(slowOne).toMatchObject({ reason: { code: "store_unavailable" } });
    expect(quickOne).toMatchObject({ value: true });
  });
});

describePostgres("a batch that fails at its second attempt", (server) => {
  it("is reported as applied if the first attempt succeeded", async () => {
    const url = await server().createDatabase();
    const proxy = await startProxy(url);
    const { records } = await open({ url: proxy.url, budgetMs: 5_000 });
    await records.commit([put(pages, { key: "warm", value: 1 })]);
    // The second attempt fails as with a disk error.
    await sql(
      url,
      `create sequence tries;
       alter function market_signal.once rename to once_given;
       create function market_signal.once(uuid, text, json, bigint, bigint, bigint, uuid)
       returns json language plpgsql as $$
       begin
         if $2 = 'commit' and nextval('tries') = 2 then
           raise sqlstate '58030';
         end if;
         return market_signal.once_given($1, $2, $3, $4, $5, $6, $7);
       end $$`,
    );
    const cut = proxy.cutNextAnswer();
    const [held] = await Promise.all([
      records.commit([insert(pages, { key: "a", value: 1 })]),
      cut,
    ]);
    expect(held).toBe(true);
  });
});
