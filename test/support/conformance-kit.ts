import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { ONLY_LOOPBACK } from "./only-loopback.ts";
import { temporaryFolder } from "./process.ts";

const KIT = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
);

/** One check of a scenario. */
interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** A scenario of the kit with its checks. */
interface Scenario {
  readonly name: string;
  readonly checks: readonly Check[];
}

/** A running MCP conformance kit. */
interface RunningKit {
  readonly process: ChildProcessByStdio<null, Readable, null>;
  /** Resolves with the exit code and the results. */
  readonly ended: Promise<{ readonly code: number; readonly scenarios: readonly Scenario[] }>;
}

/** Starts a command of the kit, with connections only to the loopback address. */
export function startKit(...command: readonly string[]): RunningKit {
  const folder = temporaryFolder();
  const kit = spawn(
    process.execPath,
    ["--import", ONLY_LOOPBACK, KIT, ...command, "--output-dir", folder],
    { env: { PATH: process.env.PATH ?? "" }, stdio: ["ignore", "pipe", "inherit"] },
  );
  // Consumes the output: a full pipe would block the kit. Other listeners still receive the data.
  kit.stdout.resume();
  const closed = once(kit, "close");
  return {
    process: kit,
    ended: closed.then(([code]) => ({ code: Number(code), scenarios: scenariosIn(folder) })),
  };
}

/** Name of a result folder: the kind and the name of the scenario, then the time. */
const RESULT = /^(?:server-)?(.+?)-\d{4}-\d{2}-\d{2}T[\w-]+$/;

function scenariosIn(folder: string): readonly Scenario[] {
  return globSync("**/checks.json", { cwd: folder })
    .map((file) => ({
      name: RESULT.exec(basename(dirname(file)))?.[1] ?? dirname(file),
      checks: (JSON.parse(readFileSync(join(folder, file), "utf8")) as Check[]).map(checkOf),
    }))
    .sort((one, other) => one.name.localeCompare(other.name));
}

const checkOf = ({ id, status, errorMessage }: Check): Check => ({
  id,
  status,
  ...(errorMessage !== undefined && { errorMessage }),
});

const checksWith = (wanted: string, { checks }: Scenario): readonly Check[] =>
  checks.filter(({ status }) => status === wanted);

const failuresIn = (scenario: Scenario) => checksWith("FAILURE", scenario);

/** Names of scenarios with a warning: a SHOULD of the specification is not met. */
export const warnedScenarios = (scenarios: readonly Scenario[]): readonly string[] =>
  scenarios
    .filter((scenario) => checksWith("WARNING", scenario).length > 0)
    .map(({ name }) => name);

/** Names of scenarios without a failed check. */
export const passedScenarios = (scenarios: readonly Scenario[]): readonly string[] =>
  scenarios.filter((scenario) => failuresIn(scenario).length === 0).map(({ name }) => name);

/** Names of scenarios with a failed check. */
export const failedScenarios = (scenarios: readonly Scenario[]): readonly string[] =>
  scenarios.filter((scenario) => failuresIn(scenario).length > 0).map(({ name }) => name);

/** Names of the server scenarios that a revision of MCP requires, as listed by the kit. */
export function requiredBy(revision: string): readonly string[] {
  const list = readFileSync(join(dirname(KIT), `../requirements/${revision}.yaml`), "utf8");
  const [, server = ""] = /^server:\n((?: {2}- .+\n)+)/m.exec(list) ?? [];
  return Array.from(server.matchAll(/- (.+)/g), ([, name = ""]) => name);
}

/**
 * Prints the results of scenarios.
 *
 * @param excuseOf Returns why a scenario may fail, or `undefined`.
 */
export function printScenarios(
  title: string,
  scenarios: readonly Scenario[],
  excuseOf: (name: string) => string | undefined = () => undefined,
): void {
  const lines = scenarios.map((scenario) => {
    const { name, checks } = scenario;
    const failures = failuresIn(scenario);
    const warnings = checksWith("WARNING", scenario).map(({ id }) => `, warns of ${id}`);
    if (failures.length === 0)
      return `  passed  ${name} (${checks.length} checks${warnings.join("")})`;
    const excuse = excuseOf(name);
    if (excuse !== undefined) return `  left    ${name}: ${excuse}`;
    const why = failures.map(({ id, errorMessage }) => `\n          ${id}: ${errorMessage}`);
    return `  FAILED  ${name}${why.join("")}`;
  });
  const counts = `${passedScenarios(scenarios).length} of ${scenarios.length} scenarios passed`;
  process.stdout.write(`\n${title}: ${counts}\n${lines.join("\n")}\n\n`);
}
