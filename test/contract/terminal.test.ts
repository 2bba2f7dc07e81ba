import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { alerts } from "../../src/alerts/alert.ts";
import { commands } from "../../src/cli/all-commands.ts";
import { NEW_PROVIDER_PROGRESS, providerProgress } from "../../src/ingest/provider-progress.ts";
import { INGEST_SETUP_KEY, ingestSetups } from "../../src/ingest/setup.ts";
import { openKeyring } from "../../src/keys/keyring.ts";
import { createKeyringVault } from "../../src/keys/keyring-vault.ts";
import { readMasterKey } from "../../src/keys/master-key.ts";
import { createOutbox } from "../../src/mail/outbox.ts";
import { accounts } from "../../src/principals/accounts/accounts.ts";
import { clients } from "../../src/principals/agents/agent.ts";
import {
  applicationGroup,
  applications,
  inquiries,
} from "../../src/principals/applications/intake-records.ts";
import { apiKeys } from "../../src/principals/keys/api-keys.ts";
import { unsealedAudit } from "../../src/store/audit-entry.ts";
import { put } from "../../src/store/port/operations.ts";
import type { Collection } from "../../src/store/port/records.ts";
import { openEmbedded } from "../../src/store/sqlite/open.ts";
import { checkpointText } from "../../src/tree/checkpoint.ts";
import { atFileEnd } from "../support/file-end.ts";
import { listenLocally } from "../support/local-server.ts";
import {
  type Files,
  filesOf,
  honestEntries,
  randomBelow,
  VERIFIER,
} from "../support/log-forger.ts";
import { startProcess, temporaryFolder } from "../support/process.ts";
import { PROGRAM } from "../support/program.ts";
import { providerSetup } from "../support/providers/states.ts";
import { runCommand } from "../support/run-command.ts";
import { smallMarket } from "../support/small-market.ts";
import { stepsOf } from "../support/steps-of.ts";

/** A name that repaints the screen, reverses text and begins a line of its own. */
const HOSTILE =
  "EVIL\u001b[2J\u001b]0;t\u0007\u001b_\u009b31m\u0090\u0085\u007f\u2028\u202e\u2066\r\nFORGED  all proved";

/** The same of a peer, of which nothing may be repeated. */
const PEER = HOSTILE.replace("EVIL", "PEER").replace("FORGED", "FALSE");

/** Everything that a terminal obeys, and everything that breaks or reverses a line. */
const OBEYED = /[[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]--\n]/v;

/** A file name may have all of it. */
const FOLDER = join(temporaryFolder(), HOSTILE);

const ENV = { DATA_DIR: join(FOLDER, "data"), MASTER_KEY: Buffer.alloc(32, 1).toString("base64") };

/** Whether the name is printed, or (of a peer) not even that. */
type Shown = "shows the name" | "repeats nothing";

interface Case {
  readonly args: readonly string[];
  readonly shown?: Shown;
}

const own = (...args: readonly string[]): Case => ({ args, shown: "shows the name" });
const peer = (...args: readonly string[]): Case => ({ args, shown: "repeats nothing" });
const file = (name: string) => join(FOLDER, name);

/** Commands that run until they are interrupted or start the service have tests of their own below. */
const OWN_TESTS: readonly string[] = ["serve", "listen"];

/** Calls of each command in the places where it prints what others wrote. */
const cases = (
  bases: readonly string[],
  market: string,
): Readonly<Record<string, readonly Case[]>> => ({
  doctor: [own()],
  "admin status": [{ args: [] }],
  "admin keys list": [{ args: [] }],
  "admin keys rotate": [{ args: ["--use", HOSTILE] }, { args: ["--use", "webhook-signing"] }],
  "admin log new": [{ args: [] }],
  "admin key create": [{ args: ["--name", HOSTILE, "--scopes", "signals:read"] }],
  "admin key list": [own()],
  "admin key revoke": [own(`key_${HOSTILE}`)],
  "admin applications list": [own()],
  "admin applications accept": [own(`app_${"e".repeat(16)}`), own(`app_${HOSTILE}`)],
  "admin applications reject": [own(`app_${"o".repeat(16)}`)],
  "admin inquiries list": [own()],
  "admin agents list": [own()],
  "admin agents disable": [own(HOSTILE)],
  "admin agents enable": [own(HOSTILE)],
  "admin accounts list": [own()],
  "admin accounts disable": [own(`acc_${HOSTILE}`)],
  "admin accounts enable": [own(`acc_${HOSTILE}`)],
  "admin alerts list": [own()],
  "admin alerts disable": [own(`alert_${HOSTILE}`)],
  "admin alerts enable": [own(`alert_${HOSTILE}`)],
  "admin audit": [own()],
  "admin mail": [own()],
  "admin setup": [{ args: [] }],
  "admin forget": [own("a@b.example", HOSTILE)],
  "store backup": [own(file("backup.gz"))],
  "store restore": [own(file("backup.gz"), "--yes"), own(file("junk.gz"), "--yes")],
  "store migrate": [own("--to", "postgres://b.example/none", HOSTILE)],
  "store verify": [own("--state", file("junk.gz"))],
  "store drill": [own(FOLDER)],
  verify: [
    ...bases.map((base) => peer(base, "--token", "token")),
    own(file("none")),
    own(bases[0] ?? "", "--policy", file("junk.gz")),
    own(bases[0] ?? "", "--state", file("junk.gz")),
  ],
  "log download": [
    ...bases.map((base, at) => peer(base, `copy-${at}`)),
    own(bases[0] ?? "", HOSTILE, HOSTILE),
  ],
  witness: [own(file("w"), "--name", "w", "--logs", file("junk.gz"))],
  export: [
    ...bases.map((base, at) => peer(`panel-${at}.csv`, "--url", base)),
    own("a.csv", "--market", file("none")),
  ],
  check: [own(file("market")), { args: [market] }],
  backtest: [
    own(...["--market", file("none"), "--from", "2014-01-01", "--to", "2014-02-01"]),
    own(
      ...["--market", market, "--symbols", HOSTILE, "--from", "2014-01-01", "--to", "2014-02-01"],
    ),
  ],
});

/** Runs a command line in this process. @returns What it printed. */
async function printed(argv: readonly string[], env = ENV, folder = FOLDER): Promise<string> {
  const { out, err } = await runCommand(argv, { env, folder });
  return out + err;
}

/** Checks what was printed of a hostile name. */
function expectInert(text: string, shown: Shown | undefined): void {
  expect(text).not.toMatch(OBEYED);
  expect(text).not.toMatch(/^FORGED/m);
  if (shown === "shows the name") expect(text).toContain("EVIL");
  if (shown === "repeats nothing") expect(text).not.toMatch(/PEER|FALSE/);
}

/** Fills a store with records of people and agents whose every name is hostile. */
async function fillStore(): Promise<void> {
  mkdirSync(ENV.DATA_DIR, { recursive: true });
  const store = await openEmbedded({ folder: ENV.DATA_DIR, mode: "sandbox", now: Date.now });
  const { records } = store;
  const places = { fromEnv: ENV.MASTER_KEY, folder: ENV.DATA_DIR, holdsKeys: false };
  const masterKey = readMasterKey(places);
  const keyring = await openKeyring({ records, masterKey, now: Date.now });
  const outbox = createOutbox({ vault: createKeyringVault(keyring), now: () => new Date() });
  const at = Date.now();
  // Not every member of these records is needed to show them.
  const record = <T>(
    of: Collection<T>,
    key: string,
    value: object,
    groups: readonly string[] = [],
  ) => put(of, { key, value: value as T, groups });
  const application = { state: "waiting", name: HOSTILE, focus: HOSTILE, registeredAt: at };
  const entry = {
    action: HOSTILE,
    actor: HOSTILE,
    target: HOSTILE,
    detail: { [HOSTILE]: HOSTILE },
  };
  const fault = { at, kind: "failing", text: HOSTILE } as const;
  await records.commit([
    ...["e".repeat(16), "o".repeat(16)].map((id) =>
      record(applications, id, { id: `app_${id}`, email: `${id}@b.example`, ...application }, [
        applicationGroup(`app_${id}`),
      ]),
    ),
    record(inquiries, "inq_1", {
      reference: "inq_1",
      email: HOSTILE,
      message: HOSTILE,
      receivedAt: at,
    }),
    record(apiKeys, "key_1", {
      id: "key_1",
      name: HOSTILE,
      scopes: [],
      hint: "msv",
      createdAt: at,
    }),
    record(accounts, "acc_1", { label: HOSTILE, createdAt: at }),
    record(clients, "c1", {
      metadata: { client_name: HOSTILE, scope: "" },
      agent: { identityType: "anonymous", registeredAt: at, site: HOSTILE },
    }),
    record(alerts, "alert_1", {
      owner: { kind: "agent", id: HOSTILE },
      ...{ label: HOSTILE, kinds: [], way: { by: "poll" }, createdAt: at },
      ...{ expiresAt: null, snoozedUntil: null, isPaused: false },
    }),
    record(unsealedAudit, "1", { kind: "audit", at, id: "1", body: entry }),
    put(ingestSetups, {
      key: INGEST_SETUP_KEY,
      value: { instruments: 1, unpriced: 0, providers: [providerSetup("one")] },
    }),
    put(providerProgress, { key: "one", value: { ...NEW_PROVIDER_PROGRESS, lastFault: fault } }),
    ...stepsOf(outbox.queue, {
      ...{ to: "a@b.example", subject: "Subject", text: HOSTILE, ttlMs: 600_000 },
    }),
  ]);
  await store.close();
}

const escapes = Buffer.from(PEER);
const entries = honestEntries(randomBelow(1), 3);
const honest = filesOf(entries);
const renamed = filesOf(entries.map((entry) => entry.replaceAll('"s0"', JSON.stringify(PEER))));
const forgedOrigin = checkpointText({ origin: "PEER\u009b2J", size: 1, root: Buffer.alloc(32) });

/** Serves a log, and answers everything else with a hostile text. */
const logOf =
  (files: Files, texts: Readonly<Record<string, string>> = {}): RequestListener =>
  ({ url = "" }, res) => {
    const path = url.slice("/log/".length);
    res.end(texts[path] ?? files.get(path) ?? escapes);
  };

/** Servers that answer hostile texts, each where the one before is refused too early. */
const peers: readonly RequestListener[] = [
  (_req, res) => void res.end(escapes),
  (_req, res) => {
    const detail = { code: PEER, title: PEER, detail: PEER, next: PEER };
    res.writeHead(400, { "content-type": "application/problem+json" }).end(JSON.stringify(detail));
  },
  (_req, res) => {
    res.writeHead(200, { link: '</PEER%1b[2J>; rel="next"' }).end(`${PEER}\r\n${PEER}\r\n`);
  },
  ({ url }, res) => void res.writeHead(302, { location: `/PEER%1b[2J${url}` }).end(),
  logOf(honest, { checkpoint: `${forgedOrigin}\n— PEER\u009b2J AAAAAAAA\n` }),
  logOf(honest),
  logOf(honest, { keys: `${PEER}\n` }),
  logOf(honest, { keys: `${VERIFIER.replace("log.example", "PEER\u009b2J")}\n` }),
  logOf(honest, { keys: `${VERIFIER}\n` }),
  logOf(renamed, { keys: `${VERIFIER}\n` }),
];

/** Serves until the end of the file. @returns The origin. */
function served(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  atFileEnd(() => void server.close().closeAllConnections());
  return listenLocally(server);
}

/** Starts a command as a process, which is ended with the test. */
function spawned(argv: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [PROGRAM, ...argv], {
    env: { PATH: process.env.PATH ?? "", ...env },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

describe("what others wrote, on the terminal", () => {
  let calls: Readonly<Record<string, readonly Case[]>>;
  beforeAll(async () => {
    await fillStore();
    writeFileSync(file("junk.gz"), `${HOSTILE} {"`);
    const market = await smallMarket();
    const instruments = join(market, "instruments.csv");
    mkdirSync(file("market"));
    writeFileSync(join(file("market"), HOSTILE), HOSTILE);
    writeFileSync(
      join(file("market"), "instruments.csv"),
      `symbol,name,assetClass,exchange,currency,sector\n${HOSTILE},${HOSTILE},stock,NYSE,USD,\n`,
    );
    const [name = ""] = HOSTILE.split("\r");
    writeFileSync(instruments, readFileSync(instruments, "utf8").replace("Acme Corp.", name));
    calls = cases(await Promise.all(peers.map(served)), market);
  });

  it("has a case for every command", () => {
    expect([...Object.keys(calls), ...OWN_TESTS].sort()).toEqual([...commands.keys()].sort());
  });

  it.each([...commands.keys()].filter((name) => !OWN_TESTS.includes(name)))(
    "controls nothing and begins no line: %s",
    async (name) => {
      for (const { args, shown } of calls[name] ?? []) {
        const argv = [...name.split(" "), ...args];
        expectInert(await printed(argv), shown);
        const json = await printed([...argv, "--json"]);
        expectInert(json, shown === "repeats nothing" ? shown : undefined);
        expectInert(await printed([...argv, `--${HOSTILE}`]), undefined);
      }
    },
  );

  it("controls nothing and begins no line: serve", async () => {
    const env = { ...ENV, PORT: "0", MARKET: `files:${file("none")}` };
    const child = spawned(["serve"], env);
    let text = "";
    for await (const part of child.stderr) text += part;
    expectInert(text, "shows the name");
  });

  it("controls nothing and begins no line: listen", async () => {
    const child = spawned(["listen", "--port", "0"], {});
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async () => String((await lines.next()).value);
    const [, url = ""] = /on (http\S+);/.exec(await next()) ?? [];
    let line = "";
    const body = JSON.stringify({ type: HOSTILE, data: { symbol: HOSTILE, signal: HOSTILE } });
    await fetch(url, { method: "POST", body, headers: { "webhook-id": "1" } });
    while (!/^\d\d:\d\d:\d\d/.test(line)) line = await next();
    expectInert(line, "shows the name");
  });
});

const list = ["--since", "2h", "--limit", "7"];

/** A call of each command on the store with all its options, and what a running server answers. */
const servedCalls: Readonly<Record<string, readonly [args: readonly string[], says: RegExp]>> = {
  doctor: [[], /^No live market/],
  "admin status": [[], /A server runs and answered\.\n$/],
  "admin keys list": [[], /^address-hash /],
  "admin keys rotate": [["--use", "webhook-signing"], /^New key for webhook-signing/],
  "admin log new": [["--yes"], /^The log is now /],
  "admin key create": [["--name", "A", "--scopes", "signals:read", "--days", "7"], /^Key key_/],
  "admin key list": [[], / {2}A\n/],
  "admin key revoke": [["key_none"], /^There is no key key_none\.\n$/],
  "admin applications list": [["--state", "waiting", "--token", "none"], /^There are no/],
  "admin applications accept": [
    ["app_none", "--with-key", "--scopes", "signals:read"],
    /^There is no application app_none\.\n$/,
  ],
  "admin applications reject": [["app_none"], /^There is no application app_none\.\n$/],
  "admin inquiries list": [[], /^There are no inquiries\.\n$/],
  "admin agents list": [
    [...list, "--network", "::1", "--owner", "acc_none", "--claimed", "no", "--disabled"],
    /^There are no/,
  ],
  "admin agents disable": [["none"], /^There is no agent none;/],
  "admin agents enable": [["none"], /^There is no agent none;/],
  "admin accounts list": [[...list, "--email", "a@b.example", "--disabled"], /^There are no/],
  "admin accounts disable": [["acc_none"], /^There is no account acc_none;/],
  "admin accounts enable": [["acc_none"], /^There is no account acc_none;/],
  "admin alerts list": [
    [...list, "--owner", "acc_none", "--by", "poll", "--disabled"],
    /^There are/,
  ],
  "admin alerts disable": [["alert_none"], /^There is no alert alert_none;/],
  "admin alerts enable": [["alert_none"], /^There is no alert alert_none;/],
  "admin audit": [[...list, "--action", "key.created", "--id", "operator"], /key\.created/],
  "admin mail": [["--allow", "a@b.example"], /^a@b\.example had not stopped mail\.\n$/],
  "admin setup": [[], /^http:\/\/127\.0\.0\.1:\d+\/operator\?link=/],
  "admin forget": [["a@b.example", "--yes"], /^Nothing is kept of a@b\.example\.\n$/],
  "store backup": [["served.gz"], /^Wrote .* to /],
  "store restore": [["served.gz", "--yes"], /^The service runs on this store/],
  "store migrate": [
    ["--to", "postgres://none.example/none?sslmode=verify-full&sslrootcert=/none"],
    /^DATABASE_URL cannot be used: ENOENT/,
  ],
  "store verify": [["--state", "served.state"], /\nok\n$/],
};

describe("a command on the store of a running service", () => {
  const folder = temporaryFolder();
  const env = { ...ENV, DATA_DIR: join(folder, "data") };
  beforeAll(() => startProcess(env));

  it("has a case for every command, with every option", () => {
    const options = [...commands].flatMap(([name, { needs, options: own }]) =>
      needs === "store" ? [[name, ...Object.keys(own)].sort()] : [],
    );
    const given = Object.entries(servedCalls).map(([name, [args]]) =>
      [name, ...args.filter((arg) => arg.startsWith("--")).map((arg) => arg.slice(2))].sort(),
    );
    expect(given).toEqual(options);
  });

  it.each(Object.entries(servedCalls))("is run by the service: %s", async (name, [args, says]) => {
    expect(await printed([...name.split(" "), ...args], env, folder)).toMatch(says);
  });
});
