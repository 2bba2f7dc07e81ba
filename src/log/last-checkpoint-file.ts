import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createFolder } from "../lib/create-folder.ts";
import { writeDurably } from "../lib/durable-file.ts";
import { parseCheckpoint, type SignedCheckpoint } from "../tree/checkpoint.ts";

/** Name of the file in DATA_DIR. */
const FILE = "log-head";

/**
 * The last signed checkpoint, in a file of this machine that backups do not contain. A store that
 * was restored to an earlier state lacks this checkpoint. The service then refuses to sign, because
 * a signature would fork the log.
 */
export class LastCheckpointFile {
  readonly #folder: string;
  readonly #path: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.#path = join(folder, FILE);
  }

  /**
   * Reads the file; `undefined` if there is none.
   *
   * @throws {Error} If the file is unreadable or not a checkpoint.
   */
  read(): SignedCheckpoint | undefined {
    try {
      return parseCheckpoint(readFileSync(this.#path, "utf8"));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw new Error(`${this.#path} cannot be used (${(error as Error).message})`);
    }
  }

  /** Replaces the file durably: it is on disk when this returns. */
  write(note: string): void {
    createFolder(this.#folder);
    writeDurably(this.#path, note);
  }
}
