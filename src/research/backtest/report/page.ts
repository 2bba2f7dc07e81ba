import { type Html, html } from "../../../markup/html.ts";
import { PLOT_STYLE } from "../../../markup/plot-style.ts";
import type { SeriesSummary } from "../../../statistics/series-summary.ts";
import type { ClassResult, HorizonResult } from "../class-results.ts";
import type { BacktestQuestion } from "../question.ts";
import type { BacktestResult } from "../run-backtest.ts";
import type { SetsResult } from "../together.ts";
import {
  coverageChart,
  decileChart,
  historyChart,
  reliabilityChart,
  sliceChart,
  wealthChart,
  yearChart,
} from "./charts.ts";
import { claimedSection } from "./claimed.ts";
import { coefficientChart } from "./coefficient-chart.ts";
import {
  coefficientRangeText,
  coefficientText,
  NO_VALUE,
  reportPercentText,
  reportSignedPercentText,
  reportWholeNumberText,
  tValueText,
} from "./figures.ts";
import { RISK_FORECAST_EXPLANATION, riskSection } from "./risk.ts";
import { STEADINESS_EXPLANATION, steadinessSection } from "./steadiness.ts";
import { REPORT_STYLE } from "./style.ts";
import {
  coefficientTable,
  decileBookTable,
  hitRateTable,
  overlapNote,
  riskAdjustedTable,
} from "./tables.ts";
import { togetherSection } from "./together.ts";
import {
  BASIS_WORDS,
  CLASS_WORDS,
  caveats,
  coverageSentence,
  decileReason,
  earningsReportsSentence,
  headlineIc,
  headlineResult,
  missingMeasureSentence,
  paceWords,
  powerSentence,
  promotionSentence,
  riskAdjustedSentence,
  SUBJECT_WORDS,
  sessionCountText,
  VERDICT_RULE_SENTENCES,
  VERDICT_WORDS,
  verdictSentences,
} from "./words.ts";

/** Renders the report as a self-contained HTML document without scripts. */
export function reportPage(result: BacktestResult): string {
  const { question, classes } = result;
  const title = titleOf(question);
  return documentOf({
    title,
    question,
    header: html`<h1>${title}</h1>
${facts(result)}
${classes.length > 1 && contents(classes, "")}`,
    main: html`${classes.map((one) => classSection(one, question, ""))}
${methodSection([result])}`,
  });
}

/**
 * Renders the report on several market folders as one HTML document without scripts: each set
 * apart, then together.
 */
export function setsPage(result: SetsResult): string {
  const [first] = result.sets;
  if (first === undefined) throw new Error("A report needs a market folder.");
  const { question } = first;
  const title = titleOf(question);
  const prefix = (index: number) => `set-${index + 1}-`;
  return documentOf({
    title,
    question,
    header: html`<h1>${title}</h1>
<p class="facts">${result.sets.length} sets: ${result.sets.map(({ set }) => set).join(", ")}; each apart, then together.</p>
${result.sets.map((one, index) => contents(one.classes, prefix(index)))}`,
    main: html`${result.sets.map(
      (one, index) => html`<h2>Set ${one.set}</h2>
${facts(one)}
${one.classes.map((of) => classSection(of, question, prefix(index)))}`,
    )}
${togetherSection(result)}
${methodSection(result.sets)}`,
  });
}

const titleOf = ({ subject }: BacktestQuestion): string => `Backtest of ${SUBJECT_WORDS[subject]}`;

/** The parts of a report page. */
interface PageParts {
  readonly title: string;
  readonly question: BacktestQuestion;
  readonly header: Html;
  readonly main: Html;
}

const documentOf = ({ title, question, header, main }: PageParts): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}, ${question.from} to ${question.to}</title>
<style>${style}</style>
</head>
<body>
<header>
${header}
</header>
<main>
${main}
</main>
</body>
</html>
`.toString();

function facts({ question, methodVersion, source }: BacktestResult): Html {
  const names = question.symbols.length === 0 ? "" : `, ${question.symbols.join(", ")}`;
  return html`<p class="facts">${question.from} to ${question.to}${names}. Graded at ${paceWords(question)}. Method ${methodVersion}, ${source.name}${source.simulated ? ", simulated" : ""}.</p>`;
}

/** The style sheet as trusted HTML; it is a constant of this project. */
const sheet = PLOT_STYLE + REPORT_STYLE;
const style = html(Object.assign([sheet], { raw: [sheet] }));

const contents = (classes: readonly ClassResult[], prefix: string): Html =>
  html`<nav aria-label="Asset classes"><ul>${classes.map(
    ({ assetClass, verdict }) =>
      html`<li><a href="#${prefix}${assetClass}">${CLASS_WORDS[assetClass]}</a>: ${VERDICT_WORDS[verdict].toLowerCase()}</li>`,
  )}<li><a href="#method">How to read this</a></li></ul></nav>`;

function classSection(result: ClassResult, question: BacktestQuestion, prefix: string): Html {
  const { assetClass, verdict, horizons } = result;
  const main = headlineResult(result);
  const isMeasured = horizons.some(({ ic }) => ic !== null);
  const power = powerSentence(result);
  const missing = missingMeasureSentence(result, question.subject);
  const promotion = promotionSentence(result, question);
  return html`<section id="${prefix}${assetClass}">
<h2>${CLASS_WORDS[assetClass]}</h2>
<div class="verdict ${verdict}"><div><strong>${VERDICT_WORDS[verdict]}</strong>
${verdictSentences(result).map((sentence) => html`<p>${sentence}</p>`)}
${power && html`<p class="quiet">${power}</p>`}
</div>
${main && keyFigures(result, main)}
</div>
<p class="quiet">${coverageSentence(result)}</p>
${missing && html`<p class="quiet">${missing}</p>`}
${promotion && html`<p>${promotion}</p>`}
${result.sameDay && sameDayNote(result.sameDay)}
${result.nextOpen && nextOpenNote(result.nextOpen)}
${isMeasured && main && measured(result, main)}
${isMeasured && claimedSection(result, question)}
${riskSection(result)}
${steadinessSection(result)}
${result.reports && html`<h3>Next report</h3><p>${earningsReportsSentence(result.reports)}</p>`}
</section>`;
}

/** The key figures behind the verdict. */
function keyFigures(
  result: ClassResult,
  { horizon, ic: raw, book }: HorizonResult,
): Html | undefined {
  const ic = headlineIc(result);
  if (!ic) return undefined;
  const net = book?.net.find(({ costBp }) => costBp === 10)?.mean;
  const figures = [
    [`${BASIS_WORDS[result.basis]}, ${sessionCountText(horizon)}`, coefficientText(ic.mean)],
    ["95 % interval", coefficientRangeText(ic.interval)],
    ["t", tValueText(ic.t)],
    ["Raw", result.basis === "neutral" ? coefficientText(raw?.mean) : NO_VALUE],
    ["Dates", reportWholeNumberText(ic.dates)],
    ["Top minus bottom decile, at 10\u00a0bp", reportSignedPercentText(net)],
  ].filter(([, value]) => value !== NO_VALUE);
  return html`<dl>${figures.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function measured(result: ClassResult, main: HorizonResult): Html {
  const { headline, signals, probabilities, coverage } = result;
  const over = `over ${sessionCountText(headline)}`;
  return html`<div class="charts">
${coefficientChart(result)}
${historyChart(main)}
${decileChart(main)}
${wealthChart(main)}
${yearChart(main)}
${sliceChart("By market volatility", `Mean coefficient ${over}, in thirds of the dates by the volatility of the 63 sessions before.`, main.regimes)}
${reliabilityChart("Reliability of the probabilities", result.probabilities)}
${coverageChart(result)}
</div>
${coefficientTable(result)}
<p class="quiet">Neutral: against returns per unit of volatility, after beta, volatility, size and sector have explained what they can. Shuffled: the same scores dealt out at random.</p>
${overlapNote(result) && html`<p class="quiet">${overlapNote(result)}</p>`}
${decileBookTable(result)}
${decileReason(result) && html`<p class="quiet">${decileReason(result)}</p>`}
${riskAdjustedTable(result)}
${result.riskAdjusted && html`<p class="quiet">${riskAdjustedSentence(result.riskAdjusted)}</p>`}
${hitRateTable(result)}
<p>Of the scores ${reportPercentText(result.scoreShares[9] ?? 0)} were 90 or more, ${reportPercentText((result.scoreShares[8] ?? 0) + (result.scoreShares[9] ?? 0))} were 80 or more, ${reportPercentText((result.scoreShares[0] ?? 0) + (result.scoreShares[1] ?? 0))} below 20 and ${reportPercentText(result.scoreShares[0] ?? 0)} below 10.</p>
<p>The published signal was LONG ${reportPercentText(signals.shares.LONG, 0)}, WAIT ${reportPercentText(signals.shares.WAIT, 0)} and SHORT ${reportPercentText(signals.shares.SHORT, 0)} of the time. It changed ${signals.changesPerYear.toFixed(1)} times a year per instrument; ${reportPercentText(signals.flipBackShare)} of the changes were reversed within five sessions.${coverage.autocorrelation !== null && ` From one date to the next the values keep a rank correlation of ${coverage.autocorrelation.toFixed(2)}.`}</p>
${
  probabilities &&
  html`<p>Probabilities of beating the median over ${sessionCountText(probabilities.horizon)}, derived from these scores and calibrated on earlier years, had a Brier score of ${probabilities.brier.toFixed(4)}; the constant forecast of the frequency has ${probabilities.climatology.toFixed(4)}. Skill: ${reportPercentText(probabilities.skill, 3)}${probabilities.skillInterval && ` (95 % interval ${reportPercentText(probabilities.skillInterval.low, 3)} to ${reportPercentText(probabilities.skillInterval.high, 3)})`}, from ${reportWholeNumberText(probabilities.forecasts)} forecasts. Calibrated on all dates, rho is ${probabilities.next.rho.toFixed(4)}.</p>`
}`;
}

const sameDayNote = ({ mean, t, interval, dates }: SeriesSummary): Html =>
  html`<p>Sentiment and the return of the same session have a rank correlation of ${coefficientText(mean)} (95 % interval ${coefficientRangeText(interval)}, t ${tValueText(t)}, ${reportWholeNumberText(dates)} sessions with at least 20 names). This is not a prediction; it validates the sentiment analysis.</p>`;

const nextOpenNote = ({ mean, t, interval, dates }: SeriesSummary): Html =>
  html`<p>The short ratio is published after the close, so the score at a close contains that of the session before. Against the first session after its publication, from open to close, it has a rank correlation of ${coefficientText(mean)} (95 % interval ${coefficientRangeText(interval)}, t ${tValueText(t)}, ${reportWholeNumberText(dates)} sessions).</p>`;

const methodSection = (results: readonly BacktestResult[]): Html => html`<section id="method">
<h2>How to read this</h2>
<p>At each graded close the service's own engine scored every instrument with what was known by then, tables of the peer group included. The rank correlation of these scores with the total returns that followed is the information coefficient: 1 is perfect order, 0 is chance. For this kind of score an honest figure is 0.00 to 0.03.</p>
<h3>The verdict</h3>
<ul>${VERDICT_RULE_SENTENCES.map((rule) => html`<li>${rule}</li>`)}</ul>
<p>t and intervals of coefficients and spreads allow for overlap and autocorrelation: their standard error is that of equal-weighted cosines (Lazarus, Lewis, Stock and Watson, 2018), and t is the normal quantile with the same tail as its Student t. The plain t assumes independent dates, and is used where it is nearer to 0. Intervals of the skill of probabilities come from a block bootstrap with seed ${results[0]?.question.seed}.</p>
<h3>Risk</h3>
<p>${RISK_FORECAST_EXPLANATION}</p>
<p>${STEADINESS_EXPLANATION}</p>
<h3>What is not shown</h3>
<ul>${[...new Set(results.flatMap(caveats))].map((caveat) => html`<li>${caveat}</li>`)}</ul>
</section>`;
