import {
  type LimitNumbers,
  type LimitOverrides,
  type RateName,
  rateClasses,
} from "../../src/limits/classes.ts";

/** Numbers that no test reaches. */
const LOOSE: LimitNumbers = { caller: 100_000, network: 1_000_000, total: 10_000_000 };

/** A low number for each caller, and numbers for networks and in total that no test reaches. */
export const eachCaller = (caller: number): LimitNumbers => ({ ...LOOSE, caller });

/** Limits in windows of time that no test reaches. */
export const looseNumbers = Object.fromEntries(
  Object.keys(rateClasses).map((name) => [name, LOOSE]),
) as Readonly<Record<RateName, LimitNumbers>>;

/** A value of `RATE_LIMITS`. */
export const limitsSetting = (numbers: LimitOverrides): string =>
  Object.entries(numbers)
    .map(([name, { caller, network, total }]) => `${name}=${caller}/${network}/${total}`)
    .join(" ");
