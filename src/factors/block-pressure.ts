import { isBlockTrade } from "../market/block-size.ts";
import type { Print } from "../market/records.ts";
import {
  BASELINE_SESSIONS,
  decayFactor,
  MIN_BASELINE_SESSIONS,
  zAgainstHistory,
} from "../statistics/statistics.ts";
import { estimatedSide } from "./off-exchange.ts";

/** Constants of the block imbalance. */
export const BLOCK_PRESSURE_RULES = {
  /** Half-life of the imbalance in sessions. */
  halfLifeSessions: 3,
  /** Number of blocks n at which the imbalance I is halved by I' = I n / (n + 20). */
  shrinkage: 20,
} as const;

/** Block reading of an instrument that has no print yet. */
export const NO_BLOCK_READING: BlockReading = {
  hasBlocks: false,
  imbalance: null,
  blocks: 0,
  z: null,
  asOf: null,
};

/** Imbalance between buying and selling in the block prints of an instrument. */
export interface BlockReading {
  /** Whether there was any block, even one whose side is unknown. */
  readonly hasBlocks: boolean;
  /**
   * Imbalance in [-1, 1], positive for buying and shrunk toward 0 when blocks are few; `null`
   * before the first block whose side is known.
   */
  readonly imbalance: number | null;
  /** Number of blocks with a known side, decayed with the half-life. */
  readonly blocks: number;
  /**
   * z of the imbalance against the previous 60 sessions, in [-3, 3]; `null` with fewer than 20
   * previous sessions.
   */
  readonly z: number | null;
  /** When the newest print became known, Unix milliseconds. */
  readonly asOf: number | null;
}

/** Tracks the block imbalance of one instrument. */
export interface BlockPressureTracker {
  /** Adds a print; prints are added in the order in which they become known. */
  add(print: Print): void;
  /** Closes the session; a print that becomes known later belongs to the next session. */
  closeSession(): void;
  /**
   * Begins the next session: the imbalance of the closed session joins the history, and all sums
   * decay.
   */
  beginSession(): void;
  read(): BlockReading;
}

/**
 * Creates a tracker whose history is still empty.
 *
 * I = sum(side * notional) / sum(notional) over blocks with a known side, shrunk to I' = I n / (n +
 * 20). Both sums and the number of blocks n decay with a half-life of three sessions. A print
 * belongs to the session in which it becomes known.
 */
export function createBlockPressureTracker(): BlockPressureTracker {
  const perSession = decayFactor(1, BLOCK_PRESSURE_RULES.halfLifeSessions);
  const past: number[] = [];
  let asOf: number | null = null;
  let hasBlocks = false;
  let isClosed = false;
  let [signed, total, blocks] = [0, 0, 0];

  const imbalance = () => {
    const value = ((signed / total) * blocks) / (blocks + BLOCK_PRESSURE_RULES.shrinkage);
    // The value is not finite before the first block, or if the sum of the notionals overflowed.
    return Number.isFinite(value) ? value : null;
  };
  const beginSession = () => {
    if (!isClosed) return;
    isClosed = false;
    const closed = imbalance();
    if (closed !== null && past.push(closed) > BASELINE_SESSIONS) past.shift();
    signed *= perSession;
    total *= perSession;
    blocks *= perSession;
  };
  return {
    beginSession,
    closeSession() {
      isClosed = true;
    },
    add(print) {
      beginSession();
      asOf = print.availableAt;
      if (print.canceled || !isBlockTrade(print)) return;
      hasBlocks = true;
      const side = estimatedSide(print);
      if (side === null) return;
      const notional = print.price * print.sizeShares;
      signed += side * notional;
      total += notional;
      blocks++;
    },
    read() {
      const value = imbalance();
      const z = value === null ? undefined : zAgainstHistory(value, past, MIN_BASELINE_SESSIONS);
      return { hasBlocks, imbalance: value, blocks, z: z ?? null, asOf };
    },
  };
}
