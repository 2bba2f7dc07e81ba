import type { LimitLevel } from "../limits/admission.ts";
import {
  type LimitNumbers,
  type LimitOverrides,
  type RateName,
  rateClasses,
} from "../limits/classes.ts";
import { formerNames } from "../limits/former-names.ts";

/** A class with its three numbers. */
const CLASS = /^([a-z-]+)=(\d{1,9})\/(\d{1,9})\/(\d{1,9})$/;

/** A limit as `RATE_LIMITS` had it before there were classes: points and seconds. */
const FORMER = /^([a-z-]+)=(\d{1,9})\/(\d{1,6})$/;

/**
 * Parses `RATE_LIMITS`.
 *
 * @throws {Error} With a sentence about the first part that is wrong, which names what replaces a
 * former limit.
 */
export function parseLimits(text: string): LimitOverrides {
  const changed: { -readonly [name in keyof LimitOverrides]: LimitNumbers } = {};
  for (const part of text.split(/\s+/).filter((each) => each !== "")) {
    const [, name = "", ...numbers] = CLASS.exec(part) ?? [];
    if (name === "alerts" || isRateName(name)) {
      const [caller = 0, network = 0, total = 0] = numbers.map(Number);
      changed[name] = { caller, network, total };
      continue;
    }
    const [replacement, level, most] = replacementOf(part);
    const before = changed[replacement] ?? rateClasses[replacement];
    changed[replacement] = withNumber(before, level, most);
  }
  return changed;
}

const isRateName = (name: string): name is RateName => Object.hasOwn(rateClasses, name);

/** The number of a class that a former limit stands for. */
function replacementOf(part: string): readonly [RateName, LimitLevel, number] {
  const [, name = "", points, seconds] = FORMER.exec(part) ?? [];
  const [replacement, level] =
    formerNames[name] ?? (isRateName(name) ? ([name, "caller"] as const) : []);
  if (replacement === undefined) {
    const names = [...Object.keys(rateClasses), "alerts"].join(", ");
    throw new Error(`${part} names no limit; the names are ${names}.`);
  }
  const window = rateClasses[replacement].seconds;
  if (level !== undefined && Number(seconds) === window)
    return [replacement, level, Number(points)];
  throw new Error(
    `${part}: write ${replacement}=<caller>/<network>/<total> instead, within ${window} seconds; docs/limits.md explains it.`,
  );
}

/**
 * Sets one number; the wider ones become no smaller, so that they do not take back what is given.
 */
function withNumber(before: LimitNumbers, level: LimitLevel, most: number): LimitNumbers {
  const caller = level === "caller" ? most : before.caller;
  if (level === "total") return { caller, network: before.network, total: most };
  const network = level === "network" ? most : Math.max(before.network, caller);
  return { caller, network, total: Math.max(before.total, network) };
}
