import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readWholeBody } from "../../outbound/whole-body.ts";
import type { Witness, WitnessAnswer } from "./witness.ts";

/**
 * Maximum size of a request body in bytes; 63 hashes and a checkpoint with many signatures are far
 * smaller.
 */
const MAX_BYTES = 64 * 1024;

/** Timeout for receiving a complete request, in milliseconds. */
const REQUEST_MS = 10_000;

/** Maximum number of concurrent connections. */
const MAX_CONNECTIONS = 100;

/** URL path of the last checkpoint of a log. */
const CHECKPOINT = /^\/([0-9a-f]{64})\/checkpoint$/;

/** The part of a witness that answers requests. */
type Answers = Pick<Witness, "addCheckpoint" | "checkpoint">;

/**
 * The HTTP server of a witness. Its URL root is both the submission prefix and the monitoring
 * prefix of C2SP tlog-witness.
 */
export function createWitnessServer(witness: Answers): Server {
  const limits = { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS };
  const server = createServer(
    { ...limits, connectionsCheckingInterval: REQUEST_MS },
    (req, res) => {
      answerTo(req, witness).then(
        (answer) => send(res, answer),
        () => res.destroy(),
      );
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  return server;
}

async function answerTo(req: IncomingMessage, witness: Answers): Promise<WitnessAnswer> {
  const [path = ""] = (req.url ?? "").split("?");
  const [, originHash] = CHECKPOINT.exec(path) ?? [];
  if (req.method === "POST" && path === "/add-checkpoint") {
    const body = await readWholeBody(req, MAX_BYTES);
    return witness.addCheckpoint(body.toString("utf8"));
  }
  if (req.method === "GET" && originHash !== undefined) return witness.checkpoint(originHash);
  const body = "A witness has POST /add-checkpoint and GET /<origin hash>/checkpoint.\n";
  return { status: 404, type: "text/plain; charset=utf-8", body };
}

function send(res: ServerResponse, { status, type, body }: WitnessAnswer): void {
  res.writeHead(status, {
    "content-type": type,
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-cache",
  });
  res.end(body);
}
