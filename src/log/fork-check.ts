import type { LogState } from "./log-state.ts";
import type { LogStore } from "./log-store.ts";
import { type Hash, isSameHash } from "./merkle.ts";
import { rootAt } from "./tiles.ts";
import { sizeOf } from "./tree-store.ts";

/** A tree of which a checkpoint was signed. */
export interface SignedTree {
  readonly origin: string;
  readonly size: number;
  readonly root: Hash;
}

/** Why a log does not extend a tree that was signed, so that `LogSigner` refuses to sign it; `undefined` if it
 *  does. */
export async function contradictionOf(
  store: LogStore,
  state: LogState,
  { origin, size, root }: SignedTree,
): Promise<string | undefined> {
  if (origin !== state.origin) {
    // A log that this one replaced is not part of it, so it cannot contradict it.
    const isFormer = state.former?.includes(origin);
    return isFormer ? undefined : `${origin} was signed here, which is another log`;
  }
  const has = sizeOf(state);
  if (size > has) return `${size} leaves were signed and the store has ${has}`;
  const found = await rootAt(size, (tile) => store.tile(state.id, tile)).catch(noneIfIncomplete);
  return found !== undefined && isSameHash(found, root)
    ? undefined
    : `the first ${size} leaves are not those signed`;
}

/** A store that lost tiles lacks what was signed. */
function noneIfIncomplete(error: unknown): undefined {
  if (!(error instanceof RangeError)) throw error;
}
