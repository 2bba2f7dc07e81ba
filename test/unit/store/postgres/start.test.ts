import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { Client } from "pg";
import pino from "pino";
import { expect, it, onTestFinished } from "vitest";
import { openPersistentState } from "../../../../src/state.ts";
import { put } from "../../../../src/store/port/operations.ts";
import { collection } from "../../../../src/store/port/records.ts";
import type { StoreMode } from "../../../../src/store/port/store.ts";
import { openPostgres } from "../../../../src/store/postgres/open.ts";
import { transact } from "../../../../src/store/transact.ts";
import { temporaryFolder } from "../../../support/process.ts";
import { describePostgres, open } from "./server.ts";
import { sql } from "./sql.ts";

const pages = collection<number>("pages");

/** Timeout in milliseconds, long enough for a busy machine. */
const PATIENT_MS = 20_000;

/** The database that version 1.0.0 wrote, as SQL. */
const released = (): string => {
  const path = join(import.meta.dirname, "../../../fixtures/released-1.0/postgres.sql.br");
  return brotliDecompressSync(readFileSync(path)).toString();
};

/** SQL query for everything that a schema consists of, apart from its rows and their partitions. */
const PARTS = `
  select part from (
  select indexdef as part from pg_indexes where schemaname = 'market_signal'
  union select conrelid::regclass || ' ' || pg_get_constraintdef(oid) from pg_constraint
    where connamespace = 'market_signal'::regnamespace
  union select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
  union select proname || prosrc from pg_proc
    where pronamespace = 'market_signal'::regnamespace
  union select concat_ws(' ', table_name, column_name, data_type, collation_name, is_nullable)
    from information_schema.columns where table_schema = 'market_signal') as parts
  where part !~ 'archive_[0-9]{6}' order by part`;

/** SQL query for the members of groups, as the records have them. */
const MEMBERS = `
  select distinct name, collection, revision, expires_at
  from market_signal.record cross join unnest(groups) as name order by name, collection, revision`;

describePostgres("the opening of a PostgreSQL database", (server) => {
  it("creates one store, even when three processes open it concurrently", async () => {
    const url = await server().createDatabase();
    const stores = await Promise.all([open({ url }), open({ url }), open({ url })]);
    const ids = new Set(stores.map(({ identity }) => identity.id));
    expect(ids.size).toBe(1);
    await stores[0]?.records.commit([put(pages, { key: "a", value: 1 })]);
    for (const { records } of stores) expect((await records.get(pages, "a"))?.value).toBe(1);
    const versions = await sql(url, "select version from market_signal.migration order by 1");
    expect(versions).toEqual([{ version: 9 }]);
  });

  it("upgrades a store of version 1.0.0 to the same schema, with its records in their groups", async () => {
    const url = await server().createDatabase();
    await sql(url, released());
    await open({ url });
    const created = await server().createDatabase();
    await open({ url: created });
    const parts = await sql(created, PARTS);
    expect(parts.length).toBeGreaterThan(50);
    expect(await sql(url, PARTS)).toEqual(parts);
    const members = "select * from market_signal.member order by name, collection, revision";
    const upgraded = await sql(url, members);
    expect(upgraded.length).toBeGreaterThan(50);
    expect(upgraded).toEqual(await sql(url, MEMBERS));
  });

  it("keeps limits under concurrency, whatever isolation is the default of the database", async () => {
    const url = await server().createDatabase();
    const name = new URL(url).pathname.slice(1);
    await sql(
      url,
      `alter database "${name}" set default_transaction_isolation = 'repeatable read'`,
    );
    const stores = await Promise.all([open({ url }), open({ url }), open({ url })]);
    const takeSeat = ({ records }: (typeof stores)[number], key: string) =>
      transact(records, async (tx) => {
        const seats = await tx.list(pages, { group: "room", limit: 6 });
        if (seats.length < 5) tx.insert(pages, { key, value: 1, groups: ["room"] });
      });
    await Promise.all(
      Array.from({ length: 30 }, (_, at) =>
        takeSeat(stores[at % 3] as (typeof stores)[number], `${at}`),
      ),
    );
    const taken = await stores[0]?.records.list(pages, { group: "room", limit: 30 });
    expect(taken).toHaveLength(5);
  });

  it("finds an existing store of any mode when no mode is given", async () => {
    const url = await server().createDatabase();
    const first = await open({ url, mode: "replay" });
    const again = await openPostgres({ url });
    onTestFinished(() => again.close());
    expect(again.identity).toEqual({ id: first.identity.id, mode: "replay" });
  });

  it("rejects a store of another mode, and says which setting to change", async () => {
    const url = await server().createDatabase();
    await open({ url, mode: "sandbox" });
    await expect(openPostgres({ url, mode: "live" })).rejects.toThrow(
      /"test_\d+" on .+"sandbox".+"live".+DATABASE_URL/,
    );
  });

  it.each([
    ["without a name", ""],
    ["with a name in DATABASE_URL", "mine"],
  ])("sees every other process that uses it, %s", async (_, named) => {
    const url = withName(await server().createDatabase(), named);
    const first = await open({ url });
    expect(await first.otherProcesses?.()).toEqual([]);
    const second = await openPostgres({ url });
    expect(await first.otherProcesses?.()).toHaveLength(1);
    expect(await second.otherProcesses?.()).toHaveLength(1);
    await second.close();
    await expect.poll(() => first.otherProcesses?.(), { timeout: PATIENT_MS }).toEqual([]);
  });

  it("sees another process that had to make its connections again", async () => {
    const url = withName(await server().createDatabase(), "mine");
    await open({ url, budgetMs: PATIENT_MS });
    await sql(
      url,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
    const other = await open({ url, budgetMs: PATIENT_MS });
    await expect.poll(() => other.otherProcesses?.(), { timeout: PATIENT_MS }).toHaveLength(1);
  });

  it("sees a process of an earlier version, by the name of its connections", async () => {
    const url = await server().createDatabase();
    const store = await open({ url });
    const earlier = new Client({ connectionString: url, application_name: "market-signal" });
    await earlier.connect();
    expect(await store.otherProcesses?.()).toEqual([
      expect.stringMatching(/^process market-signal on PostgreSQL backend \d+$/),
    ]);
    await earlier.end();
  });

  it.each([
    ["without a name", ""],
    ["with a name in DATABASE_URL", "mine"],
  ])("binds a store only once a start has settled it, %s", async (_, named) => {
    const url = withName(await server().createDatabase(), named);
    const start = (mode: StoreMode) => openPostgres({ url, mode, mustSettle: true });
    const failed = await start("files");
    await failed.records.commit([put(pages, { key: "a", value: 1 })]);
    await failed.close();
    // The server ends a connection a moment after the process has closed it.
    const connected = `select from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`;
    await expect.poll(() => sql(url, connected), { timeout: PATIENT_MS }).toEqual([]);
    await expect(openPostgres({ url })).rejects.toThrow(/there is no store in the database/);
    const second = await start("sandbox");
    onTestFinished(() => second.close());
    expect(await second.records.get(pages, "a")).toBeUndefined();
    await second.records.commit([put(pages, { key: "b", value: 1 })]);
    const beside = await start("sandbox");
    const other = await start("live");
    onTestFinished(() => Promise.all([beside.close(), other.close()]).then(() => undefined));
    expect((await beside.records.get(pages, "b"))?.value).toBe(1);
    await second.settle();
    await beside.settle();
    await expect(other.settle()).rejects.toThrow(/holds a store for the market "sandbox"/);
    const found = await openPostgres({ url });
    onTestFinished(() => found.close());
    expect(found.identity).toEqual(second.identity);
  });

  it("makes the data folder of the process, before anything is written there", async () => {
    const folder = join(temporaryFolder(), "new");
    const masterKey = Buffer.alloc(32, 7).toString("base64");
    const state = await openPersistentState({
      choice: { folder, databaseUrl: await server().createDatabase(), masterKey },
      mode: "sandbox",
      now: Date.now,
      log: pino({ level: "silent" }),
    });
    onTestFinished(() => state.close());
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it("creates nothing when no mode is given", async () => {
    const url = await server().createDatabase();
    await expect(openPostgres({ url })).rejects.toThrow(/there is no store in the database/);
    expect(await sql(url, "select to_regnamespace('market_signal') as schema")).toEqual([
      { schema: null },
    ]);
  });

  it("rejects a schema that is newer than the program", async () => {
    const url = await server().createDatabase();
    await open({ url });
    await sql(url, "insert into market_signal.migration (version) values (99)");
    await expect(openPostgres({ url, mode: "sandbox" })).rejects.toThrow(/newer version.+99/);
  });

  it("rejects a schema of before version 1.0.0, and says how to upgrade it", async () => {
    const url = await server().createDatabase();
    const store = await open({ url });
    await store.close();
    await sql(url, "update market_signal.migration set version = 4");
    await expect(openPostgres({ url, mode: "sandbox" })).rejects.toThrow(
      /"test_\d+" .+before version 1\.0\.0.+start version 1\.0\.0 on it once/,
    );
  });

  it("rejects a store whose move is incomplete, and says how to complete it", async () => {
    const url = await server().createDatabase();
    await open({ url });
    await sql(url, "update market_signal.meta set is_copying = true");
    await expect(openPostgres({ url, mode: "sandbox" })).rejects.toThrow(/migrate --to/);
  });

  it("rejects a database that has records but no store identity", async () => {
    const url = await server().createDatabase();
    const store = await open({ url });
    await store.records.commit([put(pages, { key: "a", value: 1 })]);
    await sql(url, "delete from market_signal.meta");
    const message = /"test_\d+" .+meta.+restore/;
    await expect(openPostgres({ url, mode: "sandbox" })).rejects.toThrow(message);
    await expect(openPostgres({ url })).rejects.toThrow(message);
    expect(await sql(url, "select id from market_signal.meta")).toEqual([]);
  });

  it("rejects a database with another encoding than UTF-8", async () => {
    const url = await server().createDatabase();
    await sql(
      url,
      "create database latin encoding 'LATIN1' locale 'C' locale_provider libc template template0",
    );
    const latin = url.replace(/test_\d+/, "latin");
    await expect(openPostgres({ url: latin, mode: "sandbox" })).rejects.toThrow(
      /"latin" .+LATIN1.+UTF8.+DATABASE_URL/,
    );
  });

  it("uses a schema that an administrator has created for it", async () => {
    const url = await server().createDatabase();
    await sql(url, "create role guest login; create schema market_signal authorization guest");
    const store = await open({ url: url.replace("postgres@", "guest@") });
    expect(await store.records.commit([put(pages, { key: "a", value: 1 })])).toBe(true);
  });

  it("rejects a user without permission to create the schema", async () => {
    const url = await server().createDatabase();
    await sql(url, "create role stranger login");
    const theirs = url.replace("postgres@", "stranger@");
    await expect(openPostgres({ url: theirs, mode: "sandbox" })).rejects.toThrow(
      /permission denied.+rights/,
    );
  });

  it.each([
    ["a database that does not exist", (url: string) => url.replace(/test_\d+/, "nowhere")],
    ["a server that does not exist", (url: string) => url.replace("%2Fmsp-", "%2Fmsq-")],
    ["an invalid URL", () => "postgres://postgres:sesame@[host/db"],
    ["a closed port", () => "postgres://postgres:sesame@127.0.0.1:1/db"],
  ])("does not disclose the password in the URL when the error is about %s", async (_, change) => {
    const url = await server().createDatabase();
    const wrong = change(url.replace("postgres@", "postgres:sesame@"));
    const error = await openPostgres({ url: wrong, mode: "sandbox", budgetMs: 100 }).catch(
      (caught: unknown) => caught,
    );
    expect(error).toBeInstanceOf(Error);
    const { message, stack = "", cause } = error as Error;
    expect(message).toMatch(/DATABASE_URL/);
    expect(
      [message, stack, JSON.stringify({ ...(error as Error) }), String(cause)].join(),
    ).not.toContain("sesame");
  });
});

/** Names the connections of a URL, as an operator may; `""` leaves the name to the program. */
const withName = (url: string, name: string): string =>
  name === "" ? url : `${url}${url.includes("?") ? "&" : "?"}application_name=${name}`;
