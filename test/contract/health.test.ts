import { expect, it } from "vitest";
import { healthRoute } from "../../src/http/api/health.ts";
import type { ToolContext } from "../../src/tool/tool.ts";
import { serveForTest } from "../support/local-server.ts";
import { listenerOf } from "../support/route-listener.ts";
import { SANDBOX_NOW, startTestService } from "../support/test-service.ts";
import { verifies } from "../support/verifies.ts";

const { base, service, clock } = await startTestService();
const health = async () => {
  const response = await fetch(`${base}/api/health`);
  return { response, body: (await response.json()) as Record<string, unknown> };
};

verifies(
  [
    "1/health",
    "2.1/status",
    "2.1/status-ok",
    "2.1/engine",
    "2.1/timestamp",
    "2.1/security",
    "2.1/security-sanitization",
    "4.1/200",
    "4.1/request",
    "5.4/3-health",
  ],
  "the health endpoint answers everyone, with the time and the protections in force",
  async () => {
    const { response, body } = await health();
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toContain("application/json");
    expect(body).toMatchObject({
      status: "ok",
      engine: expect.stringMatching(
        /^Market Signal and Verification Service \d+\.\d+\.\d+\+[0-9a-f]{12}(\.[0-9a-f]{12})?, market sandbox/,
      ),
      timestamp: SANDBOX_NOW.toISOString(),
    });
    expect(body.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(body).not.toHaveProperty("reasons");
    expect(body.security).toMatch(/^Sanitization is active.*Rate limiting is active/);
  },
);

it("the health endpoint states that the sandbox is simulated, which instruments it covers and until when it has data", async () => {
  const { body } = await health();
  expect(body).toMatchObject({
    market: "sandbox",
    simulated: true,
    asOf: "2026-11-21T05:00:00.000Z",
    engine: expect.stringContaining("simulated"),
  });
  expect(body.instruments).toBeGreaterThanOrEqual(45);
});

it("the health endpoint shows a market time that advances", async () => {
  clock.now = new Date(SANDBOX_NOW.getTime() + 60_000);
  service.refresh();
  expect((await health()).body.asOf).toBe("2026-11-21T05:01:00.000Z");
});

verifies(
  "2.1/status-degraded",
  "the health status is degraded while a component is unhealthy, and the answer states the reason",
  async () => {
    service.drain();
    const { response, body } = await health();
    expect(response.status).toBe(200);
    expect(body).toMatchObject({ status: "degraded", reasons: ["process: stopping"] });
  },
);

it("the health endpoint answers within its time limit when a component hangs", async () => {
  const context = {
    market: {
      ...{ mode: "live", source: { simulated: false } },
      ...{ knownUntil: () => 0, instruments: () => [] },
    },
  } as unknown as ToolContext;
  const silent = () => new Promise<never>(() => {});
  const route = healthRoute({
    context,
    name: "Service",
    now: () => SANDBOX_NOW,
    readiness: silent,
  });
  const base = await serveForTest(listenerOf([route]));
  const response = await fetch(`${base}/api/health`);
  expect([response.status, await response.json()]).toMatchObject([
    200,
    { status: "degraded", reasons: [expect.stringMatching(/^checks: not finished/)] },
  ]);
});
