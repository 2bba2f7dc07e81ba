import { type Html, type HtmlContent, html } from "../../../markup/html.ts";
import type { ClassResult } from "../class-results.ts";
import type { HitRate } from "../hit-rates.ts";
import type { Alpha } from "../risk-adjusted.ts";
import type { CoefficientSlice } from "../slices.ts";
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
import { sessionCountText, VERDICT_WORDS } from "./words.ts";

/** A table of figures whose first column is the row header. */
interface Table {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly HtmlContent[])[];
}

/** A table that the page and the terminal render alike. */
export interface PlainTable extends Table {
  readonly rows: readonly (readonly string[])[];
}

/** Renders a table that scrolls horizontally on narrow pages. */
export function scrollableTable({ caption, columns, rows }: Table): Html {
  return html`<div class="table" role="region" tabindex="0" aria-label="${caption}"><table>
<caption>${caption}</caption>
<thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${rows.map(
    ([name, ...cells]) =>
      html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`,
  )}</tbody>
</table></div>`;
}

/** Marks windows that overlap those of the next date. */
const OVERLAP_MARK = "*";

/** A horizon in sessions, marked if its windows overlap. */
export const horizonCell = (horizon: number, step: number): string =>
  `${horizon}${horizon > step ? OVERLAP_MARK : ""}`;

/** Explains the mark of overlapping windows; `undefined` if no window overlaps. */
export const overlapNote = ({ horizons, step }: ClassResult): string | undefined =>
  horizons.some(({ horizon }) => horizon > step)
    ? `${OVERLAP_MARK} Windows overlap those of the next dates, ${sessionCountText(step)} apart.`
    : undefined;

/** Table of the coefficients for all horizons. */
export const coefficientTable = ({ horizons, step, basis }: ClassResult): Html =>
  scrollableTable({
    caption: "Rank correlation of score and return",
    columns: [
      "Sessions",
      basis === "neutral" ? "Neutral" : "Raw",
      "95 % interval",
      "t",
      "t\u00a0(plain)",
      basis === "neutral" ? "Raw" : "Neutral",
      "t",
      "Shuffled",
      "Dates",
      "Of these without overlap",
      "Variants allowed for",
      "Verdict",
    ],
    rows: horizons.map(({ horizon, verdict, ic, neutralIc, shuffledIc, ...one }) => {
      const [first, second] = basis === "neutral" ? [neutralIc, ic] : [ic, neutralIc];
      return [
        horizonCell(horizon, step),
        coefficientText(first?.mean),
        first ? coefficientRangeText(first.interval) : NO_VALUE,
        tValueText(first?.t),
        tValueText(first?.plainT),
        coefficientText(second?.mean),
        tValueText(second?.t),
        coefficientText(shuffledIc?.mean),
        reportWholeNumberText(first?.dates),
        reportWholeNumberText(first && one.independentDates),
        reportWholeNumberText(one.looks),
        VERDICT_WORDS[verdict],
      ];
    }),
  });

/** Table of the decile book for all horizons; `undefined` if no horizon has a book. */
export function decileBookTable({ horizons, step }: ClassResult): Html | undefined {
  const books = horizons.flatMap(({ horizon, book, deflatedSharpe }) =>
    book ? [{ horizon, book, deflatedSharpe }] : [],
  );
  const costs = books[0]?.book.net.map(({ costBp }) => costBp);
  if (costs === undefined) return undefined;
  return scrollableTable({
    caption: "Top minus bottom decile, per holding period",
    columns: [
      "Sessions",
      ...costs.map((cost) => (cost === 0 ? "Before costs" : `At\u00a0${cost}\u00a0bp`)),
      ...["95 % interval before costs", "t", "Turnover", "Maximum drawdown", "Deflated Sharpe"],
    ],
    rows: books.map(({ horizon, book, deflatedSharpe }) => [
      horizonCell(horizon, step),
      ...book.net.map(({ mean }) => reportSignedPercentText(mean)),
      `${reportSignedPercentText(book.spread.interval.low)} to ${reportSignedPercentText(book.spread.interval.high)}`,
      tValueText(book.spread.t),
      reportPercentText(book.turnover, 0),
      reportPercentText(book.maxDrawdown, 0),
      reportPercentText(deflatedSharpe, 0),
    ]),
  });
}

/** Table of return and risk a year; `undefined` without a book. */
export function riskAdjustedTable({ riskAdjusted }: ClassResult): Html | undefined {
  if (riskAdjusted === null) return undefined;
  const { books, market } = riskAdjusted;
  const alphaCells = (alpha: Alpha | null): readonly string[] => [
    reportSignedPercentText(alpha?.perYear),
    tValueText(alpha?.t),
  ];
  return scrollableTable({
    caption: "Return and risk a year, session by session",
    columns: [
      ...["Book", "Return", "t", "Volatility", "Sharpe", "Maximum drawdown"],
      ...["Alpha to equal weight", "t", `Alpha to ${market?.symbol ?? "the market"}`, "t"],
    ],
    rows: books.map((book) => [
      book.name,
      reportSignedPercentText(book.returnPerYear),
      tValueText(book.t),
      reportPercentText(book.volatilityPerYear),
      sharpeText(book.sharpe),
      reportPercentText(book.maxDrawdown, 0),
      ...alphaCells(book.equalWeight),
      ...alphaCells(book.market),
    ]),
  });
}

/** Table of hit rates next to base rates. */
export const hitRateTable = ({ horizons, step }: ClassResult): Html =>
  scrollableTable({
    caption: "Hit rates of the calls, and base rates without any information",
    columns: [
      "Sessions",
      "LONG",
      "Base rate",
      "SHORT",
      "Base rate",
      "Side of the median",
      "Mean after LONG",
      "Mean, always LONG",
    ],
    rows: horizons.map(({ horizon, hits }) => [
      horizonCell(horizon, step),
      ...rateCells(hits?.long),
      ...rateCells(hits?.short),
      reportPercentText(hits?.median.rate),
      reportSignedPercentText(hits?.long.meanReturn),
      reportSignedPercentText(hits?.alwaysLong.meanReturn),
    ]),
  });

const rateCells = (rate: HitRate | undefined): readonly string[] =>
  rate === undefined || rate.calls === 0
    ? [NO_VALUE, NO_VALUE]
    : [reportPercentText(rate.rate), reportPercentText(rate.baseRate)];

/** Table of the mean coefficients by subset of the dates. */
export const sliceTable = (caption: string, slices: readonly CoefficientSlice[]): Html =>
  scrollableTable({
    caption,
    columns: ["Part", "Mean", "t", "Dates"],
    rows: slices.map(({ label, mean, t, dates }) => [
      label,
      coefficientText(mean),
      tValueText(t),
      reportWholeNumberText(dates),
    ]),
  });
