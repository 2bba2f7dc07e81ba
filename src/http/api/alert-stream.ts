import { type Request, type Response, Router } from "express";
import type { EventReader } from "../../alerts/api/event-log.ts";
import { alertScopes } from "../../auth/scopes.ts";
import type { Repeat } from "../../lib/loop.ts";
import { Problem } from "../../problem.ts";
import { onlyMethods } from "../allowed-methods.ts";
import { callerOf, type Gate } from "../authorize.ts";
import type { Streams } from "../open-streams.ts";
import { queryOf } from "../query.ts";

/** News may be lost on the way: so often is looked anyway, in milliseconds. */
const LOOK_EVERY_MS = 5_000;

/** Proxies close what is silent for a minute: so often something is said, in milliseconds. */
const BEAT_EVERY_MS = 15_000;

/** After this long a caller whose stream has ended comes back, in milliseconds. */
const COME_BACK_MS = 1_000;

/** Events that are read at once, and so wait at most for a caller who does not read. */
const PAGE = 100;

/** Longest cursor, in characters. */
const MAX_CURSOR = 200;

/** An event as it is kept. */
export interface LoggedEvent {
  /** Names its place; reading goes on after it. */
  readonly cursor: string;
  readonly type: string;
  /** One line of JSON. */
  readonly body: string;
}

/** Some events in a row. */
interface LoggedPage {
  readonly events: readonly LoggedEvent[];
  /** Where to go on; further than the last event where others follow that are not the reader's. */
  readonly cursor: string;
  /** Whether there is more already. */
  readonly hasMore: boolean;
}

/** The events of a caller's alerts. */
export interface EventLog {
  /**
   * The first events after a cursor, oldest first, as far as the reader may read them.
   *
   * @throws {Problem} `invalid_request` when it is no cursor.
   */
  after(reader: EventReader, cursor: string, limit: number): Promise<LoggedPage>;
  /** The cursor after all events so far. */
  end(reader: EventReader): Promise<string>;
  /** Listens for new events of anybody. @returns Stops listening. */
  onNews(listener: () => void): () => void;
}

/** What the stream is made from. */
export interface EventStreamOptions {
  readonly gate: Gate;
  readonly log: EventLog;
  readonly streams: Streams;
  readonly repeat: Repeat;
}

/**
 * GET /api/alerts/stream: the events of the caller's alerts as server-sent events (WHATWG HTML,
 * section 9.2). It begins after `Last-Event-ID`, or after the cursor in the query, or now.
 */
export function eventStreamRouter(options: EventStreamOptions): Router {
  const { gate, log } = options;
  const router = Router();
  router
    .route("/api/alerts/stream")
    .get(gate.enter, async (req, res) => {
      const caller = callerOf(res);
      gate.requireScopes(caller, alertScopes);
      const asked = cursorOf(req);
      const cursor = asked ?? (await log.end(caller));
      // A cursor that is none is told before the stream begins.
      const first = await log.after(caller, cursor, PAGE);
      if (req.method === "HEAD") res.type("text/event-stream").end();
      else follow(res, { cursor, first }, options);
    })
    .all(onlyMethods(["get"]));
  return router;
}

function cursorOf(req: Request): string | undefined {
  const cursor = req.get("last-event-id") ?? queryOf(req).get("cursor") ?? undefined;
  if (cursor === undefined || cursor.length <= MAX_CURSOR) return cursor;
  throw new Problem("invalid_request", {
    detail: `A cursor has at most ${MAX_CURSOR} characters.`,
    next: "Send one as it came, or none.",
  });
}

interface Start {
  readonly cursor: string;
  readonly first: LoggedPage;
}

/** Sends what there is, and then whatever comes, no faster than the caller reads. */
function follow(
  res: Response,
  { cursor: start, first }: Start,
  { log, streams, repeat }: EventStreamOptions,
): void {
  // Whoever left while the first events were read is never heard to leave.
  if (res.destroyed) return;
  const caller = callerOf(res);
  streams.hold(res, () => res.end());
  res.set({ "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" });
  res.flushHeaders();
  let cursor = start;
  const send = ({ events, ...page }: LoggedPage): number => {
    if (res.writableEnded) return 0;
    for (const event of events) res.write(frame(event));
    cursor = page.cursor;
    return page.hasMore ? 1 : events.length;
  };
  // Names the place where it begins, so that whoever comes back before the first event misses none.
  res.write(`retry: ${COME_BACK_MS}\nid: ${start}\n\n`);
  send(first);
  const reading = repeat(
    async () => (res.writableNeedDrain ? 0 : send(await log.after(caller, cursor, PAGE))),
    LOOK_EVERY_MS,
  );
  const beating = repeat(async () => {
    if (!res.writableEnded && !res.writableNeedDrain) res.write(": still here\n\n");
    return 0;
  }, BEAT_EVERY_MS);
  const stopListening = log.onNews(reading.wake);
  res.on("drain", reading.wake);
  res.once("close", () => {
    stopListening();
    void reading.stop();
    void beating.stop();
  });
}

const frame = ({ cursor, type, body }: LoggedEvent): string =>
  `id: ${cursor}\nevent: ${type}\ndata: ${body}\n\n`;
