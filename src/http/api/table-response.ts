import type { ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import type { Caller } from "../../auth/caller.ts";
import { CSV_TYPE, csvHeader, csvLine } from "../../tables/csv.ts";
import type { Table } from "../../tables/table.ts";
import { isUnmodified } from "../conditional-response.ts";
import { breakOff } from "../errors.ts";
import type { Streams } from "../open-streams.ts";
import type { RequestContext } from "../request-context.ts";
import type { TableAnswer } from "./answers.ts";

/** Rows that are written at once: a few milliseconds of work, so that no request waits longer. */
const ROWS_PER_PART = 500;

/** Who gets a table. */
interface TableExchange {
  readonly context: RequestContext;
  readonly caller: Caller;
  readonly streams: Streams;
}

/**
 * Sends a table as CSV, no faster than the caller reads. `Link` (RFC 8288) names the next page.
 *
 * @throws {Problem} As `Streams.track`, before anything is sent.
 */
export async function sendCsv(exchange: TableExchange, answer: TableAnswer): Promise<void> {
  const { req, res } = exchange.context;
  const { nextCursor, etag } = answer;
  if (nextCursor !== null) res.setHeader("Link", `<${nextUrl(req.url, nextCursor)}>; rel="next"`);
  if (isUnmodified(req, res, { etag })) return;
  res.setHeader("Content-Type", CSV_TYPE);
  if (req.method === "HEAD") res.end();
  else await sendParts(exchange, csvParts(answer));
}

/** The URL of the next page. */
function nextUrl(url = "", cursor: string): string {
  const { pathname, searchParams } = new URL(url, "http://relative.invalid");
  searchParams.set("cursor", cursor);
  return `${pathname}?${searchParams}`;
}

function* csvParts({ columns, rows }: Table): Generator<string, void> {
  let part = csvHeader(columns);
  let count = 0;
  for (const row of rows) {
    part += csvLine(row);
    count += 1;
    if (count % ROWS_PER_PART !== 0) continue;
    yield part;
    part = "";
  }
  yield part;
}

/** Sends parts of a body, in one piece if there is only one. A response that fails is broken off, so
 *  that nobody takes its beginning for the whole. */
async function sendParts(
  { context, caller, streams }: TableExchange,
  parts: Iterator<string, void>,
): Promise<void> {
  const { res } = context;
  const first = parts.next().value ?? "";
  let next = parts.next();
  if (next.done) {
    res.setHeader("Content-Length", Buffer.byteLength(first));
    res.end(first);
    return;
  }
  streams.track(context, caller, () => breakOff(res));
  res.write(first);
  for (; !next.done && !res.destroyed; next = parts.next()) {
    if (!res.write(next.value)) await untilDrained(res);
    await turn();
  }
  res.end();
}

/** Resolves when the caller has read what was written, or has gone. */
const untilDrained = (res: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const settle = () => {
      res.off("drain", settle).off("close", settle);
      resolve();
    };
    res.on("drain", settle).on("close", settle);
  });
