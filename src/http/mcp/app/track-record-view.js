import { percentText, wholeNumberText, withMinus } from "../../pages/home/figure-text.js";
import { el, factList, numberOf, numberOrDash } from "./elements.js";
import { facts } from "./facts.js";
import { labelOf } from "./marks.js";
import { backtestNote, isSimulated, viewHeader } from "./parts.js";
import { timeText } from "./times.js";

/** Creates a formatter that shows a log return as a percentage. */
const percent = (decimals) => (value) => withMinus(percentText(value, decimals));

const plain = (decimals) => (value) => withMinus(value.toFixed(decimals));

/** Maximum number of records drawn; each covers one asset class and one horizon. */
const MAX_RECORDS = 20;

/**
 * View of the track record: how the logged signals turned out.
 *
 * @throws {Error} If the answer has an unexpected shape.
 */
export function trackRecordView(answer) {
  const { beganAt, records, note, origin } = answer;
  const shown = records.slice(0, MAX_RECORDS);
  const started = shown.filter(({ from }) => from !== null);
  const waiting = shown.filter(({ from }) => from === null);
  return el(
    "article",
    viewHeader(
      "Track record",
      `Every signal since ${timeText(beganAt)}, settled by a rule fixed before.`,
      answer,
    ),
    isSimulated(answer) &&
      el("p.note", "The prices of this market are made up: the record says nothing of any method."),
    started.map(recordCard),
    waiting.length > 0 && waitingCard(waiting),
    note && el("p.note", note),
    backtestNote(),
    el("p.quiet.small", origin && `Log ${origin}. `, "WAIT is counted and not graded."),
  );
}

function recordCard(record) {
  return el(
    "section.card",
    el("h2", titleOf(record)),
    record.isHeadline && el("p", verdictText(record)),
    factList(figuresOf(record)),
  );
}

const waitingCard = (waiting) =>
  el(
    "section.card",
    el("h2", "Nothing yet"),
    factList(
      waiting.map((record) => [titleOf(record), `not before ${timeText(record.expectedAt)}`]),
    ),
  );

function titleOf({ assetClass, horizon }) {
  const unit = assetClass === "crypto" ? "days" : "sessions";
  return `${labelOf(facts.classNames, assetClass)}, ${numberOf(horizon)} ${unit}`;
}

function verdictText({ verdicts, nextVerdictAt }) {
  const last = verdicts.at(-1);
  return [
    last
      ? [
          `Verdict of ${timeText(last.at)}: `,
          el("strong", labelOf(facts.recordVerdicts, last.verdict)),
        ]
      : "There is no verdict yet",
    nextVerdictAt ? `; the next is given on ${timeText(nextVerdictAt)}.` : ".",
  ];
}

const NOT_YET = "too few sessions";

/** An estimate with its 95 % confidence interval. */
const estimate = (one, format) =>
  one
    ? [
        numberOrDash(one.value, format),
        el("span.quiet", ` ${format(numberOf(one.low))} to ${format(numberOf(one.high))}`),
      ]
    : NOT_YET;

function figuresOf({ runs, periods, from, to, calls, shuffled, ranges, ...record }) {
  const { meanExcess, meanReturn, alwaysLong, hitRate, ic, fallSkill } = record;
  return [
    [
      "Graded",
      `${wholeNumberText(numberOf(runs))} sessions`,
      el(
        "span.quiet",
        ` ${timeText(from)} to ${timeText(to)}; ${plain(1)(numberOf(periods))} periods that do not overlap`,
      ),
    ],
    [
      "Signals",
      ["long", "short", "wait"]
        .map((one) => `${wholeNumberText(numberOf(calls[one]))} ${one.toUpperCase()}`)
        .join(", "),
    ],
    ["Mean excess return of LONG and SHORT", estimate(meanExcess, percent(2))],
    [
      "The same signals shuffled",
      shuffled
        ? `${percent(2)(numberOf(shuffled.low))} to ${percent(2)(numberOf(shuffled.high))} in 95\u00a0% of cases`
        : NOT_YET,
    ],
    [
      "Mean return",
      numberOrDash(meanReturn, percent(2)),
      el("span.quiet", " LONG on everything: ", numberOrDash(alwaysLong, percent(2))),
    ],
    ["Right on their side", numberOrDash(hitRate, percent(1))],
    [
      "Rank correlation of score and return",
      estimate(ic, plain(3)),
      ic && el("span.quiet", `; t ${plain(1)(numberOf(ic.t))}`),
    ],
    ranges.length > 0 && [
      "Returns within the ranges",
      ranges
        .map(
          ({ probability, coverage }) =>
            `${percent(1)(numberOf(coverage))} of ${percent(0)(numberOf(probability))}`,
        )
        .join(", "),
    ],
    leftOut(record).length > 0 && ["Left out", leftOut(record).join(", ")],
    fallSkill !== null && ["Skill of the chance of a fall", numberOrDash(fallSkill, plain(3))],
  ];
}

/** The reasons why sessions or signals were not graded, each with its count. */
const leftOut = ({ excluded, lateRuns }) => [
  ...(lateRuns > 0 ? [`${wholeNumberText(lateRuns)} sessions logged too late`] : []),
  ...Object.entries(excluded)
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => `${wholeNumberText(count)} ${labelOf({}, reason)}`),
];
