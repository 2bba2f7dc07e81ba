import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BaselineName } from "../baseline.ts";
import { type Caller, startCaller } from "./caller.ts";
import { progress } from "./progress.ts";
import { ask, type Question, rawCall } from "./questions.ts";
import type { Part } from "./report.ts";
import type { Variant } from "./rounds.ts";
import { HEAP_FLAGS, type Server, startProduct, startServer } from "./server.ts";
import { buyTokens } from "./tokens.ts";

/** Name of the variant that is judged. */
export const SERVICE = "the service";

/** What others are called in tables. */
export const NAMES: Readonly<Record<BaselineName, string>> = {
  raw: "raw node:http",
  bare: "bare Express",
  lean: "lean Express",
  sdk: "the SDK's stock handler",
  fastmcp: "fastmcp",
  tmcp: "tmcp",
};

/** The service and the servers that it is compared with, all running. */
interface Field {
  /** Everyone who is asked the same questions. */
  variants(questions: readonly Question[], others: readonly BaselineName[]): Promise<Variant[]>;
  stop(): Promise<void>;
}

/** Starts the service and the servers that it is compared with. @param questions All that will be
 *  asked. */
async function startField(
  questions: readonly Question[],
  others: readonly BaselineName[],
): Promise<Field> {
  progress("Starting the service and what it is compared with");
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
  const [token = ""] = await buyTokens(server, 1);
  return token;
}

/** Starts servers that answer what the service has answered, by the keys of questions. */
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

/** Does some work with the service, others and somebody who calls them, all of which end with it. */
export async function among(
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
