import { createHash } from "node:crypto";
import { once } from "node:events";
import { open, rm } from "node:fs/promises";
import { connect, type Server } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { lockFolder, storePathsIn } from "../store/sqlite/folder.ts";

/** Name of the socket in the data folder. */
const SOCKET_NAME = "admin.sock";

/**
 * Maximum length of a socket path that every system supports, in bytes: 104 with the final NUL on
 * macOS (unix(4)), 108 on Linux (unix(7)). Some systems silently truncate longer paths.
 */
const MAX_PATH_BYTES = 103;

/** A path at which the socket can be bound or reached. */
interface SocketAddress {
  readonly path: string;
  /** Releases the folder that the path refers to. */
  close(): Promise<void>;
}

/**
 * Finds the path of the socket in a data folder. On Linux, a path that is too long is replaced by a
 * path below /proc/self/fd. Windows uses a named pipe whose name is a hash of the folder.
 *
 * @param folder Absolute path.
 * @throws {Error} When the folder does not exist, or its path is too long for this system.
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

/**
 * Maximum number of attempts to bind; in each attempt, another process that is starting may bind
 * first.
 */
const MAX_ATTEMPTS = 50;

/**
 * Pause before the socket is checked again, in milliseconds. A new socket file exists some
 * microseconds before it accepts connections, and another process may release the lock in the
 * meantime.
 */
const PAUSE_MS = 20;

/** Lock file, held by the process that removes a stale socket. */
const LOCK_NAME = "admin.lock";

/** Umask that denies the group and others all access (umask(2)). */
const OWNER_ONLY = 0o177;

/**
 * Binds the socket so that only the owner of the process can connect. A stale socket is replaced; a
 * socket that another process serves is left alone.
 *
 * @returns Whether the server listens; `false` when another process serves the path.
 * @throws {Error} When no socket can be created in the folder.
 */
export async function bindSocket(server: Server, path: string): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await listen(server, path);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE" || attempt === MAX_ATTEMPTS)
        throw error;
    }
    if (await isServed(path)) return false;
    await removeStale(path);
  }
}

/**
 * Binds with a restrictive umask, because `listen` creates the socket file with the permissions
 * that the umask leaves. Changing them afterwards would let other users connect in between.
 */
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
 * Removes a stale socket while holding a lock, since a slower process could otherwise remove the
 * new socket of a faster process. While the stale file exists, no process can bind the path, so no
 * process can start to serve it between the check and the removal.
 */
async function removeStale(path: string): Promise<void> {
  const unlock = lock(dirname(path));
  try {
    await delay(PAUSE_MS);
    if (unlock === undefined || (await isServed(path))) return;
    await rm(path, { force: true });
  } finally {
    unlock?.();
  }
}

/**
 * @returns A function that releases the lock, which the system also does when the process exits;
 * `undefined` when another process holds the lock.
 */
function lock(folder: string): (() => void) | undefined {
  try {
    return lockFolder({ ...storePathsIn(folder), lock: join(folder, LOCK_NAME) });
  } catch {
    return undefined;
  }
}
