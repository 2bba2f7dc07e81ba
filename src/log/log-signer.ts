import { createPrivateKey, type JsonWebKey } from "node:crypto";
import type { Key } from "../store/keys/key-records.ts";
import type { Keyring } from "../store/keys/keyring.ts";
import type { Stored } from "../store/port/records.ts";
import { checkpointText } from "./checkpoint.ts";
import { contradictionOf } from "./contradiction.ts";
import type { LogHead } from "./log-head.ts";
import { edgeOf, type LogState, type LogStore } from "./log-store.ts";
import { type NoteSigner, noteSigner, signNote } from "./signed-note.ts";

/** The signers of a log, newest first: after a rotation the old key goes on signing until it ends. */
export const signersOf = (keyring: Keyring, origin: string): readonly NoteSigner[] =>
  keyring.keys("log-signing").map((key) => signerOf(key, origin));

const signers = new WeakMap<Key<"log-signing">, NoteSigner>();

function signerOf(key: Key<"log-signing">, origin: string): NoteSigner {
  const known = signers.get(key);
  if (known?.name === origin) return known;
  const jwk = { ...key.jwk } as JsonWebKey;
  const signer = noteSigner(origin, createPrivateKey({ key: jwk, format: "jwk" }));
  signers.set(key, signer);
  return signer;
}

/** Dependencies of the signer. */
export interface SignerOptions {
  readonly store: LogStore;
  readonly head: LogHead;
  readonly keyring: Keyring;
  /** Whether other processes, each with a folder of its own, may have signed before. */
  readonly isShared: boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Signs checkpoints, and never one that contradicts an earlier one. */
export class LogSigner {
  readonly #options: SignerOptions;

  constructor(options: SignerOptions) {
    this.#options = options;
  }

  /**
   * Why the log must not be signed or appended to; `undefined` if it may. What was signed before is read
   * from this machine and from the store.
   */
  async refusal(state: LogState): Promise<string | undefined> {
    const { store, head, isShared } = this.#options;
    const kept = head.read();
    const stored = await store.checkpoint();
    const isOurs = stored?.id === state.id;
    if (kept === undefined && isOurs && !isShared) {
      return "log-head is missing in DATA_DIR, so the store may be an old copy";
    }
    const known = isOurs ? [{ ...stored, root: Buffer.from(stored.root, "base64") }] : [];
    for (const signed of kept === undefined ? known : [kept, ...known]) {
      const reason = await contradictionOf(store, state, signed);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  /**
   * Signs the tree as it is; the checkpoint is in `log-head` before it is in the store, from where it is
   * served.
   *
   * @returns Whether it is served now; not if the log has gone on meanwhile.
   * @throws {Error} If it would contradict an earlier checkpoint.
   */
  async sign(of: Stored<LogState>): Promise<boolean> {
    const { store, head, keyring, now } = this.#options;
    const refusal = await this.refusal(of.value);
    if (refusal !== undefined) throw new Error(refusal);
    const { id, origin } = of.value;
    const edge = edgeOf(of.value);
    const [size, root] = [edge.size, edge.root()];
    const note = signNote(checkpointText({ origin, size, root }), signersOf(keyring, origin));
    head.write(note);
    const signed = { id, origin, size, root: Buffer.from(root).toString("base64"), note };
    return store.setCheckpoint(of, { ...signed, signedAt: now() });
  }
}
