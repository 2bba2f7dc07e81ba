import { expect, it } from "vitest";
import { startTestService } from "../support/test-service.ts";

const { base, service } = await startTestService();
const ready = async () => {
  const response = await fetch(`${base}/readyz`);
  return { response, body: (await response.json()) as Record<string, unknown> };
};

it("the service becomes ready once a write has reached the store", async () => {
  const { response, body } = await ready();
  expect(response.status).toBe(200);
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(body).toEqual({
    status: "ready",
    checks: {
      process: { ok: true, detail: "running" },
      store: { ok: true, detail: expect.stringMatching(/^embedded: a write took \d+ ms$/) },
      scores: { ok: true, detail: "current" },
      deliveries: { ok: true, detail: "sent in time" },
      log: { ok: true, detail: "signed" },
    },
  });
});

it("the readiness endpoint answers GET and HEAD, and no other method", async () => {
  expect((await fetch(`${base}/readyz`, { method: "HEAD" })).status).toBe(200);
  const refused = await fetch(`${base}/readyz`, { method: "POST" });
  expect(refused.status).toBe(405);
  expect(refused.headers.get("allow")).toBe("GET, HEAD");
});

it("a stopping service is no longer ready, but still alive", async () => {
  service.drain();
  const { response, body } = await ready();
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toBe("1");
  expect(body).toMatchObject({
    status: "unavailable",
    checks: { process: { ok: false, detail: "stopping" } },
  });
  expect((await fetch(`${base}/api/health`)).status).toBe(200);
});
