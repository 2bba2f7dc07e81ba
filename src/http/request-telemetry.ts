import type { RequestListener, ServerResponse } from "node:http";
import type { Request } from "express";
import type { Logger } from "pino";
import { type AnsweredRequest, type Meters, statusClass } from "../telemetry/meters.ts";
import { underRequestId } from "../telemetry/request-id.ts";
import { fail, startRequest, within } from "../telemetry/traces.ts";
import { RequestContext, setRequestId } from "./request-context.ts";

/** Requests that last so long, in milliseconds, are worth a line in the log. */
const SLOW_MS = 1_000;

/** Such lines in a second at most, so that a bad hour does not fill the disk. */
const MAX_LINES = 10;

/** Methods that are counted by name; any other counts as `_OTHER`. */
const METHODS: ReadonlySet<string | undefined> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
]);

/** Where requests are reported to. */
export interface ObservedOptions {
  /** Reverse proxies whose word on the client's address counts. */
  readonly proxyHops: number;
  readonly log: Logger;
  readonly meters: Pick<Meters, "request">;
}

/**
 * Names, measures, traces and logs each request. What is written of it is what the service itself
 * has words for: neither the address that was asked for nor anything that was sent.
 */
export function observed(
  handle: (context: RequestContext) => void,
  options: ObservedOptions,
): RequestListener {
  const report = createReporter(options);
  return (req, res) => {
    const requestId = setRequestId(req, res);
    const context = new RequestContext(req, res, options.proxyHops);
    const startedAt = performance.now();
    const method = METHODS.has(req.method) ? (req.method as string) : "_OTHER";
    const { span, within: its } = startRequest(method, req.headers);
    res.on("close", () => {
      const answered = { method, route: routeOf(context), status: statusOf(res) };
      span.updateName(`${method} ${answered.route}`);
      span.setAttribute("http.route", answered.route);
      span.setAttribute("http.response.status_code", res.statusCode);
      if (res.statusCode >= 500) fail(span, String(res.statusCode));
      span.end();
      report(answered, { context, requestId, durationMs: performance.now() - startedAt });
    });
    underRequestId(requestId, () => within(its, () => handle(context)));
  };
}

/** The route of the table that answered, or that of Express. */
function routeOf({ route, req }: RequestContext): string {
  if (route !== undefined) return route;
  const { baseUrl = "", route: inExpress } = req as Partial<Request>;
  return inExpress === undefined ? "unmatched" : `${baseUrl}${inExpress.path}`;
}

const statusOf = (res: ServerResponse): string =>
  res.headersSent ? statusClass(res.statusCode) : "aborted";

/** A request that has ended. */
interface Ended {
  readonly context: RequestContext;
  readonly requestId: string;
  readonly durationMs: number;
}

type Report = (answered: AnsweredRequest, ended: Ended) => void;

/** Failures and slow requests are logged at the level `info`, all others at `debug`. */
function createReporter({ log, meters }: ObservedOptions): Report {
  const ration = createRateCap(MAX_LINES);
  return (answered, ended) => {
    meters.request(answered, ended.durationMs / 1_000);
    const leftOut = isNotable(ended) ? ration.take(performance.now()) : undefined;
    if (leftOut !== undefined) log.info({ ...lineOf(answered, ended), leftOut }, "request");
    else if (log.isLevelEnabled("debug")) log.debug(lineOf(answered, ended), "request");
  };
}

function isNotable({ context: { res }, durationMs }: Ended): boolean {
  return res.statusCode >= 500 || (durationMs >= SLOW_MS && !isStream(res));
}

const isStream = (res: ServerResponse): boolean =>
  res.getHeader("content-type")?.toString().startsWith("text/event-stream") === true;

function lineOf({ method, route }: AnsweredRequest, { context, requestId, durationMs }: Ended) {
  const { res } = context;
  return {
    method,
    route,
    status: res.headersSent ? res.statusCode : null,
    durationMs: Math.round(durationMs * 10) / 10,
    requestId,
    ...idOfCaller(context),
  };
}

/** The caller by an id that is no secret. */
function idOfCaller({ caller }: RequestContext): Readonly<Record<string, string>> {
  if (caller === undefined) return {};
  if (caller.kind === "service") return { keyId: caller.id };
  return caller.clientId === undefined ? {} : { clientId: caller.clientId };
}

/** Lets so much through in each second and no more. */
export interface Ration {
  /** @param nowMs By a clock that is never set. @returns How many were held back before this one;
   *  `undefined` when this one is held back too. */
  take(nowMs: number): number | undefined;
}

/** A second, in milliseconds. */
const WINDOW_MS = 1_000;

/** Creates a ration of so many in a second. */
export function createRateCap(most: number): Ration {
  let endsAt = Number.NEGATIVE_INFINITY;
  let taken = 0;
  let heldBack = 0;
  return {
    take(nowMs) {
      if (nowMs >= endsAt) {
        endsAt = nowMs + WINDOW_MS;
        taken = 0;
      }
      if (taken === most) {
        heldBack += 1;
        return undefined;
      }
      taken += 1;
      const before = heldBack;
      heldBack = 0;
      return before;
    },
  };
}
