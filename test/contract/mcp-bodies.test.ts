import { connect } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { newToken } from "../support/agent.ts";
import { handlers } from "../support/mcp-usual.ts";
import { sendRaw } from "../support/raw.ts";
import { startTestService } from "../support/test-service.ts";

const LEGACY = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
};

const deep = (levels: number): object => (levels === 0 ? {} : { a: deep(levels - 1) });

const testService = await startTestService();

describe.each(handlers)("a message for $handler", async ({ meta }) => {
  const message = (params: object = {}) =>
    JSON.stringify({
      ...{ jsonrpc: "2.0", id: 1, method: "tools/list" },
      params: { ...params, _meta: meta },
    });
  const token = await newToken(testService.base);
  const send = (body: string | Buffer, headers: Record<string, string | undefined> = {}) =>
    sendRaw(`${testService.base}/mcp`, {
      method: "POST",
      headers: Object.fromEntries(
        Object.entries({ ...LEGACY, authorization: `Bearer ${token}`, ...headers }).filter(
          ([, value]) => value !== undefined,
        ),
      ),
      body: body as string,
    });

  it.each<[string, string | Buffer, Record<string, string | undefined>]>([
    ["in its plain form", message(), {}],
    ["with a byte order mark", `\uFEFF${message()}`, {}],
    ["in chunks without Content-Length", message(), { "transfer-encoding": "chunked" }],
    ["with gzip compression", gzipSync(message()), { "content-encoding": "gzip" }],
    [
      "in UTF-16",
      Buffer.from(message(), "utf16le"),
      { "content-type": "application/json; charset=utf-16le" },
    ],
    ["with the service's own Origin", message(), { origin: testService.base }],
  ])("is accepted %s", async (_how, body, headers) => {
    const { status, body: text } = await send(body, headers);
    expect(text).toContain("get_signal");
    expect(status).toBe(200);
  });

  it.each<[string, number, string | Buffer, Record<string, string | undefined>]>([
    ["invalid JSON", 400, '{"jsonrpc":', {}],
    ["an empty body", 400, "", {}],
    ["longer than 100 KiB", 413, message({ cursor: "x".repeat(100 * 1024) }), {}],
    ["nested too deeply", 400, message(deep(40)), {}],
    ["an array that contains no message", 400, "[[]]", {}],
    ["compressed with Brotli", 415, brotliCompressSync(message()), { "content-encoding": "BR" }],
    ["of the content type text/plain", 415, message(), { "content-type": "text/plain" }],
    ["without a content type", 415, message(), { "content-type": undefined }],
    ["from a page of another origin", 403, message(), { origin: "https://elsewhere.example" }],
    ["without a credential", 401, message(), { authorization: undefined }],
    ["with an unknown token", 401, message(), { authorization: "Bearer unknown" }],
  ])("is rejected when it is %s", async (_what, expected, body, headers) => {
    const { status, body: text } = await send(body, headers);
    expect(status).toBe(expected);
    expect(text).not.toContain('"result"');
  });

  it("counts once against the limit, and is answered with Retry-After when it exceeds the limit", async () => {
    const strict = await startTestService({
      RATE_LIMITS: "calls-unclaimed=5/100000/1000000",
    });
    const by = await newToken(strict.base);
    const headers = { ...LEGACY, authorization: `Bearer ${by}` };
    const ask = () => sendRaw(`${strict.base}/mcp`, { method: "POST", headers, body: message() });
    const answers = [];
    for (let each = 0; each < 6; each++) answers.push(await ask());
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429]);
    const left = answers.map((each) => /r=(\d+)/.exec(String(each.headers.ratelimit))?.[1]);
    expect(left).toEqual(["4", "3", "2", "1", "0", "0"]);
    expect(Number(answers[5]?.headers["retry-after"])).toBeGreaterThan(0);
  });

  it("has no effect on later messages when the client disconnects before the end of the body", async () => {
    const { port } = new URL(testService.base);
    const socket = connect(Number(port), "127.0.0.1");
    const head = `POST /mcp HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{`;
    await new Promise<void>((sent) => socket.end(head, () => sent()));
    await new Promise((closed) => socket.once("close", closed).resume());
    expect((await send(message())).status).toBe(200);
    expect(testService.logged).toEqual([]);
  });
});

describe("compressed messages", () => {
  it("of one network are received 50 at a time", async () => {
    const { port } = new URL(testService.base);
    const authorization = `Bearer ${await newToken(testService.base)}`;
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const send = async (body: string | Buffer, coding: Record<string, string>) => {
      const headers = { ...LEGACY, authorization, ...coding };
      return sendRaw(`${testService.base}/mcp`, { method: "POST", headers, body: body as string });
    };
    const compressed = () => send(gzipSync(body), { "content-encoding": "gzip" });
    const incomplete = Array.from({ length: 50 }, () => {
      const socket = connect(Number(port), "127.0.0.1");
      socket.write(
        `POST /mcp HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 900\r\n\r\n`,
      );
      return socket;
    });
    await expect.poll(async () => (await compressed()).status).toBe(503);
    const refused = await compressed();
    expect(JSON.parse(refused.body)).toMatchObject({ code: "overloaded" });
    expect(refused.headers["retry-after"]).toBe("3");
    expect((await send(body, {})).status).toBe(200);
    for (const socket of incomplete) socket.destroy();
    await expect.poll(async () => (await compressed()).status).toBe(200);
  });
});
