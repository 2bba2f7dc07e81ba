import { expect, it } from "vitest";
import { measuredRecords } from "../../src/store/measured-records.ts";
import { insert } from "../../src/store/port/operations.ts";
import { collection } from "../../src/store/port/records.ts";
import { NO_METERS } from "../../src/telemetry/meters.ts";
import { describeEngines, openStore } from "../support/stores.ts";

const jobs = collection<number>("jobs");
const others = collection<number>("others");

describeEngines("the due records of a store", (engine) => {
  it("are counted unless they have expired, and the age of the oldest is reported", async () => {
    const { store, records, clock } = await openStore(engine);
    expect(await store.backlog(jobs)).toEqual({ waiting: 0, due: 0, oldestDueMs: 0 });
    await records.commit([
      insert(jobs, { key: "now", value: 1, dueInMs: 0 }),
      insert(jobs, { key: "soon", value: 1, dueInMs: 500 }),
      insert(jobs, { key: "later", value: 1, dueInMs: 60_000 }),
      insert(jobs, { key: "gone", value: 1, dueInMs: 0, ttlMs: 100 }),
      insert(jobs, { key: "never", value: 1 }),
      insert(others, { key: "other", value: 1, dueInMs: 0 }),
    ]);
    clock.now += 2_000;
    expect(await store.backlog(jobs)).toEqual({ waiting: 3, due: 2, oldestDueMs: 2_000 });
    await records.claimDue(jobs, { limit: 1, leaseMs: 10_000 });
    expect(await store.backlog(jobs)).toEqual({ waiting: 3, due: 1, oldestDueMs: 1_500 });
  });
});

describeEngines("the size of a store", (engine) => {
  it("is reported as a record count and a size in bytes", async () => {
    const { store, records, archive } = await openStore(engine);
    await records.commit([insert(jobs, { key: "a", value: 1 })]);
    await archive.append([{ kind: "k", at: 1, id: "a", body: "x" }]);
    const { records: count, bytes } = await store.size();
    for (const size of [count, bytes]) {
      expect(Number.isSafeInteger(size)).toBe(true);
      expect(size).toBeGreaterThanOrEqual(0);
    }
    if (engine.name !== "the model") expect(bytes).toBeGreaterThan(0);
  });
});

describeEngines("measured commits", (engine) => {
  it("are counted by their outcome", async () => {
    const { store, records } = await openStore(engine);
    const told: string[] = [];
    const measured = measuredRecords(records, {
      ...NO_METERS,
      commit: (outcome) => void told.push(outcome),
    });
    expect(await measured.commit([insert(jobs, { key: "a", value: 1 })])).toBe(true);
    expect(await measured.commit([insert(jobs, { key: "a", value: 1 })])).toBe(false);
    expect((await measured.get(jobs, "a"))?.value).toBe(1);
    await store.close();
    await expect(measured.commit([insert(jobs, { key: "b", value: 1 })])).rejects.toThrow();
    expect(told).toEqual(["ok", "conflict", "failed"]);
  });
});
