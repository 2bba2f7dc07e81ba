import { type Html, html } from "../html.ts";
import { fixed, percent, when } from "./figures.ts";
import type { InstrumentView } from "./instrument.ts";

/** Scores over the last year of the market, drawn and in figures. */
export function historySection({ history, drawings, signal }: InstrumentView): Html {
  const { symbol, thresholds } = signal;
  const [first, last] = [history[0], history.at(-1)];
  if (drawings === undefined || first === undefined || last === undefined) {
    return html`<section aria-labelledby="history"><h2 id="history">Score history</h2>
<div class="empty"><p>Too few sessions are recorded to draw a line.</p></div></section>`;
  }
  return html`<section aria-labelledby="history">
<h2 id="history">Score history</h2>
<figure class="card" role="img" aria-label="Score of ${symbol} over ${history.length} sessions: ${first.score} at first, ${last.score} at last; the smoothed score from ${first.scoreSmoothed} to ${last.scoreSmoothed}">
${drawings}
</figure>
<ul class="legend"><li class="smoothed">smoothed score</li><li class="daily">score of each session</li><li class="long">LONG begins at ${thresholds.enterLong}</li><li class="short">SHORT begins at ${thresholds.enterShort}</li></ul>
<details class="more"><summary>The same in figures</summary>
<table class="figures">
<caption>${history.length} sessions, newest first</caption>
<thead><tr><th scope="col">Session closed</th><th scope="col">Signal</th><th scope="col">Score</th><th scope="col">Smoothed</th><th scope="col" class="roomy">Confidence</th></tr></thead>
<tbody>${history
    .toReversed()
    .map(
      (point) =>
        html`<tr><th scope="row">${when(point.asOf)}</th><td>${point.signal}</td><td><data value="${point.scoreRaw}">${point.score}</data></td><td>${fixed(2)(point.scoreSmoothed)}</td><td class="roomy">${percent(0)(point.confidence)}</td></tr>`,
    )}</tbody>
</table>
</details>
</section>`;
}
