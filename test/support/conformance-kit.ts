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

/** One check of the kit. */
interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** What the kit tried, with the checks of it. */
interface Scenario {
  readonly name: string;
  readonly checks: readonly Check[];
}

/** The MCP conformance kit at work. */
interface RunningKit {
  readonly process: ChildProcessByStdio<null, Readable, null>;
  /** Its exit code, and what it found. */
  readonly ended: Promise<{ readonly code: number; readonly scenarios: readonly Scenario[] }>;
}

/** Starts a command of the kit. It reaches this machine alone. */
export function startKit(...command: readonly string[]): RunningKit {
  const folder = temporaryFolder();
  const kit = spawn(
    process.execPath,
    ["--import", ONLY_LOOPBACK, KIT, ...command, "--output-dir", folder],
    { env: { PATH: process.env.PATH ?? "" }, stdio: ["ignore", "pipe", "inherit"] },
  );
  // Whoever reads along sees it too; a pipe that nobody reads would fill up and stop the kit.
  kit.stdout.resume();
  const closed = once(kit, "close");
  return {
    process: kit,
    ended: closed.then(([code]) => ({ code: Number(code), scenarios: scenariosIn(folder) })),
  };
}

/** A folder of results has the name of its scenario between the kind of the scenario and the time. */
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

/** The names of the scenarios that ask for something that a server should do and need not. */
export const warnedScenarios = (scenarios: readonly Scenario[]): readonly string[] =>
  scenarios
    .filter((scenario) => checksWith("WARNING", scenario).length > 0)
    .map(({ name }) => name);

/** The names of the scenarios in which every check succeeded, or did not apply. */
export const passedScenarios = (scenarios: readonly Scenario[]): readonly string[] =>
  scenarios.filter((scenario) => failuresIn(scenario).length === 0).map(({ name }) => name);

/** The names of the others. */
export const failedScenarios = (scenarios: readonly Scenario[]): readonly string[] =>
  scenarios.filter((scenario) => failuresIn(scenario).length > 0).map(({ name }) => name);

/** The scenarios that a revision of MCP requires of a server, as the kit lists them. */
export function requiredBy(revision: string): readonly string[] {
  const list = readFileSync(join(dirname(KIT), `../requirements/${revision}.yaml`), "utf8");
  const [, server = ""] = /^server:\n((?: {2}- .+\n)+)/m.exec(list) ?? [];
  return Array.from(server.matchAll(/- (.+)/g), ([, name = ""]) => name);
}

/**
 * Shows whoever runs the tests what the kit found.
 *
 * @param excuseOf Why a scenario may fail, if it may.
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
