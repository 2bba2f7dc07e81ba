import { DIRECTION_EVIDENCE_SUMMARY, DIRECTION_EVIDENCE_TEXT } from "../../src/answers/meaning.ts";
import {
  type MeasuredCoefficient,
  type MeasuredCoefficients,
  measuredEvidence,
} from "../../src/score/backtest-verdicts.ts";

const SETS = [
  ["select", "on which the parts were chosen"],
  ["confirm", "later dates"],
  ["wide", "other names, the same years"],
] as const;

/** What the documents quote of the evidence, word for word; longer texts before their parts. */
export const evidenceQuotes = (): readonly string[] => [
  evidenceTable(),
  DIRECTION_EVIDENCE_TEXT,
  DIRECTION_EVIDENCE_SUMMARY,
];

/** The table of docs/method-and-backtest.md: the score and its candidate on each set of stocks. */
function evidenceTable(): string {
  const rows = SETS.flatMap(([set, what]) => {
    const { universe, period, horizon, verdict, score, candidate } = measuredEvidence(set, "stock");
    const of = `${set} (${what}): ${universe}, ${period.replace("/", " to ")}, ${horizon} sessions`;
    return [
      row(`score, ${of}`, score, `\`${verdict}\``),
      ...(candidate === null ? [] : [row(`method-2, ${of}`, candidate, "")]),
    ];
  });
  return [
    "| Rank correlation with the return that followed | Neutral (95 % interval) | t | Raw (95 % interval) | t | Verdict |",
    "|---|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}

const row = (name: string, { neutral, raw }: MeasuredCoefficients, verdict: string): string =>
  `| ${name} | ${coefficient(neutral)} | ${tText(neutral)} | ${coefficient(raw)} | ${tText(raw)} | ${verdict} |`;

const coefficient = (one: MeasuredCoefficient | null): string =>
  one === null
    ? ""
    : `${decimal(one.mean, 4)} (${decimal(one.interval.low, 4)} to ${decimal(one.interval.high, 4)})`;

const tText = (one: MeasuredCoefficient | null): string => (one === null ? "" : decimal(one.t, 1));

function decimal(value: number, digits: number): string {
  const text = Math.abs(value).toFixed(digits).replace(/^0\./, ".");
  if (Number(text) === 0) return text;
  return `${value < 0 ? "−" : "+"}${text}`;
}
