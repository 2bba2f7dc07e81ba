import type { AssetClass } from "../../../market/instrument.ts";
import type { BacktestVerdict } from "../../../score/backtest-verdicts.ts";
import { CANDIDATE } from "../../../score/candidate.ts";
import { periodsForPower, type SeriesSummary } from "../../../statistics/series-summary.ts";
import { type ClassResult, decisiveIc, type HorizonResult } from "../class-results.ts";
import { type PromotionStatus, promotionStatusOf } from "../promotion.ts";
import { type BacktestQuestion, type BacktestSubject, SESSIONS_PER_YEAR } from "../question.ts";
import { minBookInstruments } from "../rank-book.ts";
import type { ReportAccuracy } from "../report-dates.ts";
import type { RiskAdjusted } from "../risk-adjusted.ts";
import type { BacktestResult } from "../run-backtest.ts";
import { MIN_SAME_DAY_INSTRUMENTS } from "../same-day.ts";
import { MIN_VERDICT_PERIODS, STRONG_T_VALUE, WEAK_T_VALUE } from "../verdict.ts";
import {
  coefficientRangeText,
  coefficientText,
  plainNumberText,
  reportPercentText,
  reportWholeNumberText,
  tValueText,
} from "./figures.ts";

/** Phrases for the subject of a backtest. */
export const SUBJECT_WORDS: Readonly<Record<BacktestSubject, string>> = {
  composite: "the composite score",
  momentum: "momentum alone",
  valuation: "valuation alone",
  social: "the tone of messages alone",
  darkpool: "off-exchange pressure alone",
  "method-2": "the candidate method 2",
};

/** Names of the asset classes. */
export const CLASS_WORDS: Readonly<Record<AssetClass, string>> = {
  stock: "Stocks",
  etf: "Exchange-traded funds",
  crypto: "Coins",
};

/** Names of the verdicts. */
export const VERDICT_WORDS: Readonly<Record<BacktestVerdict, string>> = {
  insufficient_data: "Not enough data",
  inverted: "Inverted",
  no_evidence: "No evidence",
  weak_positive: "Weakly positive",
  positive: "Positive",
};

/** What each verdict means. */
const MEANINGS: Readonly<Record<BacktestVerdict, string>> = {
  insufficient_data: "There is too little history, or too few instruments, to say anything.",
  inverted: "High scores were followed by lower returns than low scores. Do not use it as it is.",
  no_evidence: "The returns after high and low scores were indistinguishable from chance.",
  weak_positive:
    "High scores were followed by somewhat higher returns, by a margin within the reach of luck.",
  positive: "High scores were followed by higher returns, by a margin that luck rarely reaches.",
};

/** The interval between graded dates, in words. */
export const paceWords = ({ pace }: BacktestQuestion): string =>
  pace === "week" ? "the last session of each week" : "every session";

/** Sentences on the meaning and caveats of the verdict on a class. */
export function verdictSentences(result: ClassResult): readonly string[] {
  const { verdict, trials } = result;
  if (!headlineIc(result)) return [MEANINGS[verdict]];
  const tried =
    trials.variants > 1
      ? [
          `${reportWholeNumberText(trials.variants)} variants were tried so far, which the verdict takes into account.`,
        ]
      : [];
  return [MEANINGS[verdict], ...tried, ...suspicion(result)];
}

/** The result for the horizon of the verdict. */
export const headlineResult = ({ horizons, headline }: ClassResult): HorizonResult | undefined =>
  horizons.find(({ horizon }) => horizon === headline);

/** The coefficient on which the verdict is based; `undefined` if it was not measured. */
export function headlineIc(result: ClassResult): SeriesSummary | undefined {
  const headline = headlineResult(result);
  return (headline && decisiveIc(headline, result.basis)) ?? undefined;
}

/** What the coefficients are called whose returns are as they were, or neutral. */
export const BASIS_WORDS: Readonly<Record<ClassResult["basis"], string>> = {
  raw: "Rank correlation",
  neutral: "Neutral rank correlation",
};

/** A number of sessions in words, for example `1 session`. */
export const sessionCountText = (count: number): string =>
  `${count} session${count === 1 ? "" : "s"}`;

/** Coefficients above this value are implausible for this kind of score. */
const SUSPICIOUS_IC = 0.05;

function suspicion({ horizons }: ClassResult): readonly string[] {
  const high = horizons.filter(({ ic }) => ic !== null && ic.mean > SUSPICIOUS_IC);
  if (high.length === 0) return [];
  return [
    `Over ${high.map(({ horizon }) => horizon).join(", ")} sessions the coefficient is above ${SUSPICIOUS_IC}. ` +
      "That is more often a mistake, a biased sample or a short one than a discovery: look for what was known too early, and for what is missing from the data.",
  ];
}

/** The headline coefficient as a sentence; `undefined` if it was not measured. */
export function headlineSentence(result: ClassResult): string | undefined {
  const ic = headlineIc(result);
  if (!ic) return undefined;
  return (
    `${BASIS_WORDS[result.basis]} of score and return over ${sessionCountText(result.headline)}: ${coefficientText(ic.mean)}, ` +
    `95 % interval ${coefficientRangeText(ic.interval)}, t ${tValueText(ic.t)}, ${reportWholeNumberText(ic.dates)} dates.`
  );
}

/**
 * The number of years needed for 80 % power, as a sentence; `undefined` if not applicable. The
 * t-statistic, which accounts for overlapping dates, grows with the square root of time and has to
 * reach 2.80.
 */
export function powerSentence(result: ClassResult): string | undefined {
  const { assetClass, step } = result;
  const ic = headlineIc(result);
  const factor = ic ? periodsForPower(ic.t, 1) : null;
  if (!ic || factor === null || factor <= 1) return undefined;
  const years = (ic.dates * step) / SESSIONS_PER_YEAR[assetClass];
  const needed = years * factor;
  return (
    `A true coefficient of this size would need ${needed > 1_000 ? "more than 1,000" : `about ${reportWholeNumberText(needed)}`} years ` +
    `to be detected with 80 % power; there are ${years.toFixed(1)}.`
  );
}

/** Sentences that explain the rule of the verdict. */
export const VERDICT_RULE_SENTENCES: readonly string[] = [
  "Stocks are judged by the neutral rank correlation over 5 sessions: against the residuals of returns per unit of volatility on beta, volatility, size and sector. Coins, funds and single instruments are judged by the raw one.",
  `Not enough data: fewer than ${MIN_VERDICT_PERIODS} independent periods.`,
  `Positive: the 95 % interval lies above 0, and t reaches ${STRONG_T_VALUE} and the t that the best of all variants tried reaches by luck in 5 % of cases.`,
  `Weakly positive: the same with t from ${WEAK_T_VALUE}.`,
  `Inverted: the interval lies below 0 and t reaches minus ${WEAK_T_VALUE}, with the same allowance.`,
  "No evidence: anything else.",
  "The horizon of a verdict is fixed beforehand. In the tables, the other three count as four times as many variants.",
];

/** Sentences on the limitations of the data and the method. */
export function caveats({ classes, question, source }: BacktestResult): readonly string[] {
  const counts = classes.map(
    ({ assetClass, coverage }) =>
      `${CLASS_WORDS[assetClass].toLowerCase()}: ${reportWholeNumberText(coverage.ended)} of ${reportWholeNumberText(coverage.instruments)}`,
  );
  return [
    `Survivorship: a market folder holds the instruments that somebody chose to put there, often those that exist today. Of those here, this many stopped trading before the end: ${counts.join("; ")}. Names that failed and are missing make every long position look better than it was.`,
    "An instrument that stops trading keeps its last price: what a holder lost after that is not in the figures.",
    "Returns begin at the close of the session after the score. Spreads, market impact, borrowing costs and taxes are left out; the costs shown are a plain charge per trade.",
    "Returns overlap where the horizon is longer than the step, so neighboring dates tell much the same. Intervals and t allow for it: simulated without any skill, 5 to 6 % of the intervals miss 0.",
    "Sectors are those of today. Messages are read by the lexicon.",
    `Nothing after ${question.to} is used. What was known when follows the dates that the data carry (${source.name}: ${source.terms})`,
    "The method's weights and thresholds were chosen by people who knew much of this history. A test on the past cannot undo that.",
    "A long or short signal is a summary of evidence. It is not advice.",
  ];
}

/** A sentence on the graded instruments and dates. */
export function coverageSentence({ comparison, coverage, leftOut }: ClassResult): string {
  const { instruments, dates, names, share } = coverage;
  if (comparison === "through_time") {
    return (
      `One instrument, ${reportWholeNumberText(dates)} dates: its own values are compared with what followed each. ` +
      `It had a value on ${reportPercentText(share)} of the dates on which it traded.` +
      leftOutSentence(leftOut)
    );
  }
  return (
    `${reportWholeNumberText(instruments)} instruments, ${reportWholeNumberText(dates)} dates, ` +
    `${reportWholeNumberText(names.fewest)} to ${reportWholeNumberText(names.most)} with a value per date ` +
    `(median ${reportWholeNumberText(names.median)}; ${reportPercentText(share)} of those that traded).` +
    leftOutSentence(leftOut)
  );
}

/** Why there is no decile book; `undefined` if there is one, or at most one instrument. */
export function decileReason({
  comparison,
  coverage,
  horizons,
}: Pick<ClassResult, "comparison" | "coverage" | "horizons">): string | undefined {
  if (comparison === "through_time" || coverage.names.most === 0) return undefined;
  if (horizons.some(({ book }) => book !== null)) return undefined;
  return `Deciles: left out. They need at least ${minBookInstruments(10)} instruments on a date, three in each; there are at most ${coverage.names.most}.`;
}

/** What the table of return and risk shows. */
export const riskAdjustedSentence = ({ from, to, market }: RiskAdjusted): string =>
  `From ${from} to ${to}. Every session counts once. Returns are arithmetic means; no risk-free rate is subtracted. Alpha is the part that a regression on the benchmark leaves. The equal weight holds every graded instrument. ` +
  (market === null
    ? "The folder has no instrument that stands for the market."
    : `The market is ${market.symbol}, which has returns from ${market.from} to ${market.to}: its row and the alphas to it are of these sessions.`);

function leftOutSentence({ copies, still }: ClassResult["leftOut"]): string {
  const reasons = [
    ...(copies.length > 0 ? [`${copies.join(", ")} (moving like an older one)`] : []),
    ...(still.length > 0 ? [`${still.join(", ")} (hardly moving)`] : []),
  ];
  return reasons.length === 0 ? "" : ` Not graded: ${reasons.join("; ")}.`;
}

/**
 * Why a measure specific to the subject is missing; `undefined` if it is present or does not apply.
 */
export function missingMeasureSentence(
  { sameDay, nextOpen }: Pick<ClassResult, "sameDay" | "nextOpen">,
  subject: BacktestSubject,
): string | undefined {
  if (subject === "social" && sameDay === null) {
    return `Same day: left out, because fewer than two sessions have ${MIN_SAME_DAY_INSTRUMENTS} names with messages and a return.`;
  }
  if (subject === "darkpool" && nextOpen === null) {
    return "Short ratio and the session after its publication: left out, because too few sessions have names with short volumes and a return.";
  }
  return undefined;
}

/**
 * A sentence on the status of the candidate method under its registered promotion rule; `undefined`
 * for other subjects.
 */
export function promotionSentence(
  result: ClassResult,
  question: BacktestQuestion,
): string | undefined {
  const promotion = promotionStatusOf(result, question);
  return promotion && `Registered ${CANDIDATE.registered}: ${PROMOTION_WORDS[promotion]}`;
}

const PROMOTION_WORDS: Readonly<Record<PromotionStatus, string>> = {
  not_live:
    "sessions up to then were known when it was designed, so this run is no evidence for it.",
  too_early: `fewer than ${CANDIDATE.rule.minSessions} live sessions are graded, too few for its registered rule.`,
  held: "the registered rule is met.",
  failed: "the registered rule is not met.",
};

/** A sentence on the accuracy of the predicted filing dates. */
export const earningsReportsSentence = ({
  filings,
  missing,
  medianError,
  within7,
  inside,
  windowDays,
}: ReportAccuracy): string =>
  `Next report: of ${reportWholeNumberText(filings)} filings ${reportPercentText(within7)} came within 7 days of the expected day, and ${reportPercentText(inside)} inside the window of ${windowDays.toFixed(1)} days; median error in days: ${plainNumberText(medianError)}. ${reportWholeNumberText(missing)} more were expected and not filed before the next quarter's.`;
