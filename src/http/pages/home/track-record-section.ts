import { isoInstant } from "../../../answers/shared-members.ts";
import { isFinalVerdict } from "../../../answers/track-record.ts";
import type { ServedTrackRecord } from "../../../grading/log-record.ts";
import {
  type ExclusionReason,
  excessReturnCurve,
  type TrackRecordFigures,
  type TrackRecordTerms,
  type TrackRecordVerdict,
} from "../../../grading/track-record.ts";
import type { AssetClass } from "../../../market/instrument.ts";
import { type Html, type HtmlContent, html } from "../../../markup/html.ts";
import {
  bandPath,
  columnPanel,
  horizontalLine,
  linePath,
  plot,
  plotPanel,
} from "../../../markup/plot.ts";
import { axisTicks, tickDecimals, timeAxis } from "../../../markup/plot-axis.ts";
import { runningMethod } from "../../../method/running.ts";
import { withMinus } from "./figure-text.js";
import { assetClassNames } from "./marks.ts";
import {
  dateTimeHtml,
  fixedDecimalsHtml,
  percentHtml,
  signedPercentHtml,
  wholeNumberHtml,
} from "./number-format.ts";

/** A horizon as text, such as "20 sessions". */
export const horizonText = (assetClass: AssetClass, horizon: number): string =>
  `${horizon} ${assetClass === "crypto" ? "days" : "sessions"}`;

/** Number of digits of a method hash that are shown, as in the version of a method. */
const SHOWN_DIGITS = 16;

/** The title of a track record: asset class and horizon, and the method unless it is running. */
export function trackRecordTitle({
  figures: { assetClass, horizon },
  methodHash,
}: ServedTrackRecord): string {
  const title = `${assetClassNames[assetClass]}, ${horizonText(assetClass, horizon)}`;
  const isRunning = methodHash === runningMethod().methodHash;
  return isRunning ? title : `${title}, earlier method ${methodHash.slice(0, SHOWN_DIGITS)}`;
}

/** Labels of the verdicts of a track record. */
const TRACK_RECORD_VERDICT_TEXTS: Readonly<Record<TrackRecordVerdict, string>> = {
  insufficient_data: "not enough data",
  no_evidence: "no evidence of skill",
  evidence_for: "evidence of skill",
  evidence_against: "evidence against it",
};

/** The date of an instant. */
export const dayHtml = (at: number): Html =>
  dateTimeHtml(isoInstant(at).slice(0, "2026-11-22".length));

const instantOf = (at: number | null): string | null => (at === null ? null : isoInstant(at));

/**
 * Section of one track record: the verdict (only if the record covers the headline horizon), the
 * curve, the figures and the counts.
 */
export function trackRecordSection(
  record: ServedTrackRecord,
  terms: TrackRecordTerms,
  dayMs: number,
): Html {
  const { assetClass, horizon } = record.figures;
  const id = `${assetClass}-${horizon}-${record.methodHash.slice(0, SHOWN_DIGITS)}`;
  return html`<section aria-labelledby="${id}">
<h2 id="${id}">${trackRecordTitle(record)}</h2>
${terms.headline[assetClass] === horizon && verdictCard(record, terms)}
${curve(record, id, dayMs)}
${figuresTable(record.figures)}
${splitTable(record.figures)}
${countsTable(record.figures)}
</section>`;
}

/** Card with the last verdict and the data that the next verdict still needs. */
function verdictCard(
  { figures, verdicts, openSince }: ServedTrackRecord,
  { rules, verdictDates }: TrackRecordTerms,
): Html {
  const last = verdicts.at(-1);
  const next = verdictDates[verdicts.length];
  const { periods, ic } = figures;
  const width = ic === null ? null : ic.high - ic.low;
  return html`<div class="card record-verdict"><div>
<p class="quiet">Verdict on the direction, from ${dateTimeHtml(instantOf(figures.from))} to ${dateTimeHtml(instantOf(figures.to))}</p>
<p class="verdict-word">${last === undefined ? "none yet" : TRACK_RECORD_VERDICT_TEXTS[last.verdict]}</p>
<p>${
    last === undefined
      ? "Verdicts are given only on days that were fixed when the log began, so that nobody can choose a good moment."
      : html`Given on ${dayHtml(last.at)}, by the rule below.${!isFinalVerdict(last, { openSince }) && " Late or corrected prices may still change it."}`
  }${next !== undefined && html` The next is given on ${dayHtml(next)}.`}</p>
</div><div>
<p>Periods that do not overlap: <strong>${fixedDecimalsHtml(1)(periods)}</strong> of ${rules.minPeriods} that a verdict needs</p>
${meter(periods, rules.minPeriods)}
<p class="quiet">Width of the interval of the rank correlation: <strong>${width === null ? "not known yet" : fixedDecimalsHtml(3)(width)}</strong>; it must be at most ${rules.maxIntervalWidth}.</p>
</div></div>`;
}

function meter(value: number, needed: number): Html {
  const share = Math.min(100, (100 * value) / needed).toFixed(1);
  return html`<svg class="meter" role="img" aria-label="${value.toFixed(1)} of ${needed}"><rect class="rail" width="100%" height="10"/><rect class="ahead" width="${share}%" height="10"/></svg>`;
}

/** Chart of the cumulative excess return by session, with the 95 % band for shuffled signals. */
function curve(record: ServedTrackRecord, id: string, dayMs: number): Html {
  const { figures, runs } = record;
  const points = excessReturnCurve(runs, figures.horizon);
  const last = points.at(-1);
  if (last === undefined || points.length < 2) {
    return html`<div class="empty"><p>Too few sessions are settled to draw a line.</p></div>`;
  }
  const shown = (value: number) => withMinus(`${(100 * value).toFixed(2)} %`);
  const bounds = points.flatMap(({ chance, sum }) => [chance, -chance, sum]);
  const axis = { low: 1.1 * Math.min(...bounds), high: 1.1 * Math.max(...bounds) };
  const columns = timeAxis(
    points.map(({ close }) => close),
    { dayMs },
  );
  const chances = points.map(({ chance }, place) => ({ place, from: chance, to: -chance }));
  const marks = axisTicks(axis);
  const decimals = Math.max(1, tickDecimals(marks.map((value) => 100 * value)));
  const sums = points.map(({ sum }) => sum);
  const table = `${id}-figures`;
  const label = `Excess return of LONG and SHORT summed over ${points.length} sessions: ${shown(last.sum)}; shuffled signals lie within ${shown(last.chance)} on either side in 95 % of cases`;
  return html`<figure class="card chart">
<p class="readout"><span>Excess return of LONG and SHORT, summed: <strong>${shown(last.sum)}</strong>. While the line runs inside the grey band, it is what chance makes.</span><output></output></p>
${plot(
  { label, columns, readout: { table, count: points.length } },
  html`${plotPanel({
    name: "p-price",
    columns,
    axis,
    shapes: html`<path class="band" d="${bandPath(chances, axis)}"/>${marks.map((value) => horizontalLine(value, axis, value === 0 ? "zero" : "grid"))}<path class="l-score" d="${linePath(sums, axis)}"/>`,
    labels: marks.map((value) => ({
      value,
      text: withMinus(`${(100 * value).toFixed(decimals)} %`),
    })),
  })}${columnPanel(columns)}`,
)}
</figure>
<ul class="legend"><li class="smoothed">LONG and SHORT, beyond the mean of all instruments</li><li class="twin">the same signals shuffled, 95 %</li><li class="daily">LONG on everything is 0</li></ul>
<details class="more"><summary>The same in figures</summary>
<div class="scroller" tabindex="0"><table class="figures" id="${table}">
<caption>${points.length} sessions, newest first</caption>
<thead><tr><th scope="col">Session closed</th><th scope="col">Summed excess return</th><th scope="col">95 % of shuffled signals within</th></tr></thead>
<tbody>${points
    .toReversed()
    .map(
      ({ close, sum, chance }) =>
        html`<tr><th scope="row">${dateTimeHtml(isoInstant(close))}</th><td>${shown(sum)}</td><td>±${shown(chance)}</td></tr>\n`,
    )}</tbody>
</table></div>
</details>`;
}

const NONE = html`<span class="quiet">–</span>`;
const NOT_YET = html`<span class="quiet">too few sessions</span>`;

interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** A row of figures; a dash replaces an absent estimate or comparison. */
interface FigureRow {
  readonly name: string;
  readonly value: HtmlContent;
  readonly estimate?: Estimate | null;
  readonly format?: (value: number) => Html;
  /** The figure of the baseline, or the nominal value, for comparison. */
  readonly twin?: HtmlContent;
  readonly twinName?: string;
}

function figuresTable(figures: TrackRecordFigures): Html {
  return html`<div class="scroller all" tabindex="0"><table class="figures">
<caption>In figures. Intervals are of 95 %; the upright line is no effect</caption>
<thead><tr><th scope="col">Measure</th><th scope="col">Signals</th><th scope="col">Interval</th><th scope="col" class="roomy">Drawn</th><th scope="col">Beside</th></tr></thead>
<tbody>${rowsOf(figures).map(figureRow)}</tbody>
</table></div>`;
}

const rowsOf = ({
  meanExcess,
  meanReturn,
  hitRate,
  ic,
  ranges,
  fallSkill,
  twins,
}: TrackRecordFigures): readonly FigureRow[] => [
  {
    name: "Mean excess return of LONG and SHORT",
    value: meanExcess === null ? NOT_YET : signedPercent2(meanExcess.value),
    estimate: meanExcess,
    format: signedPercent2,
    twin:
      twins.shuffled &&
      html`${signedPercent2(twins.shuffled.low)} to ${signedPercent2(twins.shuffled.high)}`,
    twinName: "the same signals shuffled, 95 %",
  },
  {
    name: "Mean return",
    value: signedPercentHtml(meanReturn),
    twin: signedPercentHtml(twins.alwaysLong),
    twinName: "LONG on everything",
  },
  { name: "Right on their side", value: percentHtml(1)(hitRate), twin: "50 %", twinName: "a coin" },
  {
    name: "Rank correlation of score and return",
    value:
      ic === null
        ? NOT_YET
        : html`${fixedDecimalsHtml(3)(ic.value)} <span class="unit">t ${fixedDecimalsHtml(1)(ic.t)}</span>`,
    estimate: ic,
    format: fixedDecimalsHtml(3),
    twin: "0",
    twinName: "no skill",
  },
  ...ranges.map(({ probability, coverage }) => ({
    name: `Returns within the ${100 * probability} % range`,
    value: percentHtml(1)(coverage),
    twin: percentHtml(0)(probability),
    twinName: "promised",
  })),
  {
    name: "Skill of the chance of a fall",
    value: fixedDecimalsHtml(3)(fallSkill),
    twin: "0",
    twinName: "no skill",
  },
];

const signedPercent2 = (value: number): Html => html`${value > 0 && "+"}${percentHtml(2)(value)}`;

const figureRow = ({ name, value, estimate, format, twin, twinName }: FigureRow): Html =>
  html`<tr><th scope="row">${name}</th><td><strong>${value}</strong></td><td>${
    estimate && format ? html`${format(estimate.low)} to ${format(estimate.high)}` : NONE
  }</td><td class="roomy">${estimate && intervalMark(estimate)}</td><td>${twin ?? NONE}${twin && html` <span class="unit">${twinName}</span>`}</td></tr>
`;

/** Drawing of an estimate and its interval on a line, with 0 in the middle. */
function intervalMark({ value, low, high }: Estimate): Html {
  const reach = 1.05 * Math.max(Math.abs(low), Math.abs(high)) || 1;
  const place = (one: number) => `${(50 + (50 * one) / reach).toFixed(1)}%`;
  return html`<svg class="interval" aria-hidden="true"><line class="zero" x1="50%" x2="50%" y2="16"/><line class="fan-l" x1="${place(low)}" x2="${place(high)}" y1="8" y2="8"/><circle cx="${place(value)}" cy="8" r="4"/></svg>`;
}

/** The figures by signal and by sector, if there are any. */
function splitTable({ bySignal, bySector }: TrackRecordFigures): Html | false {
  if (bySignal.length === 0) return false;
  const interval = (one: Estimate | null) =>
    one === null
      ? NOT_YET
      : html`${signedPercent2(one.value)} <span class="unit">${signedPercent2(one.low)} to ${signedPercent2(one.high)}</span>`;
  return html`<details class="more"><summary>By signal${bySector.length > 0 && " and by sector"}</summary>
<div class="scroller" tabindex="0"><table class="figures">
<caption>By signal. SHORT keeps its sign here: below 0 is right</caption>
<thead><tr><th scope="col">Signal</th><th scope="col">Statements</th><th scope="col">Mean return</th><th scope="col">Beyond the mean of all, with 95 %</th></tr></thead>
<tbody>${bySignal.map(
    ({ signal, statements, meanReturn, meanExcess }) =>
      html`<tr><th scope="row">${signal}</th><td>${wholeNumberHtml(statements)}</td><td>${signedPercentHtml(meanReturn)}</td><td>${interval(meanExcess)}</td></tr>\n`,
  )}</tbody>
</table></div>
${
  bySector.length > 0 &&
  html`<div class="scroller" tabindex="0"><table class="figures">
<caption>By sector. A sector alone has few independent periods, so these have no intervals</caption>
<thead><tr><th scope="col">Sector</th><th scope="col">LONG</th><th scope="col">SHORT</th><th scope="col">WAIT</th><th scope="col">Mean excess return of LONG and SHORT</th><th scope="col">Rank correlation within it</th></tr></thead>
<tbody>${bySector.map(
    ({ sector, long, short, wait, meanExcess, ic }) =>
      html`<tr><th scope="row">${sector ?? "not known"}</th><td>${wholeNumberHtml(long)}</td><td>${wholeNumberHtml(short)}</td><td>${wholeNumberHtml(wait)}</td><td>${meanExcess === null ? NONE : signedPercent2(meanExcess)}</td><td>${fixedDecimalsHtml(3)(ic)}</td></tr>\n`,
  )}</tbody>
</table></div>`
}
</details>`;
}

/** Labels of the reasons for excluding signals from the track record. */
const EXCLUDED: Readonly<Record<ExclusionReason, string>> = {
  failed: "without a result",
  unscored: "without a score",
  untraded: "without a price in the session",
  unsettled: "without a price afterwards",
  copies: "coins that copy another or are pegged",
};

function countsTable({ runs, calls, lateRuns, excluded, from, to }: TrackRecordFigures): Html {
  const left = Object.entries(excluded).filter(([, count]) => count > 0);
  const row = (name: string, value: HtmlContent) =>
    html`<tr><th scope="row">${name}</th><td>${value}</td></tr>\n`;
  return html`<details class="more"><summary>What counts, and what does not</summary>
<table class="figures"><caption class="unseen">What counts, and what does not</caption><tbody>
${row("Sessions graded", html`${wholeNumberHtml(runs)} <span class="unit">${dateTimeHtml(instantOf(from))} to ${dateTimeHtml(instantOf(to))}</span>`)}${row("LONG", wholeNumberHtml(calls.long))}${row("SHORT", wholeNumberHtml(calls.short))}${row("WAIT, counted and not graded", wholeNumberHtml(calls.wait))}${left.map(([reason, count]) => row(`Left out: ${EXCLUDED[reason as ExclusionReason]}`, wholeNumberHtml(count)))}${lateRuns > 0 && row("Left out: sessions logged after their returns had begun", wholeNumberHtml(lateRuns))}
</tbody></table></details>`;
}
