import type { Print } from "../market/records.ts";
import { clip } from "./statistics.ts";

/** Block size of Regulation NMS Rule 600(b): at least one of the two. */
export const BLOCK_SIZE = { shares: 10_000, notionalUsd: 200_000 } as const;
/** Days after the newest off-exchange record from which a feed says nothing about today. */
export const MAX_FEED_AGE_DAYS = 5;
/** A graded sign nearer to the mid than this counts as the mid. */
export const MIN_SIGN = 0.1;

/** Off-exchange trading of one session. Cancelled prints are counted apart and nowhere else. */
export interface OffExchangeDay {
  readonly session: string;
  prints: number;
  shares: number;
  notionalUsd: number;
  blocks: number;
  blockShares: number;
  blockNotionalUsd: number;
  canceled: number;
}

/** A session without prints. */
export const emptyDay = (session: string): OffExchangeDay => ({
  session,
  prints: 0,
  shares: 0,
  notionalUsd: 0,
  blocks: 0,
  blockShares: 0,
  blockNotionalUsd: 0,
  canceled: 0,
});

/** Whether a print has block size. */
export const isBlock = ({ price, sizeShares }: Print): boolean =>
  sizeShares >= BLOCK_SIZE.shares || price * sizeShares >= BLOCK_SIZE.notionalUsd;

/**
 * Graded quote rule: clip(2 (price - mid) / (ask - bid), -1, 1), 0 below 0.1; positive for buys.
 *
 * @returns `null` without quotes, with a locked or crossed market, or when the sale conditions say
 *   that the price did not come from the quotes. There is no tick-rule fallback.
 */
export function sideProxy({ price, bid, ask, signable }: Print): number | null {
  if (!signable || bid === null || ask === null || ask <= bid) return null;
  const sign = clip((2 * (price - (bid + ask) / 2)) / (ask - bid), 1);
  return Math.abs(sign) < MIN_SIGN ? 0 : sign;
}

/** Adds one print to the days it belongs to, keyed by session in order of appearance. */
export function addPrint(days: Map<string, OffExchangeDay>, print: Print): void {
  const day = days.get(print.session) ?? emptyDay(print.session);
  days.set(print.session, day);
  if (print.canceled) {
    day.canceled++;
    return;
  }
  const notional = print.price * print.sizeShares;
  day.prints++;
  day.shares += print.sizeShares;
  day.notionalUsd += notional;
  if (!isBlock(print)) return;
  day.blocks++;
  day.blockShares += print.sizeShares;
  day.blockNotionalUsd += notional;
}
