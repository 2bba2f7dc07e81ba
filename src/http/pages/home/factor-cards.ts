import { type Html, html } from "../html.ts";
import { fixed, percent, plain, points, when, withMinus } from "./figures.ts";
import { inputName } from "./input-names.ts";
import type { FactorsAnswer } from "./instrument.ts";
import type { FactorName } from "./market-list.ts";
import { factorNames, pointsBar, statusWords } from "./marks.ts";

type Factor = FactorsAnswer["factors"][FactorName];
type Input = Factor["inputs"][number];

/** The four factors, each with the numbers that it was made from. */
export function factorsSection({ factors, sources }: FactorsAnswer): Html {
  const sourceNames = new Map(sources.map(({ id, name }) => [id, name]));
  return html`<section aria-labelledby="factors">
<h2 id="factors">The four factors</h2>
<p class="quiet">Points add up to the score less 50. z is in standard deviations: 0 is ordinary, more is bullish, less is bearish.</p>
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
      ? html`<span class="why">${statusWords[status]}</span>`
      : html`<strong>${points(contribution)} <span class="quiet">points</span></strong>${pointsBar(contribution)}`
  }</header>
<p>${withMinus(summary)}</p>
<p class="measures quiet"><span>z ${fixed(2)(z)}</span> <span>confidence ${percent(0)(confidence)}</span> <span>weight ${percent(0)(weight)}</span> <span>${statusWords[status]}</span>${factor.asOf !== null && html` <span>as of ${when(factor.asOf)}</span>`}</p>
${counted.length > 0 && inputTable(`What ${factorNames[name]} is made from`, counted, nameOf)}
${
  others.length > 0 &&
  html`<details class="more"><summary>${others.length} more, which are only shown</summary>
${inputTable(`What is shown beside ${factorNames[name]}`, others, nameOf)}
</details>`
}
</article>`;
}

function inputTable(
  caption: string,
  inputs: readonly Input[],
  nameOf: (source: string) => string,
): Html {
  return html`<table class="figures">
<caption class="unseen">${caption}</caption>
<thead><tr><th scope="col">Figure</th><th scope="col">Value</th><th scope="col">z</th><th scope="col" class="roomy">Observed</th><th scope="col" class="roomy">Source</th></tr></thead>
<tbody>${inputs.map(
    ({ name, value, unit, z, observedAt, source }) =>
      html`<tr><th scope="row">${inputName(name)}<code>${name}</code></th><td>${plain(value)} <span class="unit">${unit}</span></td><td>${fixed(2)(z)}</td><td class="roomy">${when(observedAt)}</td><td class="roomy">${nameOf(source)}</td></tr>`,
  )}</tbody>
</table>`;
}
