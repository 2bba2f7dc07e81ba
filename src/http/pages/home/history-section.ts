import { toPercent } from "../../../answers/risk.ts";
import { instrumentPath } from "../../../lib/paths.ts";
import { type Html, html } from "../../../markup/html.ts";
import type { FullSignal } from "../../../tool/signal.ts";
import { HISTORY_TABLE_ID, historyPlot } from "./history-figure.ts";
import { type HistoryChoice, type HistoryView, historyRangeNames } from "./history-view.ts";
import { dateTimeHtml, fixedDecimalsHtml, priceText, signedPercentHtml } from "./number-format.ts";
import { type RangeOutcomes, SHOWN_RANGE_PROBABILITY } from "./range-outcomes.ts";

/** Minimum number of sessions for which a chart is drawn. */
const MIN_POINTS = 2;

/** Data for the history section. */
interface HistorySection {
  readonly signal: FullSignal;
  readonly history: HistoryView;
  readonly choice: HistoryChoice;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
}

/** Price and score over time, as a chart and as a table. */
export function historySection({ signal, history, choice, dayMs }: HistorySection): Html {
  const { symbol, thresholds, nextReport } = signal;
  const { points, filed, splits, kept } = history;
  const [first, last] = [points[0], points.at(-1)];
  if (points.length < MIN_POINTS || first === undefined || last === undefined) {
    return html`<section aria-labelledby="history"><h2 id="history">Price and score</h2>
<div class="empty"><p>There is no line yet: too few sessions are recorded, or scores are being computed again after a start. Look again in a minute.</p></div></section>`;
  }
  const change = first.close && last.close ? last.close / first.close - 1 : null;
  const scores = `${shown(first.score)} at first, ${shown(last.score)} at last; the smoothed score from ${shown(first.scoreSmoothed)} to ${shown(last.scoreSmoothed)}`;
  const label = `Score of ${symbol} over ${points.length} sessions: ${scores}${nextReport === null ? "" : `; the next report is expected to be filed about ${nextReport.expected}, between ${nextReport.earliest} and ${nextReport.latest}`}`;
  return html`<section aria-labelledby="history">
<div class="section-head"><h2 id="history">Price and score</h2>${choiceLinks(symbol, choice)}</div>
<figure class="card chart">
<p class="readout"><span>${points.length} sessions${change !== null && html`, price <strong>${signedPercentHtml(change)}</strong>`}${keptText(kept)}.<span class="scripted"> Point at the chart, or focus it and use the arrow keys, Home and End.</span></span><output></output></p>
${historyPlot({ ...history, signal, isLog: choice.scale === "log", dayMs }, label)}
</figure>
<ul class="legend"><li class="price">close${splits > 0 && ` in shares of today (${splits === 1 ? "one split" : `${splits} splits`} since)`}</li><li class="smoothed">smoothed score</li><li class="daily">score of each session</li><li class="long">LONG begins at ${thresholds.enterLong}, ends below ${thresholds.exitLong} (dotted)</li><li class="short">SHORT begins at ${thresholds.enterShort}, ends above ${thresholds.exitShort} (dotted)</li>${signal.range80 && html`<li class="ahead">80 % range ahead</li>`}${kept && kept.outcomes.length > 0 && html`<li class="dots">${kept.horizon}-session range kept <span class="ring">or left</span></li>`}${filed.length > 0 && html`<li class="filed">R report filed</li>`}${nextReport && html`<li class="report">R? filing of the next report expected, in its ${toPercent(nextReport.windowCoverage)} % window</li>`}</ul>
<details class="more"><summary>The same in figures</summary>
<p><a href="${historyAddress(symbol, choice, "/history.csv")}" download>These sessions as CSV</a></p>
<div class="scroller" tabindex="0"><table class="figures" id="${HISTORY_TABLE_ID}">
<caption>${points.length} sessions, newest first</caption>
<thead><tr><th scope="col">Session closed</th><th scope="col">Signal</th><th scope="col">Score</th><th scope="col">Smoothed</th><th scope="col">Close</th><th scope="col" class="roomy">Confidence</th><th scope="col" class="roomy">Coverage</th></tr></thead>
<tbody>${points
    .toReversed()
    .map(
      (point) =>
        html`<tr><th scope="row">${dateTimeHtml(point.asOf)}</th><td>${point.signal}</td><td>${fixedDecimalsHtml(2)(point.scoreRaw)}</td><td>${fixedDecimalsHtml(2)(point.scoreSmoothed)}</td><td>${point.close === null ? "–" : priceText(point.close)}</td><td class="roomy">${(100 * point.confidence).toFixed(0)} %</td><td class="roomy">${(100 * point.coverage).toFixed(0)} %</td></tr>\n`,
    )}</tbody>
</table></div>
</details>
</section>`;
}

/** A score as text; a stock of which no part could be measured has none. */
const shown = (score: number | null): string => (score === null ? "none" : String(score));

/**
 * Text that says how often the shown ranges contained the closing price, compared with their
 * nominal coverage.
 */
function keptText(kept: RangeOutcomes | undefined): string {
  if (kept === undefined || kept.outcomes.length === 0) return "";
  const { horizon, outcomes } = kept;
  const times = outcomes.filter(({ isKept }) => isKept).length;
  return `; the range of ${horizon} sessions was kept ${times} times of ${outcomes.length}, ${100 * SHOWN_RANGE_PROBABILITY} % promised`;
}

/** URL of an instrument's page with another range or scale. */
function historyAddress(symbol: string, { range, scale }: HistoryChoice, rest = ""): string {
  const query = new URLSearchParams();
  if (range !== "1y") query.set("range", range);
  if (scale !== "linear" && rest === "") query.set("scale", scale);
  return `${instrumentPath(symbol)}${rest}${query.size > 0 ? `?${query}` : ""}`;
}

function choiceLinks(symbol: string, choice: HistoryChoice): Html {
  const link = (other: HistoryChoice, text: string, isCurrent: boolean) =>
    html`<a href="${historyAddress(symbol, other)}#history"${isCurrent && html` aria-current="true"`}>${text}</a>`;
  const { range, scale } = choice;
  return html`<nav class="ranges" aria-label="Range and scale">${Object.entries(
    historyRangeNames,
  ).map(([name, text]) =>
    link({ range: name as HistoryChoice["range"], scale }, text, name === range),
  )}${link({ range, scale: scale === "log" ? "linear" : "log" }, "Log", scale === "log")}</nav>`;
}
