import { randomBytes } from "node:crypto";
import { freePort } from "../../support/free-port.ts";
import { postgresAvailable, startPostgres } from "../../support/postgres.ts";
import { startCaller } from "../harness/caller.ts";
import { childrenOf } from "../harness/machine.ts";
import { showProgress } from "../harness/progress.ts";
import {
  ask,
  callsOfGetSignal,
  type Question,
  rawCall,
  restSignals,
} from "../harness/questions.ts";
import type { Effort, Part, Row } from "../harness/report.ts";
import {
  cpuMicrosPerRequest,
  medianOfRounds,
  type Rounds,
  ratioOf,
  takeTurns,
} from "../harness/rounds.ts";
import { type Server, startProduct } from "../harness/server.ts";
import { requestTokens } from "../harness/tokens.ts";

/**
 * Number of processes that share a database, and the highest allowed ratio of their CPU time per
 * read to that of one embedded process.
 */
const PROCESSES = 3;
const MOST = 1.2;

/** Number of callers per process. */
const CALLERS = 18;

const ONE = "1 process, embedded store";
const THREE = `${PROCESSES} processes on PostgreSQL`;
const ALL = `${THREE}, with those of PostgreSQL`;
const ONE_THIN = `1 process with ${CALLERS / PROCESSES} callers`;
const THREE_THIN = `${THREE} with ${CALLERS / PROCESSES} callers each`;

/**
 * Measures a read when several processes share a database, with as many callers per process as for
 * a single process. Rows with fewer callers have no goal: each process does less in each turn of
 * the event loop, so a call costs more.
 */
export async function cluster(effort: Effort): Promise<Part> {
  if (!postgresAvailable) throw new Error("SKIPPED: no PostgreSQL for this platform");
  showProgress(`Starting ${THREE}, and one with an embedded store`);
  const database = await startPostgres({ durable: true });
  const [one, three] = [
    await startProduct({}, ONE),
    await startThree(await database.createDatabase()),
  ];
  const raw: Record<string, Rounds> = {};
  try {
    for (const [what, questions] of [
      ["MCP get_signal", callsOfGetSignal("modern")],
      ["REST get_signal", restSignals()],
    ] as const) {
      showProgress(`${what}: ${ONE}, ${THREE}`);
      raw[what] = await compare(questions, { one, three, database: database.pid }, effort);
    }
    return { rows: Object.entries(raw).flatMap(([what, rounds]) => rowsOf(what, rounds)), raw };
  } finally {
    await Promise.all([one, ...three].map((server) => server.stop()));
    await database.stop();
  }
}

/** Starts three processes that share a public address, each on its own port. */
async function startThree(DATABASE_URL: string): Promise<readonly Server[]> {
  const ports = [];
  while (ports.length < PROCESSES) ports.push(await freePort());
  const common = {
    ...{ DATABASE_URL, BASE_URL: `http://127.0.0.1:${ports[0]}` },
    MASTER_KEY: randomBytes(32).toString("base64"),
  };
  const servers = [];
  for (const port of ports) {
    servers.push(await startProduct({ ...common, PORT: String(port) }, THREE));
  }
  return servers;
}

interface Both {
  readonly one: Server;
  readonly three: readonly Server[];
  /** Process id of the database server. */
  readonly database: number;
}

async function compare(
  questions: readonly Question[],
  { one, three, database }: Both,
  { isQuick }: Effort,
): Promise<Rounds> {
  const [first] = three;
  if (first === undefined) throw new Error("there is no server");
  const alone = { servers: [one], calls: await callsTo(one, questions) };
  const shared = { servers: three, calls: await callsTo(first, questions) };
  const helpers = () => [database, ...childrenOf(database)];
  const variants = [
    { name: ONE, ...alone },
    { name: THREE, ...shared, callers: CALLERS * PROCESSES },
    { name: ALL, ...shared, callers: CALLERS * PROCESSES, helpers },
    { name: ONE_THIN, ...alone, callers: CALLERS / PROCESSES },
    { name: THREE_THIN, ...shared },
  ];
  const pace = { callers: CALLERS, warmUpMs: 6_000, ms: 2_000, rounds: isQuick ? 3 : 9 };
  const caller = startCaller();
  try {
    return await takeTurns(caller, variants, pace);
  } finally {
    caller.stop();
  }
}

async function callsTo(server: Server, questions: readonly Question[]) {
  const [token = ""] = await requestTokens(server, 1);
  return Promise.all(
    questions.map(async (question) =>
      rawCall(server, question, { token, expected: await ask(server, question, token) }),
    ),
  );
}

function rowsOf(what: string, rounds: Rounds): readonly Row[] {
  const row = (name: string): Row => ({
    ...{
      budget: `${what}, ${name}`,
      figure: medianOfRounds(rounds, name, cpuMicrosPerRequest),
      unit: "us of CPU",
    },
    baseline: { name: ONE, figure: medianOfRounds(rounds, ONE, cpuMicrosPerRequest) },
    ratio: ratioOf(rounds, [name, ONE], cpuMicrosPerRequest),
  });
  return [
    ...[THREE, ALL].map((name) => ({ ...row(name), goal: { most: MOST } })),
    ...[ONE_THIN, THREE_THIN].map(row),
  ];
}
