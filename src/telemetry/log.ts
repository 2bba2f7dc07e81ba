import pino, { type Logger, type LoggerOptions } from "pino";
import { currentRequestId } from "./request-id.ts";

/** Errors that are remembered for the operator. */
const REMEMBERED = 10;

/** How deep causes of errors are followed. */
const MAX_CAUSES = 4;

/** Level of errors (pino); what is fatal has a higher one. */
const ERROR_LEVEL = 50;

/** Members that are never written, whoever logs them. */
const SECRET_MEMBERS = [
  ...["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key"],
  ...["password", "secret", "client_secret", "token", "access_token", "refresh_token"],
  ...["id_token", "client_assertion", "assertion", "code", "email", "to", "url", "query", "body"],
].flatMap((name) => [`["${name}"]`, `*["${name}"]`]);

/** Header fields that tell about a request and nobody's secret. */
const SHOWN_HEADERS: readonly string[] = [
  ...["accept", "content-length", "content-type", "mcp-protocol-version", "retry-after"],
];

/** How the log is written. */
export interface LogOptions {
  readonly level: NonNullable<LoggerOptions["level"]>;
  /** Texts that are taken out of every line. */
  readonly secrets: readonly string[];
  /** Takes one line of JSON, with its newline. */
  readonly write: (line: string) => void;
}

/** An error as the operator sees it again. */
export interface LoggedError {
  /** When it was logged, ISO 8601. */
  readonly at: string;
  readonly text: string;
  readonly requestId: string | null;
}

/** The log of the process. */
export interface Log {
  readonly log: Logger;
  /** The newest errors, the oldest of them first. */
  readonly lastErrors: () => readonly LoggedError[];
}

/**
 * Opens the log: one JSON object a line. Nothing secret is meant to come here; should something come
 * all the same, it is hidden by the name of its member, by what it looks like, or because it is one
 * of the settings.
 */
export function createLog({ level, secrets, write }: LogOptions): Log {
  const errors: LoggedError[] = [];
  const hideKnown = withoutKnown(secrets);
  const options: LoggerOptions = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_MEMBERS, censor: HIDDEN },
    serializers: { err: shownError, headers: shownHeaders },
    mixin: () => {
      const requestId = currentRequestId();
      return requestId === undefined ? {} : { requestId };
    },
  };
  const log = pino(options, {
    write(raw) {
      const line = withTexts(raw, (text) => hideKnown(withoutSecrets(text))) as Line;
      remember(errors, line);
      write(`${JSON.stringify(line)}\n`);
    },
  });
  return { log, lastErrors: () => [...errors] };
}

/** A line as far as it is read again. */
interface Line {
  readonly level: number;
  readonly time: string;
  readonly msg?: string;
  readonly err?: { readonly message?: string };
  readonly requestId?: string;
}

function remember(errors: LoggedError[], line: Line): void {
  const { level, time, msg = "", err, requestId = null } = line;
  if (level < ERROR_LEVEL) return;
  const text = [msg, err?.message].filter(Boolean).join(": ");
  errors.push({ at: time, text, requestId });
  if (errors.length > REMEMBERED) errors.shift();
}

/** What is written of an error: errors of libraries carry requests, answers and rows with them. */
function shownError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack = "", cause, code } = error as Error & { readonly code?: unknown };
  return {
    type: name,
    message: withoutTokens(message),
    ...(typeof code === "string" && { reason: code }),
    stack: withoutTokens(stack),
    ...(cause !== undefined && depth < MAX_CAUSES && { cause: shownError(cause, depth + 1) }),
  };
}

function shownHeaders(headers: Readonly<Record<string, unknown>>): unknown {
  return Object.fromEntries(SHOWN_HEADERS.map((name) => [name, headers[name]]));
}

/** What stands in place of a secret. */
const HIDDEN = "[hidden]";

/** The name and password of an address (RFC 3986 section 3.2.1). */
const USER_INFO = /(?<=:\/\/)[^\s/?#"@]+(?=@)/g;

const EMAIL = /[\w.+-]+(?:@|%40)[\w-]+(?:\.[\w-]+)+/g;

/** What follows the name of a scheme of authentication (RFC 9110 section 11.4). */
const CREDENTIALS = /(?<=\b(?:bearer|basic|dpop) )[\w.~+/=-]+/gi;

/** The service's own secrets that can be told by how they begin. */
const PREFIXED = /\b(?:msv_(?:test|live)_|whsec_|whsk_)[\w+/=-]+/g;

/** Long runs with a digit in them: tokens, keys and codes of all kinds. A UUID is shorter. */
const OPAQUE = /\b(?=[\w-]*\d)[\w-]{40,}/g;

const RECOGNISED = [USER_INFO, EMAIL, CREDENTIALS, PREFIXED];

/** A line of the log without what can be told to be a secret or an address of a person. */
function withoutSecrets(line: string): string {
  return RECOGNISED.reduce((text, pattern) => text.replace(pattern, HIDDEN), line);
}

/** The same for what others worded, such as messages of errors: nothing that may be a token stays. */
function withoutTokens(text: string): string {
  return withoutSecrets(text).replace(OPAQUE, HIDDEN);
}

/** Takes given texts out, however they are encoded. @param secrets Shorter ones than 6 characters are
 *  left: they would be found by chance. */
export function withoutKnown(secrets: readonly string[]): (line: string) => string {
  const forms = new Set(secrets.filter(({ length }) => length >= 6).flatMap(formsOf));
  const longestFirst = [...forms].sort((one, other) => other.length - one.length);
  return (line) =>
    longestFirst.reduce(
      (text, form) => (text.includes(form) ? text.replaceAll(form, HIDDEN) : text),
      line,
    );
}

function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const encoded = (["base64", "base64url", "hex"] as const).map((name) => bytes.toString(name));
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), ...encoded];
}

/**
 * What a text of JSON stands for, with each text in it changed, names of members and numbers too. In
 * the JSON as a whole, what is changed could take a part of its form along.
 */
function withTexts(json: string, change: (text: string) => string): unknown {
  return JSON.parse(json, (_name, value) => {
    if (typeof value === "string") return change(value);
    if (typeof value === "number") return change(String(value)) === String(value) ? value : HIDDEN;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, own]) => [change(name), own]));
  });
}
