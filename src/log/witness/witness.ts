import { DatabaseSync } from "node:sqlite";
import type { SignedCheckpoint } from "../../tree/checkpoint.ts";
import { parseCheckpoint } from "../../tree/checkpoint.ts";
import { EMPTY_ROOT, isSameHash, verifyConsistency } from "../../tree/merkle.ts";
import type { NoteSigner, NoteVerifier } from "../../tree/note-keys.ts";
import { verifyNote } from "../../tree/note-signatures.ts";
import { signatureLine } from "../../tree/signed-note.ts";
import {
  type AddCheckpointRequest,
  hashLogOrigin,
  parseAddCheckpointRequest,
  TREE_SIZE_MEDIA_TYPE,
} from "./add-checkpoint-request.ts";
import { cosign } from "./cosignature.ts";

const TEXT = "text/plain; charset=utf-8";

/** HTTP response of a witness. */
export interface WitnessAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Options of a witness. */
interface WitnessOptions {
  /** Path of the SQLite file with the cosigned checkpoints; created if missing. */
  readonly path: string;
  /** Verifier keys of the logs that the witness watches. */
  readonly logs: readonly NoteVerifier[];
  /** Keys that the witness cosigns with; each adds a signature. */
  readonly signers: readonly NoteSigner[];
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  /** Called with the signed note when a log shows a tree that contradicts a cosigned one. */
  readonly onContradiction: (note: string) => void;
}

/** A request refused with an HTTP status. */
class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Watches logs: cosigns a checkpoint only if it extends the last cosigned checkpoint of the log
 * (C2SP tlog-witness). A cosigned checkpoint is on disk before the witness answers. Only one
 * process at a time can open the file of cosigned checkpoints.
 */
export class Witness {
  readonly #options: WitnessOptions;
  readonly #database: DatabaseSync;

  /**
   * Opens the file of cosigned checkpoints.
   *
   * @throws {Error} If another process has opened the file.
   */
  constructor(options: WitnessOptions) {
    this.#options = options;
    this.#database = new DatabaseSync(options.path, { timeout: 0 });
    // An exclusive transaction takes the file lock, and in this locking mode SQLite never releases
    // the lock.
    this.#database.exec(`
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA synchronous = EXTRA;
      BEGIN EXCLUSIVE;
      CREATE TABLE IF NOT EXISTS cosigned (
        origin_hash TEXT PRIMARY KEY,
        note TEXT NOT NULL
      ) STRICT;
      COMMIT;`);
  }

  /** Handles POST <prefix>/add-checkpoint. */
  addCheckpoint(body: string): WitnessAnswer {
    let request: AddCheckpointRequest & { readonly signed: SignedCheckpoint };
    try {
      request = parseAddCheckpointRequest(body);
    } catch (error) {
      return refused(400, (error as Error).message);
    }
    try {
      return this.#add(request);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.status === 422) this.#options.onContradiction(request.note);
      return refused(error.status, error.message);
    }
  }

  /** Handles GET <prefix>/<SHA-256 of the origin>/checkpoint. */
  checkpoint(originHash: string): WitnessAnswer {
    const note = this.#cosigned(originHash);
    if (note === undefined) return refused(404, "no checkpoint of this log was cosigned");
    return { status: 200, type: TEXT, body: note };
  }

  close(): void {
    this.#database.close();
  }

  #add({ old, proof, signed }: ReturnType<typeof parseAddCheckpointRequest>): WitnessAnswer {
    const { origin, size, root, note } = signed;
    const keys = this.#verifiersOf(signed);
    if (old > size) throw new Refusal(400, "the old size is larger than the checkpoint");
    const originHash = hashLogOrigin(origin);
    const before = this.#cosigned(originHash);
    const last = before === undefined ? undefined : parseCheckpoint(before);
    if (old !== (last?.size ?? 0)) {
      return { status: 409, type: TREE_SIZE_MEDIA_TYPE, body: `${last?.size ?? 0}\n` };
    }
    const fromRoot = last?.root ?? EMPTY_ROOT;
    if (size === 0 && !isSameHash(root, EMPTY_ROOT)) {
      throw new Refusal(422, "the root is not that of an empty tree");
    }
    if (!verifyConsistency({ from: old, fromRoot, to: size, toRoot: root, proof })) {
      throw new Refusal(422, `the tree does not extend the ${old} entries that were cosigned`);
    }
    const { signers, now } = this.#options;
    const at = now();
    const cosignatures = signers.map((signer) => cosign(note.text, signer, at)).join("");
    const lines = note.signatures
      .filter(({ name, keyId }) => keys.some((key) => key.name === name && key.keyId === keyId))
      .map((one) => signatureLine(one, one.signature));
    this.#database
      .prepare("INSERT OR REPLACE INTO cosigned (origin_hash, note) VALUES (?, ?)")
      .run(originHash, `${note.text}\n${lines.join("")}${cosignatures}`);
    return { status: 200, type: TEXT, body: cosignatures };
  }

  /** The known keys of the log that have signed a checkpoint. */
  #verifiersOf({ origin, note }: SignedCheckpoint): readonly NoteVerifier[] {
    const verifiers = this.#options.logs.filter(({ name }) => name === origin);
    if (verifiers.length === 0) throw new Refusal(404, `${origin} is not watched here`);
    try {
      return verifyNote(note, verifiers);
    } catch (error) {
      throw new Refusal(403, (error as Error).message);
    }
  }

  #cosigned(originHash: string): string | undefined {
    const row = this.#database
      .prepare("SELECT note FROM cosigned WHERE origin_hash = ?")
      .get(originHash);
    return row?.note as string | undefined;
  }
}

const refused = (status: number, reason: string): WitnessAnswer => ({
  status,
  type: TEXT,
  body: `${reason}\n`,
});
