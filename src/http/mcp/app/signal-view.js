import {
  adaptiveDigitsText,
  moneyText,
  percentText,
  signedPercentText,
  withMinus,
} from "../../pages/home/figure-text.js";
import { el, factList, isKnown, numberOf, numberOrDash } from "./elements.js";
import { facts } from "./facts.js";
import {
  coverageBar,
  coverageText,
  labelOf,
  pointsOf,
  rangeBar,
  shareBar,
  signalMark,
} from "./marks.js";
import {
  backtestNote,
  instrumentHeader,
  pointsRow,
  scoreFigure,
  scoreMeaningNote,
  sumRow,
} from "./parts.js";
import { timeText } from "./times.js";

/**
 * View of one instrument, as `get_signal` returns it.
 *
 * @throws {Error} If the answer has an unexpected shape.
 */
export function signalView(answer) {
  const { signal, score, scoreRaw, forcedWait, asOf, why, attribution } = answer;
  return el(
    "article",
    instrumentHeader(answer),
    el(
      "section.card.verdict",
      el(
        "div",
        signalMark(signal),
        el("p", sinceText(answer)),
        forcedWait && el("p.quiet", labelOf(facts.forcedWaits, forcedWait)),
      ),
      scoreFigure(score, scoreRaw),
    ),
    backtestNote(answer.evidence),
    why && contributions(why, score),
    factList(factsOf(answer)),
    ranges(answer),
    attribution && attributionCard(attribution),
    el("p.quiet.small", `As of ${timeText(asOf)}.`),
    scoreMeaningNote(),
  );
}

/**
 * Text that says since when the signal has applied and what the previous signal was.
 * `previousSignal` is `null` if no signal was recorded before the current one.
 */
function sinceText({ since, previousSignal }) {
  if (!isKnown(since)) return undefined;
  if (previousSignal === undefined) return `Since ${timeText(since)}.`;
  const before =
    previousSignal === null ? "where the record begins" : `before it was ${previousSignal}`;
  return `Since ${timeText(since)}, ${before}.`;
}

function factsOf({ price, confidence, coverage, missingFactors, assetClass, risk, ...answer }) {
  const { nextReport, logged } = answer;
  const percent = (value) => percentText(value, 0);
  const isMeasured = Array.isArray(missingFactors);
  return [
    price && ["Price", moneyText(numberOf(price.value), String(price.currency))],
    ["Confidence", numberOrDash(confidence, percent), isKnown(confidence) && shareBar(confidence)],
    [
      "Coverage",
      numberOrDash(coverage, percent),
      isMeasured && el("span.quiet", ` ${coverageText(assetClass, missingFactors)}`),
      isMeasured && coverageBar(assetClass, missingFactors),
    ],
    risk?.level && [
      "Risk",
      risk.level,
      el("span.quiet", risk.peerLevel ? ` for it; ${risk.peerLevel} in its class` : " for it"),
    ],
    nextReport?.expected && ["Next report", ...reportTexts(nextReport)],
    logged && ["In the log", `entry ${numberOf(logged.index)}`],
  ];
}

/** The expected filing of a report, and its window. */
function reportTexts({ expected, earliest, latest, windowCoverage }) {
  return [
    `filed about ${timeText(expected)}`,
    isKnown(windowCoverage) &&
      el(
        "span.quiet",
        ` ${percentText(windowCoverage, 0)} of filings: ${timeText(earliest)} to ${timeText(latest)}`,
      ),
  ];
}

/** Card with the 80 % ranges of future closing prices, drawn on one scale. */
function ranges({ range80, price, assetClass, risk }) {
  const summary = risk?.summary && el("p.quiet.small", withMinus(String(risk.summary)));
  const all = Object.entries(Object(range80)).map(([sessions, [low, high]]) => ({
    sessions,
    range: [numberOf(low), numberOf(high)],
  }));
  if (all.length === 0) return summary;
  const now = price ? numberOf(price.value) : undefined;
  const values = [...all.flatMap(({ range }) => range), ...(now === undefined ? [] : [now])];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const margin = (most - least) / 10;
  const scale = [least - margin, most + margin];
  const unit = assetClass === "crypto" ? "days" : "sessions";
  const change = (value) => withMinus(signedPercentText(value / now - 1));
  return el(
    "section.card",
    el("h2", "Where the close may be, with 80\u00a0% probability"),
    all.map(({ sessions, range: [low, high] }) =>
      el(
        "div.row",
        el("p.name", `in ${sessions} ${unit}`),
        rangeBar([low, high], now, scale),
        el(
          "p.value",
          `${adaptiveDigitsText(low)} to ${adaptiveDigitsText(high)}`,
          now !== undefined && el("span.quiet", ` ${change(low)} to ${change(high)}`),
        ),
      ),
    ),
    summary,
  );
}

/**
 * Card with the points of each factor, or the reason why a factor has none. The points and the
 * neutral 50 add up to the score, if there is one.
 */
function contributions(why, score) {
  const parts = Object.entries(why);
  const sum = parts.reduce((total, [, one]) => total + (typeof one === "number" ? one : 0), 0);
  return el(
    "section.card",
    el("h2", "Where the score comes from"),
    parts.map(([factor, one]) => pointsRow(labelOf(facts.factorNames, factor), one)),
    isKnown(score) && sumRow(sum),
  );
}

const attributionCard = ({ from, to, change, factors }) =>
  el(
    "section.card",
    el("h2", `What moved it from ${timeText(from)} to ${timeText(to)}`),
    Object.entries(Object(factors)).map(([factor, one]) =>
      pointsRow(labelOf(facts.factorNames, factor), numberOf(one.change)),
    ),
    el("div.row.sum", el("p.name", "Change"), el("p"), el("p.value", pointsOf(numberOf(change)))),
  );
