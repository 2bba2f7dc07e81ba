import { untrustedText } from "../elements.ts";
import { type Html, html } from "../html.ts";
import { addressOf, type Filter } from "./filter.ts";
import type { FactorName, Factors, MarketList, MarketRow } from "./market-list.ts";
import {
  answerNotes,
  classNames,
  factorNames,
  pointsBar,
  scoreBar,
  signalMark,
  statusLabels,
} from "./marks.ts";
import { dateTime, points } from "./number-format.ts";

/** Path of an instrument's page. */
export const instrumentPath = (symbol: string): string => `/market/${encodeURIComponent(symbol)}`;

/** A page of the market as a table, with links to the other pages. */
export function marketTable(list: MarketList, filter: Filter): Html {
  const { rows, found } = list;
  if (rows.length === 0) return emptyState(list, filter);
  const [first] = rows;
  const names = Object.keys(first?.factors ?? {}) as FactorName[];
  const note = names.length > 0 && " Factors are in points: they add up to the score less 50.";
  // Stacked rows lose their table semantics in browsers without an explicit role.
  return html`<table class="market" role="table">
<caption>${found === 1 ? "One instrument" : html`${found} instruments`}. 50 is no evidence either way.${note}</caption>
<thead role="rowgroup"><tr role="row">
${[
  "Instrument",
  "Class",
  "Signal",
  "Score",
  ...names.map((name) => factorNames[name]),
  "As of",
].map((title) => html`<th scope="col" role="columnheader">${title}</th>`)}
</tr></thead>
<tbody role="rowgroup">${rows.map(tableRow)}</tbody>
</table>
${pager(list, filter)}`;
}

function tableRow({ signal: row, factors }: MarketRow): Html {
  const { symbol, name, assetClass, signal, score, scoreRaw, status, asOf } = row;
  const warning = answerNotes[status];
  return html`<tr id="row-${symbol}" role="row">
<th scope="row" role="rowheader"><a href="${instrumentPath(symbol)}">${symbol}</a><span class="name">${untrustedText(name)}</span>${warning && html`<span class="tag">${warning}</span>`}</th>
<td class="class" role="cell">${classNames[assetClass]}</td>
<td class="direction" role="cell">${signalMark(signal)}</td>
<td class="score" role="cell"><data value="${scoreRaw}">${score}</data>${scoreBar(scoreRaw)}</td>
${factors && Object.entries(factors).map(([name, factor]) => factorCell(name as FactorName, factor))}
<td class="as-of" role="cell">${dateTime(asOf)}</td>
</tr>`;
}

function factorCell(name: FactorName, { z, contribution, status }: Factors[FactorName]): Html {
  const label = html`<span class="label" aria-hidden="true">${factorNames[name]}</span>`;
  return z === null
    ? html`<td class="factor" role="cell">${label}<span class="why">${statusLabels[status]}</span></td>`
    : html`<td class="factor" role="cell">${label}${points(contribution)}${status !== "ok" && html` <span class="why">${statusLabels[status]}</span>`}${pointsBar(contribution)}</td>`;
}

function emptyState({ total, found, pages }: MarketList, filter: Filter): Html {
  const { page, ...others } = filter;
  if (total === 0) {
    return html`<div class="empty"><p>No instrument has data yet. This page shows them as soon as one has.</p></div>`;
  }
  return found === 0
    ? html`<div class="empty"><p>No instrument fits.</p><p><a href="/#market">Show all ${total}</a></p></div>`
    : html`<div class="empty"><p>There is no page ${page}: what fits is on ${pages === 1 ? "one page" : html`${pages} pages`}.</p><p><a href="${addressOf(others)}#market">Go to the first page</a></p></div>`;
}

function pager({ page, pages }: MarketList, filter: Filter): Html | false {
  const link = (to: number, text: string, rel: "prev" | "next") =>
    to >= 1 &&
    to <= pages &&
    html`<a class="second" rel="${rel}" href="${addressOf({ ...filter, page: to })}#market">${text}</a>`;
  return (
    pages > 1 &&
    html`<nav class="pager" aria-label="Pages of the market">${link(page - 1, "Previous", "prev")}<span>Page ${page} of ${pages}</span>${link(page + 1, "Next", "next")}</nav>`
  );
}
