import {
  digitsText,
  moneyText,
  percentText,
  signedPercentText,
  withMinus,
} from "../../pages/home/figure-text.js";
import { el, factList, figure, foreign, numberOf, withAttributes } from "./elements.js";
import { facts } from "./facts.js";
import {
  bar,
  coverageBar,
  coverageText,
  label,
  pointsOf,
  rangeBar,
  shareBar,
  signalMark,
} from "./marks.js";
import { timeText } from "./times.js";

/** Least score that is evidence of neither direction. */
const NEUTRAL = 50;

/** The head of every view of one instrument. */
export function instrumentHead({ symbol, name, assetClass, market, status }) {
  return el(
    "header.head",
    el(
      "div",
      withAttributes("h1", { tabindex: -1 }, foreign(symbol)),
      el("p.quiet", foreign(name), ` · ${label(facts.classNames, assetClass)}`),
    ),
    el("p.tags", market === "sandbox" && el("span.tag", "simulated"), statusTag(status)),
  );
}

const statusTag = (status) =>
  status !== undefined &&
  Object.hasOwn(facts.answerNotes, status) &&
  el("span.tag", facts.answerNotes[status]);

/** The score with its bar. */
export function scoreFigure(score, exact = score) {
  return el(
    "div.score",
    el(
      "p.big",
      figure(numberOf(score), (value) => String(Math.round(value))),
      el("span.quiet", " of 100, where 50 is no evidence either way"),
    ),
    bar(numberOf(exact) - NEUTRAL),
    withAttributes(
      "p.scale",
      { "aria-hidden": "true" },
      ["0 bearish", "50", "100 bullish"].map((text) => el("span", text)),
    ),
  );
}

/** One instrument, as `get_signal` answers. @throws {Error} If the answer has another shape. */
export function signalView(answer) {
  const { signal, score, scoreRaw, since, previousSignal, forcedWait, asOf } = answer;
  return el(
    "article",
    instrumentHead(answer),
    el(
      "section.card.verdict",
      el(
        "div",
        signalMark(signal),
        el(
          "p",
          `Since ${timeText(since)}${previousSignal ? `, before it was ${previousSignal}` : ", where the record begins"}.`,
        ),
        forcedWait && el("p.quiet", label(facts.forcedWaits, forcedWait)),
      ),
      scoreFigure(score, scoreRaw),
    ),
    answer.why && contributions(answer.why),
    factList(factsOf(answer)),
    ranges(answer),
    answer.attribution && attribution(answer.attribution),
    evidence(answer),
    el("p.quiet.small", `As of ${timeText(asOf)}.`),
  );
}

function factsOf({ price, confidence, coverage, missingFactors, assetClass, risk, ...answer }) {
  const { nextReport, logged } = answer;
  const missing = Array.isArray(missingFactors) ? missingFactors : [];
  return [
    price && ["Price", moneyText(numberOf(price.value), String(price.currency))],
    ["Confidence", figure(confidence, (value) => percentText(value, 0)), shareBar(confidence)],
    [
      "Coverage",
      figure(coverage, (value) => percentText(value, 0)),
      el("span.quiet", ` ${coverageText(assetClass, missing)}`),
      coverageBar(assetClass, missing),
    ],
    risk?.level && [
      "Risk",
      risk.level,
      el("span.quiet", risk.peerLevel ? ` for it; ${risk.peerLevel} in its class` : " for it"),
    ],
    nextReport?.expected && ["Next report", `about ${timeText(nextReport.expected)}`],
    logged && ["In the log", `entry ${numberOf(logged.index)}`],
  ];
}

/** The ranges of the close ahead, on one scale. */
function ranges({ range80, price, assetClass, risk }) {
  const all = Object.entries(Object(range80)).map(([sessions, [low, high]]) => ({
    sessions,
    range: [numberOf(low), numberOf(high)],
  }));
  if (all.length === 0) return risk?.summary && el("p.quiet.small", risk.summary);
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
          `${digitsText(low)} to ${digitsText(high)}`,
          now !== undefined && el("span.quiet", ` ${change(low)} to ${change(high)}`),
        ),
      ),
    ),
    risk?.summary && el("p.quiet.small", risk.summary),
  );
}

/** Points by factor, or why one has none; they add up to the score. */
function contributions(why) {
  const parts = Object.entries(why);
  const sum = parts.reduce((total, [, one]) => total + (typeof one === "number" ? one : 0), 0);
  return el(
    "section.card",
    el("h2", "Where the score comes from"),
    parts.map(([factor, one]) => pointsRow(label(facts.factorNames, factor), one)),
    sumRow(sum),
  );
}

/** A factor with its points, or why it has none. */
export const pointsRow = (name, value) =>
  el(
    "div.row",
    el("p.name", name),
    typeof value === "number" ? bar(value) : el("span.hollow"),
    typeof value === "number"
      ? el("p.value", figure(value, pointsOf))
      : el("p.value.quiet", label(facts.statusLabels, value)),
  );

/** The sum of the points, which starts at 50. */
export const sumRow = (sum) =>
  el(
    "div.row.sum",
    el("p.name", "Score"),
    el("p.quiet.small", `50 ${sum < 0 ? "−" : "+"} ${Math.abs(sum).toFixed(1)}`),
    el(
      "p.value",
      figure(NEUTRAL + sum, (value) => value.toFixed(1)),
    ),
  );

function attribution({ from, to, change, factors }) {
  return el(
    "section.card",
    el("h2", `What moved it from ${timeText(from)} to ${timeText(to)}`),
    Object.entries(Object(factors)).map(([factor, one]) =>
      pointsRow(label(facts.factorNames, factor), numberOf(one.change)),
    ),
    el("div.row.sum", el("p.name", "Change"), el("p"), el("p.value", pointsOf(numberOf(change)))),
  );
}

/** What a score is, and what directions were worth. */
export const evidence = ({ evidence: measured }) =>
  el(
    "p.note",
    measured?.verdict && el("strong", `Backtest: ${label({}, measured.verdict)}. `),
    `${facts.scoreIs} ${facts.scoreIsNot} ${facts.directionWorth}`,
  );
