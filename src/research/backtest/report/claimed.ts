import { type Html, html } from "../../../markup/html.ts";
import type { TerminalLine } from "../../../outbound/terminal-text.ts";
import type { SeriesSummary } from "../../../statistics/series-summary.ts";
import type { ClassResult, HorizonResult } from "../class-results.ts";
import type { BacktestQuestion } from "../question.ts";
import type { RankBook } from "../rank-book.ts";
import {
  coefficientRangeText,
  coefficientText,
  NO_VALUE,
  reportPercentText,
  reportSignedPercentText,
  reportWholeNumberText,
  tValueText,
} from "./figures.ts";
import { horizonCell, type PlainTable, scrollableTable } from "./tables.ts";
import { tableLines } from "./terminal-table.ts";
import { headlineIc, headlineResult, SUBJECT_WORDS, sessionCountText } from "./words.ts";

/** What the figures that are claimed rest on, as lines for a terminal. */
export const claimedLines = (
  result: ClassResult,
  question: BacktestQuestion,
): readonly TerminalLine[] => [
  ...tables(result, question).flatMap(({ caption, columns, rows }) => [
    `  ${caption}`,
    ...tableLines(columns, rows),
    "",
  ]),
  ...triedBefore(result).map((sentence) => `  ${sentence}`),
];

/** The same as a section of the page. */
export const claimedSection = (result: ClassResult, question: BacktestQuestion): Html =>
  html`${tables(result, question).map(scrollableTable)}
${triedBefore(result).map((sentence) => html`<p class="quiet">${sentence}</p>`)}`;

function tables(result: ClassResult, question: BacktestQuestion): readonly PlainTable[] {
  const main = headlineResult(result);
  if (main === undefined) return [];
  return [
    paceTable(result, main, question),
    ...partsTable(result, main),
    ...bookTable(result, main),
    ...tenthsTable(result),
  ];
}

/**
 * The coefficients of both paces, of the compared subject and by the estimator of the live claim.
 */
function paceTable(
  { headline, everySession, compared, claim }: ClassResult,
  { ic, neutralIc }: HorizonResult,
  { pace, subject }: BacktestQuestion,
): PlainTable {
  const row = (
    name: string,
    one: { readonly neutralIc: SeriesSummary | null; readonly ic: SeriesSummary | null },
  ) => [name, ...summaryCells(one.neutralIc), ...summaryCells(one.ic)];
  const graded = pace === "week" ? "each week" : "every session";
  return {
    caption: `Rank correlation over ${sessionCountText(headline)}`,
    columns: [
      ...["Graded", "Neutral", "95 % interval", "t", "Dates"],
      ...["Raw", "95 % interval", "t", "Dates"],
    ],
    rows: [
      row(`${SUBJECT_WORDS[subject]}, ${graded}`, { ic, neutralIc }),
      ...(everySession ? [row("the same, every session (windows overlap)", everySession)] : []),
      ...(claim ? [row("by the live claim's estimator", { neutralIc: claim, ic: null })] : []),
      ...(compared ? [row(`${SUBJECT_WORDS[compared.subject]}, ${graded}`, compared)] : []),
    ],
  };
}

const summaryCells = (summary: SeriesSummary | null): readonly string[] =>
  summary === null
    ? [NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE]
    : [
        coefficientText(summary.mean),
        coefficientRangeText(summary.interval),
        tValueText(summary.t),
        reportWholeNumberText(summary.dates),
      ];

/** The neutral coefficient by third of dollar volume and by year. */
function partsTable(
  { step }: ClassResult,
  { horizon, neutralThirds, neutralYears }: HorizonResult,
): readonly PlainTable[] {
  if (neutralYears.length === 0) return [];
  return [
    {
      caption: `Neutral rank correlation by third of dollar volume and by year, ${horizonCell(horizon, step)} sessions`,
      columns: ["Part", "Mean", "t", "Dates"],
      rows: [...neutralThirds, ...neutralYears].map(({ label, mean, t, dates }) => [
        label,
        coefficientText(mean),
        tValueText(t),
        reportWholeNumberText(dates),
      ]),
    },
  ];
}

/** The books of the top less the bottom fifth and tenth after costs. */
function bookTable(
  { headline }: ClassResult,
  { book, quintiles }: HorizonResult,
): readonly PlainTable[] {
  const books = [quintiles, book].filter((one) => one !== null);
  const costs = books[0]?.net.map(({ costBp }) => costBp);
  if (costs === undefined) return [];
  return [
    {
      caption: `Top less bottom group, held ${sessionCountText(headline)}: mean return`,
      columns: [
        "Groups",
        ...costs.map((cost) => (cost === 0 ? "Before costs" : `At ${cost} bp`)),
        ...["t before costs", "Break-even a trade", "Turnover"],
      ],
      rows: books.map((one) => [
        one.groups === 5 ? "fifths" : "tenths",
        ...one.net.map(({ mean }) => reportSignedPercentText(mean)),
        tValueText(one.spread.t),
        breakEvenText(one),
        reportPercentText(one.turnover, 0),
      ]),
    },
  ];
}

const breakEvenText = ({ breakEvenBp }: RankBook): string =>
  breakEvenBp === null ? "none" : `${breakEvenBp.toFixed(1)} bp`;

/** What followed the scores by tenth. */
function tenthsTable({ tenths }: ClassResult): readonly PlainTable[] {
  if (tenths === null) return [];
  return [
    {
      caption: `What followed within ${sessionCountText(tenths.horizon)}, by tenth of the scores`,
      columns: ["Tenth", "Mean neutral return", "Beat the median"],
      rows: tenths.tenths.map(({ neutralReturn, beatMedian }, tenth) => [
        String(tenth + 1),
        reportSignedPercentText(neutralReturn),
        reportPercentText(beatMedian),
      ]),
    },
  ];
}

/** How many variants were tried before the method was chosen, and what that means for t. */
function triedBefore(result: ClassResult): readonly string[] {
  const { methodTrials } = result;
  if (methodTrials === null) return [];
  const { searched, registered, tThreshold } = methodTrials;
  const t = headlineIc(result)?.t;
  const reached =
    t === undefined
      ? ""
      : ` The t of this run ${t >= tThreshold ? "reaches" : "does not reach"} it.`;
  return [
    `Before it was registered about ${searched} signals and composites were tried on the first sets; by luck alone the best of so many reaches a |t| of ${tThreshold.toFixed(2)} in 5 % of cases at most (Bonferroni).${reached} After that there ${registered === 1 ? "was one registered look" : `were ${registered} registered looks`} at stocks that nobody had looked at.`,
  ];
}
