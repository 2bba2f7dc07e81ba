import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { readObserved } from "../../src/ingest/change-notices.ts";
import { FEEDS } from "../../src/market/records.ts";
import type { ReceivedObservation } from "../../src/sources/live/record-book.ts";
import type { Store } from "../../src/store/port/store.ts";
import { openEmbedded } from "../../src/store/sqlite/open.ts";
import type { Serve } from "../support/providers/drive.ts";
import { type BackFill, CLOCK_HEADER, rigsOf } from "./back-fill-plan.ts";

/** The process that fills. */
const FILLER = fileURLToPath(new URL("./back-filler.ts", import.meta.url));

/** The providers of a back-fill, all behind one address. */
interface BackFillServers {
  readonly origin: string;
  /** Questions so far. */
  readonly asked: () => number;
  /** By provider, when it was asked by its own clock, Unix milliseconds. */
  readonly askedAt: ReadonlyMap<string, readonly number[]>;
  close(): Promise<void>;
}

/** Starts the local servers; whoever asks says by which clock. */
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
    // By the clock of its answers; the machine's has nothing to do with it.
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
 * Lets a process fill a folder.
 *
 * @param killAt Questions to the servers after which it is killed; never unless given.
 * @returns Whether it came to its end.
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
  if (code !== 0 && signal !== "SIGKILL") throw new Error(`the filler ended: ${stderr()}`);
  return code === 0;
}

function tailOf({ stderr }: ChildProcess): () => string {
  let tail = "";
  stderr?.on("data", (chunk) => {
    tail = (tail + chunk).slice(-2_000);
  });
  return () => tail;
}

/** What a folder holds that was public when the back-fill began. */
interface Content {
  readonly rows: number;
  readonly byProvider: Readonly<Record<string, number>>;
  /** SHA-256 over all rows, without when they were observed. */
  readonly digest: string;
}

/** Reads what a folder holds. */
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

/** What was public by an instant, Unix milliseconds. */
async function* contentOf({ archive }: Store, by: number): AsyncGenerator<ReceivedObservation> {
  for (const feed of FEEDS) {
    // How far back messages go depends on when they are asked for.
    const from = feed === "mentions" ? by - 86_400_000 : 0;
    for await (const page of readObserved(archive, { feed, symbol: null, from })) {
      yield* page.filter(({ record }) => record.availableAt <= by);
    }
  }
}
