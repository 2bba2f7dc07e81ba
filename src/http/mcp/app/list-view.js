import { percentText, wholeText } from "../../pages/home/figure-text.js";
import { button, el, figure, foreign, numberOf, withAttributes } from "./elements.js";
import { bar, pointsOf, signalMark } from "./marks.js";
import { evidence } from "./signal-view.js";
import { timeText } from "./times.js";

/** Most rows that are drawn: those of the largest page. */
const MAX_ROWS = 500;

/**
 * Several instruments, as `get_signal` lists them.
 *
 * @param onOpen Called with the symbol of a row that is opened; absent if the host calls no tools.
 * @throws {Error} If the answer has another shape.
 */
export function listView({ counts, total, items, market, asOf, ...answer }, onOpen) {
  const count = (name) => `${wholeText(numberOf(counts[name]))} ${name}`;
  return el(
    "article",
    el(
      "header.head",
      el(
        "div",
        withAttributes("h1", { tabindex: -1 }, "Signals"),
        el(
          "p.quiet",
          `${items.length} of ${wholeText(numberOf(total))}: ${["LONG", "WAIT", "SHORT"].map(count).join(", ")}`,
        ),
      ),
      market === "sandbox" && el("p.tags", el("span.tag", "simulated")),
    ),
    el(
      "section.card",
      withAttributes(
        "div.scroll",
        { tabindex: 0, role: "region", "aria-label": "Signals" },
        el(
          "table",
          el(
            "thead",
            el(
              "tr",
              ["Instrument", "Signal", "Score", "Change", "Confidence", "Coverage"].map((text) =>
                withAttributes("th", { scope: "col" }, text),
              ),
            ),
          ),
          el(
            "tbody",
            items.slice(0, MAX_ROWS).map((item) => row(item, onOpen)),
          ),
        ),
      ),
    ),
    evidence({ evidence: answer.evidence?.length === 1 ? answer.evidence[0] : undefined }),
    el("p.quiet.small", `As of ${timeText(asOf)}.`),
  );
}

const row = ({ symbol, name, signal, score, scoreChange, confidence, coverage }, onOpen) =>
  el(
    "tr",
    withAttributes(
      "th",
      { scope: "row" },
      onOpen ? button(".plain", symbol, () => onOpen(String(symbol))) : foreign(symbol),
      el("span.quiet.small", foreign(name)),
    ),
    el("td", signalMark(signal)),
    el("td", figure(score, String), bar(numberOf(score) - 50)),
    el("td", figure(scoreChange, pointsOf)),
    el(
      "td",
      figure(confidence, (value) => percentText(value, 0)),
    ),
    el(
      "td",
      figure(coverage, (value) => percentText(value, 0)),
    ),
  );
