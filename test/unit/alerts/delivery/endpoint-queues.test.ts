import { setImmediate as settled } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  type AttemptOutcome,
  EndpointQueues,
} from "../../../../src/alerts/delivery/endpoint-queues.ts";

/** Endpoint queues whose attempts end only when the test calls `end`. */
function manualQueues(maxTotal = 200, maxPerOwner = 40) {
  const clock = { now: 0 };
  const running = new Map<string, (outcome: AttemptOutcome) => void>();
  let calls = 0;
  const queues = new EndpointQueues<string>({
    attempt: (name) => new Promise((resolve) => running.set(name, resolve)),
    onCapacity: () => {
      calls += 1;
    },
    maxTotal,
    maxPerOwner,
    monotonic: () => clock.now,
  });
  return {
    queues,
    clock,
    names: () => [...running.keys()],
    calls: () => calls,
    add(endpoint: string, ...names: readonly (string | number)[]) {
      for (const name of names) {
        queues.add(`${endpoint}${name}`, endpoint, `owner of ${endpoint.slice(0, 1)}`);
      }
    },
    async end(name: string, outcome: AttemptOutcome) {
      running.get(name)?.(outcome);
      running.delete(name);
      await settled();
    },
  };
}

describe("endpoint queues", () => {
  it("run at most five attempts at an endpoint and queue the rest", async () => {
    const { queues, add, names, end } = manualQueues();
    add("a", 1, 2, 3, 4, 5, 6, 7);
    expect(names()).toEqual(["a1", "a2", "a3", "a4", "a5"]);
    expect(queues.saturated()).toEqual(["a"]);
    await end("a2", "success");
    expect(names()).toEqual(["a1", "a3", "a4", "a5", "a6"]);
    expect(queues.saturated()).toEqual(["a"]);
    for (const name of ["a1", "a3"]) await end(name, "success");
    expect(queues.saturated()).toEqual([]);
  });

  it("limit the work of one owner, and report free capacity when an attempt ends", async () => {
    const { queues, add, calls, end } = manualQueues(10, 4);
    add("a1", 1, 2);
    add("a2", 1, 2);
    add("b1", 1);
    expect(queues.saturated()).toEqual(["owner of a"]);
    await end("a11", "success");
    expect(queues.saturated()).toEqual([]);
    expect(calls()).toBe(1);
  });

  it("reserve capacity for an owner without work while five other owners use their full share", () => {
    const { queues, add } = manualQueues();
    const isFull = (owner: string) => queues.saturated().includes(`owner of ${owner}`);
    for (let at = 0; at < 200; at++) {
      for (const owner of ["a", "b", "c", "d", "e"]) {
        if (!isFull(owner)) add(`${owner}${at}`, 1);
      }
    }
    expect(queues.capacity).toBeGreaterThan(50);
    expect(queues.share).toBeGreaterThanOrEqual(5);
    expect(isFull("f")).toBe(false);
  });

  it("report free capacity for all owners when the last attempt of one owner ends, because the other owners' shares grow", async () => {
    const { queues, add, calls, end } = manualQueues(10, 4);
    add("a1", 1, 2);
    add("b1", 1, 2);
    add("c1", 1);
    expect(queues.saturated()).toEqual(["owner of a", "owner of b"]);
    await end("c11", "success");
    expect([queues.saturated(), calls()]).toEqual([[], 1]);
  });

  it("serve owners in rounds when each owner has only one slot", async () => {
    const { queues, add, end } = manualQueues(3, 1);
    for (const owner of ["a", "b", "c"]) add(owner, 1);
    await end("a1", "success");
    expect(queues.saturated()).toContain("owner of a");
    expect(queues.nextRound()).toBe(true);
    expect(queues.saturated()).not.toContain("owner of a");
    expect(queues.nextRound()).toBe(false);
  });

  it("report free capacity only if the queue was full before", async () => {
    const { add, calls, end } = manualQueues();
    add("a", 1, 2, 3, 4);
    await end("a1", "success");
    expect(calls()).toBe(0);
    add("a", 5, 6);
    await end("a2", "success");
    expect(calls()).toBe(1);
  });

  it("limit the total work of all endpoints", async () => {
    const { queues, add, calls, end } = manualQueues(3, 2);
    add("a", 1);
    add("b", 1);
    expect(queues.capacity).toBe(1);
    add("c", 1);
    expect(queues.capacity).toBe(0);
    await end("b1", "success");
    expect([queues.capacity, calls()]).toEqual([1, 1]);
  });

  it("drop queued work when the circuit breaker opens, and send one trial after the pause", async () => {
    const { queues, clock, add, names, end } = manualQueues();
    add("a", 1, 2, 3, 4, 5, 6, 7, 8, 9);
    for (const at of [1, 2, 3, 4, 5]) await end(`a${at}`, "failure");
    // Each of the first four failures freed a slot for a queued attempt.
    expect(names()).toEqual(["a6", "a7", "a8", "a9"]);
    for (const name of names()) await end(name, "failure");
    expect(queues.saturated()).toEqual(["a"]);
    clock.now = 4_999;
    expect(queues.saturated()).toEqual(["a"]);
    add("a", "early");
    expect([names(), queues.capacity]).toEqual([[], 200]);
    clock.now = 5_000;
    expect(queues.saturated()).toEqual([]);
    add("a", "try", "other", "third");
    expect(names()).toEqual(["atry"]);
    expect(queues.saturated()).toEqual(["a"]);
    await end("atry", "success");
    expect(names()).toEqual(["aother", "athird"]);
    expect(queues.saturated()).toEqual([]);
  });

  it("count unsent work neither as a success nor as a failure", async () => {
    const { queues, clock, add, names, end } = manualQueues();
    for (const at of [1, 2, 3, 4, 5, 6, 7]) {
      add("a", at);
      await end(`a${at}`, "none");
    }
    expect(queues.saturated()).toEqual([]);
    for (const at of [1, 2, 3, 4, 5]) {
      add("a", at);
      await end(`a${at}`, "failure");
    }
    clock.now = 5_000;
    add("a", "try");
    await end("atry", "none");
    add("a", "again");
    expect(names()).toEqual(["aagain"]);
  });

  it("forget an endpoint an hour after its last attempt", async () => {
    const { queues, clock, add, names, end } = manualQueues();
    for (const at of [1, 2, 3, 4]) {
      add("a", at);
      await end(`a${at}`, "failure");
    }
    clock.now = 3_600_001;
    expect(queues.saturated()).toEqual([]);
    add("a", 5);
    await end("a5", "failure");
    add("a", 6);
    expect(names()).toEqual(["a6"]);
  });

  it("return queued work and start no further attempt when they are stopped", async () => {
    const { queues, add, names, end } = manualQueues();
    add("a", 1, 2, 3, 4, 5, 6, 7);
    add("b", 1);
    const { waiting, ended } = queues.stop();
    expect(waiting).toEqual(["a6", "a7"]);
    for (const name of names()) await end(name, "success");
    await ended;
    expect(names()).toEqual([]);
  });
});
