import { inputText, percentText, withMinus } from "../../pages/home/figure-text.js";
import { el, isKnown, numberOf, numberOrDash, withAttributes } from "./elements.js";
import { facts } from "./facts.js";
import { labelOf } from "./marks.js";
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
 * View of the four factors of an instrument, as `get_factors` returns them.
 *
 * @throws {Error} If the answer has an unexpected shape.
 */
export function factorsView(answer) {
  const { score, scoreRaw, asOf, factors } = answer;
  const parts = Object.entries(factors);
  const sum = parts.reduce((total, [, { contribution }]) => total + numberOf(contribution), 0);
  return el(
    "article",
    instrumentHeader(answer),
    el("section.card", scoreFigure(score, scoreRaw)),
    backtestNote(answer.evidence),
    el(
      "section.card",
      el("h2", "The four factors"),
      parts.map(([name, factor]) => factorPart(labelOf(facts.factorNames, name), factor)),
      isKnown(score) && sumRow(sum),
    ),
    el("p.quiet.small", `As of ${timeText(asOf)}.`),
    scoreMeaningNote(),
  );
}

function factorPart(name, { z, contribution, confidence, weight, status, summary, inputs }) {
  const isMeasured = z !== null;
  const percent = (value) => percentText(value, 0);
  return el(
    "div.factor",
    pointsRow(name, isMeasured ? contribution : status),
    summary && el("p.small", withMinus(String(summary))),
    el(
      "p.measures.quiet.small",
      isMeasured &&
        el(
          "span",
          "z ",
          numberOrDash(z, (value) => withMinus(value.toFixed(2))),
        ),
      el("span", "confidence ", numberOrDash(confidence, percent)),
      el("span", "weight ", numberOrDash(weight, percent)),
    ),
    inputs.length > 0 && inputTable(name, inputs),
  );
}

const inputTable = (name, inputs) =>
  el(
    "details",
    el("summary", `What ${name} is made from`),
    withAttributes(
      "div.scroll",
      { tabindex: 0, role: "region", "aria-label": `What ${name} is made from` },
      el(
        "table",
        el("thead", el("tr", ["Figure", "Value", "z"].map(headCell))),
        el("tbody", inputs.slice(0, 100).map(inputRow)),
      ),
    ),
  );

const headCell = (text) => withAttributes("th", { scope: "col" }, text);

const inputRow = ({ name, value, unit, z }) =>
  el(
    "tr",
    withAttributes("th", { scope: "row" }, labelOf(facts.inputNames, name)),
    el(
      "td",
      numberOrDash(value, (known) => withMinus(inputText(known, unit))),
    ),
    el(
      "td",
      numberOrDash(z, (known) => withMinus(known.toFixed(2))),
    ),
  );
