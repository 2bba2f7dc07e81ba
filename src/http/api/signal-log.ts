import type { ServerResponse } from "node:http";
import { Problem } from "../../lib/problem.ts";
import { proofFileText } from "../../log/log-reader.ts";
import type { SignalLog } from "../../log/signal-log.ts";
import { ConsistencyQuery, signalLogOperations } from "../../openapi/operations/signal-log.ts";
import { parseTilePath } from "../../tree/tile-path.ts";
import { compress, negotiateContentCoding } from "../content-coding.ts";
import { type Admit, operationRoutes } from "../operation-routes.ts";
import { queryOf, type RequestContext } from "../request-context.ts";
import type { Route } from "../route-table.ts";
import { parseInput } from "./parse.ts";

/**
 * Values of `Cache-Control`. Tiles never change, so they are immutable. Responses that require a
 * scope are private, so that shared caches do not store them.
 */
const CACHE = {
  open: "public, max-age=31536000, immutable",
  scoped: "private, max-age=31536000, immutable",
  newest: "no-cache",
  own: "private, no-cache",
} as const;

const TEXT = "text/plain; charset=utf-8";
const BYTES = "application/octet-stream";

/** Dependencies of the signal log's routes. */
interface LogRoutesOptions {
  readonly admit: Admit;
  /** The signal log of the market; `undefined` if the market has none. */
  readonly signalLog: SignalLog | undefined;
  /** Whether anyone may read the entries, because they are simulated. */
  readonly isSimulated: boolean;
}

/**
 * Routes of the signal log: its checkpoint, keys, entries and tiles as C2SP tlog-tiles specifies
 * them, and proofs for clients that do not download tiles.
 */
export function logRoutes({ admit, signalLog, isSimulated }: LogRoutesOptions): readonly Route[] {
  const log = (): SignalLog => {
    if (signalLog !== undefined) return signalLog;
    throw notFound("This market has no log, because it is fixed at one instant.");
  };
  return operationRoutes(signalLogOperations, admit, {
    async get_log_checkpoint({ context }) {
      const checkpoint = await log().reader.checkpoint();
      if (checkpoint === undefined) throw notFound("The log has no checkpoint yet.");
      send(context.res, { type: TEXT, cache: CACHE.newest, body: checkpoint.note });
    },
    async get_log_keys({ context }) {
      // The keys are available before the first checkpoint, because witnesses need them to cosign
      // it.
      const origin = await log().reader.origin();
      if (origin === undefined) throw notFound("The log has not begun yet.");
      const body = `${log().verifiersOf(origin).join("\n")}\n`;
      send(context.res, { type: TEXT, cache: CACHE.newest, body });
    },
    async get_log_entries({ context }) {
      const bundle = parseTilePath(`entries/${context.params.bundle}`);
      const found = bundle && (await log().reader.bundle(bundle));
      if (found === undefined) throw notFound("The log has no such bundle.");
      const cache = isSimulated ? CACHE.open : CACHE.scoped;
      await sendCompressed(context, { type: BYTES, cache, body: found });
    },
    async get_log_tile({ context }) {
      const tile = parseTilePath(context.params.tile ?? "");
      const found =
        tile && tile.level !== "entries"
          ? await log().reader.tile({ ...tile, level: tile.level })
          : undefined;
      if (found === undefined) throw notFound("The log has no such tile.");
      send(context.res, { type: BYTES, cache: CACHE.open, body: found });
    },
    async get_log_proof({ context, param }) {
      const index = param("index");
      const proven = await log().reader.prove(index);
      if (proven === undefined) throw await beyond(log(), `entry ${index}`);
      send(context.res, { type: TEXT, cache: CACHE.own, body: proofFileText(proven) });
    },
    async get_log_consistency({ context }) {
      // Of a repeated parameter, the last value counts.
      const sizes = Object.fromEntries(queryOf(context.req));
      const { from, to } = parseInput(ConsistencyQuery, sizes);
      if (from > to) {
        throw new Problem("invalid_request", {
          detail: "from, to: the earlier tree is larger than the later one.",
          next: "Exchange the two.",
        });
      }
      const proven = await log().reader.proveConsistency(from, to);
      if (proven === undefined) throw await beyond(log(), `size ${to}`);
      const { origin, fromRoot, toRoot, proof } = proven;
      return {
        origin,
        from,
        fromRoot: base64(fromRoot),
        to,
        toRoot: base64(toRoot),
        proof: proof.map(base64),
      };
    },
  });
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

const notFound = (detail: string): Problem =>
  new Problem("not_found", { detail, next: "GET /log/checkpoint says what the log has." });

async function beyond({ reader }: SignalLog, what: string): Promise<Problem> {
  const size = (await reader.checkpoint())?.size ?? 0;
  return notFound(`The log has no ${what}: its checkpoint covers ${size} entries.`);
}

/** A response body with its media type and `Cache-Control` value. */
interface Sent {
  readonly type: string;
  readonly cache: string;
  readonly body: string | Uint8Array;
}

function send(res: ServerResponse, { type, cache, body }: Sent): void {
  res.setHeader("Content-Type", type);
  res.setHeader("Cache-Control", cache);
  res.setHeader("Content-Length", Buffer.byteLength(body));
  res.end(body);
}

/**
 * Sends a response, compressed if the client accepts gzip, the only coding that tlog-tiles allows.
 * Gzip reduces entries to a seventh of their size.
 */
async function sendCompressed({ req, res }: RequestContext, sent: Sent): Promise<void> {
  res.setHeader("Vary", "Accept-Encoding, Authorization, X-Api-Key");
  const coding = negotiateContentCoding(req.headers, ["gzip"]);
  if (coding === undefined) return send(res, sent);
  res.setHeader("Content-Encoding", coding);
  send(res, { ...sent, body: await compress(coding, sent.body) });
}
