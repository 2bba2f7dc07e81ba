import pino, { type Logger, type LoggerOptions } from "pino";
import { HIDDEN, withoutKnown, withoutSecrets, withoutTokens, withTexts } from "./hidden.ts";
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
