import { z } from "zod";
import { anonymousCeiling, isScope, type Scope, scopeNames } from "./auth/scopes.ts";

/** Where market data come from. */
export type MarketChoice =
  | { readonly kind: "sandbox"; readonly sessionSeconds: number; readonly seed: number }
  | { readonly kind: "files"; readonly folder: string; readonly asOf: Date | undefined };

/** Everything that may differ between two deployments. */
export interface Config {
  /** Address to listen on. */
  readonly host: string;
  /** TCP port; 0 picks a free one. */
  readonly port: number;
  /** Public origin without a trailing slash; `undefined`: http://HOST:PORT. */
  readonly baseUrl: string | undefined;
  readonly market: MarketChoice;
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

/** Each variable with its default and, for the refusal, what is allowed. */
const variables = {
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

type Name = keyof typeof variables;
type Values = { readonly [N in Name]: z.output<(typeof variables)[N]["schema"]> };

/**
 * Reads the settings.
 *
 * @param env Environment variables; an empty one counts as absent.
 * @throws {Error} With one line per variable that is wrong, each saying what is allowed; the
 *   process must not start.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const values = readVariables(env);
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
    anonymousScopes: values.ANONYMOUS_SCOPES,
    logLevel: values.LOG_LEVEL,
  };
}

function readVariables(env: Readonly<Record<string, string | undefined>>): Values {
  const wrong: string[] = [];
  const entries = Object.entries(variables).map(([name, { schema, allowed }]) => {
    const text = env[name] === "" ? undefined : env[name];
    const result = schema.safeParse(text);
    if (!result.success) wrong.push(`${name}: ${JSON.stringify(text)} is not ${allowed}.`);
    return [name, result.data];
  });
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
  return Object.fromEntries(entries) as Values;
}
