import type { LimitNumbers } from "./classes.ts";

/** Part of every total that is reserved for networks that have used nothing. */
const RESERVE = 1 / 5;

/** One of the three numbers of a class. */
export type LimitLevel = keyof LimitNumbers;

/** What has been used of each number, in the units of the class. */
export type Used = Readonly<Record<LimitLevel, number>>;

/** The part of a total that is reserved for networks that have used nothing, rounded up. */
export const reserved = (total: number): number => Math.ceil(total * RESERVE);

/**
 * The number that refuses one more action; `undefined` if all three allow it. A network that has
 * used something gets nothing of the reserve.
 */
export function refusingLevel(most: LimitNumbers, used: Used): LimitLevel | undefined {
  if (used.caller >= most.caller) return "caller";
  if (used.network >= most.network) return "network";
  const total = used.network === 0 ? most.total : most.total - reserved(most.total);
  return used.total >= total ? "total" : undefined;
}

/** Fewest networks that can use up what is not reserved of a total, each of them its number. */
export const networksToReserve = ({ network, total }: LimitNumbers): number =>
  Math.ceil((total - reserved(total)) / network);
