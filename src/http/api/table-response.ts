import type { ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Caller } from "../../access/caller.ts";
import { CSV_MEDIA_TYPE, csvEncoder } from "../../tables/csv.ts";
import { PARQUET_MEDIA_TYPE, parquetEncoder } from "../../tables/parquet.ts";
import { type Cell, type ColumnHead, rowBatches, type TablePage } from "../../tables/table.ts";
import type { TableEncoder } from "../../tables/table-encoder.ts";
import {
  type ContentCoding,
  compress,
  createContentEncoder,
  negotiateContentCoding,
} from "../content-coding.ts";
import { resetConnection } from "../errors.ts";
import type { OpenStreams } from "../open-streams.ts";
import type { RequestContext } from "../request-context.ts";
import { sendIfUnmodified, setPrivateHeaders } from "../send-response.ts";

/**
 * Number of rows produced and written per turn of the event loop: a few milliseconds of work, so
 * that other requests do not wait longer.
 */
const ROWS_PER_PART = 200;

/**
 * Number of rows per Parquet row group. A group is encoded in one step, which takes about ten
 * milliseconds.
 */
const ROWS_PER_GROUP = 1_000;

/** Number of parts of the longest body that is sent in one piece. */
const PARTS_AT_ONCE = 3;

/** The request, the caller and the stream registry with which a table is sent. */
interface TableResponseContext {
  readonly context: RequestContext;
  readonly caller: Caller;
  readonly streams: OpenStreams;
  /** Waits until the next part may be computed; default: the next turn of the event loop. */
  readonly turn?: () => Promise<unknown>;
}

/** A table to be sent. */
export interface TableResponseBody extends TablePage {
  readonly format: keyof typeof FORMATS;
  /** Strong validator (ETag); `undefined` for a table that must not be cached. */
  readonly etag: string | undefined;
}

const FORMATS = {
  csv: { type: CSV_MEDIA_TYPE, encoder: csvEncoder },
  parquet: {
    type: PARQUET_MEDIA_TYPE,
    encoder: (columns: readonly ColumnHead[]) =>
      parquetEncoder(columns, { rowsPerGroup: ROWS_PER_GROUP }),
  },
} as const;

/**
 * Sends a table, no faster than the caller reads. The `Link` header (RFC 8288) points to the next
 * page.
 *
 * @throws {Problem} As `OpenStreams.track`, before anything is sent.
 */
export async function sendTable(
  exchange: TableResponseContext,
  table: TableResponseBody,
): Promise<void> {
  const { req, res } = exchange.context;
  const { nextCursor, etag, columns, rows } = table;
  const { type, encoder } = FORMATS[table.format];
  if (nextCursor !== null) res.setHeader("Link", `<${nextUrl(req.url, nextCursor)}>; rel="next"`);
  // Compresses CSV that has an ETag, as `sendRepresentation` does, but before the length is known.
  // Parquet is already compressed.
  const coding =
    table.format === "csv" && etag !== undefined ? negotiateContentCoding(req.headers) : undefined;
  if (etag !== undefined) {
    setPrivateHeaders(res);
    if (sendIfUnmodified(req, res, { etag, coding })) return;
  }
  res.setHeader("Content-Type", type);
  if (req.method === "HEAD") res.end();
  else await sendParts(exchange, partsOf(rows, await encoder(columns)), coding);
}

/** Path and query of the next page. */
function nextUrl(url = "", cursor: string): string {
  const { pathname, searchParams } = new URL(url, "http://relative.invalid");
  searchParams.set("cursor", cursor);
  return `${pathname}?${searchParams}`;
}

type Part = string | Uint8Array;

function* partsOf(
  rows: Iterable<readonly Cell[]>,
  encoder: TableEncoder,
): Generator<Part, undefined> {
  for (const part of rowBatches(rows, ROWS_PER_PART)) yield encoder.add(part);
  yield encoder.end();
}

/**
 * Sends a body in parts, or in one piece if it has at most three parts. If sending fails, the
 * connection is reset, so that the client cannot mistake a truncated body for a complete one.
 */
async function sendParts(
  { context, caller, streams, turn = nextTurn }: TableResponseContext,
  parts: Iterator<Part, undefined>,
  coding: ContentCoding | undefined,
): Promise<void> {
  const { res } = context;
  const first: Part[] = [];
  let next = parts.next();
  while (!next.done && first.length < PARTS_AT_ONCE) {
    first.push(next.value);
    await turn();
    next = parts.next();
  }
  if (next.done) {
    const whole = Buffer.concat(first.map((part) => Buffer.from(part)));
    const body = coding === undefined ? whole : await compress(coding, whole);
    res.setHeader("Content-Length", body.length);
    res.end(body);
    return;
  }
  streams.track(context, caller, () => resetConnection(res));
  const encoder = coding && createContentEncoder(coding);
  encoder?.pipe(res).once("close", () => encoder.destroy());
  const sink = encoder ?? res;
  for (const part of first) sink.write(part);
  for (; !next.done && !res.destroyed; next = parts.next()) {
    // An empty part is skipped, because an empty chunk would end the body.
    if (next.value.length > 0 && !sink.write(next.value)) await untilDrained(sink, res);
    await turn();
  }
  sink.end();
}

/** Resolves when the write buffer has drained or the client has disconnected. */
const untilDrained = (sink: Writable, res: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const settle = () => {
      sink.off("drain", settle);
      res.off("close", settle);
      resolve();
    };
    sink.on("drain", settle);
    res.on("close", settle);
  });
