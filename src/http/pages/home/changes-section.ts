import type { AssetClass } from "../../../market/instrument.ts";
import { type Html, html } from "../../../markup/html.ts";
import { SIGNAL_THRESHOLDS } from "../../../score/signal-hysteresis.ts";
import type { FullSignal } from "../../../tool/signal.ts";
import type { HistoryPoint, HistoryView } from "./history-view.ts";
import { type FactorName, factorNames, signalMark } from "./marks.ts";
import { dateTimeHtml, fixedDecimalsHtml, pointsHtml } from "./number-format.ts";
import { proofPath } from "./proof-section.ts";

/** Number of sessions in a week, over which changes are shown. */
const WEEK_SESSIONS: Readonly<Record<AssetClass, number>> = { stock: 5, etf: 5, crypto: 7 };

/** Maximum number of signal changes listed. */
const MAX_CHANGES = 12;

/** Minimum change of a factor that is shown, in points. */
const LEAST_POINTS = 0.05;

/** Data for the section. */
interface ChangesSection {
  readonly signal: Pick<FullSignal, "symbol" | "assetClass">;
  readonly history: Pick<HistoryView, "points">;
  /** Whether the viewer may see the points of each factor. */
  readonly showsFactors: boolean;
}

/**
 * The section about changes: the factors that moved the score in the last week, and the newest
 * changes of the signal, each with the factors that moved the score in the week before the change.
 */
export function changesSection(section: ChangesSection): Html | false {
  const { points: past } = section.history;
  const { assetClass } = section.signal;
  const last = past.at(-1);
  const before = past.at(-1 - WEEK_SESSIONS[assetClass]);
  if (last === undefined || before === undefined) return false;
  const changes = past.flatMap((point, place) =>
    place > 0 && point.signal !== past[place - 1]?.signal ? [place] : [],
  );
  return html`<section aria-labelledby="changes">
<h2 id="changes">What changed</h2>
<div class="card">
<p>In the last ${weekOf(assetClass)} the score went from ${fixedDecimalsHtml(1)(before.scoreRaw)} to ${fixedDecimalsHtml(1)(last.scoreRaw)} (<strong>${pointsHtml(difference(before.scoreRaw, last.scoreRaw))}</strong>), and the signal ${before.signal === last.signal ? html`stayed ${last.signal}` : html`from ${before.signal} to ${last.signal}`}.${section.showsFactors && movedText(before, last)}</p>
${
  changes.length > 0 &&
  html`<div class="scroller" tabindex="0"><table class="figures changes" role="table">
<caption>${changes.length === 1 ? "One change" : `${changes.length} changes`} of the signal in this range, newest first</caption>
<thead role="rowgroup"><tr role="row">${columnHead("Session closed")}${columnHead("Signal")}${columnHead("Smoothed score")}${section.showsFactors && columnHead(`What moved the score, in ${weekOf(assetClass)} before`)}${columnHead("Proof")}</tr></thead>
<tbody role="rowgroup">${changes
    .toReversed()
    .slice(0, MAX_CHANGES)
    .map((place) => changeRow(section, place))}</tbody>
</table></div>`
}
</div>
</section>`;
}

// On a phone, rows are stacked, and some browsers then drop the table semantics without an explicit
// role.
const columnHead = (text: string): Html => html`<th scope="col" role="columnheader">${text}</th>`;

const weekOf = (assetClass: AssetClass): string =>
  `${WEEK_SESSIONS[assetClass]} ${assetClass === "crypto" ? "days" : "sessions"}`;

function changeRow(section: ChangesSection, place: number): Html {
  const { signal, history, showsFactors } = section;
  const { assetClass, symbol } = signal;
  const past = history.points;
  const now = past[place] as HistoryPoint;
  const before = past[place - 1] as HistoryPoint;
  const week = past[Math.max(0, place - WEEK_SESSIONS[assetClass])] as HistoryPoint;
  return html`<tr role="row"><th scope="row" role="rowheader">${dateTimeHtml(now.asOf)}</th><td role="cell">${before.signal} › ${signalMark(now.signal)}</td><td role="cell">${fixedDecimalsHtml(2)(now.scoreSmoothed)} <span class="unit">${boundText(before, now, assetClass)}</span></td>${showsFactors && html`<td role="cell">${factorMoves(week, now)}</td>`}<td role="cell">${
    now.entry === undefined
      ? html`<span class="quiet">${isBeforeLog(past, place) ? "before the log" : "not logged"}</span>`
      : html`<a href="${proofPath(symbol, now.entry)}" aria-label="Verify the signal of ${now.asOf}">Verify</a>`
  }</td></tr>
`;
}

/** Whether a session was before the first logged session of the instrument. */
const isBeforeLog = (past: readonly HistoryPoint[], place: number): boolean => {
  const first = past.findIndex(({ entry }) => entry !== undefined);
  return place < first;
};

/**
 * Text for the threshold that the smoothed score crossed or, if it crossed none, for the other
 * reason why the signal ended.
 */
function boundText(before: HistoryPoint, now: HistoryPoint, assetClass: AssetClass): string {
  const { signal, status, score, scoreSmoothed, coverage, confidence } = now;
  const { enterLong, exitLong, enterShort, exitShort, minCoverage, holdConfidence } =
    SIGNAL_THRESHOLDS[assetClass];
  if (signal === "LONG") return `LONG begins at ${enterLong}`;
  if (signal === "SHORT") return `SHORT begins at ${enterShort}`;
  if (status === "stale") return "trading stopped";
  if (scoreSmoothed === null || score === null) return "its score could not be measured";
  if (before.signal === "LONG" && scoreSmoothed < exitLong) return `LONG ends below ${exitLong}`;
  if (before.signal === "SHORT" && scoreSmoothed > exitShort)
    return `SHORT ends above ${exitShort}`;
  if (minCoverage !== null && coverage < minCoverage)
    return `coverage fell below ${Math.round(100 * minCoverage)} %`;
  if (holdConfidence !== null && confidence < holdConfidence)
    return `confidence fell below ${Math.round(100 * holdConfidence)} %`;
  return assetClass === "stock" ? "its momentum became unknown" : "its history became too short";
}

/** Points between two scores; `null` if there is none at one of the two. */
const difference = (before: number | null, now: number | null): number | null =>
  before === null || now === null ? null : now - before;

/** Sentence about the factors that moved a score; `false` if no change of a factor is known. */
function movedText(before: HistoryPoint, now: HistoryPoint): Html | false {
  const [first] = movesBetween(before, now);
  if (first === undefined) return false;
  return html` ${factorNames[first.factor]} moved it most. Points: ${factorMoves(before, now)}.`;
}

/** Text with the change of each factor in points, largest first. */
function factorMoves(before: HistoryPoint, now: HistoryPoint): Html {
  const moves = movesBetween(before, now);
  return moves.length === 0
    ? html`<span class="quiet">no factor moved</span>`
    : html`${moves.map(({ factor, change }, at) => html`${at > 0 && ", "}${factorNames[factor]} ${pointsHtml(change)}`)}`;
}

function movesBetween(before: HistoryPoint, now: HistoryPoint) {
  const [from, to] = [before.contributions, now.contributions];
  if (from === undefined || to === undefined) return [];
  const factors = Object.keys(factorNames) as FactorName[];
  return factors
    .map((factor) => ({ factor, change: to[factor] - from[factor] }))
    .filter(({ change }) => Math.abs(change) >= LEAST_POINTS)
    .toSorted((a, b) => Math.abs(b.change) - Math.abs(a.change));
}
