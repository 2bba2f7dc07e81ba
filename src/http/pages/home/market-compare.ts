import { instrumentPath } from "../../../lib/paths.ts";
import { type Html, type HtmlContent, html } from "../../../markup/html.ts";
import { filterHref, type MarketFilter } from "./filter.ts";
import type { MarketRow } from "./market-list.ts";
import { closesSparkline, factorPoints } from "./market-table.ts";
import { coverageText, factorNames, scoreBar, signalMark } from "./marks.ts";
import {
  dateTimeHtml,
  fixedDecimalsHtml,
  percentHtml,
  priceHtml,
  signedPercentHtml,
} from "./number-format.ts";

/** Table that compares the selected instruments; `false` if none is selected. */
export function comparisonSection(rows: readonly MarketRow[], filter: MarketFilter): Html | false {
  if (rows.length === 0) return false;
  const { compare = "", ...others } = filter;
  const line = (name: string, cell: (row: MarketRow) => HtmlContent) =>
    html`<tr><th scope="row">${name}</th>${rows.map((row) => html`<td>${cell(row)}</td>`)}</tr>\n`;
  const factors = Object.keys(rows[0]?.factors ?? {}) as (keyof typeof factorNames)[];
  return html`<section aria-labelledby="compare" class="card compare">
<div class="section-head"><h2 id="compare">Compared</h2><p><a href="/account/alerts/new?symbols=${encodeURIComponent(compare)}">Make an alert</a> <a href="${filterHref(others)}#market">Close</a></p></div>
<div class="scroller" tabindex="0"><table class="figures">
<thead><tr><th scope="col">Figure</th>${rows.map(({ signal: { symbol } }) => html`<th scope="col"><a href="${instrumentPath(symbol)}">${symbol}</a></th>`)}</tr></thead>
<tbody>${line("Signal", ({ signal }) => signalMark(signal.signal, signal))}${line("Since", ({ since }) => dateTimeHtml(since))}${line("Score", ({ signal }) => html`${fixedDecimalsHtml(1)(signal.scoreRaw)}${scoreBar(signal.scoreRaw, signal)}`)}${line("Smoothed", ({ signal }) => fixedDecimalsHtml(1)(signal.scoreSmoothed))}${line("Confidence", ({ signal }) => percentHtml(0)(signal.confidence))}${line("Coverage", ({ signal, missing }) => html`${percentHtml(0)(signal.coverage)} <span class="unit">${coverageText(signal.assetClass, missing)}</span>`)}${factors.map((factor) => line(`${factorNames[factor]}, points`, (row) => row.factors && factorPoints(row.factors[factor])))}${line("Price", (row) => row.price && priceHtml(row.price.value, row.currency))}${line("Newest session", ({ change }) => signedPercentHtml(change))}${line("60 sessions", closesSparkline)}</tbody>
</table></div>
</section>`;
}
