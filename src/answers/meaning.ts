import { DIRECTION_EVIDENCE, type DirectionEvidence } from "../score/backtest-verdicts.ts";

/** The sentences on what a score means and what a direction is worth. Pages, tools, the MCP server,
 *  README and docs quote these and say it in no other words, so that none claims more than was
 *  measured. */

/** What a score is (`compose` in src/score/composite.ts). */
export const SCORE_IS =
  "A score is the normal distribution function of the weighted evidence, in points from 0 to 100: 50 is no evidence either way.";

/** What a score is often mistaken for. */
export const SCORE_IS_NOT = "It is not a percentile, not a probability and not investment advice.";

/** How `DIRECTION_WORTH` begins, for a place from which the figures are one click away. */
export const DIRECTION_WORTH_IN_SHORT =
  "In the published backtest scores could not be told from chance";

/** What the directions were worth in the backtest. */
export const DIRECTION_WORTH = `${DIRECTION_WORTH_IN_SHORT}: their rank correlation with later returns was ${measured(DIRECTION_EVIDENCE.stock)}, and ${measured(DIRECTION_EVIDENCE.crypto)}.`;

/** What the service is useful for. */
export const SCORE_USE =
  "A score shows the evidence openly, number by number, so that you can check what is said about an instrument.";

/** The measured rank correlation in words, for example "−.0121 over 21 sessions (95 % interval
 *  −.0341 to +.0089; 369 large US stocks, 2014-07 to 2024-12)". */
function measured({ ic, interval, horizon, universe, period }: DirectionEvidence): string {
  if (ic === null || interval === null) return `not measured (${universe})`;
  const { low, high } = interval;
  const when = period.replace("/", " to ");
  return `${decimal(ic, 4)} over ${horizon} (95 % interval ${decimal(low, 4)} to ${decimal(high, 4)}; ${universe}, ${when})`;
}

/** Why no probability of beating the class's median is published: a probability is published only
 *  while its out-of-sample skill is above 0 with the whole of its interval. */
export function pOutperformReason({ brierSkill, skillInterval }: DirectionEvidence): string {
  if (brierSkill === null || skillInterval === null) {
    return "There is too little data to measure its skill.";
  }
  const { low, high } = skillInterval;
  return `Its out-of-sample Brier skill was ${decimal(brierSkill, 5)} (95 % interval ${decimal(low, 5)} to ${decimal(high, 5)}): the interval does not lie above 0.`;
}

/** A number with its sign, and without the zero before the decimal point. */
function decimal(value: number, digits: number): string {
  const text = Math.abs(value).toFixed(digits).replace(/^0\./, ".");
  return `${value < 0 ? "−" : "+"}${text}`;
}
