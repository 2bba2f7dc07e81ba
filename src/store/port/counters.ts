/** What is added to a window. */
export interface Addition {
  /** Names the window: well-formed text without NUL, of at most 512 characters. */
  readonly name: string;
  /** A whole number; 0 only looks. */
  readonly points: number;
  /** Length of the window in milliseconds, for when it begins. */
  readonly windowMs: number;
}

/** A window as all processes see it. */
export interface CountedWindow {
  /** What was counted in it, by whichever process. */
  readonly points: number;
  /** Milliseconds until it ends; where nothing was counted yet, its whole length. */
  readonly leftMs: number;
}

/**
 * Counts of which each is made once, whichever processes count at the same time. A window begins with
 * the first addition and ends by the clock of the store. Counts are no promises: a crash of the
 * database may forget them.
 */
export interface Counters {
  /**
   * Adds to windows, all at one instant.
   *
   * @param additions Each of another name.
   * @returns The windows afterwards, in the same order.
   * @throws {Problem} `store_unavailable`; nobody knows then whether it was counted.
   */
  add(additions: readonly Addition[]): Promise<readonly CountedWindow[]>;

  /** Frees what ended windows use. @returns How many went, 0 when those were all. */
  sweep(): Promise<number>;
}
