import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { json } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";

/**
 * Counts the files of src that three fixed calls execute, by the coverage of V8:
 * `node test/house/calls.ts [<root of a checkout>]`, default this one. It says how many files a
 * reader has to hold in the head for one call.
 */

const ROOT = resolve(process.argv[2] ?? join(import.meta.dirname, "../.."));
const SYMBOL = "ALDER.SIM";
const SCOPES = "signals:read factor:read darkpool:read alerts:write";

/** Time after which a credential is looked up again, and what follows an answer is done, in ms. */
const SETTLED_MS = 1_500;

/** Loaded before the program: on each message, sends the files that were executed since the last. */
const HOOK = `
import { Session } from "node:inspector";
const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
process.on("message", () => session.post("Profiler.takePreciseCoverage", (error, taken) => {
  const ran = ({ functions }) => functions.some(({ ranges }) => ranges[0].count > 0);
  process.send(error ? [] : taken.result.filter(ran).map(({ url }) => url));
}));
process.channel.unref();`;

const folder = mkdtempSync(join(tmpdir(), "calls-"));
const env = {
  ...{ PATH: process.env.PATH ?? "", PORT: "0", DATA_DIR: folder, LOG_LEVEL: "error" },
  ALLOW_INSECURE_WEBHOOKS: "1",
};
const program = spawn(
  process.execPath,
  ["--import", `data:text/javascript,${encodeURIComponent(HOOK)}`, "src/main.ts"],
  { cwd: ROOT, env, stdio: ["ignore", "pipe", "ignore", "ipc"] },
);
try {
  for (const [call, files] of Object.entries(await filesByCall())) {
    process.stdout.write(`${call}: ${files.length} files\n`);
    for (const file of files) process.stdout.write(`  ${file}\n`);
  }
} finally {
  program.kill("SIGTERM");
  await once(program, "exit");
  rmSync(folder, { recursive: true });
}

async function filesByCall(): Promise<Readonly<Record<string, readonly string[]>>> {
  const lines = createInterface({ input: program.stdout as NonNullable<typeof program.stdout> });
  const [line] = await once(lines, "line");
  const { baseUrl } = JSON.parse(String(line));
  const key = createKey();
  const ask = async (path: string, body?: object): Promise<Readonly<Record<string, string>>> => {
    const answer = await fetch(`${baseUrl}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Readonly<Record<string, string>>;
  };
  // Sends back what it gets, and so answers the challenge of a new webhook.
  const inbox = createServer(async (req, res) => {
    const { data } = (await json(req)) as { readonly data: object };
    res.end(JSON.stringify(data));
  }).listen(0, "127.0.0.1");
  await once(inbox, "listening");
  const url = `http://127.0.0.1:${(inbox.address() as AddressInfo).port}/`;
  const { id } = await ask("/api/alerts", {
    symbols: [SYMBOL],
    delivery: { type: "webhook", url },
  });
  await once(inbox, "request");
  await pause(SETTLED_MS);
  const deliver = async () => {
    const arrives = once(inbox, "request");
    await ask(`/api/alerts/${id}/test`, {});
    await arrives;
  };
  try {
    return {
      "an answer to a good credential": await filesOf(() => ask(`/api/signals?symbol=${SYMBOL}`)),
      "prints of a dark pool": await filesOf(() => ask(`/api/darkpool?symbol=${SYMBOL}`)),
      "a delivery": await filesOf(deliver),
    };
  } finally {
    inbox.close();
    inbox.closeAllConnections();
  }
}

function createKey(): string {
  const command = ["src/cli/market-signal.js", "admin", "key", "create", "--name", "Calls"];
  const output = execFileSync(process.execPath, [...command, "--scopes", SCOPES], {
    cwd: ROOT,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [key] = /\bmsv_\w+\b/.exec(output) ?? [];
  if (key === undefined) throw new Error(`no key in: ${output}`);
  return key;
}

/** The files that a call executes the second time, without those that run while nothing is asked. */
async function filesOf(call: () => Promise<unknown>): Promise<readonly string[]> {
  await call();
  await pause(SETTLED_MS);
  await executed(program);
  await pause(SETTLED_MS);
  const idle = new Set(await executed(program));
  await call();
  await pause(SETTLED_MS);
  return (await executed(program)).filter((file) => !idle.has(file)).toSorted();
}

/** The files of src that a program executed since the last question, relative to src. */
async function executed(of: ChildProcess): Promise<readonly string[]> {
  of.send("take");
  const [urls] = (await once(of, "message")) as [readonly string[]];
  return urls.flatMap((url) => /\/src\/(?!.*node_modules)(.*)$/.exec(url)?.[1] ?? []);
}
