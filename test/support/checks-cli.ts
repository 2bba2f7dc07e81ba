import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { temporaryFolder } from "./process.ts";

/** Result of running a checker. */
interface Said {
  /** Exit code. */
  readonly code: number;
  /** Standard output; standard error is for people and is ignored. */
  readonly printed: string;
  /**
   * Hosts that the checker tried to connect to. Every connection is blocked, because no check needs
   * one.
   */
  readonly calls: readonly string[];
}

/**
 * Module for `node --import`. It blocks every connection of a program and its children, and records
 * the hosts.
 */
const NO_CONNECTIONS = `data:text/javascript,${encodeURIComponent(`
  import { appendFileSync } from "node:fs";
  import dns from "node:dns";
  import net from "node:net";
  const refuse = (host) => {
    appendFileSync(process.env.CHECKS_CALLS, host + "\\n");
    throw new Error("the test may not call " + host);
  };
  net.Socket.prototype.connect = (...args) => {
    const [first] = Array.isArray(args[0]) ? args[0] : args;
    refuse(String(first?.host ?? first?.path ?? args[1] ?? first));
  };
  for (const lookup of ["lookup", "resolve4", "resolve6"]) dns[lookup] = refuse;
`)}`;

/** Environment variables that disable the telemetry of the programs. */
const OPT_OUT = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };

/**
 * Runs a third-party checker in an empty folder, without configuration and without network access.
 */
export async function runChecker(program: string, args: readonly string[]): Promise<Said> {
  const home = temporaryFolder();
  const calls = join(home, "calls");
  const child = spawn(process.execPath, [program, ...args], {
    cwd: home,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: home,
      NO_COLOR: "1",
      NODE_OPTIONS: `--import=${NO_CONNECTIONS}`,
      CHECKS_CALLS: calls,
      ...OPT_OUT,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  const [printed] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await ended;
  return {
    code,
    printed,
    calls: existsSync(calls) ? readFileSync(calls, "utf8").trim().split("\n") : [],
  };
}
