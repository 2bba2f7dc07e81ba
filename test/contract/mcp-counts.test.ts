// @module-tag full

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { newToken, postForm } from "../support/agent.ts";
import { handlers } from "../support/mcp-usual.ts";
import { sendRaw } from "../support/raw.ts";
import { startTestService } from "../support/test-service.ts";

const ACCEPTS = "application/json, text/event-stream";

interface Asked {
  readonly base: string;
  readonly token: string;
  /** `_meta` of the message. */
  readonly meta?: object;
}

const messageOf = ({ meta = {} }: Asked) => ({
  ...{ jsonrpc: "2.0", id: 1, method: "tools/list" },
  params: { _meta: meta },
});

/** Sends a complete message or batch. */
const send = (asked: Asked, message: object = messageOf(asked)) =>
  sendRaw(`${asked.base}/mcp`, {
    method: "POST",
    headers: {
      ...{ accept: ACCEPTS, authorization: `Bearer ${asked.token}` },
      ...{ "content-type": "application/json", "mcp-protocol-version": "2025-03-26" },
    },
    body: JSON.stringify(message),
  });

/**
 * Sends the header section of a message. Resolves once the service has processed it and waits for
 * the body.
 */
async function beginSlowly(asked: Asked): Promise<Socket> {
  const { base, token } = asked;
  const { length } = JSON.stringify(messageOf(asked));
  const socket = connect(Number(new URL(base).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const fields = [
    ...["Host: here", `Authorization: Bearer ${token}`, `Accept: ${ACCEPTS}`],
    ...["Content-Type: application/json", `Content-Length: ${length}`],
    ...["Expect: 100-continue", "Connection: close"],
  ];
  socket.write(`POST /mcp HTTP/1.1\r\n${fields.join("\r\n")}\r\n\r\n`);
  const [said] = await once(socket, "data");
  expect(String(said)).toMatch(/^HTTP\/1\.1 100 /);
  // The service has processed the header section by the time that it answers another request.
  await fetch(`${base}/livez`);
  return socket;
}

/** End of a body in chunks, after which the service may keep the connection open. */
const LAST_CHUNK = "\r\n0\r\n\r\n";

/** Sends the body of the message. @returns The answer. */
async function endSlowly(socket: Socket, asked: Asked): Promise<string> {
  socket.write(JSON.stringify(messageOf(asked)));
  let said = "";
  for await (const chunk of socket) {
    said += chunk;
    if (said.endsWith(LAST_CHUNK)) break;
  }
  return said;
}

/** Advances the monotonic clock of this process, as a slow body would. */
function leap(ms: number): void {
  const now = performance.now.bind(performance);
  const spy = vi.spyOn(performance, "now").mockImplementation(() => now() + ms);
  onTestFinished(() => spy.mockRestore());
}

describe.each(handlers)("rate limiting of $handler", async ({ meta }) => {
  const start = async (points: number): Promise<Asked> => {
    const limits = `calls-unclaimed=${points}/100000/1000000`;
    const { base } = await startTestService({ RATE_LIMITS: limits });
    return { base, token: await newToken(base), meta };
  };

  it("counts a message before its body arrives", async () => {
    const asked = await start(1);
    const slow = await beginSlowly(asked);
    expect((await send(asked)).status).toBe(429);
    const answer = await endSlowly(slow, asked);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toContain("get_signal");
  });

  it("counts each message of a batch", async () => {
    const asked = await start(5);
    const batch = [1, 2, 3].map((id) => ({ ...messageOf(asked), id }));
    const first = await send(asked, batch);
    expect(first.status).toBe(200);
    expect(first.headers.ratelimit).toMatch(/^"calls-unclaimed";r=2;t=\d+$/);
    expect(first.headers["ratelimit-policy"]).toBe('"calls-unclaimed";q=5;w=60');
    const second = await send(asked, batch);
    expect(second.status).toBe(429);
    expect(second.body).not.toContain("get_signal");
  });
});

const { base, service } = await startTestService();

describe.each(handlers)("a slow body for $handler", async ({ meta }) => {
  it("is answered if its credential was valid when the request began and was not revoked since", async () => {
    const asked = { base, token: await newToken(base), meta };
    const slow = await beginSlowly(asked);
    leap(1_000);
    expect(await endSlowly(slow, asked)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("is rejected when the token is revoked before the body ends", async () => {
    const token = await newToken(base);
    const asked = { base, token, meta };
    const slow = await beginSlowly(asked);
    await postForm(`${base}/oauth/revoke`, { token });
    leap(1_000);
    const answer = await endSlowly(slow, asked);
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).not.toContain("get_signal");
  });
});

/** Collections in which credentials are looked up: OAuth tokens and API keys. */
const CREDENTIALS = /^(oidc:|api-keys$)/;

describe("an invalid token", () => {
  it("causes the same number of credential lookups on the fast and the slow path", async () => {
    const looks = [];
    for (const [at, { meta }] of handlers.entries()) {
      const get = vi.spyOn(service.state.store.records, "get");
      const { status } = await send({ base, token: `${at}`.repeat(43), meta });
      expect(status).toBe(401);
      // Only lookups of credentials count, since background work can read other records at any
      // time.
      const credentials = get.mock.calls.filter(([{ name }]) => CREDENTIALS.test(name));
      looks.push(credentials.length);
      get.mockRestore();
    }
    expect(looks[0]).toBeGreaterThan(0);
    expect(looks[0]).toBe(looks[1]);
  });
});
