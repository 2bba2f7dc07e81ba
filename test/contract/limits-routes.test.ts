import { describe, expect, it } from "vitest";
import { createAuditor } from "../../src/access/auditor.ts";
import { LastUseTracker } from "../../src/access/last-use.ts";
import { allScopes } from "../../src/access/scopes.ts";
import type { ServedRoute } from "../../src/http/served-routes.ts";
import { rateClasses } from "../../src/limits/classes.ts";
import { ApiKeyService } from "../../src/principals/keys/api-keys.ts";
import { parseList } from "../support/structured-list.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

/** Routes without a rate limit, with the reason. */
const UNLIMITED: Readonly<Record<string, string>> = {
  "GET /api/health": "asked by load balancers whatever happens, and costs nothing",
  "GET /livez": "likewise",
  "GET /readyz": "likewise; one write answers every request of a second",
};

/** A RATE_LIMITS setting in which no class allows any request. */
const NONE = Object.keys(rateClasses)
  .map((name) => `${name}=0/0/0`)
  .join(" ");

/** Creates an API key with all scopes directly in the store, which no rate limit counts. */
async function keyFor({ service, clock }: TestService): Promise<string> {
  const { store, keyring } = service.state;
  const { records } = store;
  const now = () => clock.now;
  const onError = (error: unknown) => {
    throw error;
  };
  const keys = new ApiKeyService({
    ...{ records, now, mode: "sandbox" },
    audit: createAuditor({ hashAddress: keyring.hashAddress, now }),
    lastUse: new LastUseTracker({ records, now, onError }),
  });
  const { key } = await keys.create({ name: "test", scopes: allScopes, actor: "test" });
  return key;
}

/** Requests a route with the id of something that does not exist. */
const ask = (
  { base }: TestService,
  { method, path }: ServedRoute,
  headers: Record<string, string> = {},
) =>
  fetch(base + path.replaceAll(/[:*]\w+/g, "x"), {
    method: method === "*" ? "GET" : method,
    redirect: "manual",
    headers,
  });

const nameOf = ({ method, path }: ServedRoute) => `${method} ${path}`;

const limitFields = ({ headers }: Response) => [
  headers.get("ratelimit-policy"),
  headers.get("ratelimit"),
];

describe("every route", () => {
  it("is rate limited, except for the few routes listed in this test", async () => {
    const testService = await startTestService({ RATE_LIMITS: NONE });
    const key = await keyFor(testService);
    const unlimited = [];
    for (const route of testService.service.routes) {
      const { status } = await ask(testService, route, { "x-api-key": key });
      if (status !== 429) unlimited.push(nameOf(route));
    }
    expect(testService.service.routes.length).toBeGreaterThan(60);
    expect(unlimited.toSorted()).toEqual(Object.keys(UNLIMITED).toSorted());
  });

  it("is rate limited for callers without a credential", async () => {
    const testService = await startTestService({ RATE_LIMITS: NONE });
    const startedAt = performance.now();
    for (const route of testService.service.routes) {
      if (nameOf(route) in UNLIMITED) continue;
      const answer = await ask(testService, route);
      expect(answer.status, nameOf(route)).toBe(429);
      // The window began with the first request, so later answers report a wait shorter by whole
      // seconds.
      const left = Number(answer.headers.get("retry-after"));
      const passed = Math.ceil((performance.now() - startedAt) / 1_000);
      expect(left, nameOf(route)).toBeGreaterThanOrEqual(60 - passed);
      expect(left, nameOf(route)).toBeLessThanOrEqual(60);
      expect(limitFields(answer), nameOf(route)).toEqual([
        '"visits";q=0;w=60',
        `"visits";r=0;t=${left}`,
      ]);
    }
  });

  it("is rate limited for callers with a wrong credential", async () => {
    const testService = await startTestService({ RATE_LIMITS: NONE });
    const answer = await fetch(`${testService.base}/api/signals`, {
      headers: { "x-api-key": "wrong" },
    });
    expect(answer.status).toBe(429);
  });

  it("reports each limit once, with what is left, on every answer", async () => {
    const testService = await startTestService();
    const key = await keyFor(testService);
    for (const route of testService.service.routes) {
      if (nameOf(route) in UNLIMITED) continue;
      const answer = await ask(testService, route, { "x-api-key": key });
      await answer.body?.cancel();
      const [policy, left] = limitFields(answer);
      const names = parseList(policy ?? "").map((item) => item.value);
      expect(names, nameOf(route)).toEqual([...new Set(names)]);
      expect([policy, left], nameOf(route)).not.toContain(null);
    }
  });

  it("is rate limited even if the path does not exist", async () => {
    const testService = await startTestService({ RATE_LIMITS: NONE });
    for (const path of ["/nothing", "/oauth/nothing", "/api/nothing", "/.well-known/nothing"]) {
      expect((await fetch(testService.base + path)).status, path).toBe(429);
    }
  });
});
