import { createHash } from "node:crypto";
import { once } from "node:events";
import { open, rm } from "node:fs/promises";
import { connect, type Server } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { lockFolder, pathsIn } from "../store/sqlite/folder.ts";

/** File of the socket, in the data folder. */
const SOCKET_NAME = "admin.sock";

/** Longest path of a socket on every system, in bytes: 104 with the final NUL on macOS (unix(4)),
 *  108 on Linux (unix(7)). Longer ones are cut off silently by some systems. */
const MAX_PATH_BYTES = 103;

/** A path under which the socket can be bound or reached. */
export interface SocketAddress {
  readonly path: string;
  /** Lets go of what makes the path work. */
  close(): Promise<void>;
}

/**
 * Finds a path for the socket of a data folder. A long one is shortened where the system can name
 * an open folder; Windows, which has no such sockets, gets a pipe that is named after the folder.
 *
 * @param folder Absolute.
 * @throws {Error} When the folder is missing, or its path is too long for this system.
 */
export async function openSocketAddress(folder: string): Promise<SocketAddress> {
  if (process.platform === "win32") {
    const name = createHash("sha256").update(folder).digest("hex");
    return { path: `\\\\.\\pipe\\market-signal-${name}`, close: async () => {} };
  }
  const path = join(folder, SOCKET_NAME);
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return { path, close: async () => {} };
  if (process.platform !== "linux") {
    const longest = MAX_PATH_BYTES - SOCKET_NAME.length - 1;
    throw new Error(`DATA_DIR: ${folder} is too long for ${SOCKET_NAME}; ${longest} bytes fit.`);
  }
  const handle = await open(folder, "r");
  return { path: `/proc/self/fd/${handle.fd}/${SOCKET_NAME}`, close: () => handle.close() };
}

/** How often it is tried; each time, another process that starts may have been faster. */
const ATTEMPTS = 50;

/** A socket that is being made is not served for some microseconds after it has its path; after this
 *  pause, in milliseconds, it is, and a lock that was held may be free. */
const PAUSE_MS = 20;

/** File beside the socket that is locked by the process that clears the socket away. */
const LOCK_NAME = "admin.lock";

/** Takes all rights from the group and from others (umask(2)). */
const OWNER_ONLY = 0o177;

/**
 * Listens at the path of a socket, for the owner of the process only. What a crash left there is
 * cleared away; a socket that is served stays.
 *
 * @returns Whether it listens; `false` when another process serves the path.
 * @throws {Error} When the folder cannot hold a socket.
 */
export async function bindSocket(server: Server, path: string): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await listen(server, path);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE" || attempt === ATTEMPTS)
        throw error;
    }
    if (await isServed(path)) return false;
    await clearAway(path);
  }
}

/** The file of a socket is made while `listen` is called, with the rights that the umask leaves:
 *  to take them away afterwards would let others connect in between. */
async function listen(server: Server, path: string): Promise<void> {
  const before = process.umask(OWNER_ONLY);
  try {
    server.listen(path);
  } finally {
    process.umask(before);
  }
  await once(server, "listening");
}

async function isServed(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/**
 * Removes a socket that nobody serves, while no other process does the same: one that came later
 * would remove the new socket of the one before. A path that is taken stays so until it is removed;
 * hence nobody serves it between the look and the removal.
 */
async function clearAway(path: string): Promise<void> {
  const unlock = lock(dirname(path));
  try {
    await delay(PAUSE_MS);
    if (unlock === undefined || (await isServed(path))) return;
    await rm(path, { force: true });
  } finally {
    unlock?.();
  }
}

/** @returns Lets go of it, as the system does when the process dies; `undefined` when it cannot be
 *  had now. */
function lock(folder: string): (() => void) | undefined {
  try {
    return lockFolder({ ...pathsIn(folder), lock: join(folder, LOCK_NAME) });
  } catch {
    return undefined;
  }
}
