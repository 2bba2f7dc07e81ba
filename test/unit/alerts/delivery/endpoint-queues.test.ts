import { setImmediate as settled } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  type AttemptOutcome,
  createEndpointQueues,
} from "../../../../src/alerts/delivery/endpoint-queues.ts";

interface Work {
  readonly endpoint: string;
  readonly name: string;
}

/** Lanes whose work ends when the test says so. */
function manualLanes(most = 200, mostOfOne = 200) {
  const clock = { now: 0 };
  const running = new Map<string, (verdict: AttemptOutcome) => void>();
  let calls = 0;
  const lanes = createEndpointQueues<Work>({
    endpointOf: ({ endpoint }) => endpoint,
    ownerOf: ({ endpoint }) => `owner of ${endpoint.slice(0, 1)}`,
    mostOfOne,
    run: ({ name }) => new Promise((resolve) => running.set(name, resolve)),
    onCapacity: () => {
      calls += 1;
    },
    most,
    monotonic: () => clock.now,
  });
  return {
    ...{ lanes, clock },
    names: () => [...running.keys()],
    calls: () => calls,
    add(endpoint: string, ...names: readonly (string | number)[]) {
      for (const name of names) lanes.add({ endpoint, name: `${endpoint}${name}` });
    },
    async end(name: string, verdict: AttemptOutcome) {
      running.get(name)?.(verdict);
      running.delete(name);
      await settled();
    },
  };
}

describe("the lanes of a worker", () => {
  it("run five of an endpoint and keep the rest until one ends", async () => {
    const { lanes, add, names, end } = manualLanes();
    add("a", 1, 2, 3, 4, 5, 6, 7);
    expect(names()).toEqual(["a1", "a2", "a3", "a4", "a5"]);
    expect(lanes.saturated()).toEqual(["a"]);
    await end("a2", "success");
    expect(names()).toEqual(["a1", "a3", "a4", "a5", "a6"]);
    expect(lanes.saturated()).toEqual(["a"]);
    for (const name of ["a1", "a3"]) await end(name, "success");
    expect(lanes.saturated()).toEqual([]);
  });

  it("run another endpoint whatever the first one does", () => {
    const { add, names } = manualLanes();
    add("hole", 1, 2, 3, 4, 5, 6, 7, 8, 9);
    add("b", 1, 2);
    expect(names().filter((name) => name.startsWith("b"))).toEqual(["b1", "b2"]);
  });

  it("give no owner all the places, and ask for more when one is free again", async () => {
    const { lanes, add, calls, end } = manualLanes(10, 4);
    add("a1", 1, 2);
    add("a2", 1, 2);
    add("b1", 1);
    expect(lanes.saturated()).toEqual(["owner of a"]);
    await end("a11", "success");
    expect(lanes.saturated()).toEqual([]);
    expect(calls()).toBe(1);
  });

  it("ask for more only when there was no room for it before", async () => {
    const { add, calls, end } = manualLanes();
    add("a", 1, 2, 3, 4);
    await end("a1", "success");
    expect(calls()).toBe(0);
    add("a", 5, 6);
    await end("a2", "success");
    expect(calls()).toBe(1);
  });

  it("have room for so many of all endpoints together", async () => {
    const { lanes, add, calls, end } = manualLanes(3);
    add("a", 1);
    add("b", 1);
    expect(lanes.capacity).toBe(1);
    add("c", 1);
    expect(lanes.capacity).toBe(0);
    await end("b1", "success");
    expect([lanes.capacity, calls()]).toEqual([1, 1]);
  });

  it("drop what waits for an endpoint when its breaker opens, and try one after the pause", async () => {
    const { lanes, clock, add, names, end } = manualLanes();
    add("a", 1, 2, 3, 4, 5, 6, 7, 8, 9);
    for (const at of [1, 2, 3, 4, 5]) await end(`a${at}`, "failure");
    // Each that failed before the fifth made room for another.
    expect(names()).toEqual(["a6", "a7", "a8", "a9"]);
    for (const name of names()) await end(name, "failure");
    expect(lanes.saturated()).toEqual(["a"]);
    clock.now = 4_999;
    expect(lanes.saturated()).toEqual(["a"]);
    add("a", "early");
    expect([names(), lanes.capacity]).toEqual([[], 200]);
    clock.now = 5_000;
    expect(lanes.saturated()).toEqual([]);
    add("a", "try", "other", "third");
    expect(names()).toEqual(["atry"]);
    expect(lanes.saturated()).toEqual(["a"]);
    await end("atry", "success");
    expect(names()).toEqual(["aother", "athird"]);
    expect(lanes.saturated()).toEqual([]);
  });

  it("learn nothing from work that was not sent", async () => {
    const { lanes, clock, add, names, end } = manualLanes();
    for (const at of [1, 2, 3, 4, 5, 6, 7]) {
      add("a", at);
      await end(`a${at}`, "none");
    }
    expect(lanes.saturated()).toEqual([]);
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

  it("forget an endpoint an hour after it was last heard of", async () => {
    const { lanes, clock, add, names, end } = manualLanes();
    for (const at of [1, 2, 3, 4]) {
      add("a", at);
      await end(`a${at}`, "failure");
    }
    clock.now = 3_600_001;
    expect(lanes.saturated()).toEqual([]);
    add("a", 5);
    await end("a5", "failure");
    add("a", 6);
    expect(names()).toEqual(["a6"]);
  });

  it("give back what waits when they stop, and start nothing more", async () => {
    const { lanes, add, names, end } = manualLanes();
    add("a", 1, 2, 3, 4, 5, 6, 7);
    add("b", 1);
    const { waiting, ended } = lanes.stop();
    expect(waiting.map(({ name }) => name)).toEqual(["a6", "a7"]);
    for (const name of names()) await end(name, "success");
    await ended;
    expect(names()).toEqual([]);
  });
});
