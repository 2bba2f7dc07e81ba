import type { Config } from "../config/config.ts";
import type { SetupFacts } from "../http/pages/operator/setup-items.ts";
import type { IngestSetup } from "../ingest/setup.ts";
import type { SignalLog } from "../log/signal-log.ts";
import type { MarketView } from "../market/market-view.ts";
import type { Readiness } from "../telemetry/readiness.ts";

/** Sources of the facts on the operator page. */
interface SetupSources {
  readonly config: Pick<
    Config,
    "mail" | "metricsPort" | "proxyHops" | "signUp" | "store" | "witnessesFile"
  >;
  readonly baseUrl: string;
  readonly market: MarketView;
  /** Providers of a live market; `undefined` for any other market. */
  readonly following: IngestSetup | undefined;
  readonly readiness: Readiness;
  /** The signal log; `undefined` if the market has none. */
  readonly signalLog: Pick<SignalLog, "isSigned"> | undefined;
  /** Reads when the last backup was started, Unix milliseconds; `undefined` if there is none. */
  readonly lastBackupAt: () => Promise<number | undefined>;
  readonly now: () => Date;
}

/** The facts about a running service that the operator page shows; contains no secret settings. */
export async function gatherSetupFacts(sources: SetupSources): Promise<SetupFacts> {
  const { config, market, following, readiness } = sources;
  const { mail, store } = config;
  const { required, optional } = await readiness();
  const backupAt = await sources.lastBackupAt();
  return {
    baseUrl: sources.baseUrl,
    market: {
      mode: market.mode,
      instruments: market.instruments().length,
      asOf: new Date(market.knownUntil()).toISOString(),
    },
    missingProviders: (following?.providers ?? [])
      .filter(({ missing }) => missing.length > 0)
      .map(({ id, missing }) => `${id} needs ${missing.join(", ")}`),
    mailFrom: mail?.from,
    signUp: config.signUp,
    engine: store.databaseUrl === undefined ? "embedded" : "postgres",
    folder: store.folder,
    isMasterKeySet: store.masterKey !== undefined,
    hasLog: sources.signalLog !== undefined,
    isLogSigned: sources.signalLog?.isSigned ?? true,
    backupAgeMs: backupAt === undefined ? undefined : sources.now().getTime() - backupAt,
    hasWitnesses: config.witnessesFile !== undefined,
    hasMetrics: config.metricsPort !== undefined,
    proxyHops: config.proxyHops,
    faults: Object.entries({ ...required, ...optional })
      .filter(([, { ok }]) => !ok)
      .map(([name, { detail }]) => ({ name, detail })),
  };
}
