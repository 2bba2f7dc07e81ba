import type { Stored } from "../store/port/records.ts";
import { type SigningKeys, signCheckpoint } from "../tree/signers.ts";
import { treeEdgeOf } from "../tree/tree-store.ts";
import { type SignedBefore, signingRefusal } from "./fork-check.ts";
import type { LogState } from "./log-state.ts";

/** Dependencies of the signer. */
interface SignerOptions extends SignedBefore {
  readonly keyring: SigningKeys;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
}

/** Signs checkpoints, but never a checkpoint that contradicts an earlier one. */
export class LogSigner {
  readonly #options: SignerOptions;

  constructor(options: SignerOptions) {
    this.#options = options;
  }

  /** Why the log must not be signed or appended to; `undefined` if both are allowed. */
  refusal(state: LogState): Promise<string | undefined> {
    return signingRefusal(this.#options, state);
  }

  /**
   * Copies to `log-head` a checkpoint that another process signed. If the store then loses that
   * checkpoint, for example in a failover without its last commits, this process will not sign a
   * fork either.
   */
  async keep(): Promise<void> {
    const { store, head, isShared } = this.#options;
    if (!isShared) return;
    const state = (await store.state())?.value;
    const signed = await store.checkpoint();
    if (state === undefined || signed?.id !== state.id) return;
    if ((await this.refusal(state)) !== undefined) return;
    // This process may have signed in the meantime, possibly for another log.
    const { origin = signed.origin, size = -1 } = head.read() ?? {};
    const isOlder = origin === signed.origin ? size < signed.size : state.former?.includes(origin);
    if (isOlder) head.write(signed.note);
  }

  /**
   * Signs the current tree. The checkpoint is written to `log-head` before it is written to the
   * store, from which it is served.
   *
   * @param change Members of the state that change in the same commit.
   * @throws {Error} If the checkpoint would contradict an earlier one.
   * @throws {LogMovedOn} If another process has written to the log since its state was read.
   */
  async sign(of: Stored<LogState>, change?: Partial<LogState>): Promise<void> {
    const { store, head, keyring, now } = this.#options;
    const refusal = await this.refusal(of.value);
    if (refusal !== undefined) throw new Error(refusal);
    const { id, origin } = of.value;
    const edge = treeEdgeOf(of.value);
    const [size, root] = [edge.size, edge.root()];
    const note = signCheckpoint(keyring, { origin, size, root });
    head.write(note);
    const signed = { id, origin, size, root: Buffer.from(root).toString("base64"), note };
    await store.setCheckpoint(of, { ...signed, signedAt: now() }, change);
  }
}
