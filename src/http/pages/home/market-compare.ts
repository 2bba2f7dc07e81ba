import { instrumentPath } from "../../../../wellknown/paths.ts";
import { type Content, type Html, html } from "../html.ts";
import { addressOf, type Filter } from "./filter.ts";
import type { MarketRow } from "./market-list.ts";
import { closesLine } from "./market-table.ts";
import { coverageText, factorNames, scoreBar, signalMark } from "./marks.ts";
import { dateTime, fixed, percent, points, price, signedPercent } from "./number-format.ts";

/** A table that compares the selected instruments. */
export function comparison(rows: readonly MarketRow[], filter: Filter): Html | false {
  if (rows.length === 0) return false;
  const { compare = "", ...others } = filter;
  const line = (name: string, cell: (row: MarketRow) => Content) =>
    html`<tr><th scope="row">${name}</th>${rows.map((row) => html`<td>${cell(row)}</td>`)}</tr>\n`;
  const factors = Object.keys(rows[0]?.factors ?? {}) as (keyof typeof factorNames)[];
  return html`<section aria-labelledby="compare" class="card compare">
<div class="section-head"><h2 id="compare">Compared</h2><p><a href="/account/alerts/new?symbols=${encodeURIComponent(compare)}">Make an alert</a> <a href="${addressOf(others)}#market">Close</a></p></div>
<div class="scroller" tabindex="0"><table class="figures">
<thead><tr><th scope="col">Figure</th>${rows.map(({ signal: { symbol } }) => html`<th scope="col"><a href="${instrumentPath(symbol)}">${symbol}</a></th>`)}</tr></thead>
<tbody>${line("Signal", ({ signal }) => signalMark(signal.signal, signal.coverage))}${line("Since", ({ since }) => dateTime(since))}${line("Score", ({ signal }) => html`${fixed(1)(signal.scoreRaw)}${scoreBar(signal.scoreRaw, signal.coverage)}`)}${line("Smoothed", ({ signal }) => fixed(1)(signal.scoreSmoothed))}${line("Confidence", ({ signal }) => percent(0)(signal.confidence))}${line("Coverage", ({ signal, missing }) => html`${percent(0)(signal.coverage)} <span class="unit">${coverageText(signal.assetClass, missing)}</span>`)}${factors.map((factor) => line(`${factorNames[factor]}, points`, (row) => points(row.factors?.[factor].contribution ?? null)))}${line("Price", (row) => row.price && price(row.price.value, row.currency))}${line("Newest session", ({ change }) => signedPercent(change))}${line("60 sessions", closesLine)}</tbody>
</table></div>
</section>`;
}
