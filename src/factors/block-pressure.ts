import { isBlock } from "../market/block-size.ts";
import type { Print } from "../market/records.ts";
import { estimatedSide } from "./off-exchange.ts";
import { BASELINE_SESSIONS, decay, MIN_BASELINE_SESSIONS, ownHistoryZ } from "./statistics.ts";

/** Parameters of the block imbalance. */
export const BLOCK_PRESSURE_RULES = {
  /** Half-life of the imbalance in sessions. */
  halfLifeSessions: 3,
  /** Number of blocks at which the imbalance is halved: I' = I n / (n + 20). */
  shrinkage: 20,
} as const;

/** Reading before the first print. */
export const NO_BLOCKS: BlockReading = {
  hasBlocks: false,
  imbalance: null,
  blocks: 0,
  z: null,
  asOf: null,
};

/** Direction of block trading. */
export interface BlockReading {
  /** Whether there was any block, signed or not. */
  readonly hasBlocks: boolean;
  /** Imbalance in [-1, 1], shrunk for few blocks; `null` before the first signed block. */
  readonly imbalance: number | null;
  /** Decayed number of signed blocks. */
  readonly blocks: number;
  /** z of the imbalance against the previous 60 sessions, in [-3, 3]; `null` with fewer than 20. */
  readonly z: number | null;
  /** When the newest print became known, Unix milliseconds. */
  readonly asOf: number | null;
}

/** Running block imbalance of one instrument. */
export interface BlockPressure {
  /** Adds a print, in the order in which prints become known. */
  add(print: Print): void;
  /** Ends the session: a print that becomes known later belongs to the next one. */
  closeSession(): void;
  /** Begins the next session: the closed one becomes history, and everything decays. */
  beginSession(): void;
  read(): BlockReading;
}

/**
 * Creates an empty history.
 *
 * I = sum(side * notional) / sum(notional) over signed blocks, numerator, denominator and count
 * halved every three sessions; I' = I n / (n + 20). A print counts in the session in which it
 * becomes known.
 */
export function createBlockPressure(): BlockPressure {
  const perSession = decay(1, BLOCK_PRESSURE_RULES.halfLifeSessions);
  const past: number[] = [];
  let asOf: number | null = null;
  let hasBlocks = false;
  let isClosed = false;
  let [signed, total, blocks] = [0, 0, 0];

  const imbalance = () => {
    const value = ((signed / total) * blocks) / (blocks + BLOCK_PRESSURE_RULES.shrinkage);
    // No block yet, or the sum of the notionals overflowed.
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
      if (print.canceled || !isBlock(print)) return;
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
      const z = value === null ? undefined : ownHistoryZ(value, past, MIN_BASELINE_SESSIONS);
      return { hasBlocks, imbalance: value, blocks, z: z ?? null, asOf };
    },
  };
}
