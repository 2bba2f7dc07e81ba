import type { RequestListener } from "node:http";
import type { Logger } from "pino";
import pkg from "../package.json" with { type: "json" };
import { type Access, type AccessOptions, createAccess } from "./access.ts";
import type { Config, MarketChoice } from "./config.ts";
import { type App, createApp } from "./http/app.ts";
import { claimRouter } from "./http/claim.ts";
import { intakeRouter } from "./http/intake.ts";
import { oauthRouter } from "./http/oauth.ts";
import { pagesRouter } from "./http/pages/pages.ts";
import type { Readiness } from "./http/readiness.ts";
import type { ServedRoute } from "./http/routes.ts";
import type { Market } from "./market/market.ts";
import { createEngine } from "./score/engine.ts";
import { readMarketFolder } from "./sources/files/market-folder.ts";
import { createSandbox } from "./sources/sandbox/sandbox.ts";
import { openState, type State } from "./state.ts";
import { createSnapshotArchive, type MemoryArchive } from "./store/snapshot-archive.ts";
import type { ToolContext } from "./tool.ts";

/** Human name of the service. */
export const NAME = "Market Signal";

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
  const { market, clock } = await openMarket(config.market, onProgress);
  const archive = createSnapshotArchive();
  const engine = createEngine(market, archive);
  let knownUntil = 0;
  let isDraining = false;
  const refresh = () => {
    knownUntil = clock.knownUntil(now().getTime());
    engine.refresh(knownUntil);
  };
  refresh();

  const access = await createAccess({ ...options, state, name: NAME });
  const context = toolContext(market, archive, {
    now: () => clock.now(now().getTime()),
    knownUntil: () => knownUntil,
  });
  const readiness = async () => ({
    process: { ok: !isDraining, detail: isDraining ? "stopping" : "running" },
    store: await state.probe(),
  });
  const app = serve({ options, access, context, readiness });
  state.startUpkeep();
  return {
    app: app.handle,
    routes: app.routes,
    market: context.market,
    state,
    refresh,
    untilNextRefresh: () => clock.untilNext(now().getTime()),
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

/** How the time on the wall maps to market time; everything in milliseconds. */
interface MarketClock {
  /** What counts as now for the market. */
  now(now: number): number;
  /** Instant up to which the market is known. */
  knownUntil(now: number): number;
  /** Time until `knownUntil` moves, `undefined` when it never does. */
  untilNext(now: number): number | undefined;
}

async function openMarket(
  choice: MarketChoice,
  onProgress?: (done: number, total: number) => void,
): Promise<{ readonly market: Market; readonly clock: MarketClock }> {
  if (choice.kind === "sandbox") {
    const market = createSandbox(choice);
    const { dayMs } = market;
    const knownUntil = (now: number) => Math.floor(now / dayMs) * dayMs;
    const untilNext = (now: number) => knownUntil(now) + dayMs - now;
    return { market, clock: { now: (now) => now, knownUntil, untilNext } };
  }
  const until = choice.asOf?.getTime();
  const market = await readMarketFolder(choice.folder, {
    ...(until !== undefined && { until }),
    ...(onProgress && { onProgress }),
  });
  const at = until ?? newestBarAt(market);
  return { market, clock: { now: () => at, knownUntil: () => at, untilNext: () => undefined } };
}

/** When the newest bar of a market became known: the end of recorded history. */
function newestBarAt(market: Market): number {
  const bars = market.recordsUntil(Number.POSITIVE_INFINITY).map(({ bars }) => bars.at(-1));
  return Math.max(0, ...bars.map((bar) => bar?.availableAt ?? 0));
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
