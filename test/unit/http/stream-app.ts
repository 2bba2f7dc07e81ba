import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setImmediate as settled } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { Caller } from "../../../src/access/caller.ts";
import { anonymousScopeCeiling, type Scope } from "../../../src/access/scopes.ts";
import type { EventLog, LoggedEvent } from "../../../src/alerts/api/event-log.ts";
import { alertStreamRoute } from "../../../src/http/api/alert-stream.ts";
import { createOpenStreams, type OpenStreams } from "../../../src/http/open-streams.ts";
import { createAdmission } from "../../../src/http/operation-routes.ts";
import { ProtectedResource } from "../../../src/http/protected-resource.ts";
import { createBoundedServer } from "../../../src/http/server.ts";
import type { StartLoop } from "../../../src/lib/loop.ts";
import { startLoop } from "../../../src/lib/loop.ts";
import { Problem } from "../../../src/lib/problem.ts";
import { concurrencyClasses } from "../../../src/limits/classes.ts";
import { looseLimits } from "../../support/alert-service.ts";
import { type OpenStream, openStream } from "../../support/event-stream.ts";
import { listenerOf } from "../../support/route-listener.ts";
import { type ManualTimers, manualTimers } from "../../support/timers.ts";

/** An event log of one owner. The test writes its events. */
interface WrittenLog extends EventLog {
  readonly events: LoggedEvent[];
  /** Adds `count` events, and notifies listeners if `news` is "told". */
  write(count: number, news: "told" | "lost"): void;
  /** The cursors of all calls of `after`, oldest first. */
  readonly asked: readonly string[];
  /** Number of listeners for new events. */
  listeners(): number;
  /** The error with which reads of the log fail, if set. */
  failure: Error | undefined;
}

/** A test server that serves event streams, and the parts of the server that tests control. */
export interface StreamApp {
  readonly base: string;
  readonly timers: ManualTimers;
  readonly log: WrittenLog;
  readonly streams: OpenStreams;
  /** The caller of each token, which a test can change. */
  readonly callers: Map<string, Caller>;
  /** Awaited before a token is looked up, so that a test can delay or fail lookups. */
  hindrance: () => Promise<void>;
  /** The failures that were reported. */
  readonly failures: readonly unknown[];
  open(token: string, path?: string, headers?: Record<string, string>): Promise<OpenStream>;
  /** Closes every connection abruptly, as a network failure would. */
  cutOff(): void;
  /** Requests a stream without reading the response until the returned socket is resumed. */
  openUnread(token: string, path?: string): Promise<Socket>;
}

/** Creates a caller that may read events. */
export const eventReader = (id: string, changes: Partial<Caller> = {}): Caller => ({
  ...{ kind: "agent", id, clientId: id, accountId: "acc_1" },
  scopes: new Set<Scope>(["alerts:write", "signals:read"]),
  resource: "",
  signedInAt: undefined,
  ...changes,
});

/** The numbers of the service, with a total that a test can reach. */
const MOST = { ...concurrencyClasses.streams, total: 500 };

/**
 * Starts a server of event streams whose timers the test advances.
 *
 * @param idleMs As for `createBoundedServer`; it passes in real time.
 */
export async function startStreams(dataBytes = 10, idleMs?: number): Promise<StreamApp> {
  const server = createBoundedServer((req, res) => handle(req, res), {
    proxyHops: 0,
    ...(idleMs !== undefined && { idleMs }),
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const base = `http://127.0.0.1:${port}`;
  const timers = manualTimers();
  const failures: unknown[] = [];
  const onError = (error: unknown) => void failures.push(error);
  const repeat: StartLoop = (tick, everyMs) =>
    startLoop({ tick, everyMs, onError, schedule: timers.schedule });
  const callers = new Map([["reader", eventReader("reader")]]);
  const log = writtenLog(dataBytes);
  const streams = createOpenStreams(repeat, MOST);
  const app: StreamApp = {
    ...{ base, timers, log, streams, callers, failures },
    hindrance: async () => undefined,
    open: (token, path = "", headers = {}) =>
      openStream(`${base}/api/alerts/stream${path}`, {
        authorization: `Bearer ${token}`,
        ...headers,
      }),
    cutOff: () => server.closeAllConnections(),
    openUnread: (token, path = "") => unread(port, { token, path }),
  };
  const api = new ProtectedResource(
    {
      baseUrl: base,
      anonymousScopes: anonymousScopeCeiling,
      claims: { claimantsNote: "" },
      limits: looseLimits(),
      async authenticate(token) {
        await app.hindrance();
        const caller = callers.get(token);
        return caller && { ...caller, resource: base };
      },
    },
    "",
  );
  const admit = createAdmission({ api, limits: looseLimits(), isSimulated: true });
  const route = alertStreamRoute({ admit, log, streams, repeat });
  const handle = listenerOf([route], { onError, proxyHops: 1 });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return app;
}

function writtenLog(dataBytes: number): WrittenLog {
  const events: LoggedEvent[] = [];
  const listeners = new Set<() => void>();
  const asked: string[] = [];
  const log: WrittenLog = {
    ...{ events, asked, failure: undefined },
    listeners: () => listeners.size,
    write(count, news) {
      for (let added = 0; added < count; added++) {
        const cursor = String(events.length + 1);
        events.push({ cursor, type: "signal.shift", body: "x".repeat(dataBytes) });
      }
      if (news === "told") for (const listener of listeners) listener();
    },
    async after(_owner, cursor, limit) {
      asked.push(cursor);
      await settled();
      if (log.failure !== undefined) throw log.failure;
      if (!/^\d+$/.test(cursor)) {
        throw new Problem("invalid_request", { detail: "no cursor", next: "send one" });
      }
      const page = events.slice(Number(cursor), Number(cursor) + limit);
      return { events: page, position: page.at(-1)?.cursor ?? cursor, hasMore: false };
    },
    end: async () => String(events.length),
    onNewEvents(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  return log;
}

async function unread(
  port: number,
  { token, path }: { readonly token: string; readonly path: string },
): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.pause();
  await once(socket, "connect");
  socket.write(
    `GET /api/alerts/stream${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`,
  );
  return socket;
}

/** Waits in real time for a condition, because data on a socket do not follow the test's clock. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await settled();
}
