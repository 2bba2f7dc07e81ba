import { percentText, plainText, withMinus } from "../../pages/home/figure-text.js";
import { el, figure, numberOf, withAttributes } from "./elements.js";
import { facts } from "./facts.js";
import { label } from "./marks.js";
import { evidence, instrumentHead, meaning, pointsRow, scoreFigure, sumRow } from "./parts.js";
import { timeText } from "./times.js";

/** The four factors, as `get_factors` answers. @throws {Error} If the answer has another shape. */
export function factorsView(answer) {
  const { score, scoreRaw, asOf, factors } = answer;
  const parts = Object.entries(factors);
  const sum = parts.reduce((total, [, { contribution }]) => total + numberOf(contribution), 0);
  return el(
    "article",
    instrumentHead(answer),
    el("section.card", scoreFigure(score, scoreRaw)),
    evidence(answer.evidence),
    el(
      "section.card",
      el("h2", "The four factors"),
      parts.map(([name, factor]) => factorPart(label(facts.factorNames, name), factor)),
      sumRow(sum),
    ),
    el("p.quiet.small", `As of ${timeText(asOf)}.`),
    meaning(),
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
          figure(z, (value) => withMinus(value.toFixed(2))),
        ),
      el("span", "confidence ", figure(confidence, percent)),
      el("span", "weight ", figure(weight, percent)),
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
    withAttributes("th", { scope: "row" }, label(facts.inputNames, name)),
    el(
      "td",
      figure(value, (known) => withMinus(plainText(known))),
      unit && el("span.quiet", ` ${unit}`),
    ),
    el(
      "td",
      figure(z, (known) => withMinus(known.toFixed(2))),
    ),
  );
