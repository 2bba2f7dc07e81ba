import type { Stored } from "../store/port/records.ts";
import { contradictionOf } from "./fork-check.ts";
import type { LogHead } from "./log-head.ts";
import type { LogState } from "./log-state.ts";
import type { LogStore } from "./log-store.ts";
import { type SigningKeys, signCheckpoint } from "./signers.ts";
import { edgeOf } from "./tree-store.ts";

/** Dependencies of the signer. */
export interface SignerOptions {
  readonly store: LogStore;
  readonly head: LogHead;
  readonly keyring: SigningKeys;
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
    // Mostly both are the same checkpoint; to compare it takes a millisecond.
    const isKept = kept !== undefined && stored?.note.startsWith(`${kept.note.text}\n`);
    const known =
      isOurs && !isKept ? [{ ...stored, root: Buffer.from(stored.root, "base64") }] : [];
    for (const signed of kept === undefined ? known : [kept, ...known]) {
      const reason = await contradictionOf(store, state, signed);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  /**
   * Copies a checkpoint that another process signed to `log-head`. If the store then loses that
   * checkpoint, for example in a failover without its last commits, this process does not sign a
   * fork either.
   */
  async keep(): Promise<void> {
    const { store, head, isShared } = this.#options;
    if (!isShared) return;
    const state = (await store.state())?.value;
    const signed = await store.checkpoint();
    if (state === undefined || signed?.id !== state.id) return;
    if ((await this.refusal(state)) !== undefined) return;
    // This process may have signed in the meantime, possibly another log.
    const { origin = signed.origin, size = -1 } = head.read() ?? {};
    const isOlder = origin === signed.origin ? size < signed.size : state.former?.includes(origin);
    if (isOlder) head.write(signed.note);
  }

  /**
   * Signs the current tree. The checkpoint is written to `log-head` before the store, which serves
   * it.
   *
   * @param change Members of the state that change with it.
   * @returns Whether the checkpoint was stored; `false` if the log has grown in the meantime.
   * @throws {Error} If it would contradict an earlier checkpoint.
   */
  async sign(of: Stored<LogState>, change?: Partial<LogState>): Promise<boolean> {
    const { store, head, keyring, now } = this.#options;
    const refusal = await this.refusal(of.value);
    if (refusal !== undefined) throw new Error(refusal);
    const { id, origin } = of.value;
    const edge = edgeOf(of.value);
    const [size, root] = [edge.size, edge.root()];
    const note = signCheckpoint(keyring, { origin, size, root });
    head.write(note);
    const signed = { id, origin, size, root: Buffer.from(root).toString("base64"), note };
    return store.setCheckpoint(of, { ...signed, signedAt: now() }, change);
  }
}
