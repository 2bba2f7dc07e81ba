import { type Content, type Html, html } from "../../../http/pages/html.ts";
import type { ClassResult } from "../class-results.ts";
import type { HitRate } from "../hit-rates.ts";
import type { Slice } from "../slices.ts";
import {
  coefficient,
  coefficientRange,
  NO_VALUE,
  percent,
  signedPercent,
  tValue,
  wholeNumber,
} from "./figures.ts";
import { VERDICT_WORDS } from "./words.ts";

/** A table of figures whose first column is the row header. */
interface Table {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Content[])[];
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

/** Coefficients of all horizons. */
export const coefficientTable = ({ horizons }: ClassResult): Html =>
  scrollableTable({
    caption: "Rank correlation of score and return",
    columns: [
      "Sessions",
      "Mean",
      "95 % interval",
      "t\u00a0(Newey-West)",
      "t\u00a0(plain)",
      "Neutral",
      "t",
      "Shuffled",
      "Dates",
      "Verdict",
    ],
    rows: horizons.map(({ horizon, verdict, ic, neutralIc, shuffledIc }) => [
      horizon,
      coefficient(ic?.mean),
      ic ? coefficientRange(ic.interval) : NO_VALUE,
      tValue(ic?.neweyWestT),
      tValue(ic?.plainT),
      coefficient(neutralIc?.mean),
      tValue(neutralIc?.t),
      coefficient(shuffledIc?.mean),
      wholeNumber(ic?.dates),
      VERDICT_WORDS[verdict],
    ]),
  });

/** The decile book of all horizons; `undefined` where there is none. */
export function bookTable({ horizons }: ClassResult): Html | undefined {
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
      horizon,
      ...book.net.map(({ mean }) => signedPercent(mean)),
      `${signedPercent(book.spread.interval.low)} to ${signedPercent(book.spread.interval.high)}`,
      tValue(book.spread.t),
      percent(book.turnover, 0),
      percent(book.maxDrawdown, 0),
      percent(deflatedSharpe, 0),
    ]),
  });
}

/** Hit rates beside base rates. */
export const hitTable = ({ horizons }: ClassResult): Html =>
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
      horizon,
      ...rateCells(hits?.long),
      ...rateCells(hits?.short),
      percent(hits?.median.rate),
      signedPercent(hits?.long.meanReturn),
      signedPercent(hits?.alwaysLong.meanReturn),
    ]),
  });

const rateCells = (rate: HitRate | undefined): readonly string[] =>
  rate === undefined || rate.calls === 0
    ? [NO_VALUE, NO_VALUE]
    : [percent(rate.rate), percent(rate.baseRate)];

/** Means by subset of the dates. */
export const sliceTable = (caption: string, slices: readonly Slice[]): Html =>
  scrollableTable({
    caption,
    columns: ["Part", "Mean", "t (plain)", "Dates"],
    rows: slices.map(({ label, mean, plainT, dates }) => [
      label,
      coefficient(mean),
      tValue(plainT),
      wholeNumber(dates),
    ]),
  });
