import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { sendTable, type TableResponseBody } from "../../../src/http/api/table-response.ts";
import { createErrorWriter } from "../../../src/http/errors.ts";
import { createOpenStreams } from "../../../src/http/open-streams.ts";
import { RequestContext } from "../../../src/http/request-context.ts";
import { startLoop } from "../../../src/lib/loop.ts";
import { tableOf } from "../../../src/tables/table.ts";
import { manualTimers } from "../../support/timers.ts";
import { eventReader } from "./stream-app.ts";

const numbers = (
  records: Iterable<number>,
  rest: Partial<TableResponseBody> = {},
): TableResponseBody => ({
  ...tableOf([{ name: "number", type: "integer", cell: (record: number) => record }], records),
  nextCursor: null,
  etag: undefined,
  format: "csv",
  ...rest,
});

/** Starts a server that answers every request with a table. */
async function serve(answer: () => TableResponseBody) {
  const failures: unknown[] = [];
  const writeError = createErrorWriter((error) => failures.push(error));
  const { schedule } = manualTimers();
  const onError = (error: unknown) => void failures.push(error);
  const streams = createOpenStreams((tick, everyMs) =>
    startLoop({ tick, everyMs, schedule, onError }),
  );
  const handle = async (req: IncomingMessage, res: ServerResponse) => {
    const context = new RequestContext(req, res, 0);
    context.isStillValid = async () => true;
    const exchange = { context, caller: eventReader("reader"), streams };
    await sendTable(exchange, answer()).catch((error) => writeError(req, res, error));
  };
  const server = createServer((req, res) => void handle(req, res));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}/`, failures, streams };
}

function* upTo(count: number, read: { last: number } = { last: -1 }): Generator<number, void> {
  for (let number = 0; number < count; number++) {
    read.last = number;
    yield number;
  }
}

/**
 * Number of event loop turns without progress after which the generation of a table counts as
 * paused.
 */
const QUIET_TURNS = 100;

function* failingAfter(count: number): Generator<number, void> {
  yield* upTo(count);
  throw new Error("the disk is gone");
}

/** Sends an HTTP/1.0 request and reads the response. @returns How the connection ended. */
async function endOf(port: number): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.on("data", () => {});
  const ended = new Promise<string>((resolve) => {
    socket.once("error", ({ message }) => resolve(message));
    socket.once("end", () => resolve("in order"));
  });
  socket.write("GET / HTTP/1.0\r\n\r\n");
  return ended;
}

describe("a table that is sent as CSV", () => {
  it("is sent with a Content-Length when it is short", async () => {
    const { url } = await serve(() => numbers(upTo(3)));
    const response = await fetch(url);
    expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present");
    expect(response.headers.get("content-length")).toBe("17");
    expect(await response.text()).toBe("number\r\n0\r\n1\r\n2\r\n");
  });

  it("contains a header line and every row once when it is sent in parts", async () => {
    for (const count of [0, 199, 200, 201, 400, 401, 5_001]) {
      const { url } = await serve(() => numbers(upTo(count)));
      const text = await (await fetch(url)).text();
      expect(text).toBe(`${["number", ...upTo(count)].join("\r\n")}\r\n`);
    }
  });

  it("links to the next page with the rest of the query unchanged", async () => {
    const { url } = await serve(() => numbers(upTo(1), { nextCursor: "b2s" }));
    const { headers } = await fetch(`${url}api/list?limit=1&cursor=old&query=a%20b`);
    expect(headers.get("link")).toBe('</api/list?limit=1&cursor=b2s&query=a+b>; rel="next"');
  });

  it("is sent without a body to a client that already has it, and for HEAD", async () => {
    const { url } = await serve(() => numbers(upTo(1_000), { etag: '"a"' }));
    for (const [coding, etag] of [
      ["identity", '"a"'],
      ["gzip", '"a-gzip"'],
      ["br", '"a-br"'],
    ] as const) {
      const coded = { "accept-encoding": coding };
      const known = await fetch(url, { headers: { ...coded, "if-none-match": etag } });
      expect([known.status, known.headers.get("etag"), await known.text()]).toEqual([
        304,
        etag,
        "",
      ]);
      const head = await fetch(url, { method: "HEAD", headers: coded });
      expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([200, etag, ""]);
    }
  });

  it("is compressed only if it has a validator, whether it is sent in parts or at once", async () => {
    for (const count of [1, 5_001]) {
      const { url } = await serve(() => numbers(upTo(count), { etag: '"a"' }));
      for (const coding of ["gzip", "br"]) {
        const response = await fetch(url, { headers: { "accept-encoding": coding } });
        expect(response.headers.get("content-encoding")).toBe(coding);
        expect(await response.text()).toBe(`${["number", ...upTo(count)].join("\r\n")}\r\n`);
      }
      const own = await serve(() => numbers(upTo(count)));
      expect((await fetch(own.url)).headers.get("content-encoding")).toBeNull();
    }
  });

  it("results in status 500 when its generation fails before the first row", async () => {
    const { url, failures } = await serve(() => numbers(failingAfter(0)));
    expect((await fetch(url)).status).toBe(500);
    expect(failures).toHaveLength(1);
  });

  it("resets the connection when its generation fails midway, so that the part sent does not look complete", async () => {
    const { port, url, failures } = await serve(() => numbers(failingAfter(2_000)));
    await expect(fetch(url).then((response) => response.text())).rejects.toThrow("terminated");
    expect(await endOf(port)).toBe("read ECONNRESET");
    expect(failures).toHaveLength(2);
  });

  it("is generated no faster than its client reads, and no further once the client has disconnected", async () => {
    const read = { last: -1 };
    const { port, streams } = await serve(() => numbers(upTo(50_000_000, read)));
    const socket = connect(port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let before = -1;
    for (let quiet = 0; before < 0 || quiet < QUIET_TURNS; quiet++) {
      if (read.last !== before) quiet = 0;
      before = read.last;
      await new Promise(setImmediate);
    }
    expect(before).toBeLessThan(40_000_000);
    expect(streams.size).toBe(1);
    socket.destroy();
    while (streams.size > 0) await new Promise(setImmediate);
    expect(read.last).toBe(before);
  });
});
