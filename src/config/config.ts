import { anonymousCeiling, type Scope } from "../auth/scopes.ts";
import type { Quota, QuotaName } from "../limits/limits.ts";
import { providerSettings } from "./provider-settings.ts";
import type { Replay } from "./replay.ts";
import {
  type Environment,
  FILES,
  LIVE,
  readVariables,
  storeVariables,
  type Values,
  variables,
} from "./settings.ts";

/** Where market data come from. */
export type MarketChoice =
  | { readonly kind: "sandbox"; readonly sessionSeconds: number; readonly seed: number }
  | { readonly kind: "files"; readonly folder: string; readonly asOf: Date | undefined }
  | ({ readonly kind: "replay"; readonly folder: string } & Replay)
  | ({ readonly kind: "live" } & LiveChoice);

/** Who can create an account (`SIGN_UP`). */
export type SignUp = "open" | "applications" | "closed";

/** What is followed live, and how providers are reached. */
export interface LiveChoice {
  /** Symbols, or the path of a file of instruments; `undefined`: some large ones. */
  readonly universe: string | undefined;
  /** Ids of the providers that may be used; `undefined`: all that can. */
  readonly providers: readonly string[] | undefined;
  /** Keys and the like, by their names in the environment. */
  readonly settings: Readonly<Record<string, string>>;
  /** Where providers are, by their ids, when not at their own place. */
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

/** How mail leaves the service. */
export interface MailChoice {
  /** `smtp://` or `smtps://` address with the account. */
  readonly smtpUrl: string;
  /** Address that mail comes from. */
  readonly from: string;
}

/** Another OpenID provider that people can sign in with. */
export interface UpstreamChoice {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** How webhooks are reached. */
interface WebhookChoice {
  /** Whether they may use `http:` and be on this machine; for development. */
  readonly allowsInsecure: boolean;
  /** `http:` or `https:` address of the proxy that all of them go through; `undefined`: none. */
  readonly proxy: string | undefined;
}

/** Where other processes can take over, one that stops goes on for so long, in seconds. */
const SHARED_DRAIN_SECONDS = 2;

/** Everything that may differ between two deployments. */
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
  /** Scopes of agents that nobody answers for. */
  readonly anonymousScopes: readonly Scope[];
  /** Who can make an account. */
  readonly signUp: SignUp;
  /** `undefined`: messages wait in the outbox for the operator. */
  readonly mail: MailChoice | undefined;
  readonly upstream: UpstreamChoice | undefined;
  /** JSON file of the identity providers whose assertions are trusted; `undefined`: none. */
  readonly trustedIssuersFile: string | undefined;
  readonly webhooks: WebhookChoice;
  /** Reverse proxies in front of the service, each of which adds to `X-Forwarded-For`. */
  readonly proxyHops: number;
  /** Whether usual MCP requests are answered by servers that stay, not by one for each. */
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
    // Most providers allow their data to oneself alone.
    anonymousScopes: values.ANONYMOUS_SCOPES ?? (values.MARKET === LIVE ? [] : anonymousCeiling),
    signUp: values.SIGN_UP ?? (isSandbox ? "open" : "applications"),
    mail: mailChoice(values),
    upstream: upstreamChoice(values),
    trustedIssuersFile: values.TRUSTED_ISSUERS,
    webhooks: {
      allowsInsecure: values.ALLOW_INSECURE_WEBHOOKS,
      proxy: values.WEBHOOK_EGRESS_PROXY,
    },
    proxyHops: values.TRUST_PROXY,
    mcpFastPath: values.MCP_FAST_PATH,
    rateLimits: values.RATE_LIMITS ?? {},
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

/** @throws {Error} When settings that need each other are not all there. */
function checkTogether(values: Values<typeof variables>): void {
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

/** @throws {Error} When the market cannot have the time that was asked for. */
function checkTimes({ MARKET, AS_OF, REPLAY }: Values<typeof variables>): void {
  const isHistory = FILES.test(MARKET);
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

function marketChoice(values: Values<typeof variables>): MarketChoice {
  if (values.MARKET === LIVE) return { kind: "live", ...liveChoice(values) };
  const [, folder] = FILES.exec(values.MARKET) ?? [];
  if (folder === undefined) {
    return { kind: "sandbox", sessionSeconds: values.SANDBOX_SESSION_SECONDS, seed: values.SEED };
  }
  const { REPLAY: replay, AS_OF: asOf } = values;
  return replay ? { kind: "replay", folder, ...replay } : { kind: "files", folder, asOf };
}

function liveChoice(values: Values<typeof variables>): LiveChoice {
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

function mailChoice(values: Values<typeof variables>): MailChoice | undefined {
  const { SMTP_URL: smtpUrl, MAIL_FROM: from } = values;
  return smtpUrl === undefined || from === undefined ? undefined : { smtpUrl, from };
}

function upstreamChoice(values: Values<typeof variables>): UpstreamChoice | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId } = values;
  const { OIDC_CLIENT_SECRET: clientSecret } = values;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    return undefined;
  }
  return { issuer, clientId, clientSecret };
}

function storeChoice(values: Values<typeof storeVariables>): StoreChoice {
  return {
    folder: values.DATA_DIR,
    databaseUrl: values.DATABASE_URL,
    masterKey: values.MASTER_KEY,
  };
}

/** Every secret in the settings: whole values, and what stands in an address before its host. */
export function secretValues(env: Environment): readonly string[] {
  return Object.entries(variables).flatMap(([name, variable]) => {
    const value = env[name];
    return "secret" in variable && value ? [value, ...credentialsIn(value)] : [];
  });
}

/** As it is written and as it is meant. */
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
