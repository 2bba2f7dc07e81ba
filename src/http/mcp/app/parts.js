import { el, figure, foreign, isKnown, numberOf, textOf, withAttributes } from "./elements.js";
import { facts } from "./facts.js";
import { bar, label, pointsOf } from "./marks.js";

/** Least score that is evidence of neither direction. */
const NEUTRAL = 50;

/** Maximum length of a text that is shown as it is, in characters. */
const MAX_RAW_TEXT = 200_000;

/** The head of a view: what it is about, and that a simulated market is one. */
export const viewHead = (title, subtitle, answer) =>
  el(
    "header.head",
    el("div", withAttributes("h1", { tabindex: -1 }, title), el("p.quiet", subtitle)),
    el("p.tags", isSimulated(answer) && el("span.tag", "simulated"), statusTag(answer.status)),
  );

/** The head of a view of one instrument. */
export const instrumentHead = (answer) =>
  viewHead(
    foreign(answer.symbol),
    [foreign(answer.name), ` · ${label(facts.classNames, answer.assetClass)}`],
    answer,
  );

/** Whether the market of an answer is simulated: if the service says so, the answer need not. */
export const isSimulated = ({ market, simulated }) =>
  facts.isSimulated || market === "sandbox" || simulated === true;

/** A note on an answer whose status is not `ok`. */
export const statusTag = (status) =>
  Object.hasOwn(facts.answerNotes, status) && el("span.tag", facts.answerNotes[status]);

/** The score with its bar. */
export const scoreFigure = (score, exact = score) =>
  el(
    "div",
    el(
      "p.big",
      figure(numberOf(score), (value) => String(Math.round(value))),
      el("span.quiet", " of 100, where 50 is no evidence either way"),
    ),
    scoreBar(exact),
    withAttributes(
      "p.scale.ends-and-middle",
      { "aria-hidden": "true" },
      ["0 bearish", "50", "100 bullish"].map((text) => el("span", text)),
    ),
  );

/** A score as a bar that shows its distance from 50. */
export const scoreBar = (score) => bar(numberOf(score) - NEUTRAL);

/** A factor with its points, or why it has none. */
export const pointsRow = (name, value) =>
  el(
    "div.row",
    el("p.name", name),
    typeof value === "number" ? bar(value) : el("span.hollow"),
    typeof value === "number"
      ? el("p.value", figure(value, pointsOf))
      : el("p.value.quiet", isKnown(value) ? label(facts.statusLabels, value) : "–"),
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

/** What directions were worth in the backtest. @param measured Its verdicts on the classes of the
 *  answer: one, several or none. */
export const evidence = (measured) =>
  el(
    "p.note",
    [measured ?? []]
      .flat()
      .map(({ assetClass, verdict }) =>
        el("strong", `Backtest (${label(facts.classNames, assetClass)}): ${label({}, verdict)}. `),
      ),
    facts.directionWorth,
  );

/** What a score is and is not. */
export const meaning = () => el("p.quiet.small", `${facts.scoreIs} ${facts.scoreIsNot}`);

/** A text as it is, where a picture is not possible. What must stand beside every picture stands
 *  beside it as well. @param answer What the text says, as far as it is known. */
export const textView = (text, answer) =>
  el(
    "article",
    viewHead("The answer as text", "It has no picture here.", answer),
    evidence(),
    el("pre", new Text(textOf(text, MAX_RAW_TEXT))),
    meaning(),
  );
