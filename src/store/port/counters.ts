/** An addition to a window. */
export interface CounterAddition {
  /** Name of the window: well-formed text without NUL, of at most 512 characters. */
  readonly name: string;
  /** An integer; 0 only reads. */
  readonly points: number;
  /** Length of a new window in milliseconds. */
  readonly windowMs: number;
}

/** A window as seen by all processes. */
export interface CountedWindow {
  /** Points counted in it by all processes. */
  readonly points: number;
  /** Milliseconds until it ends; for an unused window, its whole length. */
  readonly leftMs: number;
}

/**
 * Shared counters; concurrent additions from several processes are each counted once. A window begins
 * with the first addition and ends by the store's clock. Counts are not durable: a database crash may
 * lose them.
 */
export interface Counters {
  /**
   * Adds to windows, all at one instant.
   *
   * @param additions With distinct names.
   * @returns The windows afterwards, in the same order.
   * @throws {Problem} `store_unavailable`; the additions may or may not have been counted.
   */
  add(additions: readonly CounterAddition[]): Promise<readonly CountedWindow[]>;

  /**
   * Deletes ended windows.
   *
   * @returns How many were deleted; 0 if none remain.
   */
  sweep(): Promise<number>;
}
