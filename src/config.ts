import { resolve } from "node:path";
import { z } from "zod";
import { anonymousCeiling, isScope, type Scope, scopeNames } from "./auth/scopes.ts";
import { ENCODED_KEY } from "./store/master-key.ts";

/** Where market data come from. */
export type MarketChoice =
  | { readonly kind: "sandbox"; readonly sessionSeconds: number; readonly seed: number }
  | { readonly kind: "files"; readonly folder: string; readonly asOf: Date | undefined };

/** Where the store is. */
export interface StoreChoice {
  /** Absolute path of the directory of the embedded store, of `master.key` and of the operator's socket. */
  readonly folder: string;
  /** PostgreSQL instead of the embedded store. */
  readonly databaseUrl: string | undefined;
  /** 32 bytes as base64 that the keys at rest are sealed with; `undefined`: `master.key`. */
  readonly masterKey: string | undefined;
}

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
  /** Scopes of agents that nobody answers for. */
  readonly anonymousScopes: readonly Scope[];
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
}

const FILES = /^files:(.+)$/;

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/)
    .transform(Number)
    .refine((value) => value >= min && value <= max);

/** What the service and the operator's commands agree on. */
const storeVariables = {
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
const variables = {
  ...storeVariables,
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
      .refine((text) => text === "sandbox" || FILES.test(text))
      .default("sandbox"),
    allowed: "sandbox, or files:<folder>",
  },
  AS_OF: {
    schema: z.iso
      .datetime({ offset: true })
      .transform((text) => new Date(text))
      .optional(),
    allowed: "an ISO 8601 instant such as 2015-06-30T21:00:00Z",
  },
  ANONYMOUS_SCOPES: {
    schema: z
      .string()
      .transform(scopeNames)
      .refine((names) => names.every((name) => isScope(name) && anonymousCeiling.includes(name)))
      .transform((names) => names.filter(isScope))
      .default([...anonymousCeiling]),
    allowed: `names separated by spaces, of ${anonymousCeiling.join(", ")}`,
  },
  SANDBOX_SESSION_SECONDS: {
    schema: wholeNumber(1, 86_400).default(60),
    allowed: "a whole number of seconds from 1 to 86400",
  },
  SEED: {
    schema: wholeNumber(0, 4_294_967_295).default(1),
    allowed: "a whole number from 0 to 4294967295",
  },
  LOG_LEVEL: {
    schema: z.enum(["debug", "info", "warn", "error", "silent"]).default("info"),
    allowed: "debug, info, warn, error or silent",
  },
} as const;

/** How one variable is read. A secret is not repeated in the refusal. */
type Variables = Readonly<
  Record<string, { readonly schema: z.ZodType; readonly allowed: string; readonly secret?: true }>
>;
type Values<V extends Variables> = { readonly [N in keyof V]: z.output<V[N]["schema"]> };
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings.
 *
 * @param env Environment variables; an empty one counts as absent.
 * @throws {Error} With one line per variable that is wrong, each saying what is allowed; the
 *   process must not start.
 */
export function readConfig(env: Environment): Config {
  const values = readVariables(env, variables);
  const files = FILES.exec(values.MARKET);
  if (values.AS_OF !== undefined && files === null) {
    throw new Error("AS_OF: only history has another time; set MARKET=files:<folder> with it.");
  }
  return {
    host: values.HOST,
    port: values.PORT,
    baseUrl: values.BASE_URL,
    market:
      files === null
        ? { kind: "sandbox", sessionSeconds: values.SANDBOX_SESSION_SECONDS, seed: values.SEED }
        : { kind: "files", folder: files[1] as string, asOf: values.AS_OF },
    store: storeChoice(values),
    anonymousScopes: values.ANONYMOUS_SCOPES,
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

function storeChoice(values: Values<typeof storeVariables>): StoreChoice {
  return {
    folder: values.DATA_DIR,
    databaseUrl: values.DATABASE_URL,
    masterKey: values.MASTER_KEY,
  };
}

function readVariables<V extends Variables>(env: Environment, known: V): Values<V> {
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
