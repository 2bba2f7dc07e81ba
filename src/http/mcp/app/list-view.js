import { percentText, wholeNumberText } from "../../pages/home/figure-text.js";
import { button, el, isKnown, isolatedText, numberOf, numberOrDash } from "./elements.js";
import { pointsOf, signalMark } from "./marks.js";
import { backtestNote, scoreBar, scoreMeaningNote, statusTag, viewHeader } from "./parts.js";
import { timeText } from "./times.js";

/** Maximum number of rows drawn: the maximum page size. */
const MAX_ROWS = 500;

/**
 * View of several instruments, as `get_signal` lists them.
 *
 * @param onOpen Called with the symbol of a row that the person opens; absent if the host cannot
 * call tools.
 * @throws {Error} If the answer has an unexpected shape.
 */
export function listView({ counts, items, failed = [], asOf, nextCursor, ...answer }, onOpen) {
  const total = numberOf(answer.total);
  const shown = items.slice(0, MAX_ROWS);
  return el(
    "article",
    viewHeader(
      "Signals",
      [`${shown.length} of ${wholeNumberText(total)}: `, countsText(counts)],
      answer,
    ),
    backtestNote(answer.evidence),
    total === 0 && el("p", "No instrument fits."),
    shown.length > 0 &&
      el(
        "ul.card.items",
        shown.map((item) => listItem(item, onOpen)),
      ),
    nextCursor && el("p.small", "The others are on the next page."),
    failed.length > 0 && failures(failed),
    el("p.quiet.small", `As of ${timeText(asOf)}.`),
    scoreMeaningNote(),
  );
}

function countsText({ insufficientData, ...counts }) {
  const text = (name) => `${wholeNumberText(numberOf(counts[name]))} ${name}`;
  return [
    ["LONG", "WAIT", "SHORT"].map(text).join(", "),
    insufficientData > 0 && `, ${wholeNumberText(insufficientData)} with too little data`,
  ];
}

/** One instrument of the list. Confidence and coverage always accompany the score. */
function listItem({ symbol, name, signal, score, status, ...item }, onOpen) {
  const { scoreChange, confidence, coverage } = item;
  const percent = (value) => percentText(value, 0);
  return el(
    "li",
    el(
      "p",
      onOpen
        ? button(".plain", symbol, () => onOpen(String(symbol)))
        : el("strong", isolatedText(symbol)),
      isKnown(name) && el("span.quiet.small", " ", isolatedText(name)),
    ),
    el("p", signalMark(signal), " ", statusTag(status)),
    el("div.value", numberOrDash(score, String), scoreBar(score)),
    el(
      "p.measures.quiet.small",
      el("span", "change ", numberOrDash(scoreChange, pointsOf)),
      el("span", "confidence ", numberOrDash(confidence, percent)),
      el("span", "coverage ", numberOrDash(coverage, percent)),
    ),
  );
}

/** The symbols for which no answer is available, each with the reason and the next step. */
const failures = (failed) => [
  el("h2", "Without an answer"),
  el(
    "ul.card.items",
    failed.map(({ symbol, detail, next }) =>
      el(
        "li.failed",
        el("strong", isolatedText(symbol)),
        el("p", detail),
        el("p.quiet.small", next),
      ),
    ),
  ),
];
