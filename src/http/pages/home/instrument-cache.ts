import type { Snapshot } from "../../../score/snapshot.ts";
import type { ToolContext } from "../../../tool.ts";

/** Caches a slow computation per instrument while its newest snapshot is current, since every tool
 *  returns the same until then. The symbol must be a listed one. */
export function cacheByInstrument<T>(
  { snapshots }: ToolContext,
  make: (symbol: string) => T,
): (symbol: string) => T {
  const made = new WeakMap<Snapshot, { readonly value: T }>();
  return (symbol) => {
    const snapshot = snapshots.newest(symbol);
    const known = made.get(snapshot) ?? { value: make(symbol) };
    made.set(snapshot, known);
    return known.value;
  };
}
