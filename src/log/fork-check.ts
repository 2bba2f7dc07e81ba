import { type Hash, isSameHash } from "../tree/merkle.ts";
import { treeRoot } from "../tree/tiles.ts";
import { treeSizeOf } from "../tree/tree-store.ts";
import type { LastCheckpointFile } from "./last-checkpoint-file.ts";
import type { LogState } from "./log-state.ts";
import type { LogStore } from "./log-store.ts";

/**
 * Why a log does not extend a previously signed tree; `undefined` if it does. `LogSigner` refuses
 * to sign a log that does not.
 */
export async function forkReason(
  store: LogStore,
  state: LogState,
  { origin, size, root }: { readonly origin: string; readonly size: number; readonly root: Hash },
): Promise<string | undefined> {
  if (origin !== state.origin) {
    // A tree of a former log, which this log replaced, cannot contradict this log.
    const isFormer = state.former?.includes(origin);
    return isFormer ? undefined : `${origin} was signed here, which is another log`;
  }
  const has = treeSizeOf(state);
  if (size > has) return `${size} leaves were signed and the store has ${has}`;
  const found = await treeRoot(size, (tile) => store.tile(state.id, tile)).catch(noneIfIncomplete);
  return found !== undefined && isSameHash(found, root)
    ? undefined
    : `the first ${size} leaves are not those signed`;
}

/** Treats missing tiles as a mismatch: a store without them does not contain the signed tree. */
function noneIfIncomplete(error: unknown): undefined {
  if (!(error instanceof RangeError)) throw error;
}

/** Where the checkpoints that were signed before are found. */
export interface SignedBefore {
  readonly store: LogStore;
  readonly head: LastCheckpointFile;
  /** Whether other processes, each with its own folder, may have signed before. */
  readonly isShared: boolean;
}

/**
 * Why a log must not be signed or appended to; `undefined` if both are allowed. Earlier signed
 * checkpoints are read from this machine and from the store.
 */
export async function signingRefusal(
  { store, head, isShared }: SignedBefore,
  state: LogState,
): Promise<string | undefined> {
  const kept = head.read();
  const stored = await store.checkpoint();
  const isOurs = stored?.id === state.id;
  if (kept === undefined && isOurs && !isShared) {
    return "log-head is missing in DATA_DIR, so the store may be an old copy";
  }
  // The stored checkpoint is usually the one in `log-head`. Checking it again, which takes a
  // millisecond, is then skipped.
  const isKept = kept !== undefined && stored?.note.startsWith(`${kept.note.text}\n`);
  const known = isOurs && !isKept ? [{ ...stored, root: Buffer.from(stored.root, "base64") }] : [];
  for (const signed of kept === undefined ? known : [kept, ...known]) {
    const reason = await forkReason(store, state, signed);
    if (reason !== undefined) return reason;
  }
  return state.isRestored && isShared
    ? "the store was restored from a backup, and what was signed after it is not known"
    : undefined;
}
