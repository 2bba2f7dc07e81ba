// @module-tag nightly

import { afterAll, beforeAll, expect, it } from "vitest";
import { mixFor, type RequestKind } from "../load/mix.ts";
import { offerLoad, saturate } from "../load/offered.ts";
import { type LoadedService, startLoaded } from "../load/service.ts";

/** Duration of one load, in milliseconds. The complete load test is test/load/overload.ts. */
const LOAD_MS = 3_000;

/** Load as a multiple of capacity, so high that every machine must reject a part. */
const FAR_TOO_MANY = 8;

let service: LoadedService;
let kinds: readonly RequestKind[];

beforeAll(async () => {
  service = await startLoaded();
  kinds = await mixFor(service.baseUrl);
});
afterAll(() => service.stop());

it("the service answers or rejects every request under overload, stays healthy, and recovers", async () => {
  const { port } = service;
  const calm = await saturate({ port, kinds, ms: LOAD_MS, callers: 32 });
  expect(new Set(calm.outcomes.map(({ status }) => status))).toEqual(new Set([200]));
  const perSecond = (FAR_TOO_MANY * calm.outcomes.length * 1000) / LOAD_MS;
  const memoryBefore = service.usage().rssMb;

  const { outcomes, health } = await offerLoad({ port, kinds, ms: LOAD_MS, perSecond });
  const statuses = new Set(outcomes.map(({ status }) => status));
  expect([...statuses].filter((status) => ![200, 429, 503].includes(status))).toEqual([]);
  expect(statuses).toContain(200);
  expect(health.length).toBeGreaterThan(0);
  expect(health.every(Number.isFinite)).toBe(true);
  expect(service.usage().rssMb - memoryBefore).toBeLessThan(300);

  const after = await saturate({ port, kinds, ms: LOAD_MS, callers: 8 });
  expect(new Set(after.outcomes.map(({ status }) => status))).toEqual(new Set([200]));
});

it("the service answers a hundred agents that call at the same time", async () => {
  const { port } = service;
  const signals = kinds.filter(({ name }) => name === "signal");
  const { outcomes } = await saturate({ port, kinds: signals, ms: 1, callers: 100 });
  expect(outcomes).toHaveLength(100);
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([200]));
});
