/**
 * Makes something again only when what it rests on has changed.
 *
 * @param version Tells one state of it from another.
 */
export function oncePer<V, T>(version: () => V, make: () => T): () => T {
  let made: { readonly version: V; readonly value: T } | undefined;
  return () => {
    const now = version();
    if (made?.version !== now) made = { version: now, value: make() };
    return made.value;
  };
}
