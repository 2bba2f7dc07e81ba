import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";

/** Callers that each wait for their token before they ask for the next. */
const CALLERS = 32;

/** Clients that the callers take turns with. */
const CLIENTS = 100;

/** Time of one round, in milliseconds. */
const ROUND_MS = 2_000;

const ROUNDS = 7;

/** Ticks of `utime` and `stime` in /proc, in milliseconds (USER_HZ is 100 on Linux). */
const TICK_MS = 10;

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "issuance-"));

interface Server {
  readonly name: string;
  readonly child: ChildProcess;
  readonly pool: Pool;
  /** Bodies of token requests, one for each client. */
  readonly forms: readonly string[];
}

/** What one round showed. */
interface Round {
  readonly perSecond: number;
  /** Time of the processor for one token, in microseconds. */
  readonly cpuMicros: number;
}

async function start(name: string, args: readonly string[]): Promise<Server> {
  const env = {
    PATH: process.env.PATH ?? "",
    PORT: "0",
    DATA_DIR: join(folder, "data"),
    LOG_LEVEL: "error",
    RATE_LIMITS: ["register", "register-all", "token"]
      .map((quota) => `${quota}=999999999/1`)
      .join(" "),
  };
  const stdio: ["ignore", "pipe", "inherit"] = ["ignore", "pipe", "inherit"];
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  const pool = new Pool(JSON.parse(line).baseUrl, { connections: CALLERS, pipelining: 1 });
  const forms = await Promise.all(Array.from({ length: CLIENTS }, () => register(pool)));
  return { name, child, pool, forms };
}

async function register(pool: Pool): Promise<string> {
  const { body } = await pool.request({
    method: "POST",
    path: "/oauth/register",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "Bench",
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: "client_secret_post",
    }),
  });
  const { client_id, client_secret } = (await body.json()) as Record<string, string>;
  const form = {
    grant_type: "client_credentials",
    client_id,
    client_secret,
    scope: "signals:read",
  };
  return new URLSearchParams(form as Record<string, string>).toString();
}

/** Buys tokens with all callers until the time is over. */
async function measure({ child, pool, forms }: Server): Promise<Round> {
  const [startedAt, cpu] = [performance.now(), cpuMs(child)];
  let tokens = 0;
  const buy = async () => {
    while (performance.now() - startedAt < ROUND_MS) {
      const { statusCode, body } = await pool.request({
        method: "POST",
        path: "/oauth/token",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: forms[tokens++ % CLIENTS] ?? "",
      });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`${statusCode} ${text}`);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, buy));
  const seconds = (performance.now() - startedAt) / 1_000;
  return { perSecond: tokens / seconds, cpuMicros: ((cpuMs(child) - cpu) * 1_000) / tokens };
}

/** Time of the processor that a process has used, in milliseconds (proc_pid_stat(5)). */
function cpuMs({ pid }: ChildProcess): number {
  const [, rest = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const fields = rest.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

const report = (name: string, rounds: readonly Round[]) => {
  const rate = median(rounds.map(({ perSecond }) => perSecond));
  const cpu = median(rounds.map(({ cpuMicros }) => cpuMicros));
  process.stdout.write(
    `${name.padEnd(40)} ${rate.toFixed(0).padStart(6)}/s  ${cpu.toFixed(0).padStart(5)} us of processor each\n`,
  );
  return { rate, cpu };
};

// Rounds alternate, so that what else the machine does hits both alike.
const bare = await start("bare oidc-provider, Map adapter", ["test/bench/bare-provider.ts"]);
const service = await start("the service, embedded store, fsync", [
  "--min-semi-space-size=32",
  "--max-semi-space-size=32",
  "src/main.ts",
]);
const rounds: { readonly bare: Round; readonly service: Round }[] = [];
for (let round = 0; round <= ROUNDS; round++) {
  const pair = { bare: await measure(bare), service: await measure(service) };
  if (round > 0) rounds.push(pair);
}
report(
  bare.name,
  rounds.map((pair) => pair.bare),
);
report(
  service.name,
  rounds.map((pair) => pair.service),
);
const rates = rounds.map((pair) => pair.service.perSecond / pair.bare.perSecond);
const costs = rounds.map((pair) => pair.bare.cpuMicros / pair.service.cpuMicros);
process.stdout.write(
  `rate ${median(rates).toFixed(2)}x (${Math.min(...rates).toFixed(2)} to ${Math.max(...rates).toFixed(2)}), ` +
    `tokens for the same processor time ${median(costs).toFixed(2)}x; at least 0.85x is asked for\n`,
);
for (const { pool, child } of [bare, service]) {
  await pool.close();
  child.kill("SIGTERM");
  await once(child, "exit");
}
rmSync(folder, { recursive: true });
