/**
 * Makes something again only when what it rests on has changed.
 *
 * @param version Tells one state of it from another.
 */
export function memoByVersion<V, T>(version: () => V, make: () => T): () => T {
  let made: { readonly version: V; readonly value: T } | undefined;
  return () => {
    const now = version();
    if (made?.version !== now) made = { version: now, value: make() };
    return made.value;
  };
}

/** Makes something when it is first asked for, and keeps it. */
export const memo = <T>(make: () => T): (() => T) => memoByVersion(() => true, make);
