import pino, { type Logger, type LoggerOptions } from "pino";
import { currentRequestId } from "../lib/request-id.ts";
import { terminalJson } from "../outbound/terminal-text.ts";

/** Maximum number of logged errors kept in memory for the operator. */
const MAX_ERRORS = 10;

/** Maximum number of nested causes of an error that are logged. */
const MAX_CAUSES = 4;

/** pino's level `error`; `fatal` is higher. */
const ERROR_LEVEL = 50;

/** Names of members that are redacted in every log line. */
const SECRET_MEMBERS = [
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "x-api-key",
  "password",
  "secret",
  "client_secret",
  "token",
  "access_token",
  "refresh_token",
  "id_token",
  "client_assertion",
  "assertion",
  "code",
  "email",
  "to",
  "url",
  "query",
  "body",
].flatMap((name) => [`["${name}"]`, `*["${name}"]`]);

/** Names of header fields that are logged, none of which contains a secret. */
const SHOWN_HEADERS: readonly string[] = [
  "accept",
  "content-length",
  "content-type",
  "mcp-protocol-version",
  "retry-after",
];

/** Options of `createProcessLog`. */
interface LogOptions {
  readonly level: NonNullable<LoggerOptions["level"]>;
  /** Values that are redacted in every line. */
  readonly secrets: readonly string[];
  /** Writes one line of JSON, including its newline. */
  readonly write: (line: string) => void;
}

/** A logged error, as shown by `admin status`. */
export interface LoggedError {
  /** When the error was logged, ISO 8601. */
  readonly at: string;
  readonly text: string;
  readonly requestId: string | null;
}

/** The log of the process and its latest errors. */
interface ProcessLog {
  readonly log: Logger;
  /** The latest logged errors, oldest first. */
  readonly lastErrors: () => readonly LoggedError[];
}

/**
 * Opens the log: one JSON object per line. Callers must not log secrets. As a safeguard, a secret
 * is redacted if its member name or its form reveals it, or if it is the value of a setting.
 */
export function createProcessLog({ level, secrets, write }: LogOptions): ProcessLog {
  const errors: LoggedError[] = [];
  const hideKnown = createSecretRedactor(secrets);
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
      keepError(errors, line);
      write(`${terminalJson(line)}\n`);
    },
  });
  return { log, lastErrors: () => [...errors] };
}

/** The members of a log line that are kept for `lastErrors`. */
interface Line {
  readonly level: number;
  readonly time: string;
  readonly msg?: string;
  readonly err?: { readonly message?: string };
  readonly requestId?: string;
}

function keepError(errors: LoggedError[], line: Line): void {
  const { level, time, msg = "", err, requestId = null } = line;
  if (level < ERROR_LEVEL) return;
  const text = [msg, err?.message].filter(Boolean).join(": ");
  errors.push({ at: time, text, requestId });
  if (errors.length > MAX_ERRORS) errors.shift();
}

/**
 * The members of an error that are logged. Other members are left out, since errors of libraries
 * also carry requests, responses and rows.
 */
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

/** Text that replaces a secret. */
const HIDDEN = "[hidden]";

/** User information of a URL (RFC 3986 section 3.2.1). */
const USER_INFO = /(?<=:\/\/)[^\s/?#"@]+(?=@)/g;

const EMAIL = /[\w.+-]+(?:@|%40)[\w-]+(?:\.[\w-]+)+/g;

/** Credentials after an authentication scheme (RFC 9110 section 11.4). */
const CREDENTIALS = /(?<=\b(?:bearer|basic|dpop) )[\w.~+/=-]+/gi;

/** Secrets of this service, by their prefixes. */
const PREFIXED = /\b(?:msv_(?:test|live)_|whsec_|whsk_)[\w+/=-]+/g;

/** Long words with a digit, such as tokens, keys and codes. A UUID is shorter. */
const OPAQUE = /\b(?=[\w-]*\d)[\w-]{40,}/g;

const RECOGNIZED = [USER_INFO, EMAIL, CREDENTIALS, PREFIXED];

/** Redacts texts that look like a secret or an email address. */
function withoutSecrets(line: string): string {
  return RECOGNIZED.reduce((text, pattern) => text.replace(pattern, HIDDEN), line);
}

/**
 * Redacts everything that may be a secret or a token in text from elsewhere, such as error
 * messages.
 */
function withoutTokens(text: string): string {
  return withoutSecrets(text).replace(OPAQUE, HIDDEN);
}

/**
 * Creates a function that redacts given values in every common encoding.
 *
 * @param secrets Values under 6 characters are not redacted, because they would match by chance.
 */
export function createSecretRedactor(secrets: readonly string[]): (line: string) => string {
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
 * Parses JSON and changes each of its strings, member names and numbers. Changing the serialized
 * text instead could damage its syntax.
 */
function withTexts(json: string, change: (text: string) => string): unknown {
  return JSON.parse(json, (_name, value) => {
    if (typeof value === "string") return change(value);
    if (typeof value === "number") return change(String(value)) === String(value) ? value : HIDDEN;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, own]) => [change(name), own]));
  });
}
