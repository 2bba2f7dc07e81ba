import { createServer, type Server } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

/** Pause between two attempts to bind a port that another process still uses, in milliseconds. */
const RETRY_MS = 1_000;

/** Options of `serveMetrics`. */
export interface MetricsServerOptions {
  readonly host: string;
  readonly port: number;
  readonly contentType: string;
  readonly text: () => Promise<string>;
  /** Called once if the port cannot be bound, and for every failed scrape. */
  readonly onError: (error: unknown, doing: string) => void;
}

/** Serves metrics until it is closed. */
export interface MetricsServer {
  close(): void;
}

/**
 * Serves GET /metrics on its own port, to which the network must restrict access. The service also
 * runs while another process uses the port, as in a rolling restart: binding is retried.
 */
export function serveMetrics(options: MetricsServerOptions): MetricsServer {
  const { text, contentType, onError } = options;
  const server = createServer(async (req, res) => {
    const isKnown = req.method === "GET" && req.url === "/metrics";
    if (!isKnown) return void res.writeHead(404).end();
    try {
      const body = await text();
      res.writeHead(200, { "content-type": contentType, "cache-control": "no-store" }).end(body);
    } catch (error) {
      onError(error, "the metrics could not be read");
      res.writeHead(500).end();
    }
  });
  const stopping = new AbortController();
  void listen(server, options, stopping);
  return {
    close() {
      stopping.abort();
      server.close();
      server.closeAllConnections();
    },
  };
}

async function listen(
  server: Server,
  { host, port, onError }: MetricsServerOptions,
  { signal }: AbortController,
): Promise<void> {
  for (let tries = 0; !signal.aborted; tries++) {
    const refusal = await attempt(server, host, port);
    if (refusal === undefined) return;
    if (tries === 0) onError(refusal, "METRICS_PORT cannot be bound; it is retried");
    await delay(RETRY_MS, undefined, { signal, ref: false }).catch(() => {});
  }
}

/**
 * Tries to bind the port once.
 *
 * @returns The error; `undefined` if the port was bound.
 */
function attempt(server: Server, host: string, port: number): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const onListening = () => {
      server.off("error", onError);
      resolve(undefined);
    };
    const onError = (error: Error) => {
      server.off("listening", onListening);
      resolve(error);
    };
    server.once("error", onError).once("listening", onListening).listen(port, host);
  });
}
