import {
  displayTextOf,
  el,
  isKnown,
  isolatedText,
  numberOf,
  numberOrDash,
  withAttributes,
} from "./elements.js";
import { facts } from "./facts.js";
import { bar, labelOf, pointsOf } from "./marks.js";

/** The score that favors neither LONG nor SHORT. */
const NEUTRAL = 50;

/** Maximum length of a text that is shown verbatim, in characters. */
const MAX_RAW_TEXT = 200_000;

/** The header of a view: title, subtitle, and tags for a simulated market and an unusual status. */
export const viewHeader = (title, subtitle, answer) =>
  el(
    "header.head",
    el("div", withAttributes("h1", { tabindex: -1 }, title), el("p.quiet", subtitle)),
    el("p.tags", isSimulated(answer) && el("span.tag", "simulated"), statusTag(answer.status)),
  );

/** The header of a view of one instrument. */
export const instrumentHeader = (answer) =>
  viewHeader(
    isolatedText(answer.symbol),
    [isolatedText(answer.name), ` · ${labelOf(facts.classNames, answer.assetClass)}`],
    answer,
  );

/**
 * Whether an answer is from a simulated market. An answer need not say so if the whole service is
 * simulated.
 */
const isSimulated = ({ market, simulated }) =>
  facts.isSimulated || market === "sandbox" || simulated === true;

/** A tag for a status other than `ok`; `false` if the status needs no tag. */
const statusTag = (status) =>
  Object.hasOwn(facts.answerNotes, status) && el("span.tag", facts.answerNotes[status]);

/**
 * The score as a whole number, with a bar that shows the unrounded score; a dash if it is `null`.
 */
export const scoreFigure = (score, exact = score) =>
  el(
    "div",
    el(
      "p.big",
      numberOrDash(score, (value) => String(Math.round(value))),
      el("span.quiet", " of 100, where 50 is the middle"),
    ),
    scoreBar(exact),
    withAttributes(
      "p.scale.ends-and-middle",
      { "aria-hidden": "true" },
      ["0 bearish", "50", "100 bullish"].map((text) => el("span", text)),
    ),
  );

/** A score as a bar that shows its distance from 50; `false` if it is `null`. */
const scoreBar = (score) => score !== null && bar(numberOf(score) - NEUTRAL);

/** A row with the points of a factor, or the reason why it has none. */
export const pointsRow = (name, value) =>
  el(
    "div.row",
    el("p.name", name),
    typeof value === "number" ? bar(value) : el("span.hollow"),
    typeof value === "number"
      ? el("p.value", numberOrDash(value, pointsOf))
      : el("p.value.quiet", isKnown(value) ? labelOf(facts.statusLabels, value) : "–"),
  );

/** A row that adds the sum of the points to the neutral score of 50. */
export const sumRow = (sum) =>
  el(
    "div.row.sum",
    el("p.name", "Score"),
    el("p.quiet.small", `50 ${sum < 0 ? "−" : "+"} ${Math.abs(sum).toFixed(1)}`),
    el(
      "p.value",
      numberOrDash(NEUTRAL + sum, (value) => value.toFixed(1)),
    ),
  );

/**
 * A note on how well LONG and SHORT performed in the backtest.
 *
 * @param measured Backtest verdicts for the asset classes of the answer: one verdict, an array of
 * them, or `undefined`.
 */
export const backtestNote = (measured) =>
  el(
    "p.note",
    [measured ?? []]
      .flat()
      .map(({ assetClass, verdict }) =>
        el(
          "strong",
          `Backtest (${labelOf(facts.classNames, assetClass)}): ${labelOf({}, verdict)}. `,
        ),
      ),
    facts.directionWorth,
  );

/** Sentences that say what a score means and what it does not mean. */
export const scoreMeaningNote = () => el("p.quiet.small", `${facts.scoreIs} ${facts.scoreIsNot}`);

/**
 * View that shows an answer as text when it cannot be drawn, with the same notes as a drawn view.
 *
 * @param answer The parsed answer; it need not have the expected shape.
 */
export const textView = (text, answer) =>
  el(
    "article",
    viewHeader("The answer as text", "It has no picture here.", answer),
    backtestNote(),
    el("pre", new Text(displayTextOf(text, MAX_RAW_TEXT))),
    scoreMeaningNote(),
  );
