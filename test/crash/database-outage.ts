import { setTimeout as pause } from "node:timers/promises";
import { EXAMPLE_REGISTRATION, postJson } from "../support/agent.ts";
import { postgresAvailable, startPostgres } from "../support/postgres.ts";
import { startBlackHole } from "./black-hole.ts";
import { questions } from "./callers.ts";
import { type Cluster, openCluster } from "./cluster.ts";
import { type Measure, type Outcome, skip } from "./outcome.ts";

/** Maximum time until `/readyz` reports the outage, in milliseconds. */
const NOTICED_MS = 5_000;

/** Maximum time until a request that needs the database is refused, in milliseconds. */
const REFUSAL_MS = 3_000;

/** Maximum response time of `/api/health`, in milliseconds. */
const HEALTH_MS = 1_000;

/** Maximum time to recovery, in milliseconds. */
const HEAL_MS = 5_000;

/**
 * Time for which a credential is accepted from the cache (`credential-cache.ts`), in milliseconds.
 */
const REMEMBERED_MS = 1_500;

/** Time before and after the outage in which no request may fail, in milliseconds. */
const CALM_MS = 5_000;

/** Pause between two requests of a caller, in milliseconds. */
const PAUSE_MS = 100;

/** Maximum wait for recovery, in milliseconds. */
const PATIENCE_MS = 30_000;

const TITLE = "a database that accepts connections but does not answer";

/** Makes the database of two processes unresponsive while they serve requests of every kind. */
export async function databaseOutage(seconds: number): Promise<Outcome> {
  if (!postgresAvailable) return skip(TITLE, "there is no PostgreSQL for this platform");
  const server = await startPostgres();
  const hole = await startBlackHole(await server.createDatabase());
  const cluster = await openCluster(hole.url);
  try {
    const measures = await silence(cluster, { ...hole, seconds });
    return { title: `${TITLE} for ${seconds} s`, measures };
  } finally {
    await cluster.end();
    hole.end();
    await server.stop();
  }
}

/** Status and timing of one answer. */
interface Seen {
  readonly name: string;
  /** Index of the process. */
  readonly node: number;
  readonly status: number;
  readonly retryAfter: string | null;
  /** Time from the request to the end of the answer, in milliseconds. */
  readonly tookMs: number;
  /** When the request was sent, by `performance.now`. */
  readonly at: number;
}

interface Silence {
  readonly open: () => void;
  readonly close: () => void;
  readonly seconds: number;
}

async function silence(cluster: Cluster, { open, close, seconds }: Silence) {
  const nodes = [await cluster.start(), await cluster.start()] as const;
  const key = await cluster.newKey("signals:read alerts:write");
  const seen: Seen[] = [];
  const stopping = new AbortController();
  const asking = nodes.flatMap(({ base }, node) =>
    Object.entries(questionsTo(base, key)).map(async ([name, ask]) => {
      while (!stopping.signal.aborted) {
        seen.push({ name, node, ...(await look(ask)) });
        await pause(PAUSE_MS);
      }
    }),
  );
  await pause(CALM_MS);
  const silentAt = performance.now();
  open();
  await pause(seconds * 1_000);
  const heardAt = performance.now();
  close();
  while (!isWell(seen, heardAt) && performance.now() - heardAt < PATIENCE_MS) await pause(PAUSE_MS);
  const healMs = performance.now() - heardAt;
  await pause(CALM_MS);
  stopping.abort();
  await Promise.all(asking);
  const later = seen.filter(({ at }) => at > heardAt + healMs);
  return [
    ...judged(seen, { silentAt, heardAt }),
    { name: "all requests succeed again after", unit: "ms", value: healMs, most: HEAL_MS },
    { name: "requests refused after the recovery", value: later.filter(isRefused).length, most: 0 },
  ];
}

/** The repeated requests, by name. */
function questionsTo(base: string, key: string): Readonly<Record<string, () => Promise<Response>>> {
  const headers = { "x-api-key": key };
  const get = (path: string) => () => fetch(base + path, { headers });
  return {
    health: get("/api/health"),
    readyz: get("/readyz"),
    alerts: get("/api/alerts"),
    register: () => postJson(`${base}/oauth/register`, EXAMPLE_REGISTRATION),
    ...Object.fromEntries(
      questions(key).map(({ path, headers, body }, at) => [
        `${at} ${path}`,
        () =>
          fetch(base + path, body === undefined ? { headers } : { method: "POST", headers, body }),
      ]),
    ),
  };
}

async function look(ask: () => Promise<Response>): Promise<Omit<Seen, "name" | "node">> {
  const at = performance.now();
  const answer = await ask();
  await answer.arrayBuffer();
  const retryAfter = answer.headers.get("retry-after");
  return { at, status: answer.status, retryAfter, tookMs: performance.now() - at };
}

const isRefused = ({ status }: Seen): boolean => status >= 400;

/** Whether the latest answer of every kind succeeded and its request was sent after the outage. */
function isWell(seen: readonly Seen[], heardAt: number): boolean {
  const newest = new Map(seen.map((one) => [`${one.node} ${one.name}`, one]));
  return [...newest.values()].every((one) => !isRefused(one) && one.at > heardAt);
}

/**
 * Judges the answers before and during the outage.
 *
 * @param times Start and end of the outage, by `performance.now`.
 */
function judged(
  seen: readonly Seen[],
  { silentAt, heardAt }: { readonly silentAt: number; readonly heardAt: number },
): readonly Measure[] {
  const before = seen.filter(({ at, tookMs }) => at + tookMs < silentAt);
  const during = seen.filter(({ at }) => at > silentAt && at < heardAt);
  const health = during.filter(({ name }) => name === "health");
  const isWork = ({ name }: Seen) => name !== "health" && name !== "readyz";
  const work = during.filter(isWork);
  const refused = work.filter(isRefused);
  const strange = refused.filter(({ status, retryAfter }) => status !== 503 || retryAfter === null);
  const allowed = work.filter((one) => !isRefused(one) && one.at > silentAt + REMEMBERED_MS);
  // A request that was sent just before the end of the outage may be answered after it.
  const wrong = allowed.filter(({ at, tookMs }) => at + tookMs < heardAt);
  const noticed = [0, 1].map((process) => {
    const first = during.find(
      (one) => one.node === process && one.name === "readyz" && isRefused(one),
    );
    return first === undefined ? Number.POSITIVE_INFINITY : first.at + first.tookMs - silentAt;
  });
  return [
    { name: "requests refused before the outage", value: before.filter(isRefused).length, most: 0 },
    {
      name: "/readyz reports the outage after",
      unit: "ms",
      value: Math.max(...noticed),
      most: NOTICED_MS,
    },
    { name: "/api/health requests", value: health.length, least: 10 },
    { name: "/api/health requests refused", value: health.filter(isRefused).length, most: 0 },
    { name: "/api/health, longest response", unit: "ms", value: longest(health), most: HEALTH_MS },
    { name: "requests refused", value: refused.length, least: 10 },
    { name: "refusals other than 503 with Retry-After", value: strange.length, most: 0 },
    { name: "longest wait for a refusal", unit: "ms", value: longest(refused), most: REFUSAL_MS },
    { name: "requests answered without the database", value: wrong.length, most: 0 },
  ];
}

const longest = (seen: readonly Seen[]): number => Math.max(...seen.map(({ tookMs }) => tookMs));
