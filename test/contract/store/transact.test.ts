import { expect, it } from "vitest";
import { unsealedAudit } from "../../../src/store/audit-entry.ts";
import { readAll } from "../../../src/store/port/read-all.ts";
import { collection, type RecordRevision, type Records } from "../../../src/store/port/records.ts";
import { type Transaction, transact, transactOnce } from "../../../src/store/transact.ts";
import { describeStores, type Engine, openStore, slowRecords } from "../../support/stores.ts";

interface Member {
  readonly team: string;
  readonly isOnCall: boolean;
}

const counts = collection<number>("counts");
const members = collection<Member>("members", { groups: ({ team }) => [team] });

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);

/** Slowed handles on a store; two if two processes can share the store. */
async function handles(engine: Engine): Promise<readonly [Records, ...Records[]]> {
  const opened = await openStore(engine);
  const others = engine.isShared ? [slowRecords((await opened.openBeside()).records)] : [];
  return [slowRecords(opened.records), ...others];
}

/** Runs a transaction `count` times at once, on all handles. */
function atOnce<T>(
  on: readonly Records[],
  count: number,
  run: (tx: Transaction, at: number) => T | Promise<T>,
): Promise<readonly T[]> {
  return Promise.all(
    numbers(count).map((at) => transact(on[at % on.length] as Records, (tx) => run(tx, at))),
  );
}

/**
 * Runs a transaction that is interrupted once, after its reading.
 *
 * @returns How often the transaction ran.
 */
async function interrupted(
  records: Records,
  read: (tx: Transaction) => Promise<unknown>,
  interruption: (tx: Transaction) => void,
): Promise<number> {
  let runs = 0;
  await transact(records, async (tx) => {
    await read(tx);
    runs += 1;
    if (runs === 1) await transact(records, interruption);
    tx.put(counts, { key: "runs", value: runs });
  });
  expect((await records.get(counts, "runs"))?.value).toBe(runs);
  return runs;
}

describeStores("a transaction", (engine) => {
  it("loses none of 30 concurrent increments", async () => {
    const on = await handles(engine);
    await atOnce(on, 30, async (tx) => {
      const read = await tx.get(counts, "one");
      tx.put(counts, { key: "one", value: (read?.value ?? 0) + 1 });
    });
    expect((await on[0].get(counts, "one"))?.value).toBe(30);
  });

  it("consumes a record for one of 100 concurrent consumers, and the others see that", async () => {
    const on = await handles(engine);
    await transact(on[0], (tx) => tx.put(counts, { key: "code", value: 1 }));
    const isMine = await atOnce(on, 100, async (tx, at) => {
      const code = await tx.get(counts, "code");
      if (code === undefined || code.consumedAt !== undefined) return false;
      tx.consume(counts, "code");
      tx.put(counts, { key: `prize ${at}`, value: at });
      return true;
    });
    expect(isMine.filter((mine) => mine)).toHaveLength(1);
    const prizes = (await readAll(on[0], counts)).filter(({ key }) => key.startsWith("prize"));
    expect(prizes.map(({ value }) => value)).toEqual([isMine.indexOf(true)]);
  });

  it("gives a record to one of 100 concurrent callers that read and remove it", async () => {
    const on = await handles(engine);
    await transact(on[0], (tx) => tx.put(counts, { key: "prize", value: 1 }));
    const isMine = await atOnce(on, 100, async (tx) => {
      if ((await tx.get(counts, "prize")) === undefined) return false;
      tx.remove(counts, "prize");
      return true;
    });
    expect(isMine.filter((mine) => mine)).toHaveLength(1);
  });

  it("can remove a record that it has removed and read again, as composed changes do", async () => {
    const { records } = await openStore(engine);
    await transact(records, (tx) => tx.put(counts, { key: "twice", value: 1 }));
    let attempts = 0;
    await transact(records, async (tx) => {
      attempts += 1;
      for (let at = 0; at < 2; at += 1) {
        await tx.get(counts, "twice");
        tx.remove(counts, "twice");
      }
    });
    expect([attempts, await records.get(counts, "twice")]).toEqual([1, undefined]);
  });

  it("can change and remove the records that it read, in any order with their group", async () => {
    const { records } = await openStore(engine);
    const value: Member = { team: "red", isOnCall: true };
    await transact(records, (tx) => {
      for (const key of ["a", "b", "c"]) tx.insert(members, { key, value });
    });
    await transact(records, async (tx) => {
      const [a] = await tx.list(members, { group: "red", limit: 1 });
      if (a === undefined) throw new Error("It was put there.");
      await tx.get(members, "b");
      tx.update(members, a, { value: { ...value, team: "blue" } });
      tx.remove(members, a.key);
      tx.removeGroup("red");
      tx.remove(members, "b");
      tx.put(members, { key: "b", value });
    });
    expect((await readAll(records, members)).map(({ key }) => key)).toEqual(["b"]);
  });

  it("inserts a record for one of 100 concurrent callers that found it absent", async () => {
    const on = await handles(engine);
    const values = await atOnce(on, 100, async (tx, at) => {
      const there = await tx.get(counts, "one");
      if (there === undefined) tx.insert(counts, { key: "one", value: at });
      return there?.value ?? at;
    });
    expect(new Set(values).size).toBe(1);
  });

  it("keeps a limit on the size of a group, without a record that all of them change", async () => {
    const on = await handles(engine);
    const admitted = await atOnce(on, 20, async (tx, at) => {
      const present = await tx.list(members, { group: "red", limit: 5 });
      if (present.length === 5) return false;
      tx.insert(members, { key: `m${at}`, value: { team: "red", isOnCall: true } });
      return true;
    });
    expect(admitted.filter((each) => each)).toHaveLength(5);
    expect(await readAll(on[0], members, "red")).toHaveLength(5);
  });

  it("leaves one member on call, although each checks the group and changes only itself", async () => {
    const on = await handles(engine);
    const value: Member = { team: "red", isOnCall: true };
    await transact(on[0], (tx) => {
      for (const at of numbers(10)) tx.insert(members, { key: `m${at}`, value });
    });
    await atOnce(on, 10, async (tx, at) => {
      const onCall = (await readAll(tx, members, "red")).filter((each) => each.value.isOnCall);
      const own = onCall.find(({ key }) => key === `m${at}`);
      if (own === undefined || onCall.length === 1) return;
      tx.update(members, own, { value: { ...own.value, isOnCall: false } });
    });
    const left = (await readAll(on[0], members, "red")).filter((each) => each.value.isOnCall);
    expect(left).toHaveLength(1);
  });

  const red: Member = { team: "red", isOnCall: true };
  it.each<[string, (tx: Transaction) => Promise<unknown>, (tx: Transaction) => void]>([
    [
      "a record that it read is changed",
      (tx) => tx.get(members, "a"),
      (tx) => tx.put(members, { key: "a", value: red }),
    ],
    [
      "a record that it read is removed",
      (tx) => tx.get(members, "a"),
      (tx) => tx.remove(members, "a"),
    ],
    [
      "a record that it found absent is created",
      (tx) => tx.get(members, "z"),
      (tx) => tx.put(members, { key: "z", value: { team: "blue", isOnCall: true } }),
    ],
    [
      "a group that it listed gets a member",
      (tx) => tx.list(members, { group: "red", limit: 100 }),
      (tx) => tx.insert(members, { key: "z", value: red }),
    ],
    [
      "an empty group that it listed gets a member",
      (tx) => tx.list(members, { group: "blue", limit: 100 }),
      (tx) => tx.insert(members, { key: "z", value: { team: "blue", isOnCall: true } }),
    ],
    [
      "a group that it listed gets one member and loses another",
      (tx) => tx.list(members, { group: "red", limit: 100 }),
      (tx) => {
        tx.remove(members, "a");
        tx.insert(members, { key: "z", value: red });
      },
    ],
    [
      "a member of a group that it listed is removed and created again",
      (tx) => tx.list(members, { group: "red", limit: 100 }),
      (tx) => {
        tx.remove(members, "b");
        tx.insert(members, { key: "b", value: red });
      },
    ],
    [
      "a group that it listed is removed",
      (tx) => tx.list(members, { group: "red", limit: 100 }),
      (tx) => tx.removeGroup("red"),
    ],
    [
      "the last member of a group that it listed moves to another group",
      (tx) => tx.list(members, { group: "red", limit: 100 }),
      (tx) => tx.put(members, { key: "c", value: { team: "blue", isOnCall: true } }),
    ],
    [
      "a member of a page that it listed is removed",
      (tx) => tx.list(members, { group: "red", limit: 2 }),
      (tx) => tx.remove(members, "b"),
    ],
    [
      "a member of a group that it listed page by page is changed",
      (tx) => readAll(tx, members, "red"),
      (tx) => tx.put(members, { key: "c", value: red }),
    ],
    [
      "a collection that it listed gets a record",
      (tx) => tx.list(members, { limit: 100 }),
      (tx) => tx.insert(members, { key: "z", value: { team: "blue", isOnCall: true } }),
    ],
  ])("runs again if %s", async (_, read, interruption) => {
    const { records } = await openStore(engine);
    await transact(records, (tx) => {
      for (const key of ["a", "b", "c"]) tx.insert(members, { key, value: red });
    });
    expect(await interrupted(records, read, interruption)).toBe(2);
  });

  it.each<[string, (tx: Transaction) => Promise<unknown>, (tx: Transaction) => void]>([
    [
      "another record changes",
      (tx) => tx.get(members, "a"),
      (tx) => tx.put(members, { key: "b", value: red }),
    ],
    [
      "a record joins behind the page that it listed",
      (tx) => tx.list(members, { group: "red", limit: 2 }),
      (tx) => tx.insert(members, { key: "z", value: red }),
    ],
    [
      "another group gets a member",
      (tx) => tx.list(members, { group: "red", limit: 100 }),
      (tx) => tx.insert(members, { key: "z", value: { team: "blue", isOnCall: true } }),
    ],
    [
      "the group gets a member of another collection",
      (tx) => tx.list(members, { group: "red", limit: 100 }),
      (tx) => tx.insert(counts, { key: "a", value: 1, groups: ["red"] }),
    ],
  ])("runs once if %s", async (_, read, interruption) => {
    const { records } = await openStore(engine);
    await transact(records, (tx) => {
      for (const key of ["a", "b", "c"]) tx.insert(members, { key, value: red });
    });
    expect(await interrupted(records, read, interruption)).toBe(1);
  });

  it("runs again if a record that it read expires", async () => {
    const { records, clock } = await openStore(engine);
    await transact(records, (tx) => tx.put(counts, { key: "one", value: 1, ttlMs: 10 }));
    const seen: (number | undefined)[] = [];
    await transact(records, async (tx) => {
      seen.push((await tx.get(counts, "one"))?.value);
      clock.now += 10;
      tx.put(counts, { key: "two", value: 2 });
    });
    expect(seen).toEqual([1, undefined]);
  });

  it("runs again if it reads a record twice and finds it changed", async () => {
    const { records } = await openStore(engine);
    const change = () => transact(records, (tx) => tx.put(counts, { key: "one", value: 1 }));
    let runs = 0;
    await transact(records, async (tx) => {
      await tx.get(counts, "one");
      runs += 1;
      if (runs === 1) await change();
      await tx.get(counts, "one");
      tx.put(counts, { key: "two", value: runs });
    });
    expect(runs).toBe(2);
  });

  it("is not committed if a record that it checks was changed since it was read", async () => {
    const { records } = await openStore(engine);
    const change = () => transact(records, (tx) => tx.put(counts, { key: "one", value: 1 }));
    const checked = (read: RecordRevision) =>
      transactOnce(records, (tx) => {
        tx.check(counts, read);
        tx.put(counts, { key: "two", value: read.revision });
      });
    await change();
    const [read] = await records.list(counts, { limit: 1 });
    if (read === undefined) throw new Error("It was put there.");
    expect(await checked(read)).toBe(true);
    await change();
    expect(await checked(read)).toBe(false);
  });

  it("runs again if a member of a group that it listed is claimed", async () => {
    const { records } = await openStore(engine);
    await transact(records, (tx) => tx.put(members, { key: "a", value: red, dueInMs: 0 }));
    let runs = 0;
    await transact(records, async (tx) => {
      await tx.list(members, { group: "red", limit: 100 });
      runs += 1;
      if (runs === 1) await records.claimDue(members, { limit: 1, leaseMs: 1 });
      tx.put(counts, { key: "runs", value: runs });
    });
    expect(runs).toBe(2);
  });

  it("runs again if a member of a group that it listed expires", async () => {
    const { records, clock } = await openStore(engine);
    await transact(records, (tx) => {
      tx.put(members, { key: "a", value: red, ttlMs: 10 });
      tx.put(members, { key: "b", value: red });
    });
    const seen: number[] = [];
    await transact(records, async (tx) => {
      seen.push((await tx.list(members, { group: "red", limit: 100 })).length);
      clock.now += 10;
      tx.put(counts, { key: "two", value: 2 });
    });
    expect(seen).toEqual([2, 1]);
  });

  it("gives up after 250 attempts, most of them after a random pause, and writes nothing", async () => {
    const { records } = await openStore(engine);
    let runs = 0;
    let pauses = 0;
    const random = () => {
      pauses += 1;
      return 0;
    };
    const busy = async (tx: Transaction) => {
      await tx.get(counts, "busy");
      runs += 1;
      await transact(records, (other) => other.put(counts, { key: "busy", value: runs }));
      tx.put(counts, { key: "never", value: 1 });
    };
    const always = transact(records, busy, { random });
    await expect(always).rejects.toMatchObject({
      code: "store_unavailable",
      status: 503,
      next: "Try again in a moment.",
    });
    expect([runs, pauses]).toEqual([250, 247]);
    expect(await records.get(counts, "never")).toBeUndefined();
  });

  it("writes nothing if its function throws", async () => {
    const { records } = await openStore(engine);
    const thrown = transact(records, (tx) => {
      tx.put(counts, { key: "one", value: 1 });
      throw new Error("refused");
    });
    await expect(thrown).rejects.toThrow("refused");
    expect(await records.get(counts, "one")).toBeUndefined();
  });

  it("writes records, archive rows and announcements together, and only when it succeeds", async () => {
    const { records, archive } = await openStore(engine);
    const heard: string[] = [];
    const listening = new Promise<void>((resolve) => {
      records.onAnnounce("done", (text) => {
        heard.push(text);
        resolve();
      });
    });
    let runs = 0;
    await transact(records, async (tx) => {
      await tx.get(counts, "one");
      runs += 1;
      if (runs === 1)
        await transact(records, (other) => other.put(counts, { key: "one", value: 0 }));
      tx.insert(unsealedAudit, {
        key: `entry ${runs}`,
        value: { kind: "audit", at: runs, id: `${runs}`, body: {} },
      });
      tx.append({ kind: "attempts", at: runs, id: `${runs}`, body: {} });
      tx.announce("done", `${runs}`);
    });
    await listening;
    expect(heard).toEqual(["2"]);
    expect((await readAll(records, unsealedAudit)).map(({ key }) => key)).toEqual(["entry 2"]);
    const rows = await archive.read("attempts", { order: "oldest", limit: 10 });
    expect(rows.map(({ id }) => id)).toEqual(["2"]);
  });

  it("places a new record as its collection declares, and a change leaves the record there", async () => {
    const { records, clock } = await openStore(engine);
    const passes = collection<Member>("passes", {
      groups: ({ team }, key) => [team, `pass:${key}`],
      ttlMs: 100,
      dueInMs: 5,
    });
    await transact(records, (tx) => {
      tx.insert(passes, { key: "p", value: red });
      tx.insert(passes, { key: "q", value: red, groups: ["guests"], ttlMs: 1, dueInMs: 0 });
    });
    expect(await records.get(passes, "q")).toMatchObject({
      groups: ["red", "pass:q", "guests"],
      expiresAt: clock.now + 1,
      dueAt: clock.now,
    });
    await transact(records, async (tx) => {
      const pass = await tx.get(passes, "p");
      if (pass === undefined) throw new Error("It was put there.");
      tx.update(passes, pass, { value: { ...red, team: "blue" } });
    });
    expect(await records.get(passes, "p")).toMatchObject({
      value: { team: "blue" },
      groups: ["red", "pass:p"],
      expiresAt: clock.now + 100,
      dueAt: clock.now + 5,
    });
    await transact(records, (tx) => tx.removeGroup("pass:p"));
    expect((await readAll(records, passes)).map(({ key }) => key)).toEqual(["q"]);
  });
});
