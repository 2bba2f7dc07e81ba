/**
 * Caches a value until its version changes.
 *
 * @param version Returns the version of the data that the value is computed from; compared by
 * identity.
 */
export function memoByVersion<V, T>(version: () => V, make: () => T): () => T {
  let made: { readonly version: V; readonly value: T } | undefined;
  return () => {
    const now = version();
    if (made?.version !== now) made = { version: now, value: make() };
    return made.value;
  };
}

/** Computes a value on first use and keeps it. */
export const memo = <T>(make: () => T): (() => T) => memoByVersion(() => true, make);
