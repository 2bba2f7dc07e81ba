import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { join } from "node:path";

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
