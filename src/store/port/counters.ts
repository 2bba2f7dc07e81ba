/** Points to add to one counter window. */
export interface CounterAddition {
  /** Name of the window: well-formed text without NUL, at most 512 characters. */
  readonly name: string;
  /** Integer to add; 0 only reads the window. */
  readonly points: number;
  /** Length of the window in milliseconds, which is used if the addition starts a new window. */
  readonly windowMs: number;
}

/** State of a counter window, shared by all processes. */
export interface CountedWindow {
  /** Total points that all processes have added in the window. */
  readonly points: number;
  /** Milliseconds until the window ends; for an unused window, its whole length. */
  readonly leftMs: number;
}

/**
 * Counters shared by all processes; concurrent additions are each counted exactly once. A window
 * begins with its first addition; its end is determined by the store's clock. Counts are not
 * durable: a database crash may lose them.
 */
export interface Counters {
  /**
   * Adds points to windows, all at the same instant.
   *
   * @param additions Additions to distinct windows.
   * @returns The windows after the additions, in the same order.
   * @throws {Problem} `store_unavailable`; the additions may or may not have been counted.
   */
  add(additions: readonly CounterAddition[]): Promise<readonly CountedWindow[]>;

  /**
   * Deletes a limited number of windows that have ended.
   *
   * @returns The number of deleted windows if more may remain; otherwise 0.
   */
  sweep(): Promise<number>;
}
