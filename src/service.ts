import type { RequestListener } from "node:http";
import type { Logger } from "pino";
import pkg from "../package.json" with { type: "json" };
import { type Access, type AccessOptions, createAccess } from "./access.ts";
import { snapshotId } from "./answers/signal.ts";
import type { Config } from "./config.ts";
import { type App, createApp } from "./http/app.ts";
import { claimRouter } from "./http/claim.ts";
import { intakeRouter } from "./http/intake.ts";
import { oauthRouter } from "./http/oauth.ts";
import { pagesRouter } from "./http/pages/pages.ts";
import type { Check, Readiness } from "./http/readiness.ts";
import type { ServedRoute } from "./http/routes.ts";
import type { Market } from "./market/market.ts";
import type { MarketClock } from "./market-clock.ts";
import { openMarket } from "./open-market.ts";
import { createEngine } from "./score/engine.ts";
import { openState, type State } from "./state.ts";
import { createSessionArchive } from "./store/session-archive.ts";
import { createSnapshotArchive, type MemoryArchive } from "./store/snapshot-archive.ts";
import type { LeadersWork } from "./store/upkeep.ts";
import type { ToolContext } from "./tool.ts";

/** Human name of the service. */
export const NAME = "Market Signal";

/** Pause between two looks for sessions that closed and are not recorded yet, in milliseconds. */
const RECORD_EVERY_MS = 250;

/** What the service is built from. */
export interface ServiceOptions extends Pick<AccessOptions, "outbound" | "onLetter"> {
  readonly config: Pick<Config, "store" | "proxyHops"> & AccessOptions["config"];
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  readonly now: () => Date;
  readonly log: Logger;
  /** Told how much of the market has been read. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** The running service without its socket. */
export interface Service {
  readonly app: RequestListener;
  /** Everything that is served over HTTP. */
  readonly routes: readonly ServedRoute[];
  /** What is served, for the operator. */
  readonly market: ToolContext["market"];
  readonly state: State;
  /** Scores everything that became known since the last call. */
  refresh(): void;
  /** Milliseconds until there is something new to score, `undefined` when time stands still. */
  untilNextRefresh(): number | undefined;
  /** From now on `/readyz` says that the service is stopping. */
  drain(): void;
  /** Ends the work under way; no request may come any more. */
  close(): Promise<void>;
}

/**
 * Composition root: the only place that builds the parts and puts them together. The store comes
 * first, so that one that cannot be opened is told before a long read.
 */
export async function createService(options: ServiceOptions): Promise<Service> {
  const { config, now, log } = options;
  const state = await openState({
    choice: config.store,
    mode: config.market.kind,
    now: () => now().getTime(),
    log,
  });
  try {
    return await createOn(state, options);
  } catch (error) {
    await state.close();
    throw error;
  }
}

async function createOn(state: State, options: ServiceOptions): Promise<Service> {
  const { config, now, onProgress } = options;
  const wall = () => now().getTime();
  const { market, clock } = await openMarket(config.market, onProgress ? { onProgress } : {});
  const archive = createSnapshotArchive();
  const engine = createEngine(market, archive);
  let knownUntil = 0;
  let isDraining = false;
  const refresh = () => {
    const until = clock.advance(wall());
    engine.refresh(until);
    knownUntil = until;
  };
  refresh();

  const access = await createAccess({ ...options, state, name: NAME });
  const context = toolContext(market, archive, {
    now: () => clock.now(wall()),
    knownUntil: () => knownUntil,
  });
  const readiness = async () => ({
    process: { ok: !isDraining, detail: isDraining ? "stopping" : "running" },
    store: await state.probe(),
    ...(config.market.kind === "replay" && { replay: replayCheck(clock, wall()) }),
  });
  const app = serve({ options, access, context, readiness });
  state.startUpkeep(recording(market, { state, archive, knownUntil: () => knownUntil }));
  clock.start(wall());
  return {
    app: app.handle,
    routes: app.routes,
    market: context.market,
    state,
    refresh,
    untilNextRefresh: () => clock.untilNext(wall()),
    drain: () => {
      isDraining = true;
    },
    async close() {
      await access.close();
      await state.close();
    },
  };
}

interface Surface {
  readonly options: ServiceOptions;
  readonly access: Access;
  readonly context: ToolContext;
  readonly readiness: Readiness;
}

/** Puts the parts together that speak HTTP. */
function serve({ options, access, context, readiness }: Surface): App {
  const { config, baseUrl, now, log } = options;
  const onError = (error: unknown) => log.error({ err: error }, "a request failed");
  return createApp({
    ...{ name: NAME, version: pkg.version, baseUrl, context, now, onError, readiness },
    ...{ authenticate: access.authenticate, limits: access.limits },
    proxyHops: config.proxyHops,
    anonymousScopes: config.anonymousScopes,
    routers: [
      claimRouter({ ...access, baseUrl, now }),
      pagesRouter({
        ...{ ...access, name: NAME, baseUrl, now, onError },
        mailHint: config.mail === undefined,
      }),
      oauthRouter({ ...access, baseUrl }),
      intakeRouter(access),
    ],
    onReport: (error) => log.debug({ err: error }, "reported by the MCP SDK"),
  });
}

/** How far a replay is. Its end is no fault: what is served is as of the last instant. */
function replayCheck({ now, untilNext }: MarketClock, wall: number): Check {
  const at = new Date(now(wall)).toISOString();
  const hasEnded = untilNext(wall) === undefined;
  return { ok: true, detail: hasEnded ? `ended: time stands still at ${at}` : `at ${at}` };
}

/** What is scored, and where it is recorded. */
interface Recorded {
  readonly state: State;
  readonly archive: MemoryArchive;
  readonly knownUntil: () => number;
}

/** The leader records final snapshots. Those of the sandbox anyone can make again from its seed. */
function recording(
  { mode, dayMs }: Market,
  { state, archive: snapshots, knownUntil }: Recorded,
): readonly LeadersWork[] {
  if (mode === "sandbox") return [];
  const { archive } = state.store;
  const step = createSessionArchive({ archive, snapshots, knownUntil, dayMs, idOf: snapshotId });
  return [{ step, everyMs: RECORD_EVERY_MS }];
}

function toolContext(
  market: Market,
  archive: MemoryArchive,
  { now, knownUntil }: Pick<ToolContext["market"], "now" | "knownUntil">,
): ToolContext {
  return {
    market: {
      mode: market.mode,
      source: market.source,
      dayMs: market.dayMs,
      now,
      knownUntil,
      instruments: () => archive.allNewest().map(({ instrument }) => instrument),
      records(symbol) {
        const records = market.recordsUntil(knownUntil());
        const found = records.find(({ instrument }) => instrument.symbol === symbol);
        if (found === undefined) throw new Error(`no records of ${symbol}`);
        return found;
      },
    },
    snapshots: {
      ...archive,
      newest(symbol) {
        const snapshot = archive.newest(symbol);
        if (snapshot === undefined) throw new Error(`no snapshot of ${symbol}`);
        return snapshot;
      },
    },
  };
}
