import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { atFileEnd } from "./file-end.ts";
import { PROGRAM } from "./program.ts";

/** Kills a process: an orderly stop would wait seconds for callers that are no longer there. */
async function end(child: ChildProcess): Promise<void> {
  if ((child.exitCode ?? child.signalCode) !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The service in a child process. */
export interface RunningProcess {
  readonly baseUrl: string;
  /** The parsed ready line. */
  readonly ready: Readonly<Record<string, unknown>>;
  readonly child: ChildProcess;
}

/**
 * Starts the service on a free port and waits for its ready line; it is killed after the last test
 * of the file.
 *
 * @param program Path of `market-signal.js` in another checkout.
 */
export async function startProcess(
  env: Readonly<Record<string, string>> = {},
  program: string = PROGRAM,
): Promise<RunningProcess> {
  const child = spawnMain({ PORT: "0", ...env }, program);
  atFileEnd(() => end(child));
  const lines = createInterface({ input: child.stdout ?? process.stdin });
  const first = await Promise.race([
    once(lines, "line").then(([line]) => String(line)),
    once(child, "exit").then(([code]) => Promise.reject(new Error(`ended with ${code}`))),
  ]);
  const ready = JSON.parse(first) as Record<string, unknown>;
  return { baseUrl: String(ready.baseUrl), ready, child };
}

/** Runs the service until it exits. @returns Its exit code and its standard error. */
export async function runToEnd(env: Readonly<Record<string, string>>) {
  const child = spawnMain(env);
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  const [code] = await once(child, "close");
  return { code, said };
}

/** The address of the account that a process prints at its start; reads what it printed before. */
export async function accountLinkOf({ child }: RunningProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stderr ?? process.stdin })) {
    const [, link] = /^ {2}Account (\S+)$/.exec(line) ?? [];
    if (link !== undefined) return link;
  }
  throw new Error("the process ended before it printed the address of the account");
}

/**
 * Creates a temporary folder, for example for DATA_DIR; it is removed after the last test of the
 * file.
 *
 * @param files Contents by the path below the folder; default: none.
 */
export function temporaryFolder(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "market-signal-"));
  atFileEnd(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

/** Starts the service, with a new data directory unless `env` has one. */
export function spawnMain(
  env: Readonly<Record<string, string>>,
  program: string = PROGRAM,
): ChildProcess {
  return spawn(process.execPath, [program, "serve"], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? "", DATA_DIR: temporaryFolder(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}
