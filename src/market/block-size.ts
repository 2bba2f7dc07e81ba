import type { Print } from "./records.ts";

/** Block size of Regulation NMS Rule 600(b): at least one of the two. */
export const BLOCK_SIZE = { shares: 10_000, notionalUsd: 200_000 } as const;

/** The block size in words. */
export const BLOCK_SIZE_TEXT = `${BLOCK_SIZE.shares.toLocaleString("en-US")} shares or USD ${BLOCK_SIZE.notionalUsd.toLocaleString("en-US")}`;

/** Whether a print has block size. */
export const isBlock = ({ price, sizeShares }: Pick<Print, "price" | "sizeShares">): boolean =>
  sizeShares >= BLOCK_SIZE.shares || price * sizeShares >= BLOCK_SIZE.notionalUsd;
