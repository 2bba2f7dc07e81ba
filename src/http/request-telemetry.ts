import type { RequestListener, ServerResponse } from "node:http";
import type { Request } from "express";
import type { Logger } from "pino";
import { runWithRequestId } from "../lib/request-id.ts";
import { type AnsweredRequest, type Meters, statusClass } from "../telemetry/meters.ts";
import { endRequestSpan, runInTraceContext, startRequestSpan } from "../telemetry/traces.ts";
import { RequestContext, setRequestId } from "./request-context.ts";

/** Minimum duration of a request that is logged as slow, in milliseconds. */
const SLOW_MS = 1_000;

/**
 * Maximum number of log lines per second for slow and failed requests, so that an incident does not
 * fill the disk.
 */
const MAX_LINES = 10;

/** HTTP methods that metrics count by name; all others count as `_OTHER`. */
const METHODS: ReadonlySet<string | undefined> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
]);

/** Dependencies of request telemetry. */
interface RequestTelemetryOptions {
  /** Number of trusted reverse proxies that set the client address. */
  readonly proxyHops: number;
  readonly log: Logger;
  readonly meters: Meters;
}

/**
 * Wraps a request handler to add a request id, metrics, a trace and a log line to each request.
 * Metrics, traces and log lines contain only route templates and the service's own text, never the
 * URL or the body.
 */
export function withTelemetry(
  handle: (context: RequestContext) => void,
  options: RequestTelemetryOptions,
): RequestListener {
  const report = createReporter(options);
  return (req, res) => {
    const requestId = setRequestId(req, res);
    const context = new RequestContext(req, res, options.proxyHops);
    const startedAt = performance.now();
    const method = METHODS.has(req.method) ? (req.method as string) : "_OTHER";
    const { span, within: its } = startRequestSpan(method, req.headers);
    res.on("close", () => {
      const answered = { method, route: routeOf(context), status: statusOf(res) };
      endRequestSpan(span, answered, res.statusCode);
      report(answered, { context, requestId, durationMs: performance.now() - startedAt });
    });
    runWithRequestId(requestId, () => runInTraceContext(its, () => handle(context)));
  };
}

/**
 * Template of the matching route, in the route table or in Express; `unmatched` if there is none.
 */
function routeOf({ route, req }: RequestContext): string {
  if (route !== undefined) return route;
  const { baseUrl = "", route: inExpress } = req as Partial<Request>;
  return inExpress === undefined ? "unmatched" : `${baseUrl}${inExpress.path}`;
}

const statusOf = (res: ServerResponse): string =>
  res.headersSent ? statusClass(res.statusCode) : "aborted";

/** A request whose connection has been answered or closed. */
interface CompletedRequest {
  readonly context: RequestContext;
  readonly requestId: string;
  readonly durationMs: number;
}

/**
 * Creates the function that counts completed requests in the metrics and logs them: failures and
 * slow requests at level `info`, all others at `debug`.
 */
function createReporter({ log, meters }: RequestTelemetryOptions) {
  const rateCap = createEventRateCap(MAX_LINES);
  return (answered: AnsweredRequest, ended: CompletedRequest): void => {
    meters.request(answered, ended.durationMs / 1_000);
    const leftOut = isNotable(ended) ? rateCap.take(performance.now()) : undefined;
    if (leftOut !== undefined) log.info({ ...logFields(answered, ended), leftOut }, "request");
    else if (log.isLevelEnabled("debug")) log.debug(logFields(answered, ended), "request");
  };
}

function isNotable({ context: { res }, durationMs }: CompletedRequest): boolean {
  return res.statusCode >= 500 || (durationMs >= SLOW_MS && !isStream(res));
}

const isStream = (res: ServerResponse): boolean =>
  res.getHeader("content-type")?.toString().startsWith("text/event-stream") === true;

function logFields(
  { method, route }: AnsweredRequest,
  { context, requestId, durationMs }: CompletedRequest,
) {
  const { res } = context;
  return {
    method,
    route,
    status: res.headersSent ? res.statusCode : null,
    durationMs: Math.round(durationMs * 10) / 10,
    requestId,
    ...callerIdField(context),
  };
}

/** Log field with the caller's id, which is not secret. */
function callerIdField({ caller }: RequestContext): Readonly<Record<string, string>> {
  if (caller === undefined) return {};
  if (caller.kind === "service") return { keyId: caller.id };
  return caller.clientId === undefined ? {} : { clientId: caller.clientId };
}

/** A limit on events per second. */
interface EventRateCap {
  /**
   * Counts an event against the limit.
   *
   * @param nowMs Monotonic time, in milliseconds.
   * @returns Number of events suppressed since the last permitted event; `undefined` if this event
   * is suppressed too.
   */
  take(nowMs: number): number | undefined;
}

/** Length of the window in which events are counted, in milliseconds. */
const WINDOW_MS = 1_000;

/** Creates a cap of `most` events per second. */
export function createEventRateCap(most: number): EventRateCap {
  let endsAt = Number.NEGATIVE_INFINITY;
  let taken = 0;
  let suppressed = 0;
  return {
    take(nowMs) {
      if (nowMs >= endsAt) {
        endsAt = nowMs + WINDOW_MS;
        taken = 0;
      }
      if (taken === most) {
        suppressed += 1;
        return undefined;
      }
      taken += 1;
      const before = suppressed;
      suppressed = 0;
      return before;
    },
  };
}
