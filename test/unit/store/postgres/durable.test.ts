import { expect, it } from "vitest";
import { put } from "../../../../src/store/port/operations.ts";
import { collection } from "../../../../src/store/port/records.ts";
import { describeOwnPostgres, open } from "./server.ts";
import { sql } from "./sql.ts";

const pages = collection<number>("pages");

describeOwnPostgres("a database whose commits do not wait for the disk", (server) => {
  it("loses no committed record, archive row, claim of a due record or loaded dump in a crash", async () => {
    const url = await server().createDatabase();
    const database = /test_\d+/.exec(url)?.[0];
    await sql(url, `alter database ${database} set synchronous_commit = off`);
    await sql(url, "alter system set wal_writer_delay = '10s'");
    await sql(url, "select pg_reload_conf()");
    const store = await open({ url, budgetMs: 20_000 });
    const { records, archive } = store;
    const works = [
      () => records.commit([put(pages, { key: "a", value: 1, dueInMs: 0 })]),
      () => archive.append([{ kind: "k", at: 0, id: "a", body: 1 }]),
      () => records.claimDue(pages, { limit: 1, leaseMs: 900_000 }),
      () => store.load({ ...store.identity, mode: "replay" }, copyOf(store)),
    ];
    const states: unknown[] = [];
    for (const work of works) {
      await work();
      const before = await stateOf(url);
      states.push(before);
      await server().restart("immediate");
      expect(await stateOf(url)).toEqual(before);
    }
    expect(new Set(states.map((state) => JSON.stringify(state))).size).toBe(works.length);
  });

  it("triggers a warning if the server never flushes to disk (fsync is off)", async () => {
    const warnings: string[] = [];
    const url = await server().createDatabase();
    await open({ url, onWarning: (text) => warnings.push(text) });
    expect(warnings).toEqual([expect.stringMatching(/"test_\d+" .+: fsync is off.+power cut/)]);
  });
});

async function* copyOf(store: Awaited<ReturnType<typeof open>>) {
  const batches = [];
  for await (const batch of store.dump()) batches.push(batch);
  yield* batches;
}

const stateOf = (url: string) =>
  sql(
    url,
    `select (select json_agg(record) from market_signal.record) as records,
       (select json_agg(archive) from market_signal.archive) as archive,
       (select mode from market_signal.meta) as mode`,
  );
