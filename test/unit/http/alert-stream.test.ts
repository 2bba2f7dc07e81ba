import { Agent, type Dispatcher, EventSource, type MessageEvent } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { eventReader, startStreams } from "./stream-app.ts";

const upTo = (last: number, first = 1): readonly string[] =>
  Array.from({ length: last - first + 1 }, (_, index) => String(first + index));

/** Dispatcher that adds a bearer token to every request. */
const dispatcher = new Agent().compose((dispatch): Dispatcher["dispatch"] => (options, handler) => {
  const headers = [...Object.entries(options.headers ?? {}), ["authorization", "Bearer reader"]];
  return dispatch({ ...options, headers: Object.fromEntries(headers) }, handler);
});

/** Returns the status and the error code of a rejected stream request. */
async function refusal(sent: Promise<{ response: Response; text(): string; ended: unknown }>) {
  const { response, text, ended } = await sent;
  await ended;
  expect(response.headers.get("content-type")).toContain("application/problem+json");
  return { status: response.status, ...(JSON.parse(text()) as { readonly code: string }) };
}

describe("the event stream of alerts", () => {
  it("starts at the current time, and sends its start position as a cursor", async () => {
    const { open, log } = await startStreams();
    log.write(3, "told");
    const stream = await open("reader");
    expect(stream.response.status).toBe(200);
    const headers = Object.fromEntries(stream.response.headers);
    expect(headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    expect(headers["x-accel-buffering"]).toBe("no");
    await stream.untilBlock(({ id }) => id === "3");
    log.write(2, "told");
    await stream.until(2);
    expect(stream.ids()).toEqual(["4", "5"]);
    expect(stream.blocks.at(-1)).toEqual({
      ...{ id: "5", event: "signal.shift", data: "xxxxxxxxxx", comment: undefined },
    });
  });

  it("continues after the cursor of the URL, page by page and in order", async () => {
    const { open, log } = await startStreams();
    log.write(350, "told");
    const stream = await open("reader", "?cursor=17");
    await stream.until(333);
    expect(stream.ids()).toEqual(upTo(350, 18));
  });

  it("continues after Last-Event-ID, and ignores the cursor of the URL", async () => {
    const { open, log } = await startStreams();
    log.write(10, "told");
    const stream = await open("reader", "?cursor=1", { "last-event-id": "8" });
    await stream.until(2);
    expect(stream.ids()).toEqual(["9", "10"]);
  });

  it("loses no event for a reader that disconnects before its first event", async () => {
    const { base, log, cutOff } = await startStreams();
    const seen: string[] = [];
    const source = new EventSource(`${base}/api/alerts/stream`, { node: { dispatcher } });
    onTestFinished(() => source.close());
    source.addEventListener("signal.shift", (event) => {
      const { lastEventId, data } = event as MessageEvent;
      seen.push(`${lastEventId} ${data}`);
    });
    await new Promise((resolve) => source.addEventListener("open", resolve));
    // The bytes that arrived together with the headers must be read as well.
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
    for (const round of [1, 2]) {
      cutOff();
      log.write(3, "lost");
      await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(3 * round);
    }
    expect(seen).toEqual(upTo(6).map((id) => `${id} xxxxxxxxxx`));
  });

  it("finds stored events even if no announcement arrives", async () => {
    const { open, log, timers } = await startStreams();
    const stream = await open("reader");
    log.write(2, "lost");
    await timers.advance(5_000);
    await stream.until(2);
    expect(stream.ids()).toEqual(["1", "2"]);
  });

  it("includes events that are written during a read", async () => {
    const { open, log } = await startStreams();
    const stream = await open("reader", "?cursor=0");
    for (let round = 0; round < 50; round++) {
      log.write(7, "told");
      if (round % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await stream.until(350);
    expect(stream.ids()).toEqual(upTo(350));
  });

  it("continues after a failed read of the event log", async () => {
    const { open, log, timers, failures } = await startStreams();
    const stream = await open("reader");
    log.failure = new Error("the store is away");
    log.write(2, "told");
    await timers.advance(5_000);
    expect(failures.length).toBeGreaterThan(0);
    log.failure = undefined;
    await timers.advance(5_000);
    await stream.until(2);
    expect(stream.ids()).toEqual(["1", "2"]);
  });

  it("sends a comment every fifteen seconds to keep the connection open", async () => {
    const { open, timers } = await startStreams();
    const stream = await open("reader");
    const beats = () => stream.blocks.filter(({ comment }) => comment === "still here").length;
    await stream.untilBlock(({ comment }) => comment !== undefined);
    const first = beats();
    for (const passed of [1, 2, 3]) {
      await timers.advance(15_000);
      await expect.poll(beats).toBe(first + passed);
    }
    expect(stream.ids()).toEqual([]);
  });

  it("reads the event log every five seconds when nothing happens, and never after the caller has disconnected", async () => {
    const { open, log, timers } = await startStreams();
    const stream = await open("reader");
    await timers.advance(1);
    const before = log.asked.length;
    await timers.advance(60_000);
    expect(log.asked.length - before).toBe(12);
    stream.leave();
    await stream.ended;
    const left = async () => {
      const asked = log.asked.length;
      await timers.advance(60_000);
      return log.asked.length - asked;
    };
    await expect.poll(left).toBe(0);
    expect(log.listeners()).toBe(0);
  });
});

describe("when an event stream is requested", () => {
  it.each(["nonsense", "-1", "1.5", "", "%00", `1${"0".repeat(200)}`])(
    "the cursor %j is rejected with 400 invalid_request",
    async (cursor) => {
      const { open } = await startStreams();
      expect(await refusal(open("reader", `?cursor=${cursor}`))).toMatchObject({
        ...{ status: 400, code: "invalid_request" },
      });
    },
  );

  it("a malformed Last-Event-ID is rejected with 400", async () => {
    const { open } = await startStreams();
    const headers = { "last-event-id": "nonsense" };
    expect(await refusal(open("reader", "?cursor=1", headers))).toMatchObject({ status: 400 });
  });

  it("a missing credential is rejected with 401, and a missing scope with 403", async () => {
    const app = await startStreams();
    app.callers.set("other", eventReader("other", { scopes: new Set(["signals:read"]) }));
    expect(await refusal(app.open("nobody"))).toMatchObject({ status: 401 });
    expect(await refusal(app.open("other"))).toMatchObject({
      ...{ status: 403, code: "insufficient_scope" },
    });
    const { response } = await app.open("other");
    expect(response.headers.get("www-authenticate")).toContain('scope="alerts:write signals:read"');
  });

  it("HEAD is answered with the headers of GET, without opening a stream", async () => {
    const { base, callers, open } = await startStreams();
    const ask = (token: string) =>
      fetch(`${base}/api/alerts/stream`, {
        method: "HEAD",
        headers: { authorization: `Bearer ${token}` },
      });
    for (let count = 0; count < 7; count++) {
      const { status, headers } = await ask("reader");
      expect([status, headers.get("content-type")]).toEqual([
        ...[200, "text/event-stream; charset=utf-8"],
      ]);
    }
    callers.set("other", eventReader("other", { scopes: new Set(["signals:read"]) }));
    expect([(await ask("nobody")).status, (await ask("other")).status]).toEqual([401, 403]);
    expect((await open("reader")).response.status).toBe(200);
  });

  it.each(["POST", "PUT", "PATCH", "DELETE"])("%s is rejected with 405", async (method) => {
    const { base } = await startStreams();
    const response = await fetch(`${base}/api/alerts/stream`, { method });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
});
