import { createServer } from "node:http";
import pino from "pino";
import type { Caller } from "../../src/access/caller.ts";
import { anonymousScopeCeiling } from "../../src/access/scopes.ts";
import { AlertService } from "../../src/alerts/api/alert-service.ts";
import type { AlertDependencies } from "../../src/alerts/api/dependencies.ts";
import { WatchlistService } from "../../src/alerts/watchlists/watchlists.ts";
import { type AppOptions, createApp } from "../../src/http/app.ts";
import { createOpenStreams } from "../../src/http/open-streams.ts";
import type { StartLoop } from "../../src/lib/loop.ts";
import { scheduleTimer, startLoop } from "../../src/lib/loop.ts";
import type { LimitOverrides } from "../../src/limits/classes.ts";
import { BrowserSessions } from "../../src/principals/accounts/browser-sessions.ts";
import { ClaimService } from "../../src/principals/agents/claims.ts";
import { NO_METERS } from "../../src/telemetry/meters.ts";
import type { ToolContext } from "../../src/tool/tool.ts";
import { peopleOf } from "./account-parts.ts";
import {
  alertDependencies,
  looseLimits,
  newAgent,
  newApplication,
  newKeyHolder,
  newPerson,
} from "./alert-service.ts";
import { atFileEnd } from "./file-end.ts";
import { namedInstrument } from "./instruments.ts";
import { listenLocally } from "./local-server.ts";
import { embedded, START, type TestStore } from "./stores.ts";

const LISTED = ["ALDER.SIM", "BRINE.SIM"].map((symbol) =>
  namedInstrument(symbol, `The ${symbol} company`),
);

/** Options of the application under test. */
interface Choice extends Partial<Pick<AppOptions, "onSignal">> {
  readonly limits?: LimitOverrides;
}

/**
 * The HTTP application with an alert service, but without OAuth: the name of a caller is their
 * token.
 */
export interface AlertApp extends Pick<TestStore, "records" | "archive" | "clock"> {
  readonly base: string;
  readonly callers: Readonly<Record<string, Caller>>;
  /** Sends a request as the named caller. */
  as(name: string, path: string, init?: Init): Promise<Response>;
  /** Reported errors that are not the fault of the caller. */
  readonly failures: readonly unknown[];
}

/** Options of a request. A body other than a string is sent as JSON. */
interface Init {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Starts the application; it stops after the last test of the file. */
export async function startAlertApp({
  limits = {},
  onSignal = () => () => {},
}: Choice = {}): Promise<AlertApp> {
  const clock = { now: START };
  const store = await embedded.open({ now: () => clock.now });
  const { records, archive } = store;
  const [reader, writer] = [await newAgent(records, "reader"), await newAgent(records, "writer")];
  const callers: Record<string, Caller> = {
    agent: await newAgent(records, "agent", "person"),
    stranger: await newAgent(records, "stranger", "someone"),
    person: await newPerson(records, "person"),
    sibling: await newAgent(records, "sibling", "person"),
    application: await newApplication(records, "person", "another-app"),
    key: await newKeyHolder(records, "key", "person"),
    /** A person whose id is that of the agent. */
    namesake: await newPerson(records, "agent"),
    reader: { ...reader, scopes: new Set(anonymousScopeCeiling) },
    writer: { ...writer, scopes: new Set(["alerts:write"]) },
  };
  const server = createServer();
  const base = await listenLocally(server);
  const failures: unknown[] = [];
  const onError = (error: unknown) => void failures.push(error);
  const repeat: StartLoop = (tick, everyMs) =>
    startLoop({ tick, everyMs, schedule: scheduleTimer, onError });
  const people = peopleOf({ clock }, records);
  const { now, accounts } = people;
  const app = createApp({
    ...{ name: "Test", version: "1", baseUrl: base, proxyHops: 0, routers: [], now },
    tokenRoute: { method: "POST", path: "/oauth/token", handle: ({ res }) => void res.end() },
    context: contextOf(alertDependencies({ records, archive, clock }, { limits })),
    tables: () => [],
    authenticate: async (token) => callers[token] && { ...callers[token], resource: base },
    ...{ accounts, sessions: new BrowserSessions({ ...people, records, secure: false }) },
    limits: looseLimits(),
    anonymousScopes: anonymousScopeCeiling,
    claims: new ClaimService({
      ...{ ...people, records, baseUrl: base, anonymousScopes: anonymousScopeCeiling },
      signUp: "open",
      codeKey: new Uint8Array(32),
    }),
    readiness: async () => ({ required: {}, optional: {} }),
    ...{ streams: createOpenStreams(repeat), repeat, onSignal },
    eventLog: {
      after: async (_reader, position) => ({ events: [], position, hasMore: false }),
      end: async () => "0",
      onNewEvents: () => () => {},
    },
    ...{ onError, log: pino({ level: "silent" }), meters: NO_METERS, signalLog: undefined },
    onReport: () => {},
  });
  server.on("request", app.handle);
  atFileEnd(() => new Promise((resolve) => server.close(resolve)));
  const as = (name: string, path: string, { body, headers, ...init }: Init = {}) => {
    const isText = typeof body === "string";
    const text = body === undefined || isText ? body : JSON.stringify(body);
    return fetch(base + path, {
      ...init,
      ...(text !== undefined && { body: text }),
      headers: {
        authorization: `Bearer ${name}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
    });
  };
  return { base, callers, as, failures, records, archive, clock };
}

/**
 * Context of the tools: a market with two instruments and no data, which is enough for the alert
 * tools.
 */
const contextOf = (dependencies: AlertDependencies): ToolContext => {
  const unknown = () => {
    throw new Error("nothing is known");
  };
  return {
    alerts: new AlertService(dependencies),
    watchlists: new WatchlistService(dependencies),
    channels: { idOf: unknown },
    market: {
      mode: "sandbox",
      source: { id: "test", name: "Test", terms: "None.", simulated: true },
      dayMs: 60_000,
      now: () => START,
      knownUntil: () => START,
      sessionAt: unknown,
      instruments: () => LISTED,
      records: unknown,
    },
    snapshots: {
      ...{ edition: () => 0, latestAt: () => 0, allNewest: () => [] },
      ...{ newest: unknown, lastAt: unknown, history: unknown },
    },
  };
};
