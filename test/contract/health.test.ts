import { expect, it } from "vitest";
import { SANDBOX_NOW, startService } from "../support/service.ts";
import { verifies } from "../support/verifies.ts";

const { base, service, clock } = await startService();
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
    "4.1/200",
    "4.1/request",
    "5.4/3-health",
  ],
  "health answers anyone, with the time and what protects the service",
  async () => {
    const { response, body } = await health();
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toContain("application/json");
    expect(body).toMatchObject({
      status: "ok",
      engine: expect.stringContaining("Market Signal and Verification Service"),
      timestamp: SANDBOX_NOW.toISOString(),
    });
    expect(body.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(body.security).toContain("rate limiting is active");
  },
);

it("says that the sandbox is simulated, what is covered and until when", async () => {
  const { body } = await health();
  expect(body).toMatchObject({
    market: "sandbox",
    simulated: true,
    asOf: "2026-11-21T05:00:00.000Z",
    engine: expect.stringContaining("simulated"),
  });
  expect(body.instruments).toBeGreaterThanOrEqual(45);
});

it("moves on with the market", async () => {
  clock.now = new Date(SANDBOX_NOW.getTime() + 60_000);
  service.refresh();
  expect((await health()).body.asOf).toBe("2026-11-21T05:01:00.000Z");
});
