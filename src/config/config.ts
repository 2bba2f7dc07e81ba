import { anonymousScopeCeiling, type Scope } from "../access/scopes.ts";
import type { SignUpMode } from "../access/sign-up-mode.ts";
import type { AlertSettings } from "../alerts/create.ts";
import type { LimitOverrides } from "../limits/classes.ts";
import type { MailSettings } from "../mail/smtp.ts";
import type { UpstreamProviderSettings } from "../principals/accounts/upstream-client.ts";
import type { LiveMarketSettings, MarketSettings } from "../sources/open-market.ts";
import { providerSettings } from "./provider-settings.ts";
import {
  type Environment,
  environmentVariables,
  FILES_MARKET_PATTERN,
  LIVE_MARKET,
  readVariables,
  removedVariables,
  type SettingValues,
  storeVariables,
} from "./settings.ts";

/** Location of the store. */
export interface StoreSettings {
  /**
   * Absolute path of the directory with the embedded store, `master.key` and the operator's socket.
   */
  readonly folder: string;
  /** URL of a PostgreSQL database; `undefined` for the embedded store. */
  readonly databaseUrl: string | undefined;
  /**
   * Master key that seals the stored keys, 32 bytes as base64; `undefined` to use the file
   * `master.key`.
   */
  readonly masterKey: string | undefined;
}

/** Default of DRAIN_SECONDS if other processes share the database and can take over, in seconds. */
const SHARED_DRAIN_SECONDS = 2;

/** The configuration of a deployment. */
export interface Config {
  /** Address to listen on. */
  readonly host: string;
  /** TCP port; 0 selects a free port. */
  readonly port: number;
  /** Public origin without a trailing slash; `undefined` for http://HOST:PORT. */
  readonly baseUrl: string | undefined;
  readonly market: MarketSettings;
  readonly store: StoreSettings;
  /** Scopes of agents without an owner. */
  readonly anonymousScopes: readonly Scope[];
  /** Who can create an account. */
  readonly signUp: SignUpMode;
  /** Mail server; if `undefined`, emails wait in the outbox for the operator. */
  readonly mail: MailSettings | undefined;
  /** OpenID provider with which people can sign in; `undefined` for none. */
  readonly upstream: UpstreamProviderSettings | undefined;
  /** JSON file of the identity providers whose assertions are trusted; `undefined` for none. */
  readonly trustedIssuersFile: string | undefined;
  /** Policy file with the witnesses of the signal log; `undefined` for none. */
  readonly witnessesFile: string | undefined;
  readonly webhooks: AlertSettings["webhooks"];
  /** Origin of the Telegram Bot API server. */
  readonly telegramUrl: string;
  /**
   * Number of reverse proxies in front of the service, each of which appends to `X-Forwarded-For`.
   */
  readonly proxyHops: number;
  /** Rate limits that replace the defaults. */
  readonly rateLimits: LimitOverrides;
  /** Time for which a process that is shutting down still accepts connections, in milliseconds. */
  readonly drainMs: number;
  /** TCP port of the metrics, on the same address; `undefined` to collect no metrics. */
  readonly metricsPort: number | undefined;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
}

/**
 * Reads the settings.
 *
 * @param env Environment variables; an empty variable counts as absent.
 * @throws {Error} With one line per invalid variable, each with the allowed values; the process
 * must not start.
 */
export function readConfig(env: Environment): Config {
  const values = readVariables(env, environmentVariables, removedVariables);
  const isSandbox = values.MARKET === "sandbox";
  checkTogether(values);
  return {
    host: values.HOST,
    port: values.PORT,
    baseUrl: values.BASE_URL,
    market: marketChoice(values),
    store: storeSettingsOf(values),
    // No scopes for live data by default: most providers license their data for personal use only.
    anonymousScopes:
      values.ANONYMOUS_SCOPES ?? (values.MARKET === LIVE_MARKET ? [] : anonymousScopeCeiling),
    signUp: values.SIGN_UP ?? (isSandbox ? "open" : "applications"),
    mail: mailChoice(values),
    upstream: upstreamChoice(values),
    trustedIssuersFile: values.TRUSTED_ISSUERS,
    witnessesFile: values.WITNESSES,
    webhooks: {
      allowsInsecure: values.ALLOW_INSECURE_WEBHOOKS,
      proxy: values.WEBHOOK_EGRESS_PROXY,
    },
    telegramUrl: values.TELEGRAM_API_URL,
    proxyHops: values.TRUST_PROXY,
    rateLimits: values.RATE_LIMITS,
    drainMs: 1_000 * (values.DRAIN_SECONDS ?? (values.DATABASE_URL ? SHARED_DRAIN_SECONDS : 0)),
    metricsPort: values.METRICS_PORT,
    logLevel: values.LOG_LEVEL,
  };
}

/**
 * Reads the location of the store, for commands that need no other setting.
 *
 * @throws {Error} In the same format as `readConfig`.
 */
export function readStoreSettings(env: Environment): StoreSettings {
  return storeSettingsOf(readVariables(env, storeVariables));
}

/** @throws {Error} When a setting requires another setting that is absent. */
function checkTogether(values: SettingValues<typeof environmentVariables>): void {
  checkTimes(values);
  const { SMTP_URL, MAIL_FROM } = values;
  if (SMTP_URL !== undefined && MAIL_FROM === undefined) {
    throw new Error("MAIL_FROM: SMTP_URL needs it, the address that mail comes from.");
  }
  const { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET } = values;
  const upstream = Object.entries({ OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET });
  const missing = upstream.filter(([, value]) => value === undefined).map(([name]) => name);
  if (missing.length > 0 && missing.length < upstream.length) {
    throw new Error(
      `${missing.join(", ")}: set all of OIDC_ISSUER, _CLIENT_ID and _CLIENT_SECRET.`,
    );
  }
}

/** @throws {Error} When AS_OF or REPLAY is not allowed with the market. */
function checkTimes({ MARKET, AS_OF, REPLAY }: SettingValues<typeof environmentVariables>): void {
  const isHistory = FILES_MARKET_PATTERN.test(MARKET);
  if (AS_OF !== undefined && !isHistory) {
    throw new Error("AS_OF: only history has another time; set MARKET=files:<folder> with it.");
  }
  if (REPLAY !== undefined && !isHistory) {
    throw new Error("REPLAY: only history can be played; set MARKET=files:<folder> with it.");
  }
  if (REPLAY !== undefined && AS_OF !== undefined) {
    throw new Error("REPLAY: time cannot also stand still at AS_OF; set one of the two.");
  }
}

function marketChoice(values: SettingValues<typeof environmentVariables>): MarketSettings {
  if (values.MARKET === LIVE_MARKET) return { kind: "live", ...liveChoice(values) };
  const [, folder] = FILES_MARKET_PATTERN.exec(values.MARKET) ?? [];
  if (folder === undefined) {
    return { kind: "sandbox", sessionSeconds: values.SANDBOX_SESSION_SECONDS, seed: values.SEED };
  }
  const { REPLAY: replay, AS_OF: asOf } = values;
  return replay ? { kind: "replay", folder, ...replay } : { kind: "files", folder, asOf };
}

function liveChoice(values: SettingValues<typeof environmentVariables>): LiveMarketSettings {
  const settings = providerSettings.flatMap((name) => {
    const value = values[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    universe: values.UNIVERSE,
    providers: values.PROVIDERS,
    settings: Object.fromEntries(settings),
    origins: values.PROVIDER_URLS ?? {},
  };
}

function mailChoice(values: SettingValues<typeof environmentVariables>): MailSettings | undefined {
  const { SMTP_URL: smtpUrl, MAIL_FROM: from } = values;
  return smtpUrl === undefined || from === undefined ? undefined : { smtpUrl, from };
}

function upstreamChoice(
  values: SettingValues<typeof environmentVariables>,
): UpstreamProviderSettings | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId } = values;
  const { OIDC_CLIENT_SECRET: clientSecret } = values;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    return undefined;
  }
  return { issuer, clientId, clientSecret };
}

function storeSettingsOf(values: SettingValues<typeof storeVariables>): StoreSettings {
  return {
    folder: values.DATA_DIR,
    databaseUrl: values.DATABASE_URL,
    masterKey: values.MASTER_KEY,
  };
}

/**
 * The secrets in the settings, to remove them from output: whole values, and the passwords in URLs.
 */
export function secretSettingValues(env: Environment): readonly string[] {
  return Object.entries(environmentVariables).flatMap(([name, variable]) => {
    const value = env[name];
    return "secret" in variable && value ? [value, ...credentialsIn(value)] : [];
  });
}

/** The password in a URL, both as written and percent-decoded. */
function credentialsIn(value: string): readonly string[] {
  const { password } = URL.parse(value) ?? {};
  return password ? [password, decoded(password)] : [];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
