import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { postJson } from "../support/agent.ts";
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

it("a service whose store was removed is not ready and acknowledges no write", async () => {
  const other = await startTestService();
  for (const name of readdirSync(other.folder)) rmSync(join(other.folder, name));
  const refused = await postJson(`${other.base}/oauth/register`, { client_name: "A" });
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(JSON.stringify(await refused.json())).toContain("files of the store are gone");
  const response = await fetch(`${other.base}/readyz`);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({
    checks: { store: { ok: false, detail: "embedded: cannot be written" } },
  });
  expect((await fetch(`${other.base}/api/health`)).status).toBe(200);
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
