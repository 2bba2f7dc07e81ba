import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { runCommandInServer } from "../../../src/cli/admin-client.ts";
import { serveAdmin } from "../../../src/cli/admin-socket.ts";
import { bindSocket } from "../../../src/cli/admin-socket-path.ts";
import { ConfirmationNeeded } from "../../../src/cli/command.ts";
import type { CommandProgress } from "../../../src/maintenance/backup/progress.ts";
import { put } from "../../../src/store/port/operations.ts";
import { collection } from "../../../src/store/port/records.ts";
import type { DumpRow, Store } from "../../../src/store/port/store.ts";
import { storeUnavailableProblem } from "../../../src/store/port/unavailable.ts";
import { peopleOf } from "../../support/account-parts.ts";
import { dumpStore, model, openStore } from "../../support/stores.ts";

const root = mkdtempSync(join(tmpdir(), "admin-"));
afterAll(() => rmSync(root, { recursive: true }));

let folders = 0;
function newFolder(): string {
  folders += 1;
  return join(root, `${folders}`);
}

const notes = collection<number>("notes");

/** Starts an admin socket on a store with one record. */
async function served(
  folder: string,
  { store: given, databaseUrl }: { readonly store?: Store; readonly databaseUrl?: string } = {},
) {
  const { store: opened } = await openStore(model);
  await opened.records.commit([put(notes, { key: "a", value: 1 })]);
  const store = given ?? opened;
  const keyring = () => Promise.reject(new Error("there are no keys here"));
  const context = { store, folder, keyring, now: () => 0, holder: "server" as const };
  const admin = await serveAdmin({ folder, context, databaseUrl });
  onTestFinished(() => admin.close());
  return { store, folder, admin };
}

/** @returns The listening server, or `undefined` if another server is already listening. */
async function listening(path: string): Promise<Server | undefined> {
  const server = createServer();
  return (await bindSocket(server, path)) ? server : undefined;
}

interface Asking {
  readonly folder: string;
  readonly args?: unknown;
  readonly databaseUrl?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: CommandProgress) => void;
}

const ask = (name: string, { folder, args = {}, onProgress = () => {}, ...rest }: Asking) =>
  runCommandInServer(
    {
      ...{ name, input: args, signal: rest.signal ?? new AbortController().signal },
      settings: { folder, databaseUrl: rest.databaseUrl, masterKey: undefined },
    },
    onProgress,
  );

describe("the admin socket", () => {
  it("is accessible only to its owner, in a private directory, and is removed when it closes", async () => {
    const { folder, admin } = await served(newFolder());
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, "admin.sock")).mode & 0o777).toBe(0o600);
    await admin.close();
    expect(readdirSync(folder)).toEqual([]);
  });

  it("runs commands on the store of the running server", async () => {
    const { folder, store } = await served(newFolder());
    const outcome = await ask("admin status", { folder });
    expect(outcome?.result).toMatchObject({
      ...{ storeId: store.identity.id, mode: "sandbox", engine: "embedded" },
      ...{ records: 1, archive: 0, answeredBy: "server" },
    });
    expect(outcome?.isGood).toBe(true);
  });

  it("reports the progress of a command", async () => {
    const { folder } = await served(newFolder());
    const told: CommandProgress[] = [];
    await ask("store backup", {
      ...{ folder, args: { file: join(folder, "b.gz") } },
      onProgress: (progress) => told.push(progress),
    });
    expect(told[0]).toEqual({ doing: "writing the backup", rows: 1, fraction: 1 });
  });

  it("returns errors and requests for confirmation to the client", async () => {
    const { folder, store } = await served(newFolder());
    const file = join(folder, "records.gz");
    await expect(ask("store restore", { folder, args: { file, yes: true } })).rejects.toThrow(
      `The service runs on this store (process ${process.pid})`,
    );
    expect(await dumpStore(store)).toHaveLength(1);
    const email = "ada@people.example";
    await peopleOf({ clock: { now: 0 } }, store.records).accounts.findOrCreateByEmail(email);
    const asked = ask("admin forget", { folder, args: { email, yes: false } });
    await expect(asked).rejects.toThrow(ConfirmationNeeded);
  });

  it("rejects unknown commands, methods and arguments, and bodies that are too long", async () => {
    const { folder } = await served(newFolder());
    await expect(ask("shutdown", { folder })).rejects.toThrow('knows no command "shutdown"');
    for (const [name, args, said] of [
      ["store backup", { file: "relative" }, "<file>: must be absolute."],
      ["admin audit", { limit: "0" }, "--limit: is not a whole number from 1 to 10000."],
      ["admin status", { x: 1 }, 'Unrecognized key: "x".'],
    ] as const) {
      await expect(ask(name, { folder, args })).rejects.toThrow(new Error(said));
    }
    await expect(ask("admin status", { folder, args: "x".repeat(70_000) })).rejects.toThrow(
      "too long",
    );
    const get = request({ socketPath: join(folder, "admin.sock"), path: "/admin-status" }).end();
    const [response] = (await once(get, "response")) as [IncomingMessage];
    expect(await text(response)).toContain("knows no command");
  });

  it("does not exist when no server is running", async () => {
    expect(await ask("admin status", { folder: newFolder() })).toBeUndefined();
  });

  it("is replaced by the next server after a crash", async () => {
    const folder = newFolder();
    mkdirSync(folder);
    const path = join(folder, "admin.sock");
    const code = `require("net").createServer().listen(${JSON.stringify(path)}, () => console.log("up"))`;
    const child = spawn(process.execPath, ["-e", code]);
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(existsSync(path)).toBe(true);
    expect(await ask("admin status", { folder })).toBeUndefined();
    await served(folder);
    expect(await ask("admin status", { folder })).toBeDefined();
  });

  it("is taken over by exactly one of several concurrent starts after a crash", async () => {
    const folder = newFolder();
    mkdirSync(folder);
    const path = join(folder, "admin.sock");
    for (let round = 0; round < 10; round += 1) {
      const left = createServer().listen(path);
      await once(left, "listening");
      linkSync(path, `${path}.left`);
      await new Promise((resolve) => left.close(resolve));
      renameSync(`${path}.left`, path);
      const all = await Promise.all(Array.from({ length: 6 }, () => listening(path)));
      const [server, ...others] = all.filter((each) => each !== undefined);
      expect(others).toEqual([]);
      expect(readdirSync(folder)).toEqual(["admin.lock", "admin.sock"]);
      await new Promise((resolve) => server?.close(resolve));
    }
  });

  it("is accessible only to its owner from the moment of its creation", async () => {
    const folder = newFolder();
    mkdirSync(folder);
    const path = join(folder, "admin.sock");
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    const server = createServer();
    onTestFinished(() => void server.close());
    const done = bindSocket(server, path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await done;
    expect(process.umask()).toBe(0);
  });

  it("closes even when a connected client has sent nothing or half a command", async () => {
    const { folder, admin } = await served(newFolder());
    const path = join(folder, "admin.sock");
    const silent = connect(path);
    const half = connect(path);
    half.write("POST /admin-keys-rotate HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{");
    await Promise.all([once(silent, "connect"), once(half, "connect")]);
    await ask("admin status", { folder });
    await admin.close();
    await Promise.all([silent, half].map((each) => each.closed || once(each, "close")));
  });

  it("rejects files of the store as file arguments of a command", async () => {
    const { folder } = await served(newFolder());
    writeFileSync(join(folder, "store.sqlite"), "");
    linkSync(join(folder, "store.sqlite"), join(folder, "other.gz"));
    for (const [command, name] of [
      ["store restore", "store.sqlite"],
      ["store restore", "other.gz"],
    ] as const) {
      const file = join(folder, name);
      await expect(ask(command, { folder, args: { file } })).rejects.toThrow(
        `${file} belongs to the store itself`,
      );
    }
    const state = join(folder, "store.sqlite");
    await expect(ask("store verify", { folder, args: { state } })).rejects.toThrow(
      `${state} belongs to the store itself`,
    );
  });

  it("includes the error message of the storage engine in the response to the operator", async () => {
    const { store } = await openStore(model);
    const counts = () =>
      Promise.reject(
        storeUnavailableProblem("It did not answer.", new Error("the disk is malformed")),
      );
    const broken = { ...store, identity: store.identity, counts };
    const { folder } = await served(newFolder(), { store: broken });
    await expect(ask("admin status", { folder })).rejects.toThrow(
      /^It did not answer\. the disk is malformed\.$/,
    );
  });

  it("is not taken over while its server is running", async () => {
    const first = await served(newFolder());
    const second = await served(first.folder);
    await second.admin.close();
    const outcome = await ask("admin status", { folder: first.folder });
    expect(outcome?.result.storeId).toBe(first.store.identity.id);
  });

  it("works in a directory whose path is too long for a Unix socket", async () => {
    const folder = join(newFolder(), "long".repeat(40));
    await served(folder);
    expect((await ask("admin status", { folder }))?.isGood).toBe(true);
    expect(readdirSync(folder)).toEqual(["admin.sock"]);
  });

  it("rejects a command that is meant for the database of another server", async () => {
    const embedded = await served(newFolder());
    const { folder } = await served(newFolder(), { databaseUrl: "postgres://me:secret@h/one" });
    const askFor = (databaseUrl: string | undefined, at = folder) =>
      ask("admin status", { folder: at, ...(databaseUrl !== undefined && { databaseUrl }) });
    expect(await askFor("postgres://h/one")).toBeDefined();
    expect(await askFor(undefined)).toBeDefined();
    expect(await askFor("postgres://h/two")).toBeUndefined();
    expect(await askFor("postgres://h/one", embedded.folder)).toBeUndefined();
  });

  /** Starts an admin socket on a store whose dump never ends. */
  async function servedEndless() {
    const { store } = await openStore(model);
    const rows: readonly DumpRow[] = [
      { table: "archive", kind: "k", at: 1, id: "x", subject: null, text: "1" },
    ];
    const state = { isOver: false };
    async function* dump() {
      try {
        for (;;) {
          await new Promise(setImmediate);
          yield rows;
        }
      } finally {
        state.isOver = true;
      }
    }
    const opened = await served(newFolder(), {
      store: { ...store, identity: store.identity, dump },
    });
    return { ...opened, state, args: { file: join(opened.folder, "b.gz") } };
  }

  it("aborts a command when its client disconnects, and serves the next command", async () => {
    const { folder, args, state } = await servedEndless();
    const stopping = new AbortController();
    const { signal } = stopping;
    const asked = ask("store backup", { folder, args, signal, onProgress: () => stopping.abort() });
    await expect(asked).rejects.toThrow();
    await expect.poll(() => state.isOver).toBe(true);
    await expect.poll(() => readdirSync(folder)).toEqual(["admin.sock"]);
    expect(await ask("admin status", { folder })).toBeDefined();
  });

  it("ends running commands with an error when it closes", async () => {
    const { folder, args, state, admin } = await servedEndless();
    let closing: Promise<void> | undefined;
    const onProgress = () => {
      closing ??= admin.close();
    };
    await expect(ask("store backup", { folder, args, onProgress })).rejects.toThrow(
      "the server stops",
    );
    await closing;
    expect(state.isOver).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
  });
});
