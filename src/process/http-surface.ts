import type { Logger } from "pino";
import pkg from "../../package.json" with { type: "json" };
import type { AlertSystem } from "../alerts/create.ts";
import type { AuthServices } from "../auth/create.ts";
import type { Config } from "../config/config.ts";
import { intakeRouter } from "../http/api/apply-and-contact.ts";
import { type App, createApp } from "../http/app.ts";
import { webhookKeysRouter } from "../http/discovery/discovery-routes.ts";
import type { McpExtension } from "../http/mcp/server-factory.ts";
import { claimRouter } from "../http/oauth/claim-endpoints.ts";
import { createOAuthEndpoints } from "../http/oauth/endpoints.ts";
import type { OpenStreams } from "../http/open-streams.ts";
import type { CodeOnPage } from "../http/pages/code-on-page.ts";
import { pagesRouter } from "../http/pages/pages.ts";
import type { Scoring } from "../ingest/create.ts";
import type { StartLoop } from "../lib/loop.ts";
import type { SignalLog } from "../log/signal-log.ts";
import { lastBackupAt } from "../maintenance/backup/last-backup.ts";
import type { Records } from "../store/port/records.ts";
import type { Meters } from "../telemetry/meters.ts";
import type { Readiness } from "../telemetry/readiness.ts";
import type { ToolContext } from "../tool/tool.ts";
import { gatherSetupFacts } from "./setup-facts.ts";

/** The parts that are reached over HTTP. */
interface HttpSurfaceOptions {
  readonly config: Config;
  /** Display name of the service. */
  readonly name: string;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  readonly auth: AuthServices;
  readonly alerts: AlertSystem;
  readonly scoring: Scoring;
  /** The signal log; `undefined` if the market has none. */
  readonly signalLog: SignalLog | undefined;
  readonly context: ToolContext;
  readonly readiness: Readiness;
  /** Sign-in codes on the page; `undefined` unless the service is a local sandbox. */
  readonly codeOnPage: CodeOnPage | undefined;
  readonly streams: OpenStreams;
  /** Runs the checks of open streams. */
  readonly repeat: StartLoop;
  readonly records: Records;
  /** Additional MCP features; set only in tests. */
  readonly mcpAddition: McpExtension | undefined;
  readonly now: () => Date;
  readonly log: Logger;
  readonly meters: Meters;
}

/** Creates the HTTP application from its parts. */
export function createHttpSurface(options: HttpSurfaceOptions): App {
  const { config, name, baseUrl, auth, alerts, scoring, context, readiness, now, log } = options;
  const { limits, claims } = auth;
  const onError = (error: unknown) => log.error({ err: error }, "a request failed");
  const oauth = createOAuthEndpoints({
    provider: auth.provider,
    baseUrl,
    clientCredentials: auth.clientCredentials,
    keys: auth.keys,
    limits,
  });
  return createApp({
    name,
    version: pkg.version,
    baseUrl,
    context,
    tables: scoring.snapshots.tables,
    eventLog: alerts.eventLog,
    streams: options.streams,
    repeat: options.repeat,
    onSignal: scoring.updates.onUpdate,
    authenticate: auth.authenticate,
    claims,
    sessions: auth.sessions,
    accounts: auth.accounts,
    limits,
    anonymousScopes: config.anonymousScopes,
    proxyHops: config.proxyHops,
    routers: [
      claimRouter({
        claims,
        authenticate: auth.authenticate,
        findRegisteredClient: auth.findRegisteredClient,
        limits,
        baseUrl,
        now,
      }),
      createPages(options, onError),
      oauth.router,
      intakeRouter(auth.intake, limits),
      webhookKeysRouter(alerts.keySet),
    ],
    tokenRoute: oauth.tokenRoute,
    mcpAddition: options.mcpAddition,
    readiness,
    signalLog: options.signalLog,
    now,
    log,
    meters: options.meters,
    onError,
    onReport: (error) => log.debug({ err: error }, "reported by the MCP SDK"),
  });
}

/** Creates the pages for people. */
function createPages(
  options: HttpSurfaceOptions,
  onError: (error: unknown) => void,
): ReturnType<typeof pagesRouter> {
  const { config, name, baseUrl, auth, alerts, scoring, context, readiness, now } = options;
  const gatherFacts = () =>
    gatherSetupFacts({
      config,
      baseUrl,
      market: context.market,
      following: scoring.live?.setup,
      readiness,
      signalLog: options.signalLog,
      lastBackupAt: () => lastBackupAt(options.records),
      now,
    });
  return pagesRouter({
    name,
    baseUrl,
    sessions: auth.sessions,
    signIn: auth.signIn,
    upstream: auth.upstream,
    accounts: auth.accounts,
    claims: auth.claims,
    interactions: auth.interactions,
    keys: auth.keys,
    intake: auth.intake,
    alerts: alerts.service,
    watchlists: alerts.watchlists,
    channels: alerts.channels,
    unsubscribing: alerts.unsubscribing,
    suppression: auth.suppression,
    context,
    limits: auth.limits,
    isMailShownToOperator: config.mail === undefined,
    codeOnPage: options.codeOnPage,
    operator: { access: auth.operatorAccess, facts: gatherFacts },
    signUp: config.signUp,
    now,
    onError,
  });
}
