import { resolve } from "node:path";
import { z } from "zod";
import { anonymousScopeCeiling, isScope, parseScopeNames } from "../access/scopes.ts";
import { ENCODED_MASTER_KEY_PATTERN } from "../keys/master-key.ts";
import { isHttpsOrLoopback } from "../outbound/loopback.ts";
import { parseReplay, REPLAY_SYNTAX } from "../sources/replay-settings.ts";
import { misspelledSetting } from "./misspelled.ts";
import { liveVariables } from "./provider-settings.ts";
import { parseLimits } from "./rate-limits.ts";

/** Value of `MARKET` for live data from providers. */
export const LIVE_MARKET = "live";

/** Value of `MARKET` for a folder of files; group 1 is the path. */
export const FILES_MARKET_PATTERN = /^files:(.+)$/;

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/)
    .transform(Number)
    .refine((value) => value >= min && value <= max);

/** The settings of the store, which the service and the operator's commands share. */
export const storeVariables = {
  DATA_DIR: {
    schema: z
      .string()
      .default("./data")
      .transform((path) => resolve(path)),
    allowed: "a directory",
    fallback: "`./data`; for an installed package the user's data folder",
    about:
      "the embedded store, `master.key`, `admin.sock` and, with `live`, cached answers of providers (at most 256 MB, may be deleted); only the owner should be able to read it",
  },
  DATABASE_URL: {
    schema: z
      .string()
      .refine((text) => /^postgres(ql)?:\/\//.test(text) && URL.canParse(text))
      .optional(),
    allowed: "an address such as postgres://user@host:5432/database",
    fallback: "none",
    about: "keep everything in this PostgreSQL instead of `DATA_DIR`",
    secret: true,
  },
  MASTER_KEY: {
    schema: z.string().regex(ENCODED_MASTER_KEY_PATTERN).optional(),
    allowed: "32 bytes as base64, such as `openssl rand -base64 32` gives",
    fallback: "`DATA_DIR/master.key`",
    about: "encrypts the keys at rest",
    secret: true,
  },
} as const;

/** Every setting with its default and its allowed values. */
export const environmentVariables = {
  ...storeVariables,
  ...liveVariables,
  HOST: {
    schema: z.string().min(1).default("127.0.0.1"),
    allowed: "an address to listen on",
    fallback: "`127.0.0.1`",
    about: "where to listen; `0.0.0.0` and `::` need `BASE_URL`",
  },
  PORT: {
    schema: wholeNumber(0, 65_535).default(3000),
    allowed: "a whole number from 0 to 65535; 0 picks a free port",
    fallback: "`3000`",
    about: "port to listen on",
  },
  BASE_URL: {
    schema: z
      .string()
      .refine((text) => URL.parse(text)?.origin === text && /^https?:/.test(text))
      .optional(),
    allowed: "a public origin such as https://signals.example, without a path or trailing slash",
    fallback: "`http://HOST:PORT`",
    about: "public origin: issuer, resource and every published address",
  },
  MARKET: {
    schema: z
      .string()
      .refine(
        (text) => text === "sandbox" || text === LIVE_MARKET || FILES_MARKET_PATTERN.test(text),
      )
      .default("sandbox"),
    allowed: "sandbox, live, or files:<folder>",
    fallback: "`sandbox`",
    about: "which market is served",
  },
  AS_OF: {
    schema: z.iso
      .datetime({ offset: true })
      .transform((text) => new Date(text))
      .optional(),
    allowed: "an ISO 8601 instant such as 2015-06-30T21:00:00Z",
    fallback: "end of the folder",
    about: "with `files`: the instant that counts as now",
  },
  REPLAY: {
    schema: z
      .string()
      .transform(parseReplay)
      .refine((replay) => replay !== undefined)
      .optional(),
    allowed: REPLAY_SYNTAX,
    fallback: "none",
    about: "with `files`: replays this history through the whole service; market time then stops",
  },
  ANONYMOUS_SCOPES: {
    schema: z
      .string()
      .transform(parseScopeNames)
      .refine((names) =>
        names.every((name) => isScope(name) && anonymousScopeCeiling.includes(name)),
      )
      .transform((names) => names.filter(isScope))
      .optional(),
    allowed: `names separated by spaces, of ${anonymousScopeCeiling.join(", ")}`,
    fallback: "the read scopes; none with `live`",
    about: "scopes of agents that no person has claimed",
  },
  SIGN_UP: {
    schema: z.enum(["open", "applications", "closed"]).optional(),
    allowed: "open, applications (people whose application was accepted) or closed",
    fallback: "`open` in the sandbox, else `applications`",
    about: "who can create an account",
  },
  SMTP_URL: {
    schema: z
      .string()
      .refine((text) => /^smtps?:\/\//.test(text) && Boolean(URL.parse(text)?.hostname))
      .optional(),
    allowed: "an address with a host, such as smtps://user:password@mail.example:465",
    fallback: "none",
    about: "mail server; without it emails wait for the operator",
    secret: true,
  },
  MAIL_FROM: {
    schema: z.email().optional(),
    allowed: "an email address such as signals@mail.example",
    fallback: "none",
    about: "sender of the mail",
  },
  OIDC_ISSUER: {
    schema: z.string().refine(isIssuer).optional(),
    allowed: "an issuer such as https://login.example; with http:// only on this machine",
    fallback: "none",
    about:
      "another OpenID provider to sign in with; its redirect address is `<base>/sign-in/callback`. One that does not send `auth_time` cannot be used to claim",
  },
  OIDC_CLIENT_ID: {
    schema: z.string().optional(),
    allowed: "a client id",
    fallback: "none",
    about: "client at that provider",
  },
  OIDC_CLIENT_SECRET: {
    schema: z.string().optional(),
    allowed: "a client secret",
    fallback: "none",
    about: "its secret",
    secret: true,
  },
  TRUSTED_ISSUERS: {
    schema: z
      .string()
      .transform((path) => resolve(path))
      .optional(),
    allowed: "a JSON file",
    fallback: "none",
    about: '`[{"name", "issuer", "jwks_uri"}]`: issuers whose ID-JAGs are trusted',
  },
  WITNESSES: {
    schema: z
      .string()
      .transform((path) => resolve(path))
      .optional(),
    allowed: "a policy file (C2SP tlog-policy)",
    fallback: "none",
    about:
      "witnesses that cosign the log of signals, with their addresses; its checkpoints are then published with their quorum",
  },
  ALLOW_INSECURE_WEBHOOKS: {
    schema: z
      .enum(["0", "1"])
      .default("0")
      .transform((text) => text === "1"),
    allowed: "0, or for development 1",
    fallback: "`0`",
    about: "webhooks may be `http:` and on this machine; the log says so at the start",
  },
  WEBHOOK_EGRESS_PROXY: {
    schema: z.string().refine(isProxy).optional(),
    allowed: "a proxy such as http://proxy.example:3128, without a path",
    fallback: "none",
    about: "every webhook is sent through this proxy by CONNECT",
    secret: true,
  },
  TELEGRAM_API_URL: {
    schema: z
      .string()
      .refine((text) => URL.parse(text)?.origin === text && /^https?:/.test(text))
      .default("https://api.telegram.org"),
    allowed: "an origin such as https://bots.example, without a path or trailing slash",
    fallback: "`https://api.telegram.org`",
    about: "server of the Telegram Bot API for channels; reached by the rules of webhooks",
  },
  TRUST_PROXY: {
    schema: wholeNumber(0, 10).default(0),
    allowed: "the number of reverse proxies in front of the service, from 0 to 10",
    fallback: "`0`",
    about: "reverse proxies in front, each of which adds to `X-Forwarded-For`",
  },
  RATE_LIMITS: {
    schema: z
      .string()
      .default("")
      .transform((text, context) => {
        try {
          return parseLimits(text);
        } catch (error) {
          context.addIssue({ code: "custom", params: { reason: (error as Error).message } });
          return z.NEVER;
        }
      }),
    allowed:
      "<name>=<caller>/<network>/<total>, separated by spaces, such as registrations=100/300/5000",
    fallback: "none",
    about: "limits that differ from their defaults; docs/limits.md has their names and numbers",
  },
  SANDBOX_SESSION_SECONDS: {
    schema: wholeNumber(1, 86_400).default(60),
    allowed: "a whole number of seconds from 1 to 86400",
    fallback: "`60`",
    about: "length of a simulated day",
  },
  SEED: {
    schema: wholeNumber(0, 4_294_967_295).default(1),
    allowed: "a whole number from 0 to 4294967295",
    fallback: "`1`",
    about: "seed of the simulated market",
  },
  DRAIN_SECONDS: {
    schema: wholeNumber(0, 60).optional(),
    allowed: "a whole number of seconds from 0 to 60",
    fallback: "`2` with `DATABASE_URL`, else `0`",
    about:
      "how long a process that stops still accepts connections; longer than a load balancer takes to notice",
  },
  METRICS_PORT: {
    schema: wholeNumber(1, 65_535).optional(),
    allowed: "a whole number from 1 to 65535",
    fallback: "none",
    about: "port of `GET /metrics` for Prometheus, on `HOST`; restrict access to it",
  },
  LOG_LEVEL: {
    schema: z.enum(["debug", "info", "warn", "error", "silent"]).default("info"),
    allowed: "debug, info, warn, error or silent",
    fallback: "`info`",
    about:
      "least severe level that is logged, as JSON lines on standard error, where notes for people stand between them",
  },
} as const;

/** Settings of earlier versions, each with what holds in its place. */
export const removedVariables = {
  MCP_FAST_PATH:
    "usual MCP messages are always answered by the fast path, all others by the SDK's handler",
  SOCIAL_MODEL: "messages are read by the lexicon alone",
} as const;

/** A setting with its schema, default and purpose. */
interface Setting {
  readonly schema: z.ZodType;
  /** Allowed values, for the error message. */
  readonly allowed: string;
  /** Default value, as Markdown. */
  readonly fallback: string;
  /** Purpose of the setting, as Markdown. */
  readonly about: string;
  /** Set for secrets; error messages do not repeat their values. */
  readonly secret?: true;
}

/** Settings by the name of their environment variable. */
type Variables = Readonly<Record<string, Setting>>;
/** The parsed values of variables. */
export type SettingValues<V extends Variables> = {
  readonly [N in keyof V]: z.output<V[N]["schema"]>;
};
/** Environment variables; an empty variable counts as absent. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Parses environment variables.
 *
 * @param removed What holds in place of each setting that is gone.
 * @throws {Error} With one line per invalid variable, with its allowed values, one per variable
 * that looks like a misspelled setting, and one per setting that is gone.
 */
export function readVariables<V extends Variables>(
  env: Environment,
  known: V,
  removed: Readonly<Record<string, string>> = {},
): SettingValues<V> {
  const wrong = [...misspellingsIn(env, Object.keys(known)), ...removedIn(env, removed)];
  const entries = Object.entries(known).map(([name, { schema, allowed, secret }]) => {
    const text = env[name] === "" ? undefined : env[name];
    const result = schema.safeParse(text);
    const shown = secret ? "its value" : JSON.stringify(text);
    if (!result.success)
      wrong.push(`${name}: ${shown} is not ${allowed}.${reasonOf(result.error)}`);
    return [name, result.data];
  });
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
  return Object.fromEntries(entries) as SettingValues<V>;
}

/** What a setting's schema says about an invalid value, as a sentence; empty for most settings. */
const reasonOf = ({ issues: [first] }: z.ZodError): string => {
  const reason = first?.code === "custom" ? first.params?.reason : undefined;
  return reason === undefined ? "" : ` ${reason}`;
};

function misspellingsIn(env: Environment, known: readonly string[]): readonly string[] {
  const others = Object.keys(env).filter((name) => env[name] && !known.includes(name));
  return others.flatMap((name) => {
    const meant = misspelledSetting(name, known);
    if (meant === undefined) return [];
    return [`${name}: there is no such setting; did you mean ${meant}? Rename or unset it.`];
  });
}

const removedIn = (
  env: Environment,
  removed: Readonly<Record<string, string>>,
): readonly string[] =>
  Object.entries(removed).flatMap(([name, instead]) =>
    env[name] ? [`${name}: this setting is gone; ${instead}. Unset it.`] : [],
  );

/**
 * Whether a URL can be an issuer: https, or http on this machine. Without TLS, an ID token from
 * another machine cannot be trusted.
 */
function isIssuer(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && isHttpsOrLoopback(url);
}

/** Whether a URL can be a proxy: scheme, host and port, with or without credentials. */
function isProxy(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.host === "" || !/^https?:$/.test(url.protocol)) return false;
  const { pathname, search, hash, username, password } = url;
  return `${pathname}${search}${hash}` === "/" && [username, password].every(isEncoded);
}

/** Whether a text is valid percent-encoding (RFC 3986 section 2.1). */
function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** All settings as a Markdown document, the content of `docs/settings.md`. */
export function settingsDocument(): string {
  const rows = Object.entries<Setting>(environmentVariables).map(
    ([name, { fallback, about, allowed }]) =>
      `| \`${name}\` | ${fallback} | ${about} | ${allowed.replaceAll(/[|<]/g, "\\$&")} |`,
  );
  return `# Settings

Environment variables, read once at the start. An invalid value stops the start with a message that names the allowed ones; so does a name that looks like a misspelled setting (\`DATABSE_URL\`), or a setting that an earlier version had. Other names that are not below are ignored. This page is generated from \`src/config/settings.ts\`.

| Variable | Default | What it is for | What is allowed |
|---|---|---|---|
${rows.join("\n")}

When it is ready, the service prints one JSON line on standard output, \`{"event":"ready","baseUrl":…}\` (\`npm start --silent\` keeps npm's own lines away), and a summary for people on standard error.
`;
}
