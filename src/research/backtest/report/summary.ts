import type { TerminalLine, TextStyle } from "../../../outbound/terminal-text.ts";
import type { SeriesSummary } from "../../../statistics/series-summary.ts";
import type { ClassResult } from "../class-results.ts";
import type { BacktestQuestion } from "../question.ts";
import type { BacktestResult } from "../run-backtest.ts";
import type { SetsResult } from "../together.ts";
import { claimedLines } from "./claimed.ts";
import {
  coefficientRangeText,
  coefficientText,
  NO_VALUE,
  reportPercentText,
  reportSignedPercentText,
  reportWholeNumberText,
  sharpeText,
  tValueText,
} from "./figures.ts";
import { riskLines } from "./risk.ts";
import { steadinessLines } from "./steadiness.ts";
import { horizonCell, overlapNote } from "./tables.ts";
import { tableLines } from "./terminal-table.ts";
import { togetherLines } from "./together.ts";
import {
  CLASS_WORDS,
  coverageSentence,
  decileReason,
  earningsReportsSentence,
  headlineSentence,
  missingMeasureSentence,
  paceWords,
  promotionSentence,
  SUBJECT_WORDS,
  VERDICT_WORDS,
  verdictSentences,
} from "./words.ts";

const VERDICT_STYLES: Readonly<Record<ClassResult["verdict"], TextStyle>> = {
  insufficient_data: "dim",
  no_evidence: "yellow",
  inverted: "red",
  weak_positive: "green",
  positive: "green",
};

/** Renders the result of several sets as lines for a terminal: each set apart, then together. */
export const setsLines = (result: SetsResult): readonly TerminalLine[] => [
  ...result.sets.flatMap((one, index) => [
    ...(index === 0 ? [] : [""]),
    [{ styles: ["bold" as const], text: `Set ${one.set}` }],
    ...summaryLines(one),
  ]),
  ...togetherLines(result),
];

/** Renders the result as lines for a terminal. */
export function summaryLines(result: BacktestResult): readonly TerminalLine[] {
  const { question, classes, methodVersion } = result;
  const names = question.symbols.length === 0 ? "" : `, ${question.symbols.join(", ")}`;
  const title = `Backtest of ${SUBJECT_WORDS[question.subject]}, ${question.from} to ${question.to}${names}`;
  return [
    [{ styles: ["bold"], text: title }],
    `Graded at ${paceWords(question)}, method ${methodVersion}`,
    ...classes.flatMap((one) => classLines(one, question)),
  ];
}

function classLines(result: ClassResult, question: BacktestQuestion): readonly TerminalLine[] {
  const { assetClass, verdict, horizons, signals, sameDay, nextOpen } = result;
  const styles = ["bold", VERDICT_STYLES[verdict]] as const;
  const words = { styles, text: VERDICT_WORDS[verdict].toUpperCase() };
  const sentences = [
    headlineSentence(result),
    ...verdictSentences(result),
    coverageSentence(result),
    missingMeasureSentence(result, question.subject),
    decileReason(result),
    promotionSentence(result, question),
  ];
  const isMeasured = horizons.some(({ ic }) => ic !== null);
  return [
    "",
    [`${CLASS_WORDS[assetClass]}: `, words],
    ...sentences.filter((sentence) => sentence !== undefined).map((sentence) => `  ${sentence}`),
    ...extraLine("Same day", sameDay),
    ...extraLine("Short ratio and the session after its publication, open to close", nextOpen),
    ...(isMeasured ? ["", ...horizonLines(result), "", ...claimedLines(result, question)] : []),
    ...riskAdjustedLines(result),
    ...riskLines(result),
    ...steadinessLines(result),
    ...(result.reports === null ? [] : [`  ${earningsReportsSentence(result.reports)}`]),
    `  Published signal: LONG ${reportPercentText(signals.shares.LONG, 0)}, WAIT ${reportPercentText(signals.shares.WAIT, 0)}, SHORT ${reportPercentText(signals.shares.SHORT, 0)}; ` +
      `${signals.changesPerYear.toFixed(1)} changes a year, ${reportPercentText(signals.flipBackShare)} reversed.`,
  ];
}

const extraLine = (what: string, summary: SeriesSummary | null): readonly string[] =>
  summary === null
    ? []
    : [
        `  ${what}: ${coefficientText(summary.mean)}, 95 % interval ${coefficientRangeText(summary.interval)}, ` +
          `t ${tValueText(summary.t)}, ${reportWholeNumberText(summary.dates)} sessions.`,
      ];

const heads = ({ basis }: ClassResult): readonly string[] => [
  "sessions",
  ...(basis === "neutral" ? ["neutral IC"] : ["IC"]),
  "95 % interval",
  "t",
  ...(basis === "neutral" ? ["raw IC"] : ["neutral"]),
  "t",
  "LONG/base",
  "spread",
  "10 bp",
  "variants",
];

function horizonLines(result: ClassResult): readonly TerminalLine[] {
  const { horizons, step, basis } = result;
  const rows = horizons.map(({ ic, neutralIc, ...one }) => {
    const [first, second] = basis === "neutral" ? [neutralIc, ic] : [ic, neutralIc];
    return [
      horizonCell(one.horizon, step),
      coefficientText(first?.mean),
      first ? coefficientRangeText(first.interval) : NO_VALUE,
      tValueText(first?.t),
      coefficientText(second?.mean),
      tValueText(second?.t),
      `${reportPercentText(one.hits?.long.rate)}/${reportPercentText(one.hits?.long.baseRate)}`,
      reportSignedPercentText(one.book?.spread.mean),
      reportSignedPercentText(one.book?.net.find(({ costBp }) => costBp === 10)?.mean),
      reportWholeNumberText(one.looks),
    ];
  });
  const note = overlapNote(result);
  return [...tableLines(heads(result), rows), ...(note === undefined ? [] : [`  ${note}`])];
}

const BOOK_HEADS = [
  "a year",
  "return",
  "t",
  "volatility",
  "Sharpe",
  "alpha",
  "t",
  "to market",
  "t",
];

function riskAdjustedLines({ riskAdjusted }: ClassResult): readonly TerminalLine[] {
  if (riskAdjusted === null) return [];
  const rows = riskAdjusted.books.map((book) => [
    book.name,
    reportSignedPercentText(book.returnPerYear),
    tValueText(book.t),
    reportPercentText(book.volatilityPerYear),
    sharpeText(book.sharpe),
    ...[book.equalWeight, book.market].flatMap((alpha) => [
      reportSignedPercentText(alpha?.perYear),
      tValueText(alpha?.t),
    ]),
  ]);
  return [...tableLines(BOOK_HEADS, rows), ""];
}
