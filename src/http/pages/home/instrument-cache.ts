import type { Snapshot } from "../../../score/snapshot.ts";
import type { ToolContext } from "../../../tool/tool.ts";

/**
 * Caches the result of a slow computation per instrument until the instrument has a new snapshot;
 * until then, every tool returns the same result. The returned function accepts only symbols of
 * listed instruments.
 */
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
