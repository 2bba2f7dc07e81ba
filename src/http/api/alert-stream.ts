import type { IncomingMessage } from "node:http";
import type { Caller } from "../../access/caller.ts";
import type { EventLog, LoggedEvent, LoggedEventPage } from "../../alerts/api/event-log.ts";
import type { StartLoop } from "../../lib/loop.ts";
import { Problem } from "../../lib/problem.ts";
import { MAX_CURSOR_CHARACTERS, streamAlertEvents } from "../../openapi/operations/alerts.ts";
import type { OpenStreams } from "../open-streams.ts";
import { type Admit, operationRoute } from "../operation-routes.ts";
import { queryOf, type RequestContext } from "../request-context.ts";
import type { Route } from "../route-table.ts";

/** Interval of the fallback poll in milliseconds; needed because an announcement can be lost. */
const POLL_INTERVAL_MS = 5_000;

/**
 * Interval of keep-alive comments in milliseconds; proxies close connections that are silent for a
 * minute.
 */
const KEEP_ALIVE_INTERVAL_MS = 15_000;

/** Reconnection time sent to clients (`retry`), in milliseconds. */
const RECONNECT_MS = 1_000;

/**
 * Maximum number of events read per query; bounds the memory buffered for a client that stops
 * reading.
 */
const BATCH_EVENTS = 100;

/** Media type of server-sent events. */
const EVENT_STREAM = "text/event-stream; charset=utf-8";

/** Dependencies of the alert stream. */
interface AlertStreamOptions {
  readonly admit: Admit;
  readonly log: EventLog;
  readonly streams: OpenStreams;
  readonly repeat: StartLoop;
}

/**
 * GET /api/alerts/stream: the events of the caller's alerts as server-sent events (WHATWG HTML,
 * section 9.2). The stream starts after the event in `Last-Event-ID`; without that header, after
 * the cursor in the query; without either, at the current time.
 */
export function alertStreamRoute(options: AlertStreamOptions): Route {
  const { admit, log } = options;
  return operationRoute(streamAlertEvents, admit, async ({ context, caller }) => {
    const { req, res } = context;
    const requested = cursorOf(req);
    const cursor = requested ?? (await log.end(caller));
    // Reads the first page here, so that an invalid cursor is rejected before the response starts.
    const first = await log.after(caller, cursor, BATCH_EVENTS);
    if (req.method === "HEAD") {
      res.setHeader("Content-Type", EVENT_STREAM);
      res.end();
    } else {
      streamEvents({ context, caller, cursor, first }, options);
    }
  });
}

function cursorOf(req: IncomingMessage): string | undefined {
  const cursor =
    req.headers["last-event-id"]?.toString() ?? queryOf(req).get("cursor") ?? undefined;
  if (cursor === undefined || cursor.length <= MAX_CURSOR_CHARACTERS) return cursor;
  throw new Problem("invalid_request", {
    detail: `A cursor may have at most ${MAX_CURSOR_CHARACTERS} characters.`,
    next: "Send a cursor unchanged, or none.",
  });
}

/** A validated stream request with its first page of events. */
interface StreamStart {
  readonly context: RequestContext;
  readonly caller: Caller;
  /** Cursor after which the stream starts. */
  readonly cursor: string;
  /** The events that are already available. */
  readonly first: LoggedEventPage;
}

/** Sends the available events, then new ones as they arrive, no faster than the caller reads. */
function streamEvents(
  { context, caller, cursor: start, first }: StreamStart,
  { log, streams, repeat }: AlertStreamOptions,
): void {
  const { res } = context;
  // If the client disconnected during the first read, `close` has already been emitted and is not
  // emitted again.
  if (res.destroyed) return;
  streams.track(context, caller, () => res.end());
  res.setHeader("Content-Type", EVENT_STREAM);
  res.setHeader("X-Accel-Buffering", "no");
  res.flushHeaders();
  let cursor = start;
  const send = ({ events, ...page }: LoggedEventPage): number => {
    if (res.writableEnded) return 0;
    for (const event of events) res.write(frame(event));
    cursor = page.position;
    return page.hasMore ? 1 : events.length;
  };
  // Sends the starting cursor as an id, so that a client that reconnects before the first event
  // misses no event.
  res.write(`retry: ${RECONNECT_MS}\nid: ${start}\n\n`);
  send(first);
  const reading = repeat(
    async () => (res.writableNeedDrain ? 0 : send(await log.after(caller, cursor, BATCH_EVENTS))),
    POLL_INTERVAL_MS,
  );
  const keepAlive = repeat(async () => {
    if (!res.writableEnded && !res.writableNeedDrain) res.write(": still here\n\n");
    return 0;
  }, KEEP_ALIVE_INTERVAL_MS);
  const stopListening = log.onNewEvents(reading.wake);
  res.on("drain", reading.wake);
  res.once("close", () => {
    stopListening();
    void reading.stop();
    void keepAlive.stop();
  });
}

const frame = ({ cursor, type, body }: LoggedEvent): string =>
  `id: ${cursor}\nevent: ${type}\ndata: ${body}\n\n`;
