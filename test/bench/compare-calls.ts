import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { BaselineName } from "./baseline.ts";
import { startCaller } from "./harness/caller.ts";
import { machine, machineLines } from "./harness/machine.ts";
import { median, shortNumberText } from "./harness/numbers.ts";
import { endProgress, showProgress } from "./harness/progress.ts";
import {
  ask,
  callsOfGetSignal,
  type Question,
  rawCall,
  restQuestion,
  restSignals,
} from "./harness/questions.ts";
import { curveTable } from "./harness/report.ts";
import { cpuMicrosPerRequest, type Rounds, takeTurns, type Variant } from "./harness/rounds.ts";
import {
  HEAP_FLAGS,
  type Server,
  startProduct,
  startServer,
  stopServers,
} from "./harness/server.ts";
import { requestTokens } from "./harness/tokens.ts";

const usage = `Compares the CPU time of a call with another checkout or, without --against, with node:http and Express.

  node test/bench/compare-calls.ts [--against <folder>] [--only <part of a name>] [--rounds 25] [--ms 1000]

  --against  root folder of the other checkout, in which npm ci has run
  --only     ${Object.keys(contests()).join("; ")}
  --rounds   number of rounds of each server; the servers take turns
  --ms       length of a round in milliseconds
  --warm-up  CPU time of each server before its first round, in milliseconds (3000)

Many short rounds in turn give stable medians even on a machine with other load.
`;

const { values } = parseArgs({
  options: {
    against: { type: "string" },
    only: { type: "string", default: "" },
    rounds: { type: "string", default: "25" },
    ms: { type: "string", default: "1000" },
    "warm-up": { type: "string", default: "3000" },
    help: { type: "boolean", default: false },
  },
});

const [THIS, OTHER, RAW, EXPRESS] = ["this checkout", "the other", "node:http", "Express"];

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => stopServers().finally(() => process.exit(130)));
}
if (values.help) process.stdout.write(usage);
else await main().finally(stopServers);

/** The questions that can be measured, keyed by the title of their table. */
function contests(): Readonly<Record<string, readonly Question[]>> {
  return {
    "MCP get_signal, 2026-07-28": callsOfGetSignal("modern"),
    "MCP get_signal, 2025-11-25": callsOfGetSignal("legacy"),
    "GET /api/signals, one symbol": restSignals(),
    "GET /api/signals, a page": [restQuestion("/api/signals")],
  };
}

async function main(): Promise<void> {
  const on = machine();
  showProgress("Starting the servers");
  const chosen = Object.entries(contests()).filter(([name]) => name.includes(values.only));
  const questions = chosen.flatMap(([, some]) => some);
  const service = await withToken(await startProduct({}, THIS));
  const servers =
    values.against === undefined
      ? [service, ...(await baselines(await answersOf(service, questions)))]
      : [service, await withToken(await startProduct({}, OTHER, resolve(values.against)))];
  const caller = startCaller();
  const pace = {
    rounds: Number(values.rounds),
    ms: Number(values.ms),
    warmUpMs: Number(values["warm-up"]),
    callers: 16,
  };
  for (const [title, asked] of chosen) {
    showProgress(title);
    const variants: Variant[] = [];
    for (const one of servers) variants.push(await variantOf(one, asked));
    const lines = linesOf(await takeTurns(caller, variants, pace));
    endProgress();
    const columns = ["", "median", "lowest", "highest"];
    process.stdout.write(`${curveTable({ title, columns, lines })}\n\n`);
  }
  caller.stop();
  process.stdout.write(`${pace.rounds} rounds in turn. ${machineLines(on)}\n`);
}

/** Starts node:http and Express, which answer with the service's recorded answers. */
async function baselines(answers: Readonly<Record<string, object>>): Promise<readonly Asked[]> {
  const folder = mkdtempSync(join(tmpdir(), "bench-answers-"));
  const file = join(folder, "answers.json");
  writeFileSync(file, JSON.stringify(answers));
  const start = async (name: string, baseline: BaselineName): Promise<Asked> => {
    const args = [...HEAP_FLAGS, "test/bench/baseline.ts", baseline, file];
    return withToken(await startServer({ name, args }));
  };
  const started = [await start(RAW, "raw"), await start(EXPRESS, "bare")];
  rmSync(folder, { recursive: true, force: true });
  return started;
}

/** A server and a token that it accepts. */
interface Asked {
  readonly server: Server;
  readonly token: string;
}

async function withToken(server: Server): Promise<Asked> {
  const [token = ""] = await requestTokens(server, 1);
  return { server, token };
}

/** Asks a server the questions. @returns Its answers, by question key. */
async function answersOf(
  { server, token }: Asked,
  questions: readonly Question[],
): Promise<Readonly<Record<string, object>>> {
  const answers: Record<string, object> = {};
  for (const question of questions) answers[question.key] = await ask(server, question, token);
  return answers;
}

/**
 * Prepares a server for the comparison. Another checkout may give different answers, so each server
 * must repeat its own earlier answers.
 */
async function variantOf(asked: Asked, questions: readonly Question[]): Promise<Variant> {
  const { server, token } = asked;
  const own = await answersOf(asked, questions);
  const calls = questions.map((question) =>
    rawCall(server, question, { token, expected: own[question.key] ?? {} }),
  );
  return { name: server.name, servers: [server], calls: await Promise.all(calls) };
}

/**
 * Table rows: the CPU time of each server, and the ratio of this checkout's CPU time to that of
 * every other server.
 */
function linesOf(rounds: Rounds): string[][] {
  const of = (name: string) => (rounds[name] ?? []).map(cpuMicrosPerRequest);
  const line = (name: string, figures: readonly number[]) => [
    name,
    ...[median(figures), Math.min(...figures), Math.max(...figures)].map(shortNumberText),
  ];
  const own = of(THIS);
  const others = Object.keys(rounds).filter((name) => name !== THIS);
  const [raw, express] = [of(RAW), of(EXPRESS)];
  const above = own.map((figure, at) => (figure - (express[at] ?? 0)) / (raw[at] ?? 0));
  return [
    ...Object.keys(rounds).map((name) => line(`${name}, µs of CPU`, of(name))),
    ...others.map((name) =>
      line(
        `${THIS} / ${name}`,
        own.map((figure, at) => figure / (of(name)[at] ?? 0)),
      ),
    ),
    ...(raw.length > 0 ? [line(`(${THIS} - ${EXPRESS}) / ${RAW}`, above)] : []),
  ];
}
