import { anonymousCeiling, type Scope } from "../auth/scopes.ts";
import type { Quota, QuotaName } from "../limits/quotas.ts";
import { providerSettings } from "./provider-settings.ts";
import type { Replay } from "./replay.ts";
import {
  type Environment,
  FILES_MARKET,
  LIVE_MARKET,
  readVariables,
  type SettingValues,
  storeVariables,
  variables,
} from "./settings.ts";

/** Source of the market data. */
export type MarketChoice =
  | { readonly kind: "sandbox"; readonly sessionSeconds: number; readonly seed: number }
  | { readonly kind: "files"; readonly folder: string; readonly asOf: Date | undefined }
  | ({ readonly kind: "replay"; readonly folder: string } & Replay)
  | ({ readonly kind: "live" } & LiveChoice);

/** Who can create an account (`SIGN_UP`). */
export type SignUp = "open" | "applications" | "closed";

/** Instruments and providers of a live market. */
export interface LiveChoice {
  /** Symbols, or the path of a file of instruments; `undefined`: a default list of large ones. */
  readonly universe: string | undefined;
  /** Ids of the providers to use; `undefined`: all that are configured. */
  readonly providers: readonly string[] | undefined;
  /** API keys and other credentials, by the names of their variables. */
  readonly settings: Readonly<Record<string, string>>;
  /** Origins of mirrors, by provider id. */
  readonly origins: Readonly<Record<string, string>>;
}

/** Where the store is. */
export interface StoreChoice {
  /** Absolute path of the directory of the embedded store, of `master.key` and of the operator's socket. */
  readonly folder: string;
  /** PostgreSQL instead of the embedded store. */
  readonly databaseUrl: string | undefined;
  /** 32 bytes as base64 that the keys at rest are sealed with; `undefined`: `master.key`. */
  readonly masterKey: string | undefined;
}

/** The mail server and the sender. */
export interface MailChoice {
  /** `smtp://` or `smtps://` address with the account. */
  readonly smtpUrl: string;
  /** Sender of the mail. */
  readonly from: string;
}

/** Another OpenID provider that people can sign in with. */
export interface UpstreamChoice {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** How webhooks are sent. */
interface WebhookChoice {
  /** Whether they may use `http:` and be on this machine; for development. */
  readonly allowsInsecure: boolean;
  /** URL of the proxy for all webhooks; `undefined`: none. */
  readonly proxy: string | undefined;
}

/** Default of DRAIN_SECONDS where other processes can take over. */
const SHARED_DRAIN_SECONDS = 2;

/** The configuration of a deployment. */
export interface Config {
  /** Address to listen on. */
  readonly host: string;
  /** TCP port; 0 picks a free one. */
  readonly port: number;
  /** Public origin without a trailing slash; `undefined`: http://HOST:PORT. */
  readonly baseUrl: string | undefined;
  readonly market: MarketChoice;
  readonly store: StoreChoice;
  /** File of a trained model that reads messages beside the lexicon; `undefined`: none. */
  readonly socialModelFile: string | undefined;
  /** Scopes of unclaimed agents. */
  readonly anonymousScopes: readonly Scope[];
  /** Who can create an account. */
  readonly signUp: SignUp;
  /** `undefined`: emails wait in the outbox for the operator. */
  readonly mail: MailChoice | undefined;
  readonly upstream: UpstreamChoice | undefined;
  /** JSON file of the identity providers whose assertions are trusted; `undefined`: none. */
  readonly trustedIssuersFile: string | undefined;
  /** File of the policy with the witnesses of the signal log; `undefined`: none. */
  readonly witnessesFile: string | undefined;
  readonly webhooks: WebhookChoice;
  /** Origin of the server of the Telegram Bot API. */
  readonly telegramUrl: string;
  /** Reverse proxies in front of the service, each of which adds to `X-Forwarded-For`. */
  readonly proxyHops: number;
  /** Whether common MCP requests are answered by long-lived servers instead of one per request. */
  readonly mcpFastPath: boolean;
  /** Limits that differ from their defaults. */
  readonly rateLimits: Readonly<Partial<Record<QuotaName, Quota>>>;
  /** How long a process that stops still accepts connections, in milliseconds. */
  readonly drainMs: number;
  /** TCP port of the metrics, on the same address; `undefined`: none are kept. */
  readonly metricsPort: number | undefined;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
}

/**
 * Reads the settings.
 *
 * @param env Environment variables; an empty one counts as absent.
 * @throws {Error} With one line per variable that is wrong, each saying what is allowed; the
 *   process must not start.
 */
export function readConfig(env: Environment): Config {
  const values = readVariables(env, variables);
  const isSandbox = values.MARKET === "sandbox";
  checkTogether(values);
  return {
    host: values.HOST,
    port: values.PORT,
    baseUrl: values.BASE_URL,
    market: marketChoice(values),
    store: storeChoice(values),
    socialModelFile: values.SOCIAL_MODEL,
    // Most providers license their data for personal use only.
    anonymousScopes:
      values.ANONYMOUS_SCOPES ?? (values.MARKET === LIVE_MARKET ? [] : anonymousCeiling),
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
    mcpFastPath: values.MCP_FAST_PATH,
    rateLimits: values.RATE_LIMITS,
    drainMs: 1_000 * (values.DRAIN_SECONDS ?? (values.DATABASE_URL ? SHARED_DRAIN_SECONDS : 0)),
    metricsPort: values.METRICS_PORT,
    logLevel: values.LOG_LEVEL,
  };
}

/**
 * Reads where the store is, for commands that need nothing else.
 *
 * @throws {Error} As `readConfig`.
 */
export function readStoreChoice(env: Environment): StoreChoice {
  return storeChoice(readVariables(env, storeVariables));
}

/** @throws {Error} When a setting lacks another one that it requires. */
function checkTogether(values: SettingValues<typeof variables>): void {
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

/** @throws {Error} When AS_OF or REPLAY does not fit the market. */
function checkTimes({ MARKET, AS_OF, REPLAY }: SettingValues<typeof variables>): void {
  const isHistory = FILES_MARKET.test(MARKET);
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

function marketChoice(values: SettingValues<typeof variables>): MarketChoice {
  if (values.MARKET === LIVE_MARKET) return { kind: "live", ...liveChoice(values) };
  const [, folder] = FILES_MARKET.exec(values.MARKET) ?? [];
  if (folder === undefined) {
    return { kind: "sandbox", sessionSeconds: values.SANDBOX_SESSION_SECONDS, seed: values.SEED };
  }
  const { REPLAY: replay, AS_OF: asOf } = values;
  return replay ? { kind: "replay", folder, ...replay } : { kind: "files", folder, asOf };
}

function liveChoice(values: SettingValues<typeof variables>): LiveChoice {
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

function mailChoice(values: SettingValues<typeof variables>): MailChoice | undefined {
  const { SMTP_URL: smtpUrl, MAIL_FROM: from } = values;
  return smtpUrl === undefined || from === undefined ? undefined : { smtpUrl, from };
}

function upstreamChoice(values: SettingValues<typeof variables>): UpstreamChoice | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId } = values;
  const { OIDC_CLIENT_SECRET: clientSecret } = values;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    return undefined;
  }
  return { issuer, clientId, clientSecret };
}

function storeChoice(values: SettingValues<typeof storeVariables>): StoreChoice {
  return {
    folder: values.DATA_DIR,
    databaseUrl: values.DATABASE_URL,
    masterKey: values.MASTER_KEY,
  };
}

/** The secrets among the settings: whole values, and the passwords in URLs. */
export function secretValues(env: Environment): readonly string[] {
  return Object.entries(variables).flatMap(([name, variable]) => {
    const value = env[name];
    return "secret" in variable && value ? [value, ...credentialsIn(value)] : [];
  });
}

/** The password of a URL, as written and decoded. */
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
