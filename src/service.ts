import type { RequestListener } from "node:http";
import type { Logger } from "pino";
import pkg from "../package.json" with { type: "json" };
import { type AlertSystem, type AlertSystemOptions, createAlertSystem } from "./alerts/create.ts";
import { sealPlainWebhookUrls, webhookUrlKeysOf } from "./alerts/delivery/webhook-url.ts";
import { snapshotId } from "./answers/common.ts";

import { type AuthServices, type AuthServicesOptions, createAuthServices } from "./auth/create.ts";
import type { Config } from "./config/config.ts";
import { intakeRouter } from "./http/api/apply-and-contact.ts";
import { type App, type AppOptions, createApp } from "./http/app.ts";
import { webhookKeysRouter } from "./http/discovery/discovery-routes.ts";
import { claimRouter } from "./http/oauth/claim-endpoints.ts";
import { createOAuthEndpoints } from "./http/oauth/endpoints.ts";
import { createOpenStreams } from "./http/open-streams.ts";
import { accountLinkOf, type CodeOnPage, createCodeOnPage } from "./http/pages/code-on-page.ts";
import { pagesRouter } from "./http/pages/pages.ts";
import type { ServedRoute } from "./http/served-routes.ts";
import { openScoring, type Scoring, type ScoringOptions } from "./ingest/create.ts";
import { createSessionArchiveJob } from "./ingest/session-archive.ts";
import type { IngestSetup } from "./ingest/setup.ts";
import type { StartLoop } from "./lib/loop.ts";
import { scheduleTimer, startLoop } from "./lib/loop.ts";
import { memoByVersion } from "./lib/memo.ts";
import { Problem } from "./lib/problem.ts";
import { SignalLog } from "./log/signal-log.ts";
import { lastBackupAt } from "./maintenance/backup/last-backup.ts";
import type { LeaderJob } from "./maintenance/maintenance.ts";
import type { Instrument } from "./market/instrument.ts";
import type { SourcesByFeed } from "./market/market.ts";
import type { MarketView } from "./market/market-view.ts";
import type { Metrics } from "./process/metrics.ts";
import type { ReadProcessReport } from "./process/process-report.ts";
import { createReadiness } from "./process/readiness-checks.ts";
import { gatherSetupFacts } from "./process/setup-facts.ts";
import {
  createProcessReporter,
  createServedMetrics,
  openMetrics,
  type ReportParts,
  type ServedMetrics,
} from "./process/telemetry.ts";
import { openPersistentState, type PersistentState, type PersistentStateOptions } from "./state.ts";
import type { Records } from "./store/port/records.ts";
import { type Meters, NO_METERS } from "./telemetry/meters.ts";
import type { ToolContext } from "./tool/tool.ts";

/** Display name of the service. */
export const SERVICE_NAME = "Market Signal and Verification Service";

/** Interval between checks for closed sessions that are not yet recorded, in milliseconds. */
const RECORD_EVERY_MS = 250;

/** Interval between checks for rate limit windows that have ended, in milliseconds. */
const SWEEP_EVERY_MS = 60_000;

/** Options of `createService`. */
export interface ServiceOptions
  extends Pick<AuthServicesOptions, "outbound" | "onEmail">,
    Pick<ScoringOptions, "onProgress" | "sandbox">,
    Pick<AppOptions, "mcpAddition"> {
  readonly config: Pick<
    Config,
    "store" | "host" | "proxyHops" | "mcpFastPath" | "metricsPort" | "witnessesFile"
  > &
    AuthServicesOptions["config"] &
    AlertSystemOptions["config"] &
    ScoringOptions["config"];
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  readonly now: () => Date;
  /** Clock of the embedded store; see `PersistentStateOptions`. */
  readonly storeNow?: PersistentStateOptions["storeNow"];
  readonly log: Logger;
  /** State of the HTTP server and of the process log; absent for a service without a server. */
  readonly processParts?: (() => ReportParts) | undefined;
}

/** The running service without its listening socket. */
export interface Service {
  readonly app: RequestListener;
  /** All routes that are served over HTTP. */
  readonly routes: readonly ServedRoute[];
  /**
   * Address of the account page for the person at the terminal. In a local sandbox it is a secret:
   * the browser that opens it is shown its sign-in codes.
   */
  readonly accountLink: string;
  /** The served market, for the output to the operator at the start. */
  readonly market: MarketView;
  /** Providers and instruments of a live market; absent for a recorded or simulated market. */
  readonly following: IngestSetup | undefined;
  readonly state: PersistentState;
  /** Scores the data that became known since the last call. */
  refresh(): void;
  /**
   * Time in milliseconds after which there may be new data to score; `undefined` if the market's
   * clock is stopped.
   */
  untilNextRefresh(): number | undefined;
  /**
   * Whether the service still shows the scores of the previous run, while they are computed again.
   */
  isProvisional(): boolean;
  /** Returns the ids of the public signing keys, which identify the store. */
  keyIds(): readonly string[];
  /** Makes `/readyz` report that the service is stopping. */
  drain(): void;
  /** Ends all open event streams, and rejects new ones. */
  endStreams(): void;
  /** Returns the report on this process. */
  readonly report: ReadProcessReport;
  /** Metrics; `undefined` if METRICS_PORT is not set. */
  readonly metrics: ServedMetrics | undefined;
  /**
   * Finishes the work in progress and closes the store. To be called when no more requests can
   * arrive.
   */
  close(): Promise<void>;
}

/**
 * Composition root: the only place that creates the parts and connects them. The store is opened
 * first, so that a fault in the store is reported before the market is read, which can take long.
 */
export async function createService(options: ServiceOptions): Promise<Service> {
  const { config, now, log } = options;
  const metrics = await openMetrics(config.metricsPort);
  const meters = metrics?.meters ?? NO_METERS;
  const state = await openPersistentState({
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

/** Options of the service, together with its metrics. */
type Measured = ServiceOptions & { readonly metrics: Metrics | undefined; readonly meters: Meters };

async function createOn(state: PersistentState, options: Measured): Promise<Service> {
  const { log } = options;
  await sealPlainWebhookUrls(state.store, webhookUrlKeysOf(state));
  const scoring = await openScoring({
    ...options,
    store: state.store,
    deriveKey: state.deriveKey,
  });
  const access = await createAuthServices({ ...options, state, name: SERVICE_NAME });
  const signalLog = await SignalLog.open({
    ...options,
    state,
    scoring,
    folder: options.config.store.folder,
    witnessesFile: options.config.witnessesFile,
  });
  const alerts = createAlertSystem({
    ...{ ...options, ...scoring, state, limits: access.limits, serviceName: SERVICE_NAME },
    standsStill: () => scoring.untilNextRefresh() === undefined,
  });
  let isDraining = false;
  const readiness = createReadiness({ state, scoring, signalLog, isDraining: () => isDraining });
  const repeat: StartLoop = (tick, everyMs) =>
    startLoop({ tick, everyMs, schedule: scheduleTimer, onError });
  const onError = (error: unknown) => {
    if (!(error instanceof Problem)) log.error({ err: error }, "an open stream was interrupted");
  };
  const streams = createOpenStreams(repeat);
  const context = createToolContext(scoring, alerts, signalLog);
  const { records } = state.store;
  const served = { context, readiness, streams, repeat, signalLog, records };
  const codeOnPage = createCodeOnPage(options.config, options.baseUrl);
  const app = serve({ options, access, alerts, scoring, codeOnPage, ...served });
  const { market } = context;
  const { denials, unclaimedCounts: unclaimedCapacity } = access;
  const report = createProcessReporter({
    ...options,
    state,
    market,
    streams,
    denials,
    unclaimedCapacity,
  });
  // Nothing after this can fail for a reason of the settings, and nothing before it was promised to
  // anybody.
  await state.store.settle();
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
    metrics:
      options.metrics && createServedMetrics(options.metrics, state.store, report, options.now),
    state,
    market,
    app: app.handle,
    routes: app.routes,
    accountLink: accountLinkOf(codeOnPage, options.baseUrl),
    refresh: scoring.refresh,
    untilNextRefresh: scoring.untilNextRefresh,
    isProvisional: scoring.isProvisional,
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
  readonly records: Records;
  readonly access: AuthServices;
  readonly alerts: AlertSystem;
  readonly scoring: Scoring;
  readonly codeOnPage: CodeOnPage | undefined;
}

/** Creates the HTTP application from its parts. */
function serve(surface: Surface): App {
  const { options, records, access, alerts, scoring, codeOnPage, ...served } = surface;
  const { config, baseUrl, now, log, meters } = options;
  const onError = (error: unknown) => log.error({ err: error }, "a request failed");
  const oauth = createOAuthEndpoints({ ...access, baseUrl });
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
        codeOnPage,
        signUp: config.signUp,
        operator: {
          access: access.operatorAccess,
          facts: () =>
            gatherSetupFacts({
              config,
              baseUrl,
              market: served.context.market,
              following: scoring.live?.setup,
              readiness: served.readiness,
              signalLog: served.signalLog,
              lastBackupAt: () => lastBackupAt(records),
              now,
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

/** Leader jobs that delete the counts of rate limit windows that have ended. */
const sweeping = ({ store: { counters } }: PersistentState): readonly LeaderJob[] =>
  counters === undefined ? [] : [{ tick: counters.sweep, everyMs: SWEEP_EVERY_MS }];

/** A job that pauses while the scores of the previous run are still in use. */
const onceScored = (job: LeaderJob, { isProvisional }: Scoring): LeaderJob => ({
  ...job,
  tick: async () => (isProvisional() ? 0 : job.tick()),
});

/**
 * Leader jobs that record final snapshots. The sandbox has none, because anyone can compute its
 * snapshots again from the seed.
 */
function recording(
  { market: { mode, dayMs }, snapshots, recordableUntil: knownUntil }: Scoring,
  { store: { archive } }: PersistentState,
): readonly LeaderJob[] {
  if (mode === "sandbox") return [];
  const hasWholeHistory = mode !== "live";
  const tick = createSessionArchiveJob({
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
 * The context of tools. Values that stay equal for all requests until the snapshots change are
 * computed at the first request and cached.
 */
export function createToolContext(
  { market, analyser, snapshots, recordedUntil, marketNow, knownUntil, isProvisional }: Scoring,
  { service, watchlists, channels }: Pick<AlertSystem, "service" | "watchlists" | "channels">,
  signalLog?: SignalLog,
): ToolContext {
  const perEdition = <T>(make: () => T) => memoByVersion(snapshots.edition, make);
  // While the scores are recomputed, the market records are read up to the market's clock, not only
  // up to the last scored session.
  const list = perEdition(() => market.recordsUntil(isProvisional() ? marketNow() : knownUntil()));
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
      isProvisional,
      instruments: perEdition(instrumentsIn(snapshots)),
      records: (symbol) => listed(records().get(symbol), symbol),
    },
    snapshots: {
      ...snapshots,
      // A new entry in the log also starts a new edition, because tool results refer to log
      // entries.
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

/** Data sources by symbol, computed once per edition. */
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
