import { CANDIDATE } from "../../score/candidate.ts";
import type { ClassMeasures } from "./class-measures.ts";
import type { BacktestQuestion } from "./question.ts";

/**
 * Status of the candidate method under its registered promotion rule:
 * - `not_live`: the backtest begins on or before the day of registration
 * - `too_early`: there are fewer sessions than the rule requires
 * - `held`: the rule is met
 * - `failed`: the rule is not met
 */
export type PromotionStatus = "not_live" | "too_early" | "held" | "failed";

/**
 * Applies the registered promotion rule of the candidate method; `undefined` for other subjects and
 * classes.
 */
export function promotionStatusOf(
  { assetClass, step, horizons }: Pick<ClassMeasures, "assetClass" | "step" | "horizons">,
  { subject, from }: Pick<BacktestQuestion, "subject" | "from">,
): PromotionStatus | undefined {
  if (subject !== CANDIDATE.name || assetClass !== "stock") return undefined;
  if (from <= CANDIDATE.registered) return "not_live";
  const { horizon, minSessions, costBp } = CANDIDATE.rule;
  const measured = horizons.find((one) => one.horizon === horizon);
  const { neutralIc = null, registeredInterval = null, book = null } = measured ?? {};
  if (!neutralIc || !registeredInterval || !book || neutralIc.dates * step < minSessions) {
    return "too_early";
  }
  const net = book.net.find((one) => one.costBp === costBp)?.mean ?? 0;
  return registeredInterval.low > 0 && net > 0 ? "held" : "failed";
}
