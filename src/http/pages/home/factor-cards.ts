import { type Html, html } from "../../../markup/html.ts";
import { factorSumChart } from "./factor-sum.ts";
import { withMinus } from "./figure-text.js";
import type { FactorsAnswer } from "./instrument-view.ts";
import type { FactorName } from "./marks.ts";
import { factorNames, factorStatusLabels, pointsBar } from "./marks.ts";
import {
  dateTimeHtml,
  fixedDecimalsHtml,
  inputHtml,
  percentHtml,
  pointsHtml,
} from "./number-format.ts";

type Factor = FactorsAnswer["factors"][FactorName];

/**
 * Section with the four factors and the inputs of each.
 *
 * @param score Unrounded score.
 */
export function factorsSection({ factors, sources }: FactorsAnswer, score: number | null): Html {
  const sourceNames = new Map(sources.map(({ id, name }) => [id, name]));
  return html`<section aria-labelledby="factors">
<h2 id="factors">${score === null ? "No score" : `Why ${score.toFixed(0)}`}: the four factors</h2>
<p class="quiet">Points add up to the score less 50. z is in standard deviations: 0 is ordinary, more is bullish, less is bearish.</p>
${score !== null && factorSumChart(factors, score)}
<div class="factor-cards">${Object.entries(factors).map(([name, factor]) =>
    factorCard(name as FactorName, factor, (id) => sourceNames.get(id) ?? id),
  )}</div>
</section>`;
}

function factorCard(name: FactorName, factor: Factor, nameOf: (source: string) => string): Html {
  const { z, contribution, confidence, weight, status, summary, inputs } = factor;
  const counted = inputs.filter((input) => input.weight !== 0);
  const others = inputs.filter((input) => input.weight === 0);
  return html`<article class="card factor-card">
<header><h3>${factorNames[name]}</h3>${
    z === null
      ? html`<span class="why">${factorStatusLabels[status]}</span>`
      : html`<strong>${pointsHtml(contribution)} <span class="quiet">points</span></strong>${pointsBar(contribution)}`
  }</header>
<p>${withMinus(summary)}</p>
<p class="measures quiet"><span>z ${fixedDecimalsHtml(2)(z)}</span> <span>confidence ${percentHtml(0)(confidence)}</span> <span>weight ${percentHtml(0)(weight)}</span> <span>${factorStatusLabels[status]}</span>${factor.asOf !== null && html` <span>as of ${dateTimeHtml(factor.asOf)}</span>`}</p>
${counted.length > 0 && inputTable(`What ${factorNames[name]} is made from`, counted, nameOf)}
${
  others.length > 0 &&
  html`<details class="more"><summary>${others.length} more, without weight in the score</summary>
${inputTable(`What is shown beside ${factorNames[name]}`, others, nameOf)}
</details>`
}
</article>`;
}

function inputTable(
  caption: string,
  inputs: Factor["inputs"],
  nameOf: (source: string) => string,
): Html {
  return html`<table class="figures">
<caption class="unseen">${caption}</caption>
<thead><tr><th scope="col">Figure</th><th scope="col">Value</th><th scope="col">z</th><th scope="col" class="roomy">Observed</th><th scope="col" class="roomy">Source</th></tr></thead>
<tbody>${inputs.map(
    ({ name, value, unit, z, observedAt, source }) =>
      html`<tr><th scope="row">${inputName(name)}<code>${name}</code></th><td>${inputHtml(unit)(value)}</td><td>${fixedDecimalsHtml(2)(z)}</td><td class="roomy">${dateTimeHtml(observedAt)}</td><td class="roomy">${nameOf(source)}</td></tr>`,
  )}</tbody>
</table>`;
}

/** Labels of the input figures in `get_factors`, by name. */
const inputNames: Readonly<Record<string, string>> = {
  residualMomentum: "Momentum without the market's part",
  reversal: "Return of the last month, in reverse",
  high52w: "Distance from the year's high",
  ram: "Return per unit of risk",
  res: "The same without the market's part",
  hi52: "Distance from the year's high",
  trend28d: "Trend of 28 days",
  trend90d: "Trend of 90 days",
  trend365d: "Trend of 365 days",
  return12m1: "Return of the year before the last month",
  observations: "Returns used",
  marketVolatility: "Volatility of the market",
  gate: "Share that counts in such a market",
  rsi14: "Relative strength index",
  atr14: "Average true range",
  macd12_26: "Difference of moving averages",
  macdOverAtr: "The same in average true ranges",
  sma50OverSma200: "Average of 50 over that of 200",
  return1m: "Return of the last month",
  surprise: "Earnings against a year before",
  sessionsSinceFiling: "Sessions since the filing",
  earningsYield: "Earnings over price",
  freeCashFlowYield: "Free cash flow over price",
  bookYield: "Book value over price",
  ebitdaYield: "EBITDA over enterprise value",
  marketCapUsd: "Market value",
  sharesOutstanding: "Shares outstanding",
  mvrv: "Market value over realised value",
  nvts: "Network value over transfers",
  bullishness: "Bullish against bearish messages",
  attention: "Attention against its habit",
  agreement: "Agreement of the messages",
  effectiveMessages: "Messages that count",
  bullishWeight: "Weight of the bullish",
  bearishWeight: "Weight of the bearish",
  blockImbalance: "Buying against selling in blocks",
  shortRatio: "Off-exchange volume marked short",
  signedBlocks: "Blocks with a known side",
  offExchangeShare: "Off-exchange share of volume",
  blockVwapOverVwap: "Price of blocks over that of all prints",
};

/** The label of an input figure; its name if it has no label. */
const inputName = (name: string): string =>
  Object.hasOwn(inputNames, name) ? (inputNames[name] as string) : name;
