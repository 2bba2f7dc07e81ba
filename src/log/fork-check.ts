import type { LogState } from "./log-state.ts";
import type { LogStore } from "./log-store.ts";
import { type Hash, isSameHash } from "./merkle.ts";
import { treeRoot } from "./tiles.ts";
import { treeSizeOf } from "./tree-store.ts";

/** A tree whose checkpoint was signed. */
export interface SignedTree {
  readonly origin: string;
  readonly size: number;
  readonly root: Hash;
}

/**
 * Why a log does not extend a previously signed tree; `undefined` if it does. `LogSigner` refuses
 * to sign a log that does not.
 */
export async function forkReason(
  store: LogStore,
  state: LogState,
  { origin, size, root }: SignedTree,
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
