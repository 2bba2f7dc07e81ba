import { CLASS_PLURALS } from "../../../answers/range-alert.ts";
import { toPercent } from "../../../answers/risk.ts";
import type { Site } from "../../../answers/site.ts";
import { STEADINESS_MEANING } from "../../../answers/steadiness.ts";
import { DAY_MS } from "../../../lib/day.ts";
import { type Html, html } from "../../../markup/html.ts";
import { FACTORS_BY_CLASS } from "../../../score/composite.ts";
import type { FullSignal } from "../../../tool/signal.ts";
import { descriptionList, type FactEntry, untrustedText } from "../elements.ts";
import type { PageAnswer } from "../page-answer.ts";
import { changesSection } from "./changes-section.ts";
import { darkpoolSection } from "./darkpool-section.ts";
import { factorsSection } from "./factor-cards.ts";
import { factorHistoryChart } from "./factor-history.ts";
import { historySection } from "./history-section.ts";
import type { HistoryChoice, HistoryView } from "./history-view.ts";
import { liveRegion, updateStatusRegion } from "./home-context.ts";
import type { InstrumentView } from "./instrument-view.ts";
import { wholeScore } from "./market-table.ts";
import {
  answerStatusNotes,
  assetClassNames,
  coverageBar,
  coverageText,
  factorNames,
  scoreScale,
  signalMark,
} from "./marks.ts";
import {
  barePriceHtml,
  dateTimeHtml,
  fixedDecimalsHtml,
  percentHtml,
  priceHtml,
  signedPercentHtml,
} from "./number-format.ts";
import { breadcrumbTrail, type PeersView, peersSection } from "./peers.ts";
import { proofSection } from "./proof-section.ts";
import { scoreCaveat } from "./score-caveat.ts";
import type { Viewer } from "./viewer.ts";

/** Data for the page of an instrument. */
interface InstrumentPageOptions {
  readonly view: InstrumentView;
  readonly history: HistoryView;
  readonly choice: HistoryChoice;
  readonly peers: PeersView;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
  readonly site: Site;
  readonly viewer: Viewer;
  readonly scriptPath: string;
}

/**
 * The page of one instrument: its signal with the evidence, its history, the factors and its peers.
 */
export function instrumentPage({
  view,
  history,
  choice,
  peers,
  dayMs,
  site,
  viewer,
  scriptPath,
}: InstrumentPageOptions): PageAnswer {
  const { signal, factors, darkpool } = view;
  const chosen = `symbols=${encodeURIComponent(signal.symbol)}`;
  const instrument = liveRegion(
    "instrument",
    html`${breadcrumbTrail(peers)}
${signalSection(view, dayMs)}
${historySection({ signal, history, choice, dayMs })}
${changesSection({ signal, history, showsFactors: factors !== undefined })}
${factors && factorsSection(factors, signal.scoreRaw)}
<div class="two">${factors && factorHistoryChart(history.points, dayMs)}${darkpool && darkpoolSection(darkpool, dayMs)}</div>
${peersSection(peers, signal.symbol)}
${proofSection(signal, dayMs)}`,
  );
  return {
    heading: signal.symbol,
    isWide: true,
    place: "market",
    isSignedIn: viewer.isSignedIn,
    scriptPath,
    liveParts: [instrument],
    body: html`<p class="lead beneath">${untrustedText(signal.name)}${dayMs < DAY_MS && html` <span class="quiet">· simulated, a session lasts ${Math.round(dayMs / 1_000)} seconds</span>`}</p>
<p class="actions"><a class="main" href="/account/alerts/new?${chosen}">Alert me</a> <a class="second" href="/account/watchlists/new?${chosen}">Add to a watchlist</a> <a class="second" href="/?compare=${encodeURIComponent(signal.symbol)}#compare">Compare</a></p>
<p class="quiet">On this page: <a href="#changes">what changed</a>${factors && html`, <a href="#factors">why</a>`}, <a href="#proof">proof</a></p>
${instrument}
${updateStatusRegion({}, site.market)}`,
  };
}

function signalSection({ signal: answer, factors, changes }: InstrumentView, dayMs: number): Html {
  const { signal, score, scoreRaw, status } = answer;
  const warning = answerStatusNotes[status];
  return html`<section class="verdict card" aria-labelledby="signal">
<h2 id="signal" class="unseen">Signal and score</h2>
<div class="verdict-signal">
${priceText(answer, changes)}
<p>${sinceText(answer)} ${nextText(answer)}</p></div>
<div class="verdict-score">
<p class="big">${signalMark(signal, answer)} ${wholeScore(scoreRaw, score)} <span class="quiet">of 100, where 50 is the middle</span>${warning && html` <span class="tag">${warning}</span>`}</p>
${scoreScale(scoreRaw, answer.assetClass)}
${scoreCaveat}
</div>
<div class="columns">${descriptionList(factsOf(answer, dayMs))}</div>
${answer.assetClass === "stock" && html`<p class="quiet">${STEADINESS_MEANING}</p>`}
<details class="more"><summary>How the signal follows from the score, and how the ranges have held</summary>
<p>${reasonText(answer)}</p><p>${answer.risk.summary}</p>
</details>
<p class="quiet">${kindText(answer, factors?.sector ?? null)}</p>
</section>`;
}

/** Text with the newest closing price and its changes over a session, a month and a year. */
const priceText = (
  { price: newest, assetClass }: FullSignal,
  { session, month, year }: InstrumentView["changes"],
): Html | false =>
  newest !== null &&
  html`<p class="price-line"><strong>${priceHtml(newest.value, newest.currency)}</strong> ${signedPercentHtml(session)} <span class="quiet">${
    assetClass === "crypto" ? "30" : "21"
  } ${unitOf(assetClass)} ${signedPercentHtml(month)} · ${assetClass === "crypto" ? "365" : "252"} ${unitOf(assetClass)} ${signedPercentHtml(year)} · close of ${dateTimeHtml(newest.at)}</span></p>`;

const unitOf = (assetClass: FullSignal["assetClass"]): string =>
  assetClass === "crypto" ? "days" : "sessions";

/** Text about the kind of the instrument and the source of the figures. */
function kindText(answer: FullSignal, sector: string | null): Html {
  const { assetClass, exchange, horizon, asOf } = answer;
  const origin = answer.sources.map(({ name }) => name).join(", ");
  const kind = [assetClassNames[assetClass], exchange, sector].filter((part) => part !== null);
  return html`${untrustedText(kind.join(", "))} · horizon ${horizon} · as of ${dateTimeHtml(asOf)} · ${origin}`;
}

function factsOf(answer: FullSignal, dayMs: number): readonly (FactEntry | false)[] {
  const { assetClass, confidence, coverage, risk, thresholds } = answer;
  return [
    ...rangeFacts(answer),
    [
      "Confidence",
      html`${percentHtml(0)(confidence)}${thresholds.enterConfidence !== null && html` <span class="quiet">a signal begins from ${percentHtml(0)(thresholds.enterConfidence)}</span>`}`,
    ],
    [
      "Coverage",
      html`${percentHtml(0)(coverage)} ${coverageBar(assetClass, answer.missingFactors)}<span class="quiet">${coverageText(assetClass, answer.missingFactors)} factors${missingText(answer)}</span>`,
    ],
    [
      "Risk",
      html`${risk.level ?? "–"} <span class="quiet">${risk.peerLevel === null ? "against its own year" : `against its own year; ${risk.peerLevel} in its class`}</span>`,
    ],
    assetClass !== "etf" && ["Steadiness", steadinessText(answer)],
    assetClass === "stock" && ["Next report", reportText(answer, dayMs)],
  ];
}

/** Text with the steadiness of an instrument and its rank, or the reason why it has none. */
function steadinessText({ assetClass, steadiness, risk: { steadiness: full } }: FullSignal): Html {
  const { reason, rank, peers } = full;
  return html`${steadiness ?? "–"} <span class="quiet">${reason ?? `rank ${rank} of ${peers} ${CLASS_PLURALS[assetClass]}`}</span>`;
}

/** Text that lists the factors of the asset class that have no value. */
function missingText({ assetClass, missingFactors }: FullSignal): string {
  const missing = FACTORS_BY_CLASS[assetClass].filter((factor) => missingFactors.includes(factor));
  const names = missing.map((factor) => factorNames[factor].toLowerCase());
  return names.length === 0 ? "" : `; without ${names.join(", ")}`;
}

/** The forecast ranges of the closing price, as list entries. */
const rangeFacts = ({ range80, price: newest, assetClass }: FullSignal): readonly FactEntry[] =>
  Object.entries(range80 ?? {}).map(([sessions, [low = 0, high = 0]]) => [
    `80 % range, ${sessions} ${unitOf(assetClass)}`,
    html`${barePriceHtml(low)} to ${barePriceHtml(high)}${newest && html` <span class="quiet">${signedPercentHtml(low / newest.value - 1)} to ${signedPercentHtml(high / newest.value - 1)}</span>`}`,
  ]);

/**
 * Text about the next expected filing, or the reason why none is expected. In the sandbox, where a
 * market day is shorter than a calendar day, times are given in market days.
 */
function reportText({ nextReport, nextReportReason, asOf }: FullSignal, dayMs: number): Html {
  if (nextReport === null) return html`<span class="quiet">${nextReportReason}</span>`;
  const { expected, earliest, latest, windowCoverage } = nextReport;
  const results = `${toPercent(windowCoverage)} % of past filings; results come then or a few sessions before`;
  if (dayMs >= DAY_MS) {
    return html`filed about ${dateTimeHtml(expected)} <span class="quiet">${dateTimeHtml(earliest)} to ${dateTimeHtml(latest)}; ${results}</span>`;
  }
  const ahead = (iso: string) => Math.round((Date.parse(iso) - Date.parse(asOf)) / dayMs);
  const when = (iso: string, ofFuture: (days: number) => string): Html => {
    const days = ahead(iso);
    return html`<time datetime="${iso}">${days < 0 ? `${-days} market days ago` : ofFuture(days)}</time>`;
  };
  const window = html`${when(earliest, String)} to ${when(latest, (days) => `${days} days ahead`)}`;
  return html`${when(expected, (days) => `in ${days} market days`)} <span class="quiet">${window}; ${results}</span>`;
}

const sinceText = ({ since, previousSignal }: FullSignal): Html =>
  html`Since ${dateTimeHtml(since)}${
    previousSignal === null ? ", where the record begins" : html`, before it was ${previousSignal}`
  }.`;

/** Reasons why a signal is WAIT regardless of its score. */
export const forcedWaitTexts: Readonly<Record<NonNullable<FullSignal["forcedWait"]>, string>> = {
  too_young: "It is WAIT whatever the score, because its history is too short.",
  not_trading: "It is WAIT whatever the score, because it does not trade just now.",
  low_confidence: "It is WAIT whatever the score, because the evidence is too thin.",
  low_coverage: "It is WAIT whatever the score, because too few factors have a value.",
  unscored: "It is WAIT, because no part of its score could be measured.",
  no_momentum: "It is WAIT whatever the score, because its momentum against the market is unknown.",
};

/** Text about the thresholds at which the current signal ends or a new one begins. */
function nextText({ signal, thresholds, scoreSmoothed, forcedWait, frozen }: FullSignal): Html {
  const { enterLong, exitLong, enterShort, exitShort } = thresholds;
  const ahead = {
    LONG: `LONG ends below ${exitLong}`,
    SHORT: `SHORT ends above ${exitShort}`,
    WAIT: `LONG begins at ${enterLong}, SHORT at ${enterShort}`,
  };
  return html`Smoothed ${fixedDecimalsHtml(2)(scoreSmoothed)}: ${ahead[signal]}.${forcedWait !== null && ` ${forcedWaitTexts[forcedWait]}`}${frozen && " While trading pauses, it stays what it was."}`;
}

/** Text that explains why the signal may differ from what the score suggests. */
function reasonText({ thresholds, scoreSmoothed }: FullSignal): Html {
  const { enterLong, exitLong, enterShort, exitShort, enterConfidence, minCoverage } = thresholds;
  const gates =
    enterConfidence !== null &&
    html` To begin, each needs a confidence of ${percentHtml(0)(enterConfidence)} and a coverage of ${percentHtml(0)(minCoverage)}.`;
  return html`The signal follows the score smoothed over sessions, ${fixedDecimalsHtml(2)(scoreSmoothed)} now: LONG begins at ${enterLong} and ends below ${exitLong}, SHORT begins at ${enterShort} and ends above ${exitShort}.${gates}`;
}
