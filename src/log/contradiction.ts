import type { LogState, LogStore } from "./log-store.ts";
import { type Hash, isSameHash } from "./merkle.ts";
import { rootAt } from "./tiles.ts";
import { sizeOf } from "./tree-store.ts";

/** A tree of which a checkpoint was signed. */
export interface SignedTree {
  readonly origin: string;
  readonly size: number;
  readonly root: Hash;
}

/** Why a log is no continuation of a tree that was signed; `undefined` if it is one. */
export async function contradictionOf(
  store: LogStore,
  state: LogState,
  { origin, size, root }: SignedTree,
): Promise<string | undefined> {
  if (origin !== state.origin) {
    // What a log was started in place of is no part of it.
    const isFormer = state.former?.includes(origin);
    return isFormer ? undefined : `${origin} was signed here, which is another log`;
  }
  const has = sizeOf(state);
  if (size > has) return `${size} leaves were signed and the store has ${has}`;
  const found = await rootAt(size, (tile) => store.hashes(state.id, tile));
  return isSameHash(found, root) ? undefined : `the first ${size} leaves are not those signed`;
}
