import type { Site } from "../../../../wellknown/site.ts";
import { DIRECTION_WORTH, SCORE_IS, SCORE_IS_NOT } from "../../../answers/meaning.ts";
import { type Fact, facts, untrustedText } from "../elements.ts";
import { type Html, html } from "../html.ts";
import type { PageAnswer } from "../page-answer.ts";
import { darkpoolSection } from "./darkpool-section.ts";
import { factorsSection } from "./factor-cards.ts";
import { homeLinks, live, updateStatus } from "./frame.ts";
import type { SignalAnswer } from "./history-chart.ts";
import type { InstrumentView } from "./instrument-view.ts";
import { answerNotes, classNames, scoreBar, signalMark } from "./marks.ts";
import { dateTime, fixed, percent, price } from "./number-format.ts";
import type { Viewer } from "./viewer.ts";
/** What the page of an instrument shows. */
export interface InstrumentPageOptions {
  readonly site: Site;
  readonly viewer: Viewer;
  readonly scriptPath: string;
}

/** The page of one instrument: its signal with reasons and start, and its off-exchange trades. */
export function instrumentPage(
  view: InstrumentView,
  { site, viewer, scriptPath }: InstrumentPageOptions,
): PageAnswer {
  const { signal, factors, darkpool } = view;
  return {
    heading: signal.symbol,
    isWide: true,
    links: homeLinks(viewer),
    scriptPath,
    body: html`<p class="lead under">${untrustedText(signal.name)}</p>
${live(
  "instrument",
  html`${signalSection(view)}
${factors && factorsSection(factors)}
${historySection(view)}
${darkpool && darkpoolSection(darkpool)}`,
)}
<p class="quiet">${SCORE_IS} ${SCORE_IS_NOT} ${DIRECTION_WORTH}</p>
${updateStatus({}, site.market)}`,
  };
}

function signalSection({ signal: answer, factors }: InstrumentView): Html {
  const { signal, score, scoreRaw, status } = answer;
  const warning = answerNotes[status];
  return html`<section class="verdict card" aria-labelledby="signal">
<h2 id="signal" class="unseen">Signal and score</h2>
<div class="verdict-signal">${signalMark(signal)}${warning && html`<span class="tag">${warning}</span>`}
<p>${sinceText(answer)}</p>
<p class="quiet">${reasonText(answer)}</p></div>
<div class="verdict-score">
<p class="big"><data value="${scoreRaw}">${score}</data> <span class="quiet">of 100, where 50 is no evidence either way</span></p>
${scoreBar(scoreRaw)}
<p class="scale" aria-hidden="true"><span>0 bearish</span><span>50</span><span>100 bullish</span></p>
</div>
<div class="columns">${facts(factsOf(answer, factors?.sector ?? null))}</div>
</section>`;
}

function factsOf(answer: SignalAnswer, sector: string | null): readonly (Fact | false)[] {
  const { assetClass, exchange, confidence, coverage, horizon, asOf } = answer;
  const origin = answer.sources.map(({ name }) => name).join(", ");
  const kind = [classNames[assetClass], exchange, sector].filter((part) => part !== null);
  return [
    ["Instrument", untrustedText(kind.join(", "))],
    answer.price !== null && [
      "Price",
      html`${price(answer.price.value, answer.price.currency)} <span class="quiet">${dateTime(answer.price.at)}</span>`,
    ],
    [
      "Confidence",
      html`${percent(0)(confidence)} <span class="quiet">weight of the evidence</span>`,
    ],
    [
      "Coverage",
      html`${percent(0)(coverage)} <span class="quiet">of the weight of the factors that it can have</span>`,
    ],
    ["Horizon", horizon],
    answer.assetClass === "stock" && ["Next report", reportText(answer)],
    ["As of", html`${dateTime(asOf)} <span class="quiet">${origin}</span>`],
  ];
}

/** The next expected filing, or why none is expected. */
const reportText = ({ nextReport, nextReportReason }: SignalAnswer): Html =>
  nextReport === null
    ? html`<span class="quiet">${nextReportReason}</span>`
    : html`filed about ${dateTime(nextReport.expected)} <span class="quiet">${dateTime(nextReport.earliest)} to ${dateTime(nextReport.latest)}; results come on that day or a few sessions before</span>`;

const sinceText = ({ since, previousSignal }: SignalAnswer): Html =>
  html`Since ${dateTime(since)}${
    previousSignal === null ? ", where the record begins" : html`, before it was ${previousSignal}`
  }.`;

const forcedWaitTexts: Readonly<Record<NonNullable<SignalAnswer["forcedWait"]>, string>> = {
  too_young: "It is WAIT whatever the score, because its history is too short.",
  not_trading: "It is WAIT whatever the score, because it does not trade just now.",
  low_confidence: "It is WAIT whatever the score, because the evidence is too thin.",
  low_coverage: "It is WAIT whatever the score, because too few factors have a value.",
};

/** Why the signal may differ from what the score suggests. */
function reasonText({ thresholds, scoreSmoothed, forcedWait, frozen }: SignalAnswer): Html {
  const { enterLong, exitLong, enterShort, exitShort, enterConfidence, minCoverage } = thresholds;
  return html`${forcedWait !== null && `${forcedWaitTexts[forcedWait]} `}The signal follows the score smoothed over sessions, ${fixed(2)(scoreSmoothed)} now: LONG begins at ${enterLong} and ends below ${exitLong}, SHORT begins at ${enterShort} and ends above ${exitShort}. To begin, each needs a confidence of ${percent(0)(enterConfidence)} and a coverage of ${percent(0)(minCoverage)}.${frozen && " While trading pauses, it stays what it was."}`;
}

/** Scores over the past year of the market, as a chart and as a table. */
function historySection({ history, drawings, signal }: InstrumentView): Html {
  const { symbol, thresholds, nextReport } = signal;
  const [first, last] = [history[0], history.at(-1)];
  if (drawings === undefined || first === undefined || last === undefined) {
    return html`<section aria-labelledby="history"><h2 id="history">Score history</h2>
<div class="empty"><p>Too few sessions are recorded to draw a line.</p></div></section>`;
  }
  return html`<section aria-labelledby="history">
<h2 id="history">Score history</h2>
<figure class="card" role="img" aria-label="Score of ${symbol} over ${history.length} sessions: ${first.score} at first, ${last.score} at last; the smoothed score from ${first.scoreSmoothed} to ${last.scoreSmoothed}${nextReport && `; the next report is expected about ${nextReport.expected}, between ${nextReport.earliest} and ${nextReport.latest}`}">
${drawings}
</figure>
<ul class="legend"><li class="smoothed">smoothed score</li><li class="daily">score of each session</li><li class="long">LONG begins at ${thresholds.enterLong}</li><li class="short">SHORT begins at ${thresholds.enterShort}</li>${nextReport && html`<li class="report">next report expected, in its window</li>`}</ul>
<details class="more"><summary>The same in figures</summary>
<table class="figures">
<caption>${history.length} sessions, newest first</caption>
<thead><tr><th scope="col">Session closed</th><th scope="col">Signal</th><th scope="col">Score</th><th scope="col">Smoothed</th><th scope="col" class="roomy">Confidence</th></tr></thead>
<tbody>${history
    .toReversed()
    .map(
      (point) =>
        html`<tr><th scope="row">${dateTime(point.asOf)}</th><td>${point.signal}</td><td><data value="${point.scoreRaw}">${point.score}</data></td><td>${fixed(2)(point.scoreSmoothed)}</td><td class="roomy">${percent(0)(point.confidence)}</td></tr>`,
    )}</tbody>
</table>
</details>
</section>`;
}
