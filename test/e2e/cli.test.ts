// @module-tag full

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { openKeyring } from "../../src/keys/keyring.ts";
import { createKeyringVault } from "../../src/keys/keyring-vault.ts";
import { readMasterKey } from "../../src/keys/master-key.ts";
import { createOutbox } from "../../src/mail/outbox.ts";
import { BrowserSessions } from "../../src/principals/accounts/browser-sessions.ts";
import { EmailCodeSignIn } from "../../src/principals/accounts/email-code-sign-in.ts";
import { put } from "../../src/store/port/operations.ts";
import { collection } from "../../src/store/port/records.ts";
import type { DumpRow, Store } from "../../src/store/port/store.ts";
import { openPostgres } from "../../src/store/postgres/open.ts";
import { openEmbedded } from "../../src/store/sqlite/open.ts";
import { peopleOf } from "../support/account-parts.ts";
import { createDatabase, postgresAvailable } from "../support/postgres.ts";
import { PROGRAM } from "../support/program.ts";
import { runCommand } from "../support/run-command.ts";
import { startStoreServer } from "../support/store-server.ts";
import { dumpStore } from "../support/stores.ts";

// Where a separate process would test nothing more, commands run in this process, which saves most
// of the time.
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const root = mkdtempSync(join(tmpdir(), "cli-"));
afterAll(() => rmSync(root, { recursive: true }));

type Env = Readonly<Record<string, string>>;

/** Environment of every child process; the compile cache lets later processes skip compilation. */
const shared: Env = {
  PATH: process.env.PATH ?? "",
  NODE_COMPILE_CACHE: join(root, "compiled"),
};

/** Location of a store, as settings for commands and a server. */
interface Place {
  readonly folder: string;
  readonly env: Env;
  open(): Promise<Store>;
}

let places = 0;
function embeddedPlace(): Place {
  places += 1;
  const folder = join(root, `${places}`);
  const open = () => openEmbedded({ folder, mode: "sandbox", now: Date.now });
  return { folder, env: { DATA_DIR: folder }, open };
}

async function postgresPlace(): Promise<Place> {
  const { folder, env } = embeddedPlace();
  const url = await createDatabase();
  const open = () => openPostgres({ url, mode: "sandbox" });
  return { folder, env: { ...env, DATABASE_URL: url }, open };
}

const notes = collection<{ readonly text: string }>("notes");

/** Stores a few records and archive rows. */
async function fill({ open }: Place, texts: readonly string[] = ["one", "two", "three"]) {
  const store = await open();
  await store.records.commit(texts.map((text) => put(notes, { key: text, value: { text } })));
  await store.archive.append(
    texts.map((text, at) => ({ kind: "price", at, id: text, body: text })),
  );
  await store.close();
}

/** Selects the rows that a running server does not change on its own. */
function lasting(rows: readonly DumpRow[]): readonly DumpRow[] {
  return rows.filter((row) =>
    row.table === "record" ? row.collection === "notes" : row.kind === "price",
  );
}

async function contents({ open }: Place): Promise<readonly DumpRow[]> {
  const store = await open();
  const rows = await dumpStore(store);
  await store.close();
  return rows;
}

/** Runs a command line to its end in this process. */
const run = (program: "store" | "admin", argv: readonly string[], { env }: Pick<Place, "env">) =>
  runCommand([program, ...argv], { env, folder: root });

/** Runs a command line to completion in a separate process, without a terminal. */
async function runProcess(
  program: "store" | "admin",
  argv: readonly string[],
  { env }: Pick<Place, "env">,
) {
  const child = spawn(process.execPath, [PROGRAM, program, ...argv], {
    cwd: ROOT,
    env: { ...shared, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    said.out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    said.err += chunk;
  });
  const [code] = await once(child, "close");
  return { code, ...said };
}

/** Runs a command line that must succeed. @returns Its JSON result. */
async function done(
  program: "store" | "admin",
  argv: readonly string[],
  place: Pick<Place, "env">,
) {
  const { code, out, err } = await run(program, [...argv, "--json"], place);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out) as Record<string, unknown>;
}

/** Starts a server inside this process. The server stops when the test ends. */
async function startServer({ env }: Place): Promise<{ readonly stop: () => Promise<void> }> {
  const end = await startStoreServer(env);
  let ended: Promise<void> | undefined;
  const stop = () => {
    ended ??= end();
    return ended;
  };
  onTestFinished(stop);
  return { stop };
}

/** Starts another process, which holds the store open until the test ends. */
async function startProcess({ env }: Place, more: Env = {}) {
  const child = spawn(process.execPath, ["test/support/store-server.ts"], {
    cwd: ROOT,
    env: { ...shared, ...env, ...more },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stop = async () => {
    if ((child.exitCode ?? child.signalCode) !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  };
  onTestFinished(stop);
  let last = "";
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    last = line;
  });
  await Promise.race([
    once(lines, "line"),
    once(child, "exit").then(() => Promise.reject(new Error("the server ended"))),
  ]);
  return { child, said: () => last, stop };
}

const engines = [
  { engine: "embedded", isMissing: false, newPlace: async () => embeddedPlace() },
  { engine: "postgres", isMissing: !postgresAvailable, newPlace: postgresPlace },
];

for (const { engine, isMissing, newPlace } of engines) {
  const note = isMissing ? " (SKIPPED: PostgreSQL does not run here)" : "";

  describe.skipIf(isMissing)(`the store of a running server (${engine})${note}`, () => {
    it("is shown", async () => {
      const place = await newPlace();
      await fill(place);
      await startServer(place);
      const result = await done("admin", ["status"], place);
      expect(result).toMatchObject({ engine, mode: "sandbox", answeredBy: "server" });
      expect(result.archive).toBeGreaterThanOrEqual(3);
    });

    it.each(engine === "embedded" ? ["gz", "sqlite"] : ["gz"])(
      "is backed up into a .%s file, and restored where no server runs",
      async (ending) => {
        const from = await newPlace();
        await fill(from);
        const server = await startServer(from);
        const file = join(from.folder, "..", `${places}.backup.${ending}`);
        const { storeId } = await done("store", ["backup", file], from);
        expect(statSync(file).mode & 0o777).toBe(0o600);
        await server.stop();

        const to = await newPlace();
        await fill(to, ["other"]);
        const other = await startServer(to);
        const early = await run("store", ["restore", file, "--yes"], to);
        expect(early.code).toBe(1);
        expect(early.err).toMatch(/^The service runs on this store \(process \d+.*\): stop it/);
        await other.stop();
        expect(await done("store", ["restore", file, "--yes"], to)).toMatchObject({ storeId });
        expect(lasting(await contents(to))).toEqual(lasting(await contents(from)));
        expect((await run("store", ["verify"], to)).code).toBe(0);
      },
    );
  });
}

describe("the store commands", () => {
  it("record a restore in the audit log, and create no store from a damaged backup", async () => {
    const from = embeddedPlace();
    await fill(from);
    const file = join(root, `${places}.audited.gz`);
    await done("store", ["backup", file], from);
    const bad = join(root, `${places}.bad.gz`);
    const text = gunzipSync(readFileSync(file)).toString();
    writeFileSync(bad, gzipSync(text.replace('"three"', '"3"')));
    const to = embeddedPlace();
    expect((await run("store", ["restore", bad], to)).code).toBe(1);
    expect((await run("admin", ["status"], to)).err).toMatch(/there is no store in/);
    await done("store", ["restore", file], to);
    const audits = (await contents(to)).filter(({ text }) => text.includes("store.restored"));
    expect(audits).toHaveLength(1);
    const { records, isGood } = await done("store", ["verify"], to);
    expect({ records, isGood }).toMatchObject({
      records: { backup: 1, notes: 3, "unsealed-audit": 1 },
      isGood: true,
    });
  });

  it("restore only after a confirmation, and state what the restore would replace", async () => {
    const place = embeddedPlace();
    await fill(place);
    const file = join(root, `${places}.backup.gz`);
    await done("store", ["backup", file], place);
    const { code, err } = await run("store", ["restore", file], place);
    expect(code).toBe(1);
    expect(err).toMatch(/^The restore replaces .* records? and .* archive rows?. Say --yes/);
  });

  it("restore the collections of an export of version 1.0.0, after a confirmation, and no others", async () => {
    const place = embeddedPlace();
    await fill(place);
    const { storeId, mode } = await done("admin", ["status"], place);
    const file = join(root, `${places}.json`);
    const document = {
      ...{ format: "market-signal-export", version: 1, storeId, mode },
      exportedAt: new Date().toISOString(),
      collections: { notes: { one: { value: { text: "changed" } } } },
    };
    writeFileSync(file, JSON.stringify(document));
    expect((await run("store", ["restore", file], place)).err).toContain("notes. Say --yes");
    expect(await done("store", ["restore", file, "--yes"], place)).toMatchObject({
      collections: { notes: { written: 1, removed: 2, expired: 0 } },
    });
    const rows = lasting(await contents(place));
    expect(rows.map(({ text }) => text)).toEqual([
      '{"text":"changed"}',
      '"one"',
      '"two"',
      '"three"',
    ]);
  });

  it("list and rotate keys", async () => {
    const place = embeddedPlace();
    await fill(place);
    await done("admin", ["keys", "rotate", "--use", "token-signing"], place);
    const { keys } = (await done("admin", ["keys", "list"], place)) as {
      keys: { use: string; retiredAt: string | null }[];
    };
    const signing = keys.filter(({ use }) => use === "token-signing");
    expect(signing.map(({ retiredAt }) => retiredAt === null)).toEqual([true, false]);
    const { out } = await run("admin", ["keys", "list"], place);
    expect(out).toContain("token-signing");
    expect(out).not.toContain("sealed");
  });

  it.skipIf(!postgresAvailable)(
    "restore nothing while a process on another machine uses the database, and name it",
    async () => {
      const place = await postgresPlace();
      await fill(place);
      const file = join(root, `${places}.backup.gz`);
      await done("store", ["backup", file], place);
      const { env } = embeddedPlace();
      const elsewhere = { ...place, env: { ...place.env, DATA_DIR: env.DATA_DIR ?? "" } };
      const { child, stop } = await startProcess(elsewhere);
      const { code, err } = await run("store", ["restore", file, "--yes"], place);
      expect(code).toBe(1);
      expect(err).toContain(`The service runs on this store (process ${child.pid}@`);
      await stop();
      expect((await run("store", ["restore", file, "--yes"], place)).code).toBe(0);
    },
  );
});

describe.skipIf(!postgresAvailable)(
  `the move to PostgreSQL${postgresAvailable ? "" : " (SKIPPED: it does not run here)"}`,
  () => {
    it("copies everything and then locks the old store, while a server runs", async () => {
      const place = embeddedPlace();
      await fill(place);
      const before = lasting(await contents(place));
      const server = await startServer(place);
      const url = await createDatabase();
      await done("store", ["migrate", "--to", url], place);
      await server.stop();
      const moved = await openPostgres({ url, mode: "sandbox" });
      expect(lasting(await dumpStore(moved))).toEqual(before);
      await moved.close();
      const { code, err } = await run("store", ["verify"], place);
      expect(code).toBe(1);
      expect(err).toContain("was moved to PostgreSQL");
      const there = { env: { ...place.env, DATABASE_URL: url } };
      expect(await done("store", ["verify"], there)).toMatchObject({ records: { notes: 3 } });
    });
  },
);

describe("a backup under load", () => {
  it.each(engines.filter(({ isMissing }) => !isMissing))(
    "contains every record acknowledged before it began ($engine)",
    async ({ newPlace }) => {
      const place = await newPlace();
      const server = await startProcess(place, { LOAD: "1" });
      await expect.poll(() => Number(server.said())).toBeGreaterThan(1_000);
      const acknowledged = Number(server.said());
      const file = join(root, `${places}.load.gz`);
      await done("store", ["backup", file], place);
      expect(Number(server.said())).toBeGreaterThan(acknowledged);
      await server.stop();
      const held = gunzipSync(readFileSync(file))
        .toString()
        .split("\n")
        .filter((line) => line.includes('"collection":"load"'))
        .map((line) => Number(JSON.parse(line).key));
      const keys = new Set(held);
      const lost = Array.from({ length: acknowledged }, (_, at) => at).filter(
        (at) => !keys.has(at),
      );
      expect(lost).toEqual([]);
    },
  );
});

describe("a damaged or missing store", () => {
  async function backedUp() {
    const place = embeddedPlace();
    await fill(place);
    const file = join(root, `${places}.backup.gz`);
    await done("store", ["backup", file], place);
    return { place, file, before: await contents(place) };
  }

  it.each<[string, (folder: string) => void]>([
    ["a zeroed header", (folder) => zero(join(folder, "store.sqlite"))],
    ["a truncated file", (folder) => truncateSync(join(folder, "store.sqlite"), 5_000)],
    ["an empty file", (folder) => truncateSync(join(folder, "store.sqlite"))],
  ])(
    "with %s is reported, and can be restored without a confirmation, while its files are preserved",
    async (_, harm) => {
      const { place, file, before } = await backedUp();
      harm(place.folder);
      const there = readdirSync(place.folder).filter((name) => name.endsWith(".sqlite"));
      const bytes = there.map((name) => readFileSync(join(place.folder, name)));
      const seen = await run("store", ["verify"], place);
      expect(seen.code).toBe(1);
      expect(seen.err).toMatch(/sqlite is damaged .*market-signal store restore/s);

      const { code, out, err } = await run("store", ["restore", file], place);
      expect({ code, err }).toEqual({ code: 0, err: "" });
      for (const [at, name] of there.entries()) {
        const kept = readdirSync(place.folder).find((each) => each.startsWith(`${name}.damaged-`));
        expect(readFileSync(join(place.folder, kept ?? name))).toEqual(bytes[at]);
        expect(out).toContain(join(place.folder, kept ?? "nothing"));
      }
      expect(readdirSync(place.folder).filter((name) => name.startsWith("restoring"))).toEqual([]);
      expect(lasting(await contents(place))).toEqual(lasting(before));
      expect((await run("store", ["verify"], place)).code).toBe(0);
    },
  );

  it("cannot be restored from its own files", async () => {
    const { place } = await backedUp();
    for (const name of ["store.sqlite", "store.lock"]) {
      const file = join(place.folder, name);
      const { code, err } = await run("store", ["restore", file, "--yes"], place);
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(`${file} belongs`) });
    }
  });

  it("stays unchanged when the backup is also damaged", async () => {
    const { place, file } = await backedUp();
    zero(join(place.folder, "store.sqlite"));
    truncateSync(file, 200);
    const before = readdirSync(place.folder).map((name) => readFileSync(join(place.folder, name)));
    expect((await run("store", ["restore", file], place)).code).toBe(1);
    const after = readdirSync(place.folder).map((name) => readFileSync(join(place.folder, name)));
    expect(after).toEqual(before);
  });

  it("is created by restore, while every other command reports that it is missing", async () => {
    const { file, before } = await backedUp();
    const place = embeddedPlace();
    const { code, err } = await run("store", ["verify"], place);
    expect(code).toBe(1);
    expect(err).toContain(`there is no store in ${place.folder}`);
    const exported = join(root, "export.json");
    writeFileSync(exported, "{}");
    expect((await run("store", ["restore", exported], place)).err).toMatch(
      /An export has a part of a store, and there is no store in .+ or start the service once/,
    );
    expect(existsSync(place.folder)).toBe(false);
    await done("store", ["restore", file], place);
    expect(statSync(place.folder).mode & 0o777).toBe(0o700);
    expect(lasting(await contents(place))).toEqual(lasting(before));
  });

  it("cannot be restored from a backup whose keys need another master key", async () => {
    const from = embeddedPlace();
    await (await startServer(from)).stop();
    const file = join(root, `${places}.backup.gz`);
    await done("store", ["backup", file], from);
    const to = embeddedPlace();
    const { code, out } = await run("store", ["restore", file], to);
    expect(code).toBe(0);
    expect(out).toMatch(/Warning: .*master.key is missing/);
    copyFileSync(join(from.folder, "master.key"), join(to.folder, "master.key"));
    expect((await run("admin", ["keys", "rotate"], to)).code).toBe(0);
  });
});

describe("a command on the store of a server", () => {
  it("fails and gives the reason when the process that uses the store does not answer", async () => {
    const place = embeddedPlace();
    await fill(place);
    const file = join(root, `${places}.backup.gz`);
    await done("store", ["backup", file], place);
    const store = await place.open();
    onTestFinished(() => store.close());
    for (const command of [["verify"], ["restore", file, "--yes"]]) {
      const { code, err } = await runProcess("store", command, place);
      expect(code).toBe(1);
      expect(err).toContain("another process is using");
    }
  });

  it("succeeds after the server was killed, and again once a new server runs", async () => {
    const place = embeddedPlace();
    const { child } = await startProcess(place);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(existsSync(join(place.folder, "admin.sock"))).toBe(true);
    expect(await done("admin", ["status"], place)).toMatchObject({ answeredBy: "command" });
    await startServer(place);
    expect(await done("admin", ["status"], place)).toMatchObject({ answeredBy: "server" });
  });

  it("does not contact a server on another database", async () => {
    if (!postgresAvailable) return;
    const embedded = embeddedPlace();
    await fill(embedded);
    await startServer(embedded);
    const { env } = await postgresPlace();
    const { code, err } = await run("admin", ["status"], {
      env: { ...env, ...embedded.env, DATABASE_URL: env.DATABASE_URL ?? "" },
    });
    expect(code).toBe(1);
    expect(err).toMatch(/there is no store in the database/i);
  });
});

describe("the command line", () => {
  it("prints its usage, and exits with code 2 for an unknown argument", async () => {
    const place = embeddedPlace();
    const help = await runProcess("store", ["--help"], place);
    expect(help).toMatchObject({ code: 0, err: "" });
    expect(help.out).toContain("backup <file>");
    const wrong = await runProcess("store", ["bakup"], place);
    expect(wrong).toMatchObject({ code: 2, out: "" });
    expect(wrong.err).toContain("There is no command store bakup");
    expect((await runProcess("admin", ["status", "--verbose"], place)).code).toBe(2);
  });

  it("never prints a password", async () => {
    const DATABASE_URL = "postgres://me:secret@localhost:1/none";
    const { code, out, err } = await runProcess("admin", ["status"], {
      env: { DATA_DIR: root, DATABASE_URL },
    });
    expect(code).toBe(1);
    expect(out + err).not.toContain("secret");
    const wrong = await run("admin", ["status"], { env: { DATABASE_URL: "mysql://a:secret@h/d" } });
    expect(wrong.err).toContain("DATABASE_URL");
    expect(wrong.err).not.toContain("secret");
  });
});

/** Creates a store with a person who signs in: an account, a session, an agent and a message. */
async function lived(email: string): Promise<Place> {
  const place = embeddedPlace();
  const store = await place.open();
  const { records } = store;
  const places = { fromEnv: undefined, folder: place.folder, holdsKeys: false };
  const keyring = await openKeyring({
    ...{ records, masterKey: readMasterKey(places), now: Date.now },
  });
  const people = peopleOf({ clock: { now: Date.now() } }, records);
  const { id } = await people.accounts.findOrCreateByEmail(email);
  const sessions = new BrowserSessions({ ...people, records, secure: true });
  await sessions.open(await sessions.browserOf(undefined), id);
  const signIn = new EmailCodeSignIn({
    ...{
      ...people,
      records,
      serviceName: "Market Signal and Verification Service",
      signUp: "open",
    },
    isAccepted: async () => false,
    mailbox: createOutbox({ vault: createKeyringVault(keyring), now: people.now }),
  });
  await signIn.sendCode("a browser", "first@people.example", {
    isForNew: true,
    isForOwner: false,
  });
  await signIn.sendCode("another browser", email, { isForNew: true, isForOwner: false });
  await store.close();
  return place;
}

describe("the people commands", () => {
  it("show the emails to a person, newest last, with their remaining validity", async () => {
    const place = await lived("ada@people.example");
    const { code, out } = await run("admin", ["mail"], place);
    expect(code).toBe(0);
    expect(out).toMatch(
      /of use for (9|10) min\n {2}To: first@people.*Your code: \d{8}.*\n\n---.*To: ada@people/s,
    );
    const { messages } = await done("admin", ["mail"], place);
    expect(messages).toEqual([
      expect.objectContaining({ to: "first@people.example", failures: 0 }),
      {
        ...{
          to: "ada@people.example",
          subject: "Your code for Market Signal and Verification Service",
          failures: 0,
        },
        ...{ text: expect.stringMatching(/Your code: \d{8}/), secondsLeft: expect.any(Number) },
        queuedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      },
    ]);
  });

  it("delete a person by email address in any spelling, and nobody else", async () => {
    const place = await lived("ada@people.example");
    const asked = await run("admin", ["forget", "ada@people.example"], place);
    expect(asked.code).toBe(1);
    expect(asked.err).toMatch(
      /^This removes for good what is kept of ada@people.example \(accounts: 1, .*\)\. Say --yes/,
    );
    const first = await run("admin", ["forget", " Ada@People.example", "--yes"], place);
    expect(first).toMatchObject({ code: 0, err: "" });
    expect(first.out).toMatch(/accounts: 1\n {2}sessions: 1\n.* {2}messages: 1\n/s);
    expect(first.out).toContain("Backups");
    const second = await done("admin", ["forget", "ada@people.example"], place);
    expect(second).toMatchObject({ isKnown: false, removed: { accounts: 0 }, notes: [] });
    expect(await done("admin", ["mail"], place)).toMatchObject({
      messages: [{ to: "first@people.example" }],
    });
    expect(JSON.stringify(await contents(place))).not.toContain("ada@");
    expect((await run("store", ["verify"], place)).code).toBe(0);
  });

  it("succeed when there are no people", async () => {
    const place = embeddedPlace();
    await fill(place);
    const { code, out } = await run("admin", ["forget", "ada@people.example"], place);
    expect({ code, out }).toEqual({ code: 0, out: "Nothing is kept of ada@people.example.\n" });
    expect((await run("admin", ["mail"], place)).out).toBe("No message waits.\n");
  });

  it("accept only exactly one email address", async () => {
    const place = embeddedPlace();
    await fill(place);
    for (const [argv, said] of [
      [["forget"], "<email>: must be an email address."],
      [["forget", "ada"], "<email>: must be one email address"],
      [["forget", "ada@people.example\nBcc: x"], "<email>: must be of printable ASCII"],
      [["forget", "a@x.example", "b@x.example"], "There is nothing to do with b@x.example."],
    ] as const) {
      const { code, err } = await run("admin", argv, place);
      expect(code).toBe(2);
      expect(err).toContain(said);
    }
  });
});

function zero(path: string): void {
  writeFileSync(path, readFileSync(path).fill(0, 0, 100));
}
