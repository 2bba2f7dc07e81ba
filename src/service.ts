import type { RequestListener } from "node:http";
import type { Logger } from "pino";
import pkg from "../package.json" with { type: "json" };
import { type Alerts, type AlertsOptions, createAlerts } from "./alerts/create.ts";
import { snapshotId } from "./answers/common.ts";

import { type Access, type AccessOptions, createAccess } from "./auth/create.ts";
import type { Config } from "./config/config.ts";
import { intakeRouter } from "./http/api/apply-and-contact.ts";
import { type App, type AppOptions, createApp } from "./http/app.ts";
import { webhookKeysRouter } from "./http/discovery/discovery-routes.ts";
import { claimRouter } from "./http/oauth/claim-endpoints.ts";
import { createOAuth } from "./http/oauth/endpoints.ts";
import { createStreams } from "./http/open-streams.ts";
import { pagesRouter } from "./http/pages/pages.ts";
import type { ServedRoute } from "./http/served-routes.ts";
import { openScoring, type Scoring, type ScoringOptions } from "./ingest/create.ts";
import type { Setup } from "./ingest/setup.ts";
import type { StartLoop } from "./lib/loop.ts";
import { schedule, startLoop } from "./lib/loop.ts";
import { memoByVersion } from "./lib/memo.ts";
import { SignalLog } from "./log/signal-log.ts";
import type { Instrument } from "./market/instrument.ts";
import type { SourcesByFeed } from "./market/market.ts";
import type { MarketView } from "./market/market-view.ts";
import { Problem } from "./problem.ts";
import { createReadiness } from "./process/readiness-checks.ts";
import { setupFacts } from "./process/setup-facts.ts";
import { openState, type State, type StateOptions } from "./state.ts";
import type { LeaderJob } from "./store/maintenance.ts";
import { createSessionArchive } from "./store/session-archive.ts";
import {
  createReport,
  openMetrics,
  type ReportParts,
  type ServedMetrics,
  servedMetrics,
} from "./telemetry/create.ts";
import { type Meters, NO_METERS } from "./telemetry/meters.ts";
import type { Metrics } from "./telemetry/metrics.ts";
import type { ReadReport } from "./telemetry/report.ts";
import type { ToolContext } from "./tool.ts";

/** Human name of the service. */
export const SERVICE_NAME = "Market Signal and Verification Service";

/** Interval of checks for sessions that closed and are not recorded yet, in milliseconds. */
const RECORD_EVERY_MS = 250;

/** Interval of checks for ended windows of limits, in milliseconds. */
const SWEEP_EVERY_MS = 60_000;

/** Options of the service. */
export interface ServiceOptions
  extends Pick<AccessOptions, "outbound" | "onEmail">,
    Pick<ScoringOptions, "onProgress" | "sandbox">,
    Pick<AppOptions, "mcpAddition"> {
  readonly config: Pick<
    Config,
    "store" | "proxyHops" | "mcpFastPath" | "metricsPort" | "witnessesFile"
  > &
    AccessOptions["config"] &
    AlertsOptions["config"] &
    ScoringOptions["config"];
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  readonly now: () => Date;
  /** Clock of the embedded store, as `StateOptions` say. */
  readonly storeNow?: StateOptions["storeNow"];
  readonly log: Logger;
  /** State of the server and of the log of the process; absent for a service without a server. */
  readonly processParts?: (() => ReportParts) | undefined;
}

/** The running service without its socket. */
export interface Service {
  readonly app: RequestListener;
  /** Everything that is served over HTTP. */
  readonly routes: readonly ServedRoute[];
  /** The served market, for reports to the operator. */
  readonly market: MarketView;
  /** Providers and instruments of a live market; absent for a recorded or simulated market. */
  readonly following: Setup | undefined;
  readonly state: State;
  /** Scores everything that became known since the last call. */
  refresh(): void;
  /** Milliseconds until there may be something new to score; `undefined` if the market's clock is
   *  stopped. */
  untilNextRefresh(): number | undefined;
  /** Whether scores are still those of the previous run while they are computed again. */
  isWarm(): boolean;
  /** Ids of the public signing keys, which identify the store. */
  keyIds(): readonly string[];
  /** From now on `/readyz` says that the service is stopping. */
  drain(): void;
  /** Ends all open streams, and admits no new ones. */
  endStreams(): void;
  /** Report on this process. */
  readonly report: ReadReport;
  /** Metrics; absent where no METRICS_PORT is set. */
  readonly metrics: ServedMetrics | undefined;
  /** Finishes the work in progress. To be called when no request can arrive any more. */
  close(): Promise<void>;
}

/**
 * Composition root: the only place that builds the parts and puts them together. The store comes
 * first, so that a fault of it is reported before a long read.
 */
export async function createService(options: ServiceOptions): Promise<Service> {
  const { config, now, log } = options;
  const metrics = await openMetrics(config.metricsPort);
  const meters = metrics?.meters ?? NO_METERS;
  const state = await openState({
    meters,
    choice: config.store,
    mode: config.market.kind,
    now: () => now().getTime(),
    storeNow: options.storeNow,
    log,
  });
  try {
    return await createOn(state, { ...options, metrics, meters });
  } catch (error) {
    await state.close();
    throw error;
  }
}

/** Options of the service, with its metrics. */
type Measured = ServiceOptions & { readonly metrics: Metrics | undefined; readonly meters: Meters };

async function createOn(state: State, options: Measured): Promise<Service> {
  const { log } = options;
  const scoring = await openScoring({
    ...options,
    store: state.store,
    deriveKey: state.deriveKey,
  });
  const access = await createAccess({ ...options, state, name: SERVICE_NAME });
  const signalLog = await SignalLog.open({
    ...options,
    state,
    scoring,
    folder: options.config.store.folder,
    witnessesFile: options.config.witnessesFile,
  });
  const alerts = createAlerts({
    ...{ ...options, ...scoring, state, limits: access.limits, serviceName: SERVICE_NAME },
    standsStill: () => scoring.untilNextRefresh() === undefined,
  });
  let isDraining = false;
  const readiness = createReadiness({ state, scoring, signalLog, isDraining: () => isDraining });
  const repeat: StartLoop = (tick, everyMs) => startLoop({ tick, everyMs, schedule, onError });
  const onError = (error: unknown) => {
    if (!(error instanceof Problem)) log.error({ err: error }, "an open stream was interrupted");
  };
  const streams = createStreams(repeat);
  const context = toolContext(scoring, alerts, signalLog);
  const served = { context, readiness, streams, repeat, signalLog };
  const app = serve({ options, access, alerts, scoring, ...served });
  const { market } = context;
  const { denials, unclaimedCounts: unclaimedCapacity } = access;
  const report = createReport({ ...options, state, market, streams, denials, unclaimedCapacity });
  state.startMaintenance([
    ...recording(scoring, state).map((job) => onceScored(job, scoring)),
    ...(signalLog?.leaderJobs ?? []).map((job) => onceScored(job, scoring)),
    ...(scoring.live?.work ?? []),
    onceScored(alerts.leaderJob, scoring),
    ...sweeping(state),
  ]);
  alerts.start();
  signalLog?.start();
  scoring.start();
  return {
    following: scoring.live?.setup,
    report,
    metrics: options.metrics && servedMetrics(options.metrics, state.store, report, options.now),
    state,
    market,
    app: app.handle,
    routes: app.routes,
    refresh: scoring.refresh,
    untilNextRefresh: scoring.untilNextRefresh,
    isWarm: scoring.isWarm,
    keyIds: () => state.keyring.keys("token-signing").map(({ jwk }) => jwk.kid),
    drain: () => {
      isDraining = true;
    },
    endStreams: streams.close,
    async close() {
      streams.close();
      await alerts.stop();
      await access.close();
      await signalLog?.close();
      await scoring.close();
      await state.close();
    },
  };
}

interface Surface
  extends Pick<AppOptions, "context" | "readiness" | "streams" | "repeat" | "signalLog"> {
  readonly options: Measured;
  readonly access: Access;
  readonly alerts: Alerts;
  readonly scoring: Scoring;
}

/** Builds the HTTP application from its parts. */
function serve({ options, access, alerts, scoring, ...served }: Surface): App {
  const { config, baseUrl, now, log, meters } = options;
  const onError = (error: unknown) => log.error({ err: error }, "a request failed");
  const oauth = createOAuth({ ...access, baseUrl });
  return createApp({
    ...served,
    name: SERVICE_NAME,
    version: pkg.version,
    baseUrl,
    now,
    log,
    meters,
    onError,
    mcpAddition: options.mcpAddition,
    authenticate: access.authenticate,
    claims: access.claims,
    limits: access.limits,
    sessions: access.sessions,
    accounts: access.accounts,
    tables: scoring.snapshots.tables,
    eventLog: alerts.eventLog,
    onSignal: scoring.updates.onUpdate,
    tokenRoute: oauth.tokenRoute,
    proxyHops: config.proxyHops,
    mcpFastPath: config.mcpFastPath,
    anonymousScopes: config.anonymousScopes,
    routers: [
      claimRouter({ ...access, baseUrl, now }),
      pagesRouter({
        ...access,
        alerts: alerts.service,
        watchlists: alerts.watchlists,
        channels: alerts.channels,
        unsubscribing: alerts.unsubscribing,
        name: SERVICE_NAME,
        baseUrl,
        now,
        onError,
        context: served.context,
        isMailShownToOperator: config.mail === undefined,
        signUp: config.signUp,
        operator: {
          access: access.operatorAccess,
          facts: () =>
            setupFacts({
              config,
              baseUrl,
              market: served.context.market,
              following: scoring.live?.setup,
              readiness: served.readiness,
              hasLog: served.signalLog !== undefined,
            }),
        },
      }),
      oauth.router,
      intakeRouter(access),
      webhookKeysRouter(alerts.keySet),
    ],
    onReport: (error) => log.debug({ err: error }, "reported by the MCP SDK"),
  });
}

/** Jobs of the leader that delete the counts of ended windows. */
const sweeping = ({ store: { counters } }: State): readonly LeaderJob[] =>
  counters === undefined ? [] : [{ tick: counters.sweep, everyMs: SWEEP_EVERY_MS }];

/** A job that pauses while the scores are still those of the previous run. */
const onceScored = (job: LeaderJob, { isWarm }: Scoring): LeaderJob => ({
  ...job,
  tick: async () => (isWarm() ? 0 : job.tick()),
});

/** Jobs of the leader that record final snapshots. None in the sandbox, where anyone can compute
 *  them again from the seed. */
function recording(
  { market: { mode, dayMs }, snapshots, recordableUntil: knownUntil }: Scoring,
  { store: { archive } }: State,
): readonly LeaderJob[] {
  if (mode === "sandbox") return [];
  const hasWholeHistory = mode !== "live";
  const tick = createSessionArchive({
    archive,
    snapshots,
    knownUntil,
    dayMs,
    hasWholeHistory,
    idOf: snapshotId,
  });
  return [{ tick, everyMs: RECORD_EVERY_MS }];
}

/**
 * The context of tools. What is equal for all requests between two editions of the snapshots is
 * computed at the first request and cached.
 */
export function toolContext(
  { market, analyser, snapshots, recordedUntil, marketNow, knownUntil, isWarm }: Scoring,
  { service, watchlists, channels }: Pick<Alerts, "service" | "watchlists" | "channels">,
  signalLog?: SignalLog,
): ToolContext {
  const perEdition = <T>(make: () => T) => memoByVersion(snapshots.edition, make);
  // While scores are recomputed, their records are read ahead of what is shown.
  const list = perEdition(() => market.recordsUntil(isWarm() ? marketNow() : knownUntil()));
  const records = memoByVersion(
    list,
    () => new Map(list().map((one) => [one.instrument.symbol, one])),
  );
  return {
    alerts: service,
    watchlists,
    channels,
    analyser,
    ...(signalLog && { signalLog }),
    market: {
      mode: market.mode,
      source: market.source,
      ...(market.printsAre && { printsAre: market.printsAre }),
      ...(market.sourcesOf && {
        sourcesOf: sourcesPer(perEdition, (symbol) => market.sourcesOf?.(symbol) ?? new Map()),
      }),
      ...(market.followed && { followed: market.followed }),
      dayMs: market.dayMs,
      ...(recordedUntil !== undefined && { recordedUntil }),
      sessionAt: (at, assetClass) => market.sessionAt(at, assetClass),
      now: marketNow,
      knownUntil,
      isWarm,
      instruments: perEdition(instrumentsIn(snapshots)),
      records: (symbol) => listed(records().get(symbol), symbol),
    },
    snapshots: {
      ...snapshots,
      // Answers name the entries of the log on which they are based.
      edition: () => snapshots.edition() + (signalLog?.edition() ?? 0),
      newest: (symbol) => listed(snapshots.newest(symbol), symbol),
    },
  };
}

function listed<T>(found: T | undefined, symbol: string): T {
  if (found === undefined) throw new Error(`${symbol} is not listed`);
  return found;
}

/** Lists the instruments; returns the same list until the instruments change. */
function instrumentsIn({ allNewest }: Scoring["snapshots"]): () => readonly Instrument[] {
  let before: readonly Instrument[] = [];
  return () => {
    const now = allNewest().map(({ instrument }) => instrument);
    const isSame = now.length === before.length && now.every((one, at) => one === before[at]);
    if (!isSame) before = now;
    return before;
  };
}

/** Sources by symbol, computed once per edition. */
function sourcesPer(
  perEdition: <T>(make: () => T) => () => T,
  sourcesOf: (symbol: string) => SourcesByFeed,
): (symbol: string) => SourcesByFeed {
  const known = perEdition(() => new Map<string, SourcesByFeed>());
  return (symbol) => {
    const sources = known().get(symbol) ?? sourcesOf(symbol);
    known().set(symbol, sources);
    return sources;
  };
}
