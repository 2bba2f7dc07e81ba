import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BaselineName } from "../baseline.ts";
import { type Caller, startCaller } from "./caller.ts";
import { showProgress } from "./progress.ts";
import { ask, type Question, rawCall } from "./questions.ts";
import type { Part } from "./report.ts";
import type { Variant } from "./rounds.ts";
import { HEAP_FLAGS, type Server, startProduct, startServer } from "./server.ts";
import { requestTokens } from "./tokens.ts";

/** Name of the variant that the goals apply to. */
export const SERVICE = "the service";

/** Name of each baseline in tables. */
export const NAMES: Readonly<Record<BaselineName, string>> = {
  raw: "raw node:http",
  bare: "bare Express",
  open: "Express without a check",
  lean: "lean Express",
  sdk: "the SDK's stock handler",
  fastmcp: "fastmcp",
  tmcp: "tmcp",
};

/** The service and the servers that it is compared with, all running. */
interface Field {
  /** The service and the chosen baselines, each with the prepared requests for the questions. */
  variants(questions: readonly Question[], others: readonly BaselineName[]): Promise<Variant[]>;
  stop(): Promise<void>;
}

/**
 * Starts the service and the servers that it is compared with.
 *
 * @param questions All questions of the run, whose answers are recorded.
 */
async function startField(
  questions: readonly Question[],
  others: readonly BaselineName[],
): Promise<Field> {
  showProgress("Starting the service and what it is compared with");
  const service = await startProduct();
  const tokens = new Map([[service, await tokenFor(service)]]);
  const answers: Record<string, object> = {};
  for (const question of questions) {
    answers[question.key] = await ask(service, question, tokens.get(service) ?? "");
  }
  const started = await startOthers(others, answers);
  for (const server of started.values()) tokens.set(server, await tokenFor(server));

  const variantOf = async (server: Server, asked: readonly Question[]): Promise<Variant> => {
    const token = tokens.get(server) ?? "";
    const calls = asked.map((question) =>
      rawCall(server, question, { token, expected: answers[question.key] ?? {} }),
    );
    return { name: server.name, servers: [server], calls: await Promise.all(calls) };
  };
  return {
    variants: (asked, names) => {
      const servers = [service, ...names.flatMap((name) => started.get(name) ?? [])];
      return Promise.all(servers.map((server) => variantOf(server, asked)));
    },
    async stop() {
      await Promise.all([...tokens.keys()].map((server) => server.stop()));
    },
  };
}

async function tokenFor(server: Server): Promise<string> {
  const [token = ""] = await requestTokens(server, 1);
  return token;
}

/** Starts baselines that answer with the service's recorded answers, by question key. */
async function startOthers(
  names: readonly BaselineName[],
  answers: Readonly<Record<string, object>>,
): Promise<ReadonlyMap<BaselineName, Server>> {
  const folder = mkdtempSync(join(tmpdir(), "bench-answers-"));
  const file = join(folder, "answers.json");
  writeFileSync(file, JSON.stringify(answers));
  const started = new Map<BaselineName, Server>();
  for (const name of names) {
    const args = [...HEAP_FLAGS, "test/bench/baseline.ts", name, file];
    started.set(name, await startServer({ name: NAMES[name], args }));
  }
  rmSync(folder, { recursive: true, force: true });
  return started;
}

/**
 * Starts the service, the baselines and a caller, runs `work` with them, and stops all of them
 * afterwards.
 */
export async function withContestField(
  questions: readonly Question[],
  others: readonly BaselineName[],
  work: (field: Field, caller: Caller) => Promise<Part>,
): Promise<Part> {
  const field = await startField(questions, others);
  const caller = startCaller();
  try {
    return await work(field, caller);
  } finally {
    caller.stop();
    await field.stop();
  }
}
