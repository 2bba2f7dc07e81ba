import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliDecompressSync, gzipSync } from "node:zlib";
import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { folderLogSource } from "../../src/cli/log-folder.ts";
import { httpLogSource } from "../../src/cli/log-source.ts";
import { type VerificationResult, verifyLog } from "../../src/log/verify/verify-log.ts";
import type { AuditReport } from "../../src/maintenance/audit/verify-audit.ts";
import { checkBackup } from "../../src/maintenance/backup/backup.ts";
import { openEmbedded } from "../../src/store/sqlite/open.ts";
import { tokenOf } from "../support/agent.ts";
import { createDatabase, postgresAvailable } from "../support/postgres.ts";
import { temporaryFolder } from "../support/process.ts";
import { runCommand } from "../support/run-command.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

// Version 1.0.0 wrote the fixtures (README.md beside them). Its formats are kept: nothing here
// changes, except by what later versions add.

/** Length of a sandbox session in milliseconds. */
const SESSION_MS = 60_000;

/** Timeout in milliseconds, long enough for a busy machine. */
const PATIENT = { timeout: 20_000 };

/** Title of tests on PostgreSQL. */
const POSTGRES = `PostgreSQL${postgresAvailable ? "" : " (SKIPPED: no PostgreSQL for this platform)"}`;

/** When the log of the fixtures was downloaded. */
const DOWNLOADED_AT = Date.parse("2026-11-21T04:58:10Z");

/** Number of instruments in the sandbox, which is less than the entries of a run. */
const INSTRUMENTS = 46;

/** Number of audit rows in the database; the folder has one less. */
const AUDIT_ROWS = 22;

const FIXTURES = join(import.meta.dirname, "../fixtures/released-1.0");

const read = (name: string): string =>
  brotliDecompressSync(readFileSync(join(FIXTURES, `${name}.br`))).toString();

/** What the fixtures hold, as far as a client knows it. */
const facts = JSON.parse(readFileSync(join(FIXTURES, "facts.json"), "utf8")) as {
  readonly key: string;
  readonly agent: Parameters<typeof tokenOf>[1];
  readonly alerts: Readonly<Record<"hook" | "stream" | "wide", string>>;
};

/** Unpacks files into a folder. @param isWanted Whether to write the file of a name. */
function unpack(name: string, folder: string, isWanted = (_: string) => true): string {
  const files = JSON.parse(read(`${name}.json`)) as Readonly<Record<string, string>>;
  for (const [file, content] of Object.entries(files)) {
    if (!isWanted(file)) continue;
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content, { encoding: "latin1", mode: 0o600 });
  }
  return folder;
}

type Env = Readonly<Record<string, string>>;

/** Settings of the store in the folder. */
const sqlite = async (): Promise<Env> => ({ DATA_DIR: unpack("data", temporaryFolder()) });

/** Settings of the store in a database, with the master key in the folder. */
async function postgres(): Promise<Env> {
  const DATABASE_URL = await createDatabase();
  const client = new Client({ connectionString: DATABASE_URL });
  await client.connect();
  await client.query(read("postgres.sql"));
  await client.end();
  const DATA_DIR = unpack("data", temporaryFolder(), (file) => file !== "store.sqlite");
  return { DATA_DIR, DATABASE_URL };
}

/** Puts the master key of the fixtures into a folder. */
const addMasterKey = (folder: string) => unpack("data", folder, (file) => file === "master.key");

const start = (env: Env): Promise<TestService> =>
  startTestService({ ...env, ALLOW_INSECURE_WEBHOOKS: "1" });

/** Runs a command in this process, which must succeed. @returns Its JSON result. */
async function command(env: Env, ...argv: readonly string[]): Promise<Record<string, unknown>> {
  const surroundings = { env, folder: temporaryFolder() };
  const { code, out, err } = await runCommand([...argv, "--json"], surroundings);
  expect({ code, err }).toEqual({ code: expect.any(Number), err: "" });
  return { code, ...(JSON.parse(out) as object) };
}

interface Alerts {
  readonly items: readonly {
    readonly id: string;
    readonly label: string;
    readonly status: string;
  }[];
}

/** Requests by the API key of the fixtures. */
function keyOf({ base }: TestService) {
  const headers = { "x-api-key": facts.key, "content-type": "application/json" };
  return async (path: string, body?: object): Promise<unknown> => {
    const init = body ? { method: "POST", body: JSON.stringify(body) } : {};
    const response = await fetch(`${base}/api/${path}`, { ...init, headers });
    expect({ path, ok: response.ok }).toEqual({ path, ok: true });
    return response.json();
  };
}

/** Checks that everything of before is there, and that the service goes on with it. */
async function expectGoesOn(service: TestService): Promise<void> {
  const ask = keyOf(service);
  const { items } = (await ask("alerts")) as Alerts;
  expect(items.map(({ label, status }) => [label, status])).toEqual(
    expect.arrayContaining([
      ["hook", "active"],
      ["stream", "active"],
      ["wide", "active"],
    ]),
  );
  expect(await ask(`alerts/${facts.alerts.hook}`)).toMatchObject({
    delivery: { type: "webhook", url: "http://127.0.0.1:8732/hook" },
  });
  expect(await ask("watchlists")).toMatchObject({
    watchlists: [{ name: "Chips", symbols: ["ALDER.SIM", "BYTEN.SIM"] }],
  });
  expect(await tokenOf(service.base, facts.agent)).toMatch(/./);

  const person = service.person("ada@example.com");
  await person.signIn();
  const { html } = await person.web.get("/account");
  expect(html).toContain("Night shift");
  expect(html).toContain("chan_");

  await ask("alerts", { symbols: ["ALDER.SIM"], label: "new" });
  const hook = `alerts/${facts.alerts.hook}`;
  const { eventId } = (await ask(`${hook}/test`, {})) as { readonly eventId: string };
  await expect
    .poll(() => ask(`${hook}/deliveries`), PATIENT)
    .toMatchObject({
      deliveries: expect.arrayContaining([expect.objectContaining({ eventId })]),
    });
}

/** Checks that the log only grows, as somebody sees it who has downloaded it before. */
async function expectLogGrows({ base, clock, advanceTo }: TestService): Promise<void> {
  const source = folderLogSource(unpack("log", temporaryFolder()));
  const before = await verifyLog({ source, keys: [], known: undefined, now: () => DOWNLOADED_AT });
  expect(failedIn(before)).toEqual([]);
  await advanceTo(new Date(clock.now.getTime() + SESSION_MS));
  const look = async () => {
    const after = await verifyLog({
      source: httpLogSource(base, undefined),
      keys: [],
      known: before.known,
      now: () => clock.now.getTime(),
    });
    expect(failedIn(after)).toEqual([]);
    expect(after.checks).toContainEqual(
      expect.objectContaining({ name: "history", outcome: "proved" }),
    );
    return (after.size ?? 0) - (before.size ?? 0);
  };
  await expect.poll(look, PATIENT).toBeGreaterThan(INSTRUMENTS);
}

const failedIn = ({ checks }: VerificationResult) =>
  checks.filter(({ outcome }) => outcome === "failed");

describe.each([
  ["SQLite", sqlite, []],
  [POSTGRES, postgres, ["full"]],
] as const)("a store of version 1.0.0 in %s", (name, fixture, tags) => {
  it.skipIf(name.includes("SKIPPED"))(
    "opens, goes on with all that it has, and verifies",
    { tags: [...tags], timeout: 60_000 },
    async () => {
      const env = await fixture();
      const service = await start(env);
      const events = (await keyOf(service)("alerts/events")) as {
        readonly events: readonly object[];
      };
      expect(events.events.length).toBeGreaterThan(0);
      await expectGoesOn(service);
      await expectLogGrows(service);
      await service.stop();
      const { code, audit, problems } = await command(env, "store", "verify");
      expect({ code, problems }).toEqual({ code: 0, problems: [] });
      const { rows, firstPosition, beforeTree } = audit as AuditReport;
      expect({ firstPosition, beforeTree }).toEqual({ firstPosition: 1, beforeTree: 0 });
      expect(rows).toBeGreaterThan(AUDIT_ROWS);
    },
  );
});

describe.each([
  ["SQLite", async () => ({}), []],
  [POSTGRES, async () => ({ DATABASE_URL: await createDatabase() }), ["full"]],
] as const)("a backup by version 1.0.0 in %s", (name, place, tags) => {
  it.skipIf(name.includes("SKIPPED"))(
    "is restored, and the service goes on with it",
    { tags: [...tags], timeout: 60_000 },
    async () => {
      const env = { DATA_DIR: addMasterKey(temporaryFolder()), ...(await place()) };
      await command(env, "store", "restore", join(FIXTURES, "backup"));
      const service = await start(env);
      await expectGoesOn(service);
      await service.stop();
      expect(await command(env, "store", "verify")).toMatchObject({ code: 0, problems: [] });
    },
  );
});

describe("an export by version 1.0.0", () => {
  it("is restored into a store, and the service goes on with it", async () => {
    const env = { DATA_DIR: temporaryFolder() };
    const file = join(temporaryFolder(), "export.json");
    writeFileSync(file, read("export.json"));
    const store = await openEmbedded({ folder: env.DATA_DIR, mode: "sandbox", now: Date.now });
    await store.close();
    addMasterKey(env.DATA_DIR);
    await command(env, "store", "restore", file, "--yes");
    const service = await start(env);
    await expectGoesOn(service);
    await service.stop();
    expect(await command(env, "store", "verify")).toMatchObject({ code: 0, problems: [] });
  });
});

describe("what was written before version 1.0.0", () => {
  it("is refused as a folder, with what to do", async () => {
    const folder = temporaryFolder();
    for (const name of ["records.sqlite", "archive.sqlite"]) writeFileSync(join(folder, name), "");
    await expect(openEmbedded({ folder, mode: "sandbox", now: Date.now })).rejects.toThrow(
      `the store in ${folder} was written before version 1.0.0: start version 1.0.0 on it once`,
    );
  });

  it("is refused as a backup, with what to do", async () => {
    const file = join(temporaryFolder(), "backup");
    const header = { format: "market-signal-backup", version: 1, storeId: "a", mode: "sandbox" };
    writeFileSync(file, gzipSync(`${JSON.stringify(header)}\n`));
    await expect(checkBackup(file, () => undefined)).rejects.toThrow(
      `${file} was written before version 1.0.0. Restore it with version 1.0.0`,
    );
  });
});
