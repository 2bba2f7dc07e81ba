import { percentText, wholeText } from "../../pages/home/figure-text.js";
import { button, el, figure, foreign, isKnown, numberOf } from "./elements.js";
import { pointsOf, signalMark } from "./marks.js";
import { evidence, meaning, scoreBar, statusTag, viewHead } from "./parts.js";
import { timeText } from "./times.js";

/** Most rows that are drawn: those of the largest page. */
const MAX_ROWS = 500;

/**
 * Several instruments, as `get_signal` lists them.
 *
 * @param onOpen Called with the symbol of a row that is opened; absent if the host calls no tools.
 * @throws {Error} If the answer has another shape.
 */
export function listView({ counts, items, failed = [], asOf, nextCursor, ...answer }, onOpen) {
  const total = numberOf(answer.total);
  const shown = items.slice(0, MAX_ROWS);
  return el(
    "article",
    viewHead("Signals", [`${shown.length} of ${wholeText(total)}: `, countsText(counts)], answer),
    evidence(answer.evidence),
    total === 0 && el("p", "No instrument fits."),
    shown.length > 0 &&
      el(
        "ul.card.items",
        shown.map((item) => listItem(item, onOpen)),
      ),
    nextCursor && el("p.small", "The others are on the next page."),
    failed.length > 0 && failures(failed),
    el("p.quiet.small", `As of ${timeText(asOf)}.`),
    meaning(),
  );
}

function countsText({ insufficientData, ...counts }) {
  const text = (name) => `${wholeText(numberOf(counts[name]))} ${name}`;
  return [
    ["LONG", "WAIT", "SHORT"].map(text).join(", "),
    insufficientData > 0 && `, ${wholeText(insufficientData)} with too little data`,
  ];
}

/** One instrument: its score never stands without what it rests on. */
function listItem({ symbol, name, signal, score, status, ...item }, onOpen) {
  const { scoreChange, confidence, coverage } = item;
  const percent = (value) => percentText(value, 0);
  return el(
    "li",
    el(
      "p",
      onOpen
        ? button(".plain", symbol, () => onOpen(String(symbol)))
        : el("strong", foreign(symbol)),
      isKnown(name) && el("span.quiet.small", " ", foreign(name)),
    ),
    el("p", signalMark(signal), " ", statusTag(status)),
    el("div.value", figure(score, String), scoreBar(score)),
    el(
      "p.measures.quiet.small",
      el("span", "change ", figure(scoreChange, pointsOf)),
      el("span", "confidence ", figure(confidence, percent)),
      el("span", "coverage ", figure(coverage, percent)),
    ),
  );
}

/** The symbols that have no answer, with the reason of each and what to do. */
const failures = (failed) => [
  el("h2", "Without an answer"),
  el(
    "ul.card.items",
    failed.map(({ symbol, detail, next }) =>
      el("li.failed", el("strong", foreign(symbol)), el("p", detail), el("p.quiet.small", next)),
    ),
  ),
];
