import { hash } from "node:crypto";

/**
 * Maximum number of windows per quota. A window takes 200 to 400 bytes, so a quota takes at most 8
 * MB, regardless of how many addresses send requests.
 */
const MAX_WINDOWS = 20_000;

/** Maximum length of a key that is stored verbatim, in characters; longer keys are hashed. */
const MAX_KEY_CHARACTERS = 64;

/** A fixed time window of one key. */
export interface QuotaWindow {
  /** End of the window, in milliseconds by the same clock as the times passed to `QuotaWindows`. */
  endsAt: number;
}

/** The open windows of a quota. */
export interface QuotaWindows<W extends QuotaWindow> {
  /**
   * Returns the open window of a key; opens a window if there is none.
   *
   * @param at Current time, in milliseconds.
   */
  getOrOpen(key: string, at: number): W;
  /** Returns the open window of a key, if there is one. */
  find(key: string, at: number): W | undefined;
  /** Returns the open window of a key; if there is none, an unused window that is not kept. */
  look(key: string, at: number): W;
  /** Marks a key as having no points left, so that it is evicted last. */
  markExhausted(key: string): void;
}

/** The key itself or, if it is too long, its hash, so that stored keys have a bounded length. */
export function boundedKey(key: string): string {
  return key.length > MAX_KEY_CHARACTERS ? hash("sha256", key, "base64url") : key;
}

/**
 * Creates the windows of one quota. Windows that have ended are removed when another window opens;
 * above 20,000 windows, the oldest window with points left is evicted. New keys therefore cannot
 * reset the window of an exhausted key, unless 20,000 keys are exhausted.
 *
 * @param open Creates the window of a key.
 */
export function createQuotaWindows<W extends QuotaWindow>(
  open: (key: string, at: number) => W,
): QuotaWindows<W> {
  /**
   * Windows by key, in the order in which they opened, which is also the order in which they end.
   */
  const windows = new Map<string, W>();
  /** Keys with points left, in the order in which their windows opened. */
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
  const evictOldest = (): void => {
    if (windows.size <= MAX_WINDOWS) return;
    // If only one key has points left, it is the key of the new window, so an exhausted key is evicted.
    const [oldest] = unspent.size > 1 ? unspent : windows.keys();
    if (oldest !== undefined) drop(oldest);
  };
  const find = (key: string, at: number): W | undefined => {
    const window = windows.get(key);
    return window !== undefined && window.endsAt > at ? window : undefined;
  };
  return {
    getOrOpen(key, at) {
      const known = find(key, at);
      if (known !== undefined) return known;
      drop(key);
      dropEnded(at);
      const window = open(key, at);
      windows.set(key, window);
      unspent.add(key);
      evictOldest();
      return window;
    },
    find,
    look: (key, at) => find(key, at) ?? open(key, at),
    markExhausted: (key) => void unspent.delete(key),
  };
}
