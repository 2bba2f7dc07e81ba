import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeDurably } from "../lib/durable-file.ts";
import { parseCheckpoint, type SignedCheckpoint } from "./checkpoint.ts";

/** Name of the file in DATA_DIR. */
const FILE = "log-head";

/** The last signed checkpoint in a file of this machine, which backups do not contain. If the store
 *  is restored to an earlier state, it lacks what this file names, and the service refuses to sign,
 *  which would fork the log. */
export class LogHead {
  readonly #folder: string;
  readonly #path: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.#path = join(folder, FILE);
  }

  /** @throws {Error} If there is a file, but not of this service. */
  read(): SignedCheckpoint | undefined {
    try {
      return parseCheckpoint(readFileSync(this.#path, "utf8"));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw new Error(`${this.#path} cannot be used (${(error as Error).message})`);
    }
  }

  /** Replaces the file; it is on disk when this returns. */
  write(note: string): void {
    mkdirSync(this.#folder, { recursive: true });
    writeDurably(this.#path, note);
  }
}
