import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSocketsOf, stopInOrder } from "../../../src/process/stop.ts";

/**
 * Time in milliseconds for which connections are still accepted while other processes take over.
 */
const ACCEPT_MS = 200;

interface Stage {
  readonly server: Server;
  readonly port: number;
  /** The steps performed so far, in order. */
  readonly done: string[];
  readonly stop: (acceptMs: number) => Promise<void>;
}

/** A server that records the steps of its shutdown. */
async function startStage(): Promise<Stage> {
  const done: string[] = [];
  const server = createServer((_req, res) => void res.end("here"));
  const openSockets = openSocketsOf(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  server.once("close", () => done.push("closed"));
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => server.closeAllConnections());
  const stop = (acceptMs: number) =>
    stopInOrder({
      ...{ server, openSockets, acceptMs },
      drain: () => void done.push("drain"),
      endStreams: () => void done.push("endStreams"),
      close: async () => void done.push("close"),
    });
  return { server, port, done, stop };
}

/** A client that keeps its connection open as long as the server does. */
function caller(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return async () => {
    const sent = request({ port, host: "127.0.0.1", agent }).end();
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    await text(answer);
    return { connection: answer.headers.connection, isKept: sent.reusedSocket };
  };
}

describe("a graceful shutdown", () => {
  it("still accepts connections during the drain time, and closes each with its next response", async () => {
    const { port, done, stop } = await startStage();
    const [early, late] = [caller(port), caller(port)];
    await Promise.all([early(), late()]);
    const stopping = stop(ACCEPT_MS);
    expect(done).toEqual(["drain"]);
    expect(await early()).toEqual({ connection: "close", isKept: true });
    expect(await caller(port)()).toEqual({ connection: "close", isKept: false });
    while (!done.includes("endStreams")) await new Promise(setImmediate);
    expect(await late()).toEqual({ connection: "close", isKept: true });
    await expect(caller(port)()).rejects.toThrow("ECONNREFUSED");
    await stopping;
    expect(done).toEqual(["drain", "endStreams", "closed", "close"]);
  });

  it("skips the drain time when no other process takes over", async () => {
    const { port, done, stop } = await startStage();
    await caller(port)();
    const silent = connect(port, "127.0.0.1");
    await once(silent, "connect");
    silent.resume();
    const ended = once(silent, "close");
    await stop(0);
    await ended;
    expect(done).toEqual(["drain", "endStreams", "closed", "close"]);
  });

  it("completes even if the event loop is never idle", async () => {
    const { done, stop } = await startStage();
    const isDone = stop(0).then(() => true);
    const nextTurn = () => new Promise<false>((take) => setImmediate(take, false));
    // Blocks each turn of the event loop for one millisecond.
    do {
      for (const until = performance.now() + 1; performance.now() < until; );
    } while (!(await Promise.race([isDone, nextTurn()])));
    expect(done.at(-1)).toBe("close");
  });

  it("waits for requests in flight", async () => {
    const { server, port, done, stop } = await startStage();
    const begun = Promise.withResolvers<() => void>();
    server.removeAllListeners("request").on("request", (_req, res) => {
      begun.resolve(() => res.end("at last"));
    });
    const asked = caller(port)();
    const answer = await begun.promise;
    const stopping = stop(0);
    while (!done.includes("endStreams")) await new Promise(setImmediate);
    answer();
    await asked;
    await stopping;
    expect(done.at(-1)).toBe("close");
  });
});
