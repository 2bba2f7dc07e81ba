import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Request, Response } from "express";
import type { Logger } from "pino";
import type { Caller } from "../auth/caller.ts";
import { type AnsweredRequest, type Meters, statusClass } from "../telemetry/meters.ts";
import { underRequestId } from "../telemetry/request-id.ts";
import { fail, startRequest, within } from "../telemetry/traces.ts";
import { nameRequest } from "./request-name.ts";

/** Requests that last so long, in milliseconds, are worth a line in the log. */
const SLOW_MS = 1_000;

/** Such lines in a second at most, so that a bad hour does not fill the disk. */
const MAX_LINES = 10;

/** Methods that are counted by name; what else there is, strangers make up. */
const METHODS: ReadonlySet<string | undefined> = new Set([
  ...["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
]);

/** What is told of requests. */
export interface ObservedOptions {
  readonly log: Logger;
  readonly meters: Pick<Meters, "request">;
}

/**
 * Names, measures, traces and logs each request. What is written of it is what the service itself
 * has words for: neither the address that was asked for nor anything that was sent.
 */
export function observed(handle: RequestListener, options: ObservedOptions): RequestListener {
  const tell = createTeller(options);
  return (req, res) => {
    const requestId = nameRequest(req, res);
    const startedAt = performance.now();
    const method = METHODS.has(req.method) ? (req.method as string) : "_OTHER";
    const { span, within: its } = startRequest(method, req.headers);
    res.on("close", () => {
      const answered = { method, route: routeOf(req), status: statusOf(res) };
      span.updateName(`${method} ${answered.route}`);
      span.setAttribute("http.route", answered.route);
      span.setAttribute("http.response.status_code", res.statusCode);
      if (res.statusCode >= 500) fail(span, String(res.statusCode));
      span.end();
      tell(answered, { res, requestId, durationMs: performance.now() - startedAt });
    });
    underRequestId(requestId, () => within(its, () => handle(req, res)));
  };
}

/** As Express found it. */
function routeOf(req: IncomingMessage): string {
  const { baseUrl = "", route } = req as Partial<Request>;
  return route === undefined ? "unmatched" : `${baseUrl}${route.path}`;
}

const statusOf = (res: ServerResponse): string =>
  res.headersSent ? statusClass(res.statusCode) : "aborted";

/** What is known of a request once it is over. */
interface Over {
  readonly res: ServerResponse;
  readonly requestId: string;
  readonly durationMs: number;
}

type Tell = (answered: AnsweredRequest, over: Over) => void;

/** What failed, and what took long, is told at the level `info`, all else at `debug`. */
function createTeller({ log, meters }: ObservedOptions): Tell {
  const ration = createRation(MAX_LINES);
  return (answered, over) => {
    meters.request(answered, over.durationMs / 1_000);
    const leftOut = isNotable(over) ? ration.take(performance.now()) : undefined;
    if (leftOut !== undefined) log.info({ ...lineOf(answered, over), leftOut }, "request");
    else if (log.isLevelEnabled("debug")) log.debug(lineOf(answered, over), "request");
  };
}

function isNotable({ res, durationMs }: Over): boolean {
  return res.statusCode >= 500 || (durationMs >= SLOW_MS && !isStream(res));
}

const isStream = (res: ServerResponse): boolean =>
  res.getHeader("content-type")?.toString().startsWith("text/event-stream") === true;

function lineOf({ method, route }: AnsweredRequest, { res, requestId, durationMs }: Over) {
  return {
    ...{ method, route, status: res.headersSent ? res.statusCode : null },
    ...{ durationMs: Math.round(durationMs * 10) / 10, requestId, ...callerOf(res) },
  };
}

/** Who was let in; a key by its id. */
function callerOf(res: ServerResponse): { readonly clientId?: string; readonly keyId?: string } {
  const { caller } = ((res as Partial<Response>).locals ?? {}) as { readonly caller?: Caller };
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
export function createRation(most: number): Ration {
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
