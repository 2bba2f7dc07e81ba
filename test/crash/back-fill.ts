import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { readObservations } from "../../src/ingest/follow-observations.ts";
import { FEEDS } from "../../src/market/records.ts";
import type { ReceivedObservation } from "../../src/sources/live/record-book.ts";
import type { Store } from "../../src/store/port/store.ts";
import { openEmbedded } from "../../src/store/sqlite/open.ts";
import type { Serve } from "../support/providers/drive.ts";
import { type BackFill, CLOCK_HEADER, rigsOf } from "./back-fill-plan.ts";

/** Path of the script that runs the backfill. */
const FILLER = fileURLToPath(new URL("./back-filler.ts", import.meta.url));

/** Local servers of all providers, behind one address. */
interface BackFillServers {
  readonly origin: string;
  /** Number of requests so far. */
  readonly asked: () => number;
  /** Simulated times of the requests by provider, Unix milliseconds. */
  readonly askedAt: ReadonlyMap<string, readonly number[]>;
  close(): Promise<void>;
}

/**
 * Starts the local servers. A header of each request contains the simulated time at which it is
 * answered.
 */
export async function startServers(plan: BackFill): Promise<BackFillServers> {
  const serves = new Map<string, Serve>(
    rigsOf(plan).map(({ provider, serve }) => [provider.id, serve()]),
  );
  const askedAt = new Map<string, number[]>([...serves.keys()].map((id) => [id, []]));
  let asked = 0;
  const server = createServer(async (req, res) => {
    const [, id = "", path = ""] = /^\/([^/]+)(\/.*)$/.exec(req.url ?? "") ?? [];
    const body = (await buffer(req)).toString();
    const headers = new Headers(req.headers as Record<string, string>);
    const now = Number(headers.get(CLOCK_HEADER));
    const serve = serves.get(id);
    if (serve === undefined) return void res.writeHead(404).end();
    asked++;
    askedAt.get(id)?.push(now);
    const url = new URL(path, `http://${req.headers.host}`);
    // The Date header follows the simulated clock of the request, not the clock of this machine.
    res.setHeader("date", new Date(now).toUTCString());
    const answer = serve({ method: req.method ?? "GET", url, headers, body }, now);
    res.writeHead(answer.status, answer.headers).end(answer.body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: () => asked,
    askedAt,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/**
 * Runs the backfill of a folder in a child process.
 *
 * @param killAt Number of requests after which the child is killed; default: never.
 * @returns Whether the child ran to its end.
 */
export async function fill(
  { plan, folder, servers }: { plan: BackFill; folder: string; servers: BackFillServers },
  killAt = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const clocks = Object.fromEntries(
    [...servers.askedAt].flatMap(([id, at]) => (at.length > 0 ? [[id, at.at(-1)]] : [])),
  );
  const task = JSON.stringify({ plan, folder, origin: servers.origin, clocks });
  const child = spawn(process.execPath, [FILLER, task], { stdio: ["ignore", "inherit", "pipe"] });
  const ended = once(child, "close");
  const watch = setInterval(() => {
    if (servers.asked() >= killAt) child.kill("SIGKILL");
  }, 1);
  const stderr = tailOf(child);
  const [code, signal] = (await ended) as [number | null, NodeJS.Signals | null];
  clearInterval(watch);
  if (code !== 0 && signal !== "SIGKILL")
    throw new Error(`the backfill process exited: ${stderr()}`);
  return code === 0;
}

function tailOf({ stderr }: ChildProcess): () => string {
  let tail = "";
  stderr?.on("data", (chunk) => {
    tail = (tail + chunk).slice(-2_000);
  });
  return () => tail;
}

/** The data in a folder that was public when the backfill began. */
interface Content {
  readonly rows: number;
  readonly byProvider: Readonly<Record<string, number>>;
  /** SHA-256 over all rows without their `observedAt`. */
  readonly digest: string;
}

/** Reads the public data of a folder. */
export async function contentIn(folder: string, { begins }: BackFill): Promise<Content> {
  const store = await openEmbedded({ folder, mode: "sandbox", now: Date.now });
  const hash = createHash("sha256");
  const byProvider: Record<string, number> = {};
  let rows = 0;
  for await (const { observedAt: _, ...row } of contentOf(store, begins)) {
    hash.update(`${JSON.stringify(row)}\n`);
    byProvider[row.provider] = (byProvider[row.provider] ?? 0) + 1;
    rows++;
  }
  await store.close();
  return { rows, byProvider, digest: hash.digest("hex") };
}

/** Yields the rows that were public by an instant, Unix milliseconds. */
async function* contentOf({ archive }: Store, by: number): AsyncGenerator<ReceivedObservation> {
  for (const feed of FEEDS) {
    // Providers serve messages for a limited time, so only those of the last day are always
    // complete.
    const from = feed === "mentions" ? by - 86_400_000 : 0;
    for await (const page of readObservations(archive, feed, from)) {
      yield* page.filter(({ record }) => record.availableAt <= by);
    }
  }
}
