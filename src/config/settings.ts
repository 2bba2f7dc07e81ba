import { resolve } from "node:path";
import { z } from "zod";
import { isLoopbackHost } from "../auth/loopback.ts";
import { anonymousCeiling, isScope, scopeNames } from "../auth/scopes.ts";
import { type Quota, type QuotaName, quotas } from "../limits/limits.ts";
import { ENCODED_KEY } from "../store/master-key.ts";
import { liveVariables } from "./provider-settings.ts";
import { parseReplay, REPLAY_FORM } from "./replay.ts";

/** `MARKET` with providers. */
export const LIVE = "live";

/** `MARKET` with a folder. */
export const FILES = /^files:(.+)$/;

/** One limit: its name, how often, and the length of the window in seconds. */
const RATE_LIMIT = /^([a-z-]+)=(\d{1,9})\/(\d{1,6})$/;

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/)
    .transform(Number)
    .refine((value) => value >= min && value <= max);

/** What the service and the operator's commands agree on. */
export const storeVariables = {
  DATA_DIR: {
    schema: z
      .string()
      .default("./data")
      .transform((path) => resolve(path)),
    allowed: "a directory",
  },
  DATABASE_URL: {
    schema: z
      .string()
      .refine((text) => /^postgres(ql)?:\/\//.test(text) && URL.canParse(text))
      .optional(),
    allowed: "an address such as postgres://user@host:5432/database",
    secret: true,
  },
  MASTER_KEY: {
    schema: z.string().regex(ENCODED_KEY).optional(),
    allowed: "32 bytes as base64, such as `openssl rand -base64 32` gives",
    secret: true,
  },
} as const;

/** Each variable with its default and, for the refusal, what is allowed. */
export const variables = {
  ...storeVariables,
  ...liveVariables,
  HOST: { schema: z.string().min(1).default("127.0.0.1"), allowed: "an address to listen on" },
  PORT: {
    schema: wholeNumber(0, 65_535).default(3000),
    allowed: "a whole number from 0 to 65535; 0 picks a free port",
  },
  BASE_URL: {
    schema: z
      .string()
      .refine((text) => URL.parse(text)?.origin === text && /^https?:/.test(text))
      .optional(),
    allowed: "a public origin such as https://signals.example, without a path or trailing slash",
  },
  MARKET: {
    schema: z
      .string()
      .refine((text) => text === "sandbox" || text === LIVE || FILES.test(text))
      .default("sandbox"),
    allowed: "sandbox, live, or files:<folder>",
  },
  AS_OF: {
    schema: z.iso
      .datetime({ offset: true })
      .transform((text) => new Date(text))
      .optional(),
    allowed: "an ISO 8601 instant such as 2015-06-30T21:00:00Z",
  },
  REPLAY: {
    schema: z
      .string()
      .transform(parseReplay)
      .refine((replay) => replay !== undefined)
      .optional(),
    allowed: REPLAY_FORM,
  },
  SOCIAL_MODEL: {
    schema: z
      .string()
      .transform((path) => resolve(path))
      .optional(),
    allowed: "a file that training wrote",
  },
  ANONYMOUS_SCOPES: {
    schema: z
      .string()
      .transform(scopeNames)
      .refine((names) => names.every((name) => isScope(name) && anonymousCeiling.includes(name)))
      .transform((names) => names.filter(isScope))
      .optional(),
    allowed: `names separated by spaces, of ${anonymousCeiling.join(", ")}`,
  },
  SIGN_UP: {
    schema: z.enum(["open", "applications", "closed"]).optional(),
    allowed: "open, applications (people whose application was accepted) or closed",
  },
  SMTP_URL: {
    schema: z
      .string()
      .refine((text) => /^smtps?:\/\//.test(text) && Boolean(URL.parse(text)?.hostname))
      .optional(),
    allowed: "an address with a host, such as smtps://user:password@mail.example:465",
    secret: true,
  },
  MAIL_FROM: {
    schema: z.email().optional(),
    allowed: "an e-mail address such as signals@mail.example",
  },
  OIDC_ISSUER: {
    schema: z.string().refine(isIssuer).optional(),
    allowed: "an issuer such as https://login.example; with http:// only on this machine",
  },
  OIDC_CLIENT_ID: { schema: z.string().optional(), allowed: "a client id" },
  OIDC_CLIENT_SECRET: {
    schema: z.string().optional(),
    allowed: "a client secret",
    secret: true,
  },
  TRUSTED_ISSUERS: {
    schema: z
      .string()
      .transform((path) => resolve(path))
      .optional(),
    allowed: "a JSON file",
  },
  ALLOW_INSECURE_WEBHOOKS: {
    schema: z
      .enum(["0", "1"])
      .default("0")
      .transform((text) => text === "1"),
    allowed: "0, or for development 1",
  },
  WEBHOOK_EGRESS_PROXY: {
    schema: z.string().refine(isProxy).optional(),
    allowed: "a proxy such as http://proxy.example:3128, without a path",
    secret: true,
  },
  TRUST_PROXY: {
    schema: wholeNumber(0, 10).default(0),
    allowed: "the number of reverse proxies in front of the service, from 0 to 10",
  },
  MCP_FAST_PATH: {
    schema: z
      .enum(["0", "1"])
      .default("1")
      .transform((text) => text === "1"),
    allowed: "1, or 0 to leave every MCP request to the SDK",
  },
  RATE_LIMITS: {
    schema: z
      .string()
      .default("")
      .transform(rateLimits)
      .refine((limits) => limits !== undefined),
    allowed: `<name>=<number>/<seconds>, separated by spaces, such as register=100/600; names: ${Object.keys(quotas).join(", ")}`,
  },
  SANDBOX_SESSION_SECONDS: {
    schema: wholeNumber(1, 86_400).default(60),
    allowed: "a whole number of seconds from 1 to 86400",
  },
  SEED: {
    schema: wholeNumber(0, 4_294_967_295).default(1),
    allowed: "a whole number from 0 to 4294967295",
  },
  DRAIN_SECONDS: {
    schema: wholeNumber(0, 60).optional(),
    allowed: "a whole number of seconds from 0 to 60",
  },
  METRICS_PORT: {
    schema: wholeNumber(1, 65_535).optional(),
    allowed: "a whole number from 1 to 65535",
  },
  LOG_LEVEL: {
    schema: z.enum(["debug", "info", "warn", "error", "silent"]).default("info"),
    allowed: "debug, info, warn, error or silent",
  },
} as const;

/** @returns `undefined` when one is not as it should be. */
function rateLimits(text: string): Partial<Record<QuotaName, Quota>> | undefined {
  const entries = text
    .split(/\s+/)
    .filter((part) => part !== "")
    .map((part) => {
      const [, name = "", points, windowSeconds] = RATE_LIMIT.exec(part) ?? [];
      return [name, { points: Number(points), windowSeconds: Number(windowSeconds) }] as const;
    });
  const isKnown = entries.every(
    ([name, { windowSeconds }]) => Object.hasOwn(quotas, name) && windowSeconds > 0,
  );
  return isKnown ? Object.fromEntries(entries) : undefined;
}

/** How one variable is read. A secret is not repeated in the refusal. */
type Variables = Readonly<
  Record<string, { readonly schema: z.ZodType; readonly allowed: string; readonly secret?: true }>
>;
/** What variables are read as. */
export type Values<V extends Variables> = { readonly [N in keyof V]: z.output<V[N]["schema"]> };
/** Environment variables; an empty one counts as absent. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads variables.
 *
 * @throws {Error} With one line per variable that is wrong, each saying what is allowed.
 */
export function readVariables<V extends Variables>(env: Environment, known: V): Values<V> {
  const wrong: string[] = [];
  const entries = Object.entries(known).map(([name, { schema, allowed, secret }]) => {
    const text = env[name] === "" ? undefined : env[name];
    const result = schema.safeParse(text);
    const shown = secret ? "its value" : JSON.stringify(text);
    if (!result.success) wrong.push(`${name}: ${shown} is not ${allowed}.`);
    return [name, result.data];
  });
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
  return Object.fromEntries(entries) as Values<V>;
}

/** Whether an address can be an issuer. Without TLS, what another machine says of a person can be
 *  believed by nobody. */
function isIssuer(text: string): boolean {
  const { protocol, hostname = "" } = URL.parse(text) ?? {};
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
}

/** Whether an address can be a proxy. Credentials may stand in it, and nothing but them, the host and
 *  the port. */
function isProxy(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.host === "" || !/^https?:$/.test(url.protocol)) return false;
  const { pathname, search, hash, username, password } = url;
  return `${pathname}${search}${hash}` === "/" && [username, password].every(isEncoded);
}

/** Whether a text can be decoded (RFC 3986 section 2.1). */
function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
