import { SCORE_CAVEAT, SCORE_MEANING } from "../../../answers/meaning.ts";
import { roundToWholePoints } from "../../../answers/rounding.ts";
import { STEADINESS_MEANING } from "../../../answers/steadiness.ts";
import { instrumentPath } from "../../../lib/paths.ts";
import type { WeakMatch } from "../../../market/symbols.ts";
import { type Html, html } from "../../../markup/html.ts";
import { SIGNAL_THRESHOLDS } from "../../../score/signal-hysteresis.ts";
import { untrustedText } from "../elements.ts";
import {
  filterHref,
  MARKET_SORTS,
  MAX_COMPARED_INSTRUMENTS,
  type MarketFilter,
  type MarketSort,
} from "./filter.ts";
import type { MarketList, MarketRow } from "./market-list.ts";
import {
  answerStatusNotes,
  coverageBar,
  coverageText,
  type FactorAnswers,
  type FactorName,
  factorNames,
  factorStatusLabels,
  pointsBar,
  scoreBar,
  signalMark,
  sparkline,
} from "./marks.ts";
import {
  dateTimeHtml,
  percentHtml,
  pointsHtml,
  priceText,
  signedPercentHtml,
} from "./number-format.ts";

/** The sort order of each sortable column, by the header of the column. */
const sorted: Readonly<Record<string, MarketSort>> = {
  Instrument: "symbol",
  Score: "score",
  Day: "change",
  Coverage: "coverage",
  Confidence: "confidence",
  Steadiness: "steadiness",
  Since: "since",
};

/** Whether a text is the name of a sort order. */
const isSort = (name: string): name is MarketSort => Object.hasOwn(MARKET_SORTS, name);

/**
 * A column header. Its link sorts by the column, or reverses the order if the column is already
 * sorted.
 */
function header(title: string, filter: MarketFilter): Html {
  const sort = sorted[title];
  if (sort === undefined) return html`<th scope="col" role="columnheader">${title}</th>`;
  const { page: _, sort: current = "symbol", ...others } = filter;
  const opposite = `-${sort}`;
  const next = current === sort && isSort(opposite) ? opposite : sort;
  const direction =
    current === sort ? (sort === "symbol" ? "ascending" : "descending") : "ascending";
  const isCurrent = current === sort || current === opposite;
  return html`<th scope="col" role="columnheader"${isCurrent && html` aria-sort="${direction}"`}><a href="${filterHref({ ...others, sort: next })}#market">${title}</a></th>`;
}

const { stock: STOCK, etf: OTHER } = SIGNAL_THRESHOLDS;

/** Text that explains why a signal can contradict the score next to it. */
const SIGNAL_RULE = `In brackets the smoothed score, which decides the signal: of stocks LONG from ${STOCK.enterLong} until it falls under ${STOCK.exitLong}, SHORT from ${STOCK.enterShort} until it rises over ${STOCK.exitShort}; of funds and coins LONG from ${OTHER.enterLong} until under ${OTHER.exitLong}, SHORT from ${OTHER.enterShort} until over ${OTHER.exitShort}.`;

/** What the names have of a search text that finds nothing that is likely meant. */
const WEAK_MATCH: Readonly<Record<WeakMatch, string>> = {
  some: "only some words of the text",
  substring: "the text only inside a word",
};

/** The filter as hidden fields of the form that compares, so that comparing keeps it. */
const hiddenFilter = ({ compare: _, ...others }: MarketFilter): readonly Html[] =>
  Object.entries(others)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);

/** A page of the market as a table, with links to the other pages. */
export function marketTable(list: MarketList, filter: MarketFilter): Html {
  const { rows, found } = list;
  if (rows.length === 0) return html`${countLinks(list, filter)}${emptyState(list, filter)}`;
  const [first] = rows;
  const names = Object.keys(first?.factors ?? {}) as FactorName[];
  const note = names.length > 0 && " Factors are in points: they add up to the score less 50.";
  // There is room for one of the two on a desktop.
  const isBySteadiness = filter.sort?.endsWith("steadiness") ?? false;
  const titles = [
    ...[
      "Instrument",
      "Signal",
      "Score",
      "Price",
      "Day",
      "60 sessions",
      "Coverage",
      isBySteadiness ? "Steadiness" : "Confidence",
      "Since",
    ],
    ...names.map((name) => factorNames[name]),
  ];
  // Rows are stacked on narrow screens, and some browsers then drop the table semantics without an
  // explicit role.
  return html`<div class="tools">${countLinks(list, filter)}
<form id="pick" method="get" action="/#compare">${hiddenFilter(filter)}<p class="quiet choose"><button class="second">Compare the chosen, up to ${MAX_COMPARED_INSTRUMENTS}</button> <span class="scripted"><kbd>/</kbd> search</span></p></form></div>
<table class="market" role="table">
<caption>${found === 1 ? "One instrument" : html`${found} instruments`}${list.weakMatch && ` whose name has ${WEAK_MATCH[list.weakMatch]}`}. ${SCORE_MEANING} ${SCORE_CAVEAT} ${SIGNAL_RULE}${note}${isBySteadiness && ` ${STEADINESS_MEANING}`}</caption>
<thead role="rowgroup"><tr role="row">
${titles.map((title) => header(title, filter))}
</tr></thead>
<tbody role="rowgroup">${rows.map((row) => tableRow(row, isBySteadiness))}</tbody>
</table>
${pager(list, filter)}`;
}

/** Number of instruments for each signal and with full coverage, as links that apply the filter. */
function countLinks({ found, counts }: MarketList, filter: MarketFilter): Html {
  const { page: _, compare: __, ...others } = filter;
  const link = (text: string, name: "signal" | "coverage", value: string) => {
    const isCurrent = filter[name] === value;
    const next = { ...others, [name]: isCurrent ? undefined : value };
    return html`<a href="${filterHref(next)}#market"${isCurrent && html` aria-current="true"`}>${text}</a>`;
  };
  return html`<nav class="counts" aria-label="Counts"><span><strong>${found}</strong> shown</span>${(["LONG", "WAIT", "SHORT"] as const).map((direction) => link(`${counts[direction]} ${direction}`, "signal", direction))}${link(`${counts.full} with full coverage`, "coverage", "full")}</nav>`;
}

/** A score as a whole number, with its exact value. */
export const wholeScore = (exact: number | null, score: number | null): Html =>
  score === null
    ? html`<span class="quiet" title="no part of it could be measured">–</span>`
    : html`<data value="${exact}">${score}</data>`;

function tableRow(row: MarketRow, isBySteadiness: boolean): Html {
  const { signal: item, factors, missing, price, change, since, steadiness } = row;
  const { symbol, name, assetClass, signal, score, scoreRaw, scoreSmoothed, status, coverage } =
    item;
  const warning = answerStatusNotes[status];
  return html`<tr id="row-${symbol}" role="row">
<th scope="row" role="rowheader"><input type="checkbox" name="compare" value="${symbol}" form="pick" aria-label="Compare ${symbol}"><a href="${instrumentPath(symbol)}">${symbol}</a><span class="name">${untrustedText(name)}</span>${warning && html`<span class="tag">${warning}</span>`}</th>
<td class="direction" role="cell">${signalMark(signal, item)}</td>
<td class="score" role="cell"><span>${wholeScore(scoreRaw, score)} <span class="quiet">(${roundToWholePoints(scoreSmoothed) ?? "–"})</span></span>${scoreBar(scoreRaw, item)}</td>
<td class="price" role="cell">${price === null ? "–" : priceText(price.value)}</td>
<td class="change" role="cell">${signedPercentHtml(change)}</td>
<td class="line" role="cell">${closesSparkline(row)}</td>
<td class="coverage" role="cell">${coverageBar(assetClass, missing)}<span class="unit">${percentHtml(0)(coverage)} · ${coverageText(assetClass, missing)}</span></td>
<td class="confidence" role="cell">${
    isBySteadiness
      ? html`<span class="label" aria-hidden="true">Steadiness</span>${steadiness ?? "–"}`
      : html`<span class="label" aria-hidden="true">Confidence</span>${percentHtml(0)(item.confidence)}`
  }</td>
<td class="since" role="cell"><span class="label" aria-hidden="true">Since</span>${dateTimeHtml(since)}</td>
${factors && Object.entries(factors).map(([name, factor]) => factorCell(name as FactorName, factor))}
</tr>`;
}

/** A sparkline of an instrument's closing prices. */
export const closesSparkline = ({ closes }: MarketRow): Html | false =>
  sparkline(closes, { low: Math.min(...closes), high: Math.max(...closes) }, "l-close");

/**
 * The contribution of a factor in points, and its status if it is not `ok`; without a value, the
 * status alone.
 */
export function factorPoints({ z, contribution, status }: FactorAnswers[FactorName]): Html {
  const why = status !== "ok" && html`<span class="why">${factorStatusLabels[status]}</span>`;
  return z === null ? html`${why}` : html`${pointsHtml(contribution)}${why && html` ${why}`}`;
}

function factorCell(name: FactorName, factor: FactorAnswers[FactorName]): Html {
  const label = html`<span class="label" aria-hidden="true">${factorNames[name]}</span>`;
  return html`<td class="factor" role="cell">${label}${factorPoints(factor)}${factor.z !== null && pointsBar(factor.contribution)}</td>`;
}

function emptyState({ total, found, pages }: MarketList, filter: MarketFilter): Html {
  const { page, ...others } = filter;
  if (total === 0) {
    return html`<div class="empty"><p>No instrument has data yet. This page shows them as soon as one has.</p></div>`;
  }
  return found === 0
    ? html`<div class="empty"><p>No instrument fits.</p><p><a href="/#market">Show all ${total}</a></p></div>`
    : html`<div class="empty"><p>There is no page ${page}: what fits is on ${pages === 1 ? "one page" : html`${pages} pages`}.</p><p><a href="${filterHref(others)}#market">Go to the first page</a></p></div>`;
}

function pager({ page, pages }: MarketList, filter: MarketFilter): Html | false {
  const link = (to: number, text: string, rel: "prev" | "next") =>
    to >= 1 &&
    to <= pages &&
    html`<a class="second" rel="${rel}" href="${filterHref({ ...filter, page: to })}#market">${text}</a>`;
  return (
    pages > 1 &&
    html`<nav class="pager" aria-label="Pages of the market">${link(page - 1, "Previous", "prev")}<span>Page ${page} of ${pages}</span>${link(page + 1, "Next", "next")}</nav>`
  );
}
