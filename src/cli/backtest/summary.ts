import type { ClassResult } from "../../backtest/judgement.ts";
import {
  change,
  coefficient,
  NONE,
  percent,
  range,
  tValue,
} from "../../backtest/report/figures.ts";
import {
  CLASS_WORDS,
  coverageSentence,
  paceWords,
  SUBJECT_WORDS,
  VERDICT_WORDS,
  verdictSentences,
} from "../../backtest/report/words.ts";
import type { BacktestResult } from "../../backtest/run-backtest.ts";

/** The result for people at a terminal. */
export function summaryText(result: BacktestResult): string {
  const { question, classes, methodVersion } = result;
  const names = question.symbols.length === 0 ? "" : `, ${question.symbols.join(", ")}`;
  return [
    `Backtest of ${SUBJECT_WORDS[question.subject]}, ${question.from} to ${question.to}${names}`,
    `Graded at ${paceWords(question)}, method ${methodVersion}`,
    ...classes.map(classText),
  ].join("\n");
}

function classText(result: ClassResult): string {
  const { assetClass, verdict, horizons, signals, sameDay } = result;
  const isMeasured = horizons.some(({ ic }) => ic !== null);
  return [
    "",
    `${CLASS_WORDS[assetClass]}: ${VERDICT_WORDS[verdict].toUpperCase()}`,
    ...verdictSentences(result).map((sentence) => `  ${sentence}`),
    `  ${coverageSentence(result)}`,
    ...(sameDay
      ? [
          `  Same day: ${coefficient(sameDay.mean)}, 95 % interval ${range(sameDay.interval)}, t ${tValue(sameDay.t)}.`,
        ]
      : []),
    ...(isMeasured ? ["", ...horizonLines(result), ""] : []),
    `  Published signal: LONG ${percent(signals.shares.LONG, 0)}, WAIT ${percent(signals.shares.WAIT, 0)}, SHORT ${percent(signals.shares.SHORT, 0)}; ` +
      `${signals.changesPerYear.toFixed(1)} changes a year, ${percent(signals.flipBackShare)} taken back.`,
  ].join("\n");
}

const HEADS = [
  "sessions",
  "IC",
  "95 % interval",
  "t",
  "neutral",
  "t",
  "LONG/base",
  "spread",
  "10 bp",
];

function horizonLines({ horizons }: ClassResult): readonly string[] {
  const rows = horizons.map(({ horizon, ic, neutralIc, hits, book }) => [
    String(horizon),
    coefficient(ic?.mean),
    ic ? range(ic.interval) : NONE,
    tValue(ic?.t),
    coefficient(neutralIc?.mean),
    tValue(neutralIc?.t),
    `${percent(hits?.long.rate)}/${percent(hits?.long.baseRate)}`,
    change(book?.spread.mean),
    change(book?.net.find(({ costBp }) => costBp === 10)?.mean),
  ]);
  const widths = HEADS.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => (row[column] ?? "").length)),
  );
  return [HEADS, ...rows].map(
    (row) => `  ${row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join("  ")}`,
  );
}
