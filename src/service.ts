import type { RequestListener } from "node:http";
import type { Logger } from "pino";
import { extraAuthorizationServerMetadata } from "../wellknown/authorization-server.ts";
import { createAlertSystem } from "./alerts/create.ts";
import { sealPlainWebhookUrls, webhookUrlKeysOf } from "./alerts/delivery/sealed-webhook-url.ts";
import { createAuthServices } from "./auth/create.ts";
import type { Config } from "./config/config.ts";
import type { McpExtension } from "./http/mcp/server-factory.ts";
import { createOpenStreams } from "./http/open-streams.ts";
import { accountLinkOf, createCodeOnPage } from "./http/pages/code-on-page.ts";
import type { ServedRoute } from "./http/served-routes.ts";
import { openScoring, type ScoredMarket } from "./ingest/create.ts";
import type { IngestSetup } from "./ingest/setup.ts";
import { type StartLoop, scheduleTimer, startLoop } from "./lib/loop.ts";
import { Problem } from "./lib/problem.ts";
import { SignalLog } from "./log/signal-log.ts";
import type { Email } from "./mail/email-schema.ts";
import type { MarketView } from "./market/market-view.ts";
import type { GuardedFetchOptions } from "./outbound/guarded-fetch.ts";
import { createHttpSurface } from "./process/http-surface.ts";
import { leaderJobs } from "./process/leader-jobs.ts";
import type { ReadProcessReport } from "./process/process-report.ts";
import { createReadiness } from "./process/readiness-checks.ts";
import {
  createProcessReporter,
  createServedMetrics,
  openMetrics,
  type ReportParts,
  type ServedMetrics,
} from "./process/telemetry.ts";
import { openPersistentState, type PersistentState } from "./state.ts";
import { type Meters, NO_METERS } from "./telemetry/meters.ts";
import { createToolContext } from "./tool/create-context.ts";

/** Display name of the service. */
export const SERVICE_NAME = "Market Signal and Verification Service";

/** Options of `createService`. */
export interface ServiceOptions {
  readonly config: Config;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  readonly now: () => Date;
  /**
   * Clock of the embedded store, by which leases end and records become due or expire; Unix
   * milliseconds. Default: `now`.
   */
  readonly storeNow?: (() => number) | undefined;
  readonly log: Logger;
  /** State of the HTTP server and of the process log; absent for a service without a server. */
  readonly processParts?: (() => ReportParts) | undefined;
  /** Called with the progress of reading the market. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
  /** Shows an email to the operator when no mail server is configured. */
  readonly onEmail?: ((email: Email) => void) | undefined;
  /** A sandbox that is already scored; set only in tests. */
  readonly sandbox?: ScoredMarket | undefined;
  /** Restrictions on URLs that are fetched for others; set only in tests. */
  readonly outbound?: GuardedFetchOptions | undefined;
  /** Additional MCP features; set only in tests. */
  readonly mcpAddition?: McpExtension | undefined;
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
 * Composition root: the only place that creates the parts and connects them, from the bottom up.
 * The store is opened first, so that a fault in the store is reported before the market is read,
 * which can take long.
 */
export async function createService(options: ServiceOptions): Promise<Service> {
  const { config, baseUrl, now, storeNow, log } = options;
  const metrics = await openMetrics(config.metricsPort);
  const meters = metrics?.meters ?? NO_METERS;
  const state = await openPersistentState({
    choice: config.store,
    mode: config.market.kind,
    now: () => now().getTime(),
    storeNow,
    log,
    meters,
  });
  try {
    const { store, keyring } = state;
    const { scoring, auth, signalLog, alerts } = await openParts(state, meters, options);
    let isDraining = false;
    const readiness = createReadiness({ state, scoring, signalLog, isDraining: () => isDraining });
    const context = createToolContext(scoring, alerts, signalLog);
    const codeOnPage = createCodeOnPage(config, baseUrl);
    const onError = (error: unknown) => {
      if (!(error instanceof Problem)) log.error({ err: error }, "an open stream was interrupted");
    };
    const repeat: StartLoop = (tick, everyMs) =>
      startLoop({ tick, everyMs, schedule: scheduleTimer, onError });
    const streams = createOpenStreams(repeat);
    const app = createHttpSurface({
      config,
      name: SERVICE_NAME,
      baseUrl,
      auth,
      alerts,
      scoring,
      signalLog,
      context,
      readiness,
      codeOnPage,
      streams,
      repeat,
      records: store.records,
      mcpAddition: options.mcpAddition,
      now,
      log,
      meters,
    });
    const { market } = context;
    const { denials, unclaimedCounts: unclaimedCapacity } = auth;
    const { processParts } = options;
    const counted = { denials, unclaimedCapacity, processParts };
    const report = createProcessReporter({ state, market, streams, now, ...counted });
    // Nothing after this can fail for a reason of the settings, and nothing before it was promised
    // to anybody.
    await store.settle();
    state.startMaintenance(leaderJobs({ store, scoring, signalLog, alerts }));
    alerts.start();
    signalLog?.start();
    scoring.start();
    return {
      app: app.handle,
      routes: app.routes,
      accountLink: accountLinkOf(codeOnPage, baseUrl),
      market,
      following: scoring.live?.setup,
      state,
      refresh: scoring.refresh,
      untilNextRefresh: scoring.untilNextRefresh,
      isProvisional: scoring.isProvisional,
      keyIds: () => keyring.keys("token-signing").map(({ jwk }) => jwk.kid),
      drain: () => {
        isDraining = true;
      },
      endStreams: streams.close,
      report,
      metrics: metrics && createServedMetrics(metrics, store, report, now),
      async close() {
        streams.close();
        await alerts.stop();
        await auth.close();
        await signalLog?.close();
        await scoring.close();
        await state.close();
      },
    };
  } catch (error) {
    await state.close();
    throw error;
  }
}

/** Opens the parts that work without HTTP, from the bottom up. */
async function openParts(state: PersistentState, meters: Meters, options: ServiceOptions) {
  const { store, keyring, deriveKey, onCredentialChange } = state;
  const { config, baseUrl, now, storeNow, log, onProgress, onEmail, sandbox, outbound } = options;
  await sealPlainWebhookUrls(store, webhookUrlKeysOf({ keyring, deriveKey }));
  const scoring = await openScoring({
    settings: config,
    store,
    deriveKey,
    now,
    storeNow,
    log,
    onProgress,
    sandbox,
  });
  const auth = await createAuthServices({
    settings: config,
    mode: config.market.kind,
    store,
    keyring,
    deriveKey,
    onCredentialChange,
    extraMetadata: extraAuthorizationServerMetadata(baseUrl),
    baseUrl,
    name: SERVICE_NAME,
    now,
    log,
    outbound,
    onEmail,
  });
  const signalLog = await SignalLog.open({
    store,
    keyring,
    deriveKey,
    scoring,
    folder: config.store.folder,
    witnessesFile: config.witnessesFile,
    baseUrl,
    now,
    log,
  });
  const alerts = createAlertSystem({
    settings: config,
    store,
    keyring,
    deriveKey,
    market: scoring.market,
    snapshots: scoring.snapshots,
    knownUntil: scoring.knownUntil,
    standsStill: () => scoring.untilNextRefresh() === undefined,
    limits: auth.limits,
    mailbox: auth.mailbox,
    serviceName: SERVICE_NAME,
    baseUrl,
    now,
    log,
    meters,
    outbound,
  });
  return { scoring, auth, signalLog, alerts };
}
