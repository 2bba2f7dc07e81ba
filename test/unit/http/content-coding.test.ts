import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { negotiateContentCoding } from "../../../src/http/content-coding.ts";
import { sendRepresentation } from "../../../src/http/send-response.ts";
import { strongEtag } from "../../../src/lib/etag.ts";

describe("the content coding of a response", () => {
  it.each([
    [undefined, undefined],
    ["", undefined],
    ["identity", undefined],
    ["gzip", "gzip"],
    ["GZIP;Q=0.5", "gzip"],
    ["gzip, deflate, br, zstd", "br"],
    ["gzip, br;q=0.9", "gzip"],
    ["gzip;q=0, br;q=0", undefined],
    ["br;q=0, *", "gzip"],
    ["*;q=0.1", "br"],
    ["identity, gzip;q=0.5", undefined],
    ["gzip;q=many", undefined],
    ["xgzip, brotli", undefined],
  ])("for Accept-Encoding: %s is %s", (accepted, coding) => {
    expect(negotiateContentCoding({ "accept-encoding": accepted })).toBe(coding);
  });

  it("is always a coding that the server offers", () => {
    expect(negotiateContentCoding({ "accept-encoding": "br, gzip;q=0.1" }, ["gzip"])).toBe("gzip");
  });
});

const LONG = "Every answer says what was known. ".repeat(1_000);

/** Serves a body. @returns A function that requests the body. */
async function serve(body: string) {
  const type = "text/plain; charset=utf-8";
  const server = createServer(
    (req, res) => void sendRepresentation(req, res, { type, body, etag: strongEtag(body) }),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return async (headers: IncomingHttpHeaders, method = "GET") => {
    const sent = request({ port, host: "127.0.0.1", method, headers, agent: false }).end();
    const [answer] = await once(sent, "response");
    return { status: answer.statusCode, headers: answer.headers, bytes: await buffer(answer) };
  };
}

describe("the representation of a resource in one content coding", () => {
  it("has its own bytes, length and validator", async () => {
    const ask = await serve(LONG);
    const [plain, gzip, br] = [
      await ask({}),
      await ask({ "accept-encoding": "gzip" }),
      await ask({ "accept-encoding": "br" }),
    ];
    expect(plain.bytes.toString()).toBe(LONG);
    expect(gunzipSync(gzip.bytes).toString()).toBe(LONG);
    expect(brotliDecompressSync(br.bytes).toString()).toBe(LONG);
    expect(new Set([plain, gzip, br].map(({ headers }) => headers.etag)).size).toBe(3);
    for (const { headers, bytes } of [plain, gzip, br]) {
      expect(headers).toMatchObject({
        vary: "Accept-Encoding",
        "content-length": String(bytes.length),
      });
    }
    expect([plain, gzip, br].map(({ headers }) => headers["content-encoding"])).toEqual([
      undefined,
      "gzip",
      "br",
    ]);
  });

  it("is confirmed with 304 only to a client that has it in the same coding", async () => {
    const ask = await serve(LONG);
    const { etag = "" } = (await ask({ "accept-encoding": "br" })).headers;
    const same = await ask({ "accept-encoding": "br", "if-none-match": `W/${etag}` });
    expect(same).toMatchObject({ status: 304, headers: { etag, vary: "Accept-Encoding" } });
    expect(same.headers["content-encoding"]).toBeUndefined();
    const other = await ask({ "accept-encoding": "gzip", "if-none-match": etag });
    expect(other.status).toBe(200);
    expect((await ask({ "if-none-match": etag })).status).toBe(200);
  });

  it("has the headers of GET in a response to HEAD", async () => {
    const ask = await serve(LONG);
    const [get, head] = [
      await ask({ "accept-encoding": "br" }),
      await ask({ "accept-encoding": "br" }, "HEAD"),
    ];
    const { date: _, ...fields } = get.headers;
    expect(head.headers).toMatchObject(fields);
    expect(head.bytes).toHaveLength(0);
  });

  it("is not compressed when it is short, but still varies by Accept-Encoding", async () => {
    const ask = await serve("short");
    const { headers, bytes } = await ask({ "accept-encoding": "br, gzip" });
    expect(bytes.toString()).toBe("short");
    expect(headers["content-encoding"]).toBeUndefined();
    expect(headers.vary).toBe("Accept-Encoding");
  });
});
