import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFolder } from "../lib/create-folder.ts";
import { syncFolder } from "../lib/sync-folder.ts";
import { folderNotWritableError } from "../store/folder-errors.ts";

const KEY_BYTES = 32;

/** Matches 32 bytes in base64 or base64url (RFC 4648), with or without padding. */
export const ENCODED_MASTER_KEY_PATTERN = /^[A-Za-z0-9+/_-]{43}=?$/;

/** Where the master key is looked for. */
interface MasterKeyPlaces {
  /** Value of the setting `MASTER_KEY`, which takes precedence over the file. */
  readonly fromEnv: string | undefined;
  /** Folder that contains the file `master.key`. */
  readonly folder: string;
  /** Whether the store already contains keys; if so, no new master key is generated. */
  readonly holdsKeys: boolean;
}

/**
 * Reads the master key, which encrypts all other keys. Without the setting `MASTER_KEY`, the key is
 * in its own file, which is generated at the first start and must never be part of a backup or
 * export.
 *
 * @returns 32 bytes.
 * @throws {Error} If the master key is missing or malformed, or other users can read its file; the
 * message says what to do.
 */
export function readMasterKey({ fromEnv, folder, holdsKeys }: MasterKeyPlaces): Buffer {
  if (fromEnv !== undefined) {
    return decoded(fromEnv, "MASTER_KEY: must be 32 bytes in base64 (openssl rand -base64 32)");
  }
  const file = join(folder, "master.key");
  if (!existsSync(file)) {
    if (holdsKeys) throw new Error(`${file} is missing: put it back or set MASTER_KEY`);
    create(folder, file);
  }
  refuseReadable(file);
  const text = readFileSync(file, "utf8").trim();
  return decoded(text, `${file} is damaged: put back a good copy or set MASTER_KEY`);
}

function decoded(text: string, otherwise: string): Buffer {
  if (!ENCODED_MASTER_KEY_PATTERN.test(text)) throw new Error(otherwise);
  return Buffer.from(text, "base64");
}

/**
 * Rejects a file that other users can read. Does nothing on Windows, which has no such permission
 * bits.
 */
function refuseReadable(file: string): void {
  if (process.platform === "win32" || (statSync(file).mode & 0o077) === 0) return;
  throw new Error(`${file} can be read by others: run chmod 600 ${file}`);
}

/**
 * Creates the file atomically. If another process creates it first, that file is kept: unlike a
 * rename, a link never replaces a file.
 */
function create(folder: string, file: string): void {
  const temporary = `${file}.${randomUUID()}`;
  try {
    createFolder(folder, 0o700);
    const text = `${randomBytes(KEY_BYTES).toString("base64")}\n`;
    writeFileSync(temporary, text, { flag: "wx", mode: 0o600, flush: true });
    linkSync(temporary, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST")
      throw folderNotWritableError(folder, error);
  } finally {
    rmSync(temporary, { force: true });
  }
  syncFolder(folder);
}
