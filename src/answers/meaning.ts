import {
  DIRECTION_EVIDENCE,
  type DirectionEvidence,
  OTHER_STOCKS_EVIDENCE,
} from "../score/backtest-verdicts.ts";

/**
 * The sentences on what a score means and how predictive a direction is. Pages, tools, the MCP
 * server, README and docs quote these sentences without rewording, so that none of them claims more
 * than was measured.
 */

/**
 * The sentence that says what a score is (`scoreAt` in src/score/stock-score.ts, `composeScore`
 * in src/score/composite.ts).
 */
export const SCORE_MEANING =
  "A score ranks the evidence from 0 to 100: of a stock among the stocks of its session, of funds and coins by the normal distribution; 50 is the middle.";

/** The sentence that rules out common misreadings of a score. */
export const SCORE_CAVEAT = "It is not a probability, not a return and not investment advice.";

/** Whether the scores of stocks were shown to rank later returns, by the rule of the backtest. */
const isShown = ["weak_positive", "positive"].includes(DIRECTION_EVIDENCE.stock.verdict);

/** The first clause of `DIRECTION_EVIDENCE_TEXT`, for places that link to the figures. */
export const DIRECTION_EVIDENCE_SUMMARY = isShown
  ? "In the published backtests scores of stocks were slightly better than chance, before costs"
  : "In the published backtest scores could not be told from chance";

/** The sentence that says how predictive the directions were in the backtest. */
export const DIRECTION_EVIDENCE_TEXT = isShown
  ? `${DIRECTION_EVIDENCE_SUMMARY}: their neutral rank correlation with later returns was ${measured(DIRECTION_EVIDENCE.stock)}, and ${decimal(OTHER_STOCKS_EVIDENCE.ic ?? 0, 4)} for ${OTHER_STOCKS_EVIDENCE.universe}. Raw returns of the large ones, and coins, could not be told from chance.`
  : `${DIRECTION_EVIDENCE_SUMMARY}: their rank correlation with later returns was ${measured(DIRECTION_EVIDENCE.stock)}, and ${measured(DIRECTION_EVIDENCE.crypto)}.`;

/** The sentence that says what the evidence on directions does not show. */
export const DIRECTION_LIMITS_TEXT =
  "No profit after costs is shown at any size, 2000 to 2012 did not show it, and tone and off-exchange trades add none.";

/** The sentence that says what a score is useful for. */
export const SCORE_PURPOSE =
  "A score shows its evidence number by number, so that you can check it.";

/**
 * Describes the measured rank correlation, for example "+.0263 over 7 days (95 % interval −.0144
 * to +.0671; 13 coins, 2019-06 to 2024-12)".
 */
function measured({ ic, interval, basis, horizon, universe, period }: DirectionEvidence): string {
  if (ic === null || interval === null) return `not measured (${universe})`;
  const { low, high } = interval;
  const when = period.replace("/", " to ");
  const how = basis === "neutral" && !isShown ? "neutral; " : "";
  return `${decimal(ic, 4)} over ${horizon} (${how}95 % interval ${decimal(low, 4)} to ${decimal(high, 4)}; ${universe}, ${when})`;
}

/**
 * Explains why the answer has no probability that the instrument beats the median of its asset
 * class. The probability is published only if the whole confidence interval of its out-of-sample
 * skill is above 0.
 */
export function noProbabilityReason({ brierSkill, skillInterval }: DirectionEvidence): string {
  if (brierSkill === null || skillInterval === null) {
    return "There is too little data to measure its skill.";
  }
  const { low, high } = skillInterval;
  return `Its out-of-sample Brier skill was ${decimal(brierSkill, 5)} (95 % interval ${decimal(low, 5)} to ${decimal(high, 5)}): the interval does not lie above 0.`;
}

/** Formats a number with its sign and without the zero before the decimal point. */
function decimal(value: number, digits: number): string {
  const text = Math.abs(value).toFixed(digits).replace(/^0\./, ".");
  return `${value < 0 ? "−" : "+"}${text}`;
}
