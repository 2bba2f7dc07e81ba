// @module-tag nightly

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rawPost } from "../load/mix.ts";
import { watchHealth } from "../load/offered.ts";
import { type LoadedService, startLoaded } from "../load/service.ts";
import { dripBytes, type HostileSocket, openSockets } from "../load/sockets.ts";
import { newToken } from "../support/agent.ts";

/** Pause between two bytes of a slow client, in milliseconds. */
const DRIP_MS = 500;

let service: LoadedService;

beforeAll(async () => {
  service = await startLoaded();
});
afterAll(() => service.stop());

/**
 * Opens hostile connections, runs an action once on each, and waits until the service has closed
 * all of them. Expects every health check in the meantime to be answered.
 */
async function survive(
  count: number,
  act: (one: HostileSocket) => void,
): Promise<readonly HostileSocket[]> {
  const health = watchHealth(service.port);
  const hostile = await openSockets(service.port, count);
  for (const one of hostile) act(one);
  await Promise.all(hostile.map(({ lasted }) => lasted));
  const answers = await health.stop();
  expect(answers.length).toBeGreaterThan(0);
  expect(answers.every(Number.isFinite)).toBe(true);
  return hostile;
}

const statusesOf = (hostile: readonly HostileSocket[]): ReadonlySet<string> =>
  new Set(hostile.map((one) => one.said().slice(9, 12)));

describe("the service as a separate process", () => {
  it("disconnects silent and slow clients, and meanwhile answers all other clients", async () => {
    const filesBefore = service.usage().files;
    const token = await newToken(service.baseUrl, { resource: `${service.baseUrl}/mcp` });
    const body = rawPost("/mcp", " ".repeat(9_000), {
      ...{ Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    });
    const [silent, header, whole] = await Promise.all([
      survive(300, () => {}),
      survive(100, (one) => dripBytes(one, "GET /api/health HTTP/1.1\r\nX-A: ", DRIP_MS)),
      survive(100, (one) => dripBytes(one, body.subarray(0, -8_000), DRIP_MS)),
    ]);
    for (const some of [silent, header, whole]) expect(statusesOf(some)).toEqual(new Set(["408"]));
    expect(silent[0]?.said()).toContain('"code":"request_timeout"');
    await expect.poll(() => service.usage().files).toBeLessThan(filesBefore + 20);
  });

  it("rejects a megabyte of header fields long before their end", async () => {
    const line = `X-A: ${"a".repeat(1_000)}\r\n`;
    const rude = await survive(50, ({ socket }) => {
      socket.write(`GET / HTTP/1.1\r\n${line.repeat(1_000)}\r\n`);
    });
    expect(statusesOf(rude)).toEqual(new Set(["431"]));
  });
});
