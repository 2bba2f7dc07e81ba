import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { EXAMPLE_REGISTRATION } from "../support/agent.ts";
import { createPerson } from "../support/person.ts";
import { median, quantile } from "./numbers.ts";
import { startLoaded } from "./service.ts";

/*
 * Floods the service with registrations, under its default limits, and measures what happens to
 * everyone else: agents that share one address, newcomers from other addresses who register and are
 * claimed, and the health endpoint.
 *
 * The client addresses are simulated by X-Forwarded-For; all traffic stays on this machine.
 */

const { values } = parseArgs({
  options: {
    flood: { type: "string", default: "50000" },
    networks: { type: "string", default: "5000" },
  },
});

/** Number of registrations in each flood. */
const FLOOD = Number(values.flood);

/** Number of networks (/24) of the second flood. */
const NETWORKS = Number(values.networks);

/** Number of agents that connect for the first time, all from one address. */
const FIRST_CONNECTIONS = 200;

/**
 * Number of agents that register during each flood, each from its own network, and are then claimed.
 */
const NEWCOMERS = 100;

/** Number of connections of a flood. */
const FLOOD_CONNECTIONS = 16;

/** Interval of the measurements, in milliseconds. */
const LOOK_MS = 500;

/**
 * Limits that apply at any moment: resident memory, and size of the store's files, in megabytes.
 */
const MOST = { rssMb: 700, storeMb: 400 };

const PROGRAM = fileURLToPath(new URL("../../src/cli/market-signal.js", import.meta.url));
const run = promisify(execFile);

const folder = mkdtempSync(join(tmpdir(), "market-signal-floods-"));
const DATA_DIR = join(folder, "data");
const service = await startLoaded({
  ...{ DATA_DIR, TRUST_PROXY: "1" },
  // A single person claims all newcomers, so the limits of claims are raised; those of registration
  // keep their defaults.
  RATE_LIMITS: "claims=100000/100000/100000",
});
const sockets = new Agent({ keepAlive: true, maxSockets: FLOOD_CONNECTIONS + 16 });
let failed = false;
try {
  await firstConnections();
  const oneNetwork = (at: number) => `2001:db8:1:${(at % 65_536).toString(16)}::1`;
  await flooded("one /48", oneNetwork);
  const manyNetworks = (at: number) => {
    const network = at % NETWORKS;
    return `10.${Math.floor(network / 256)}.${network % 256}.${1 + (Math.floor(at / NETWORKS) % 250)}`;
  };
  await flooded(`${NETWORKS} networks`, manyNetworks);
} finally {
  sockets.destroy();
  await service.stop();
  rmSync(folder, { recursive: true });
}
process.exitCode = failed ? 1 : 0;

interface Answer {
  readonly status: number;
  readonly ms: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends a request with a simulated client address. */
function ask(path: string, { address, json, form, token }: AskedFrom): Promise<Answer> {
  const body = form === undefined ? JSON.stringify(json) : new URLSearchParams(form).toString();
  const type = form === undefined ? "application/json" : "application/x-www-form-urlencoded";
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(`${service.baseUrl}${path}`, {
      agent: sockets,
      method: body === undefined ? "GET" : "POST",
      headers: {
        "x-forwarded-for": address,
        ...(body !== undefined && {
          "content-type": type,
          "content-length": Buffer.byteLength(body),
        }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        accept: "application/json, text/event-stream",
      },
    });
    sent.on("error", (error: NodeJS.ErrnoException) => {
      // The service may close an idle connection at the moment when it is reused.
      const isStale = sent.reusedSocket && error.code === "ECONNRESET";
      if (isStale) ask(path, { address, json, form, token }).then(resolve, reject);
      else reject(error);
    });
    sent.on("response", async (res) => {
      const text = await res.setEncoding("utf8").toArray();
      const ms = performance.now() - startedAt;
      resolve({ status: res.statusCode ?? 0, ms, body: parsed(text.join("")) });
    });
    sent.end(body);
  });
}

interface AskedFrom {
  readonly address: string;
  readonly json?: object | undefined;
  readonly form?: Readonly<Record<string, string>> | undefined;
  readonly token?: string | undefined;
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

/**
 * Registers, gets a token and calls MCP. @returns The statuses of the steps up to the first
 * failure.
 */
async function connect(address: string): Promise<readonly number[]> {
  const client = await ask("/oauth/register", { address, json: EXAMPLE_REGISTRATION });
  if (client.status !== 201) return [client.status];
  const token = await ask("/oauth/token", { address, form: credentials(client) });
  if (token.status !== 200) return [client.status, token.status];
  const { status } = await ask("/mcp", {
    ...{ address, token: String(token.body.access_token) },
    json: { jsonrpc: "2.0", id: 1, method: "tools/list" },
  });
  return [client.status, token.status, status];
}

function credentials({ body }: Answer) {
  return {
    grant_type: "client_credentials",
    client_id: String(body.client_id),
    client_secret: String(body.client_secret),
  };
}

async function firstConnections(): Promise<void> {
  const startedAt = performance.now();
  let refused = 0;
  for (let at = 0; at < FIRST_CONNECTIONS; at += 1) {
    const statuses = await connect("198.51.100.7");
    if (statuses.includes(429)) refused += 1;
    if (statuses.at(-1) !== 200 || statuses.length < 3) check(false, `connection: ${statuses}`);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  say(
    `${FIRST_CONNECTIONS} first connections from one address in ${seconds.toFixed(0)} s: ${refused} refused`,
  );
  check(refused === 0, "some first connections were refused");
}

/** Runs a flood, and measures newcomers and the service's health meanwhile. */
async function flooded(name: string, addressOf: (at: number) => string): Promise<void> {
  const flood = floodOf(addressOf);
  const health = watch();
  // Once half of the flood is done, the capacity for unclaimed agents is exhausted.
  while (flood.done() < FLOOD / 2) await pause(LOOK_MS);
  const owner = await ownerToken();
  const newcomers: string[] = [];
  const begun = flood.done();
  for (let at = 0; at < NEWCOMERS; at += 1) newcomers.push(await newcomer(at, name, owner));
  const besides = flood.done() - begun;
  const counts = await flood.ended;
  const seen = health.stop();
  const claimed = newcomers.filter((outcome) => outcome === "claimed").length;
  say(`flood of ${FLOOD} from ${name}: ${JSON.stringify(Object.fromEntries(counts))}`);
  say(
    `  ${claimed} of ${NEWCOMERS} newcomers registered and were claimed during ${besides} registrations of the flood`,
  );
  say(
    `  /api/health p50 ${median(seen.ms).toFixed(0)} ms, p99 ${quantile(seen.ms, 0.99).toFixed(0)} ms, other than 200: ${seen.wrong}`,
  );
  say(`  peak RSS ${seen.rssMb.toFixed(0)} MB, store ${seen.storeMb.toFixed(0)} MB`);
  say(`  heap after the flood ${(await service.heapMb()).toFixed(0)} MB`);
  check(claimed === NEWCOMERS, [...new Set(newcomers)].join("; "));
  check(seen.wrong === 0, "/api/health answered with an error");
  check(seen.rssMb <= MOST.rssMb, `RSS exceeds ${MOST.rssMb} MB`);
  check(seen.storeMb <= MOST.storeMb, `the store exceeds ${MOST.storeMb} MB`);
}

/** Starts to send registrations as fast as they are answered. */
function floodOf(addressOf: (at: number) => string) {
  let next = 0;
  const counts = new Map<number, number>();
  const sender = async (): Promise<void> => {
    while (next < FLOOD) {
      const at = next;
      next += 1;
      const asked = { address: addressOf(at), json: EXAMPLE_REGISTRATION };
      const { status } = await ask("/oauth/register", asked);
      counts.set(status, (counts.get(status) ?? 0) + 1);
    }
  };
  const ended = Promise.all(Array.from({ length: FLOOD_CONNECTIONS }, sender)).then(() => counts);
  return { done: () => next, ended };
}

/** Signs a new person in. @returns The person's access token. */
async function ownerToken(): Promise<string> {
  const codeOf = async (email: string): Promise<string> => {
    const env = { PATH: process.env.PATH ?? "", DATA_DIR };
    const { stdout } = await run(process.execPath, [PROGRAM, "admin", "mail", "--json"], { env });
    const { messages } = JSON.parse(stdout) as {
      readonly messages: readonly { readonly to: string; readonly text: string }[];
    };
    const own = messages.filter(({ to }) => to === email).map(({ text }) => text);
    return own.flatMap((text) => text.match(/\b\d{8}\b/g) ?? []).at(-1) ?? "";
  };
  const email = `owner-${performance.now().toFixed(0)}@example.com`;
  const { access_token } = await createPerson({ base: service.baseUrl, email, codeOf }).tokens();
  return access_token;
}

/** Registers an agent from its own network and claims it. @returns `claimed`, or the failed step. */
async function newcomer(at: number, beside: string, owner: string): Promise<string> {
  const address = `${beside.startsWith("one") ? 172 : 192}.${16 + (at % 16)}.${at}.9`;
  const client = await ask("/oauth/register", { address, json: EXAMPLE_REGISTRATION });
  if (client.status !== 201) return `registration ${client.status}`;
  const { code } = client.body.claim as { readonly code: string };
  const json = { agent_id: client.body.client_id, claim_code: code };
  const claim = await ask("/oauth/claim", { address, json, token: owner });
  if (claim.status !== 200) return `claim ${claim.status} ${JSON.stringify(claim.body)}`;
  const token = await ask("/oauth/token", { address, form: credentials(client) });
  return token.status === 200 ? "claimed" : `token ${token.status}`;
}

/** Measures memory, store size and health at a fixed interval until `stop`. */
function watch() {
  const seen = { ms: [] as number[], wrong: 0, rssMb: 0, storeMb: 0 };
  const look = async (): Promise<void> => {
    seen.rssMb = Math.max(seen.rssMb, service.usage().rssMb);
    seen.storeMb = Math.max(seen.storeMb, storeMb());
    const { status, ms } = await ask("/api/health", { address: "203.0.113.250" });
    seen.ms.push(ms);
    if (status !== 200) seen.wrong += 1;
  };
  const timer = setInterval(() => void look(), LOOK_MS);
  return {
    stop() {
      clearInterval(timer);
      return seen;
    },
  };
}

function storeMb(): number {
  const files = readdirSync(DATA_DIR).map((name) => statSync(join(DATA_DIR, name)));
  return files.reduce((sum, { size }) => sum + size, 0) / 2 ** 20;
}

function check(holds: boolean, what: string): void {
  if (holds) return;
  failed = true;
  say(`  FAILED: ${what}`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
