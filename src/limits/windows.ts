import { hash } from "node:crypto";

/** Windows of one quota that are kept at the same time. One takes 200 to 400 bytes, so that a quota
 *  takes at most 8 MB, from however many addresses calls come. */
const MAX_WINDOWS = 20_000;

/** Longest key that is kept as it is, in characters; of a longer one, its hash. */
const MAX_KEY_CHARACTERS = 64;

/** A span of time in which something is counted for one key. */
export interface Window {
  /** Milliseconds by the clock of the windows. */
  endsAt: number;
}

/** Which windows are open. */
export interface Windows<W extends Window> {
  /** The open window of a key; opens one where there is none. @param at Now, in milliseconds. */
  of(key: string, at: number): W;
  /** Like `of`, but opens none. */
  find(key: string, at: number): W | undefined;
  /** Says that a key has no points left: it is kept when others must go. */
  spend(key: string): void;
}

/** A key that takes no more room than a short one. */
export function shortened(key: string): string {
  return key.length > MAX_KEY_CHARACTERS ? hash("sha256", key, "base64url") : key;
}

/**
 * Keeps the windows of one quota. A window that has ended goes when another begins, and when there are
 * more than 20,000, the oldest with points left: new keys set nobody free who has none, unless 20,000
 * have none.
 *
 * @param open Makes the window of a key.
 */
export function createWindows<W extends Window>(open: (key: string, at: number) => W): Windows<W> {
  /** In the order in which they began, and so end. */
  const windows = new Map<string, W>();
  /** The keys with points left, in the same order. */
  const unspent = new Set<string>();

  const drop = (key: string): void => {
    windows.delete(key);
    unspent.delete(key);
  };
  const dropEnded = (at: number): void => {
    for (const [key, { endsAt }] of windows) {
      if (endsAt > at) return;
      drop(key);
    }
  };
  const dropSurplus = (): void => {
    if (windows.size <= MAX_WINDOWS) return;
    // The youngest is the one that has just begun.
    const [oldest] = unspent.size > 1 ? unspent : windows.keys();
    if (oldest !== undefined) drop(oldest);
  };
  const find = (key: string, at: number): W | undefined => {
    const window = windows.get(key);
    return window !== undefined && window.endsAt > at ? window : undefined;
  };
  return {
    of(key, at) {
      const known = find(key, at);
      if (known !== undefined) return known;
      drop(key);
      dropEnded(at);
      const window = open(key, at);
      windows.set(key, window);
      unspent.add(key);
      dropSurplus();
      return window;
    },
    find,
    spend: (key) => void unspent.delete(key),
  };
}
