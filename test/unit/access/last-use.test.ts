import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { deleteLastUse, LastUseTracker } from "../../../src/access/last-use.ts";
import type { Records } from "../../../src/store/port/records.ts";
import { stepsOf } from "../../support/steps-of.ts";
import { embedded, openStore, START, type TestStore } from "../../support/stores.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;

/** Records whose writes are counted; a test can settle the writes or make them fail. */
function watched({ records }: TestStore) {
  const writes: Promise<unknown>[] = [];
  const state = { isDown: false };
  const commit: Records["commit"] = (operations) => {
    const write = state.isDown ? Promise.reject(new Error("down")) : records.commit(operations);
    writes.push(write.catch(() => {}));
    return write;
  };
  /** Waits until the writes that were begun have ended. */
  const settled = async () => {
    await turn();
    await Promise.all(writes);
    await turn();
  };
  return { records: { ...records, commit }, writes, settled, state };
}

function lastUseOf(store: TestStore) {
  const { records, writes, settled, state } = watched(store);
  const errors: unknown[] = [];
  const now = () => new Date(store.clock.now);
  const lastUse = new LastUseTracker({ records, now, onError: (error) => errors.push(error) });
  return { lastUse, writes, settled, state, errors };
}

describe("recorded last uses", () => {
  it("are accurate to the hour", async () => {
    const store = await openStore(embedded);
    store.clock.now += 59 * MINUTE;
    const { lastUse, settled } = lastUseOf(store);
    lastUse.record("agent");
    await settled();
    expect(await lastUse.of(["agent", "other"])).toEqual(new Map([["agent", START]]));
  });

  it("are written once per hour, however often a key or client is used", async () => {
    const store = await openStore(embedded);
    const { lastUse, writes, settled } = lastUseOf(store);
    for (let minute = 0; minute < 120; minute += 1) {
      lastUse.record("agent");
      store.clock.now += MINUTE;
    }
    await settled();
    expect(writes).toHaveLength(2);
    expect(await lastUse.of(["agent"])).toEqual(new Map([["agent", START + HOUR]]));
  });

  it("are written again after a failure, which is reported but delays no request", async () => {
    const store = await openStore(embedded);
    const { lastUse, settled, state, errors } = lastUseOf(store);
    state.isDown = true;
    lastUse.record("agent");
    await settled();
    expect(errors).toHaveLength(1);
    state.isDown = false;
    lastUse.record("agent");
    await settled();
    expect((await lastUse.of(["agent"])).size).toBe(1);
  });

  it("are cached for the newest 10,000 ids", async () => {
    const store = await openStore(embedded);
    const records: Records = { ...store.records, commit: async () => true };
    let writes = 0;
    const counting: Records = {
      ...records,
      async commit() {
        writes += 1;
        return true;
      },
    };
    const now = () => new Date(store.clock.now);
    const lastUse = new LastUseTracker({ records: counting, now, onError: () => {} });
    for (let id = 0; id <= 10_000; id += 1) lastUse.record(`${id}`);
    await turn();
    expect(writes).toBe(10_001);
    lastUse.record("10000");
    lastUse.record("1");
    await turn();
    expect(writes).toBe(10_001);
    lastUse.record("0");
    await turn();
    expect(writes).toBe(10_002);
  });

  it("are deleted with the client or key that was used", async () => {
    const store = await openStore(embedded);
    const { lastUse, settled } = lastUseOf(store);
    lastUse.record("agent");
    await settled();
    await store.records.commit([...stepsOf(deleteLastUse, "agent")]);
    expect((await lastUse.of(["agent"])).size).toBe(0);
  });
});
