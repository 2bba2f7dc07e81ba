import { type Html, html } from "../../../markup/html.ts";
import type { TerminalLine } from "../../../outbound/terminal-text.ts";
import type { SeriesSummary } from "../../../statistics/series-summary.ts";
import type { SetsResult, TogetherResult } from "../together.ts";
import {
  coefficientRangeText,
  coefficientText,
  NO_VALUE,
  reportWholeNumberText,
  tValueText,
} from "./figures.ts";
import { horizonCell, type PlainTable, scrollableTable } from "./tables.ts";
import { tableLines } from "./terminal-table.ts";
import { CLASS_WORDS, headlineResult, VERDICT_WORDS } from "./words.ts";

/** Explains how the sets are taken together. */
const TOGETHER_EXPLANATION =
  "Each score is compared within its own set. A date counts once: its coefficient is the mean over the sets that have it, weighted by their numbers of instruments. Sets that share their years are not independent.";

/** The sets together, as lines for a terminal. */
export const togetherLines = (result: SetsResult): readonly TerminalLine[] => [
  ...result.together.flatMap((one) => [
    "",
    [{ styles: ["bold" as const], text: titleOf(one) }],
    ...tablesOf(one, result).flatMap(({ caption, columns, rows }) => [
      `  ${caption}`,
      ...tableLines(columns, rows),
    ]),
  ]),
  ...(result.together.length > 0 ? ["", `  ${TOGETHER_EXPLANATION}`] : []),
];

/** The sets together, as a section of the page; `undefined` if they have no class in common. */
export const togetherSection = (result: SetsResult): Html | undefined =>
  result.together.length === 0
    ? undefined
    : html`<section id="together">
<h2>Together</h2>
${result.together.map(
  (one) => html`<h3>${titleOf(one)}</h3>
${tablesOf(one, result).map(scrollableTable)}`,
)}
<p class="quiet">${TOGETHER_EXPLANATION}</p>
</section>`;

const titleOf = ({ assetClass, verdict }: TogetherResult): string =>
  `${CLASS_WORDS[assetClass]}, all sets together: ${VERDICT_WORDS[verdict].toLowerCase()}`;

function tablesOf(together: TogetherResult, { sets }: SetsResult): readonly PlainTable[] {
  const { assetClass, horizon, basis, everySession, years, instruments } = together;
  const apart = sets.flatMap(({ set, classes }) =>
    classes.filter((one) => one.assetClass === assetClass).map((one) => ({ set, one })),
  );
  const step = apart[0]?.one.step ?? 1;
  const row = (name: string, count: number, measured: Measured) => [
    name,
    reportWholeNumberText(count),
    ...cells(measured.neutralIc),
    ...cells(measured.ic),
    reportWholeNumberText(measured.ic?.dates),
  ];
  return [
    {
      caption: `Rank correlation over ${horizonCell(horizon, step)} sessions, each set apart and together`,
      columns: [
        ...["Set", "Instruments", "Neutral", "95 % interval", "t"],
        ...["Raw", "95 % interval", "t", "Dates"],
      ],
      rows: [
        ...apart.map(({ set, one }) =>
          row(set, one.coverage.instruments, headlineResult(one) ?? NOTHING),
        ),
        row("together", instruments, together),
        ...(everySession
          ? [row("together, every session (windows overlap)", instruments, everySession)]
          : []),
      ],
    },
    {
      caption: `Together by year, ${basis}`,
      columns: ["Year", "Mean", "t", "Dates"],
      rows: years.map(({ label, mean, t, dates }) => [
        label,
        coefficientText(mean),
        tValueText(t),
        reportWholeNumberText(dates),
      ]),
    },
  ];
}

/** Coefficients of one set, or of several together. */
interface Measured {
  readonly ic: SeriesSummary | null;
  readonly neutralIc: SeriesSummary | null;
}

const NOTHING: Measured = { ic: null, neutralIc: null };

const cells = (summary: SeriesSummary | null): readonly string[] =>
  summary === null
    ? [NO_VALUE, NO_VALUE, NO_VALUE]
    : [
        coefficientText(summary.mean),
        coefficientRangeText(summary.interval),
        tValueText(summary.t),
      ];
