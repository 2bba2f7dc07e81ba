import type { Print } from "./records.ts";

/** Minimum size of a block (Regulation NMS Rule 600(b)): this many shares or this value in USD. */
export const MIN_BLOCK_SIZE = { shares: 10_000, notionalUsd: 200_000 } as const;

/** The minimum size of a block, in words. */
export const BLOCK_SIZE_TEXT = `${MIN_BLOCK_SIZE.shares.toLocaleString("en-US")} shares or USD ${MIN_BLOCK_SIZE.notionalUsd.toLocaleString("en-US")}`;

/** Whether a print is a block. */
export const isBlockTrade = ({ price, sizeShares }: Pick<Print, "price" | "sizeShares">): boolean =>
  sizeShares >= MIN_BLOCK_SIZE.shares || price * sizeShares >= MIN_BLOCK_SIZE.notionalUsd;
