import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { eventReader, type StreamApp, startStreams, until } from "./stream-app.ts";

/** Interval in milliseconds within which every stream is checked. */
const LOOK_MS = 500;

/** Time without progress after which the server closes a connection, in milliseconds. */
const IDLE_MS = 200;

/** Whether a stream is still open after the next check. */
async function staysOpen({ timers }: StreamApp, ended: Promise<unknown>): Promise<boolean> {
  await timers.advance(LOOK_MS);
  return Promise.race([ended.then(() => false), new Promise<true>((r) => setImmediate(r, true))]);
}

describe("an open stream", () => {
  it.each([
    ["the credential expires", undefined],
    ["the credential loses a scope", eventReader("reader", { scopes: new Set(["alerts:write"]) })],
    ["a person claims the agent", eventReader("reader", { accountId: "acc_2" })],
    ["the agent has no owner any more", eventReader("reader", { accountId: undefined })],
    ["the credential belongs to another caller", eventReader("other")],
  ])("ends at the next check when %s", async (_, changed) => {
    const app = await startStreams();
    const { ended } = await app.open("reader");
    expect(await staysOpen(app, ended)).toBe(true);
    app.callers.delete("reader");
    if (changed !== undefined) app.callers.set("reader", changed);
    await app.timers.advance(LOOK_MS);
    expect(await ended).toBe("ended");
  });

  it("stays open when the credential gains scopes", async () => {
    const app = await startStreams();
    const { ended } = await app.open("reader");
    const scopes = new Set(["alerts:write", "signals:read", "factor:read"] as const);
    app.callers.set("reader", eventReader("reader", { scopes }));
    expect(await staysOpen(app, ended)).toBe(true);
  });

  it("stays open while credentials cannot be looked up, and ends at the first lookup that finds that its credential has ended", async () => {
    const app = await startStreams();
    const { ended } = await app.open("reader");
    app.hindrance = () => Promise.reject(new Error("the store is away"));
    app.callers.delete("reader");
    expect(await staysOpen(app, ended)).toBe(true);
    expect(app.failures).toHaveLength(1);
    app.hindrance = async () => undefined;
    await app.timers.advance(LOOK_MS);
    expect(await ended).toBe("ended");
  });

  it("is cut off at the second check if its credential has ended and its client does not read", async () => {
    const app = await startStreams(20_000);
    app.log.write(2_000, "told");
    const socket = await app.openUnread("reader", "?cursor=0");
    await untilStuck(app);
    app.callers.delete("reader");
    await app.timers.advance(2 * LOOK_MS);
    expect(isWhole(await restOf(socket))).toBe(false);
  });

  it("is cut off when its client reads nothing, and buffers a limited amount until then", async () => {
    const app = await startStreams(20_000, IDLE_MS);
    app.log.write(2_000, "told");
    const socket = await app.openUnread("reader", "?cursor=0");
    await untilStuck(app);
    const { length } = app.log.asked;
    expect(length).toBeLessThan(12);
    await until(() => app.streams.size === 0);
    expect(app.log.asked).toHaveLength(length);
    const rest = await restOf(socket);
    expect(rest.length).toBeLessThan(40_000_000);
    expect(isWhole(rest)).toBe(false);
    expect(app.failures).toEqual([]);
  });

  it("continues without a gap when its client reads slowly for a minute, however full the buffers are", async () => {
    const app = await startStreams(20_000);
    app.log.write(1_000, "told");
    const socket = await app.openUnread("reader", "?cursor=0");
    socket.setEncoding("latin1");
    await untilStuck(app);
    let text = "";
    for (let second = 0; second < 60; second++) {
      await app.timers.advance(1_000);
      text += socket.read(10_000) ?? "";
    }
    expect(app.streams.size).toBe(1);
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.resume();
    await until(() => text.includes("id: 1000\n"));
    const ids = Array.from(text.matchAll(/^id: (\d+)$/gm), ([, id]) => Number(id));
    expect(ids).toEqual(Array.from({ length: 1_001 }, (_, index) => index));
    app.callers.delete("reader");
    await app.timers.advance(LOOK_MS);
    await until(() => isWhole(text));
  });
});

/** Reads all data until the connection ends. */
async function restOf(socket: Socket): Promise<string> {
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => undefined);
  socket.resume();
  await once(socket, "close");
  return text;
}

/** Whether a chunked response is complete (RFC 9112 section 7.1). */
const isWhole = (text: string): boolean => text.endsWith("\r\n0\r\n\r\n");

/** Waits until the socket buffers of the caller are full and the server reads no more events. */
async function untilStuck({ log }: StreamApp): Promise<void> {
  for (let before = -1; before !== log.asked.length; ) {
    before = log.asked.length;
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("the set of open streams", () => {
  it("is limited to five per caller, and has a free slot as soon as a stream ends", async () => {
    const app = await startStreams();
    app.callers.set("another", eventReader("another"));
    const open = await Promise.all(Array.from({ length: 5 }, () => app.open("reader")));
    expect(open.map(({ response }) => response.status)).toEqual([200, 200, 200, 200, 200]);
    const { response } = await app.open("reader");
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "10"]);
    expect(response.headers.get("content-type")).toContain("application/problem+json");
    expect((await app.open("another")).response.status).toBe(200);
    open[0]?.leave();
    await expect.poll(async () => (await app.open("reader")).response.status).toBe(200);
  });

  it("is counted separately for a person, a key and an agent with the same id", async () => {
    const app = await startStreams();
    for (const kind of ["agent", "user", "service"] as const) {
      app.callers.set(kind, eventReader("same", { kind }));
      for (let count = 0; count < 5; count++) {
        expect((await app.open(kind)).response.status).toBe(200);
      }
    }
  });

  /**
   * Opens five streams for each caller from one address, with a separate account for each caller by
   * default.
   */
  async function openFives(
    app: StreamApp,
    callers: readonly string[],
    address: string,
    accountOf: (caller: string) => string | undefined = (caller) => caller,
  ) {
    const headers = { "x-forwarded-for": address };
    for (const caller of callers) {
      app.callers.set(caller, eventReader(caller, { accountId: accountOf(caller) }));
      const open = Array.from({ length: 5 }, () => app.open(caller, "", headers));
      for (const { response } of await Promise.all(open)) expect(response.status).toBe(200);
    }
  }

  const named = (prefix: string) => Array.from({ length: 50 }, (_, at) => `${prefix}${at}`);

  /** Requests another stream, which is rejected. @returns The text of the error. */
  async function refusedLate(app: StreamApp, address: string, accountId: string | undefined) {
    app.callers.set("late", eventReader("late", { accountId }));
    const { response, ended, text } = await app.open("late", "", { "x-forwarded-for": address });
    expect(response.status).toBe(429);
    await ended;
    return text();
  }

  it.each([
    ["198.51.100.1", "198.51.100.2", "203.0.113.1"],
    ["2001:db8:1::1", "2001:db8:1:200::1", "2001:db8:2::1"],
  ])(
    "is limited to fifty per network, however many addresses and credentials it uses (first address: %s)",
    async (one, another, elsewhere) => {
      const app = await startStreams();
      await openFives(app, named("a").slice(45), one);
      await openFives(app, named("b").slice(45), another);
      const told = await refusedLate(app, another, "late");
      expect(told).toContain("Your network has 50 streams open already.");
      await openFives(app, ["elsewhere"], elsewhere);
    },
  );

  it("is limited in total", async () => {
    const app = await startStreams();
    for (let at = 0; at < 500; at++) {
      const caller = `a${at}`;
      app.callers.set(caller, eventReader(caller, { accountId: caller }));
      const headers = { "x-forwarded-for": `10.${at >> 8}.${at & 255}.1` };
      expect((await app.open(caller, "", headers)).response.status).toBe(200);
    }
    expect(await refusedLate(app, "192.0.2.1", "late")).toContain(
      "All callers have 500 streams open already.",
    );
  });

  it("keeps a fifth for networks that have none", async () => {
    const app = await startStreams();
    for (const network of [1, 2, 3, 4, 5, 6, 7, 8]) {
      await openFives(app, named(`${network}-`).slice(40), `198.51.${network}.1`);
    }
    const first = { "x-forwarded-for": "203.0.113.1" };
    app.callers.set("new", eventReader("new", { accountId: "new" }));
    expect((await app.open("new", "", first)).response.status).toBe(200);
    const { response, ended } = await app.open("new", "", first);
    expect(response.status).toBe(429);
    await ended;
    expect(app.streams.size).toBe(401);
  });

  it("does not count a client that disconnects before the response", async () => {
    const app = await startStreams();
    let go = () => {};
    for (let count = 0; count < 7; count++) {
      const held = new Promise<void>((resolve) => {
        go = resolve;
      });
      let isAsked = false;
      app.hindrance = () => {
        isAsked = true;
        return held;
      };
      const socket = await app.openUnread("reader");
      await until(() => isAsked);
      socket.destroy();
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
      go();
    }
    app.hindrance = async () => undefined;
    for (let count = 0; count < 5; count++) {
      expect((await app.open("reader")).response.status).toBe(200);
    }
    expect(app.failures).toEqual([]);
  });

  it("is closed when the service stops, and accepts no new streams afterwards", async () => {
    const app = await startStreams(20_000);
    app.log.write(2_000, "told");
    const stuck = await app.openUnread("reader", "?cursor=0");
    await untilStuck(app);
    const open = await Promise.all(Array.from({ length: 3 }, () => app.open("reader")));
    app.streams.close();
    expect(await Promise.all(open.map(({ ended }) => ended))).toEqual(["ended", "ended", "ended"]);
    const { response } = await app.open("reader");
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    await app.timers.advance(LOOK_MS);
    expect(isWhole(await restOf(stuck))).toBe(false);
  });
});
