import { digitsText } from "../../pages/home/figure-text.js";
import { el, numberOf, svg } from "./elements.js";
import { signalMark } from "./marks.js";
import { evidence, instrumentHead } from "./signal-view.js";
import { timeText } from "./times.js";

/** Height and width of the coordinates of a panel. */
const FULL = 1_000;

/** Most sessions that are drawn: those of the largest page. */
const MAX_SESSIONS = 500;

/** One instrument over time: the price above the score. @throws {Error} If the answer has another
 *  shape. */
export function historyView({ history, signals, ...answer }) {
  const session = history.session.slice(-MAX_SESSIONS);
  const first = history.session.length - session.length;
  const spans = signalSpans(signals, history.session, first);
  const panels = [
    panel("Price", history.price, { first, spans, format: digitsText }),
    panel("Score", history.scoreSmoothed ?? history.score, {
      first,
      spans,
      format: (value) => value.toFixed(0),
      axis: [0, 100],
    }),
  ];
  return el(
    "article",
    instrumentHead(answer),
    el(
      "section.card",
      panels,
      el("p.scale", el("span", timeText(session[0])), el("span", timeText(session.at(-1)))),
    ),
    el(
      "ul.changes",
      signals
        .slice(-12)
        .map((one) => el("li", signalMark(one.signal), ` ${timeText(one.session)}`)),
    ),
    evidence(answer),
  );
}

/** Spans of LONG and SHORT in places from the first that is drawn. */
function signalSpans(signals, sessions, first) {
  return signals.flatMap(({ signal, session }, at) => {
    if (signal !== "LONG" && signal !== "SHORT") return [];
    const next = signals[at + 1];
    const from = Math.max(0, sessions.indexOf(session) - first);
    const to = (next ? sessions.indexOf(next.session) : sessions.length) - first;
    return to > from ? [{ name: signal === "LONG" ? "span-up" : "span-down", from, to }] : [];
  });
}

/** One line over the sessions. @param axis Lowest and highest value; those of the line unless given. */
function panel(name, column, { first, spans, format, axis }) {
  if (!Array.isArray(column)) return undefined;
  const values = column.slice(first);
  const known = values.filter((value) => value !== null).map(numberOf);
  if (known.length < 2) return el("p.quiet", `${name}: too few sessions to draw a line.`);
  const [low, high] = axis ?? [Math.min(...known), Math.max(...known)];
  const x = (place) => ((FULL * place) / values.length).toFixed(1);
  const y = (value) => (FULL * (1 - (value - low) / (high - low || 1))).toFixed(1);
  let isDrawing = false;
  const path = values.map((value, place) => {
    if (value === null) isDrawing = false;
    if (value === null) return "";
    const step = `${isDrawing ? "L" : "M"}${x(place + 0.5)} ${y(value)}`;
    isDrawing = true;
    return step;
  });
  const last = known.at(-1);
  return el(
    "div",
    el("p.caption", el("span", name), el("strong", format(last))),
    svg(
      "svg.plot",
      {
        viewBox: `0 0 ${FULL} ${FULL}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `${name} over ${values.length} sessions: from ${format(known[0])} to ${format(last)}, lowest ${format(Math.min(...known))}, highest ${format(Math.max(...known))}`,
      },
      spans.map((span) =>
        svg(`rect.${span.name}`, { x: x(span.from), width: x(span.to - span.from), height: FULL }),
      ),
      axis && svg("path.grid", { d: `M0 ${y(50)}H${FULL}` }),
      svg("path.line", { d: path.join("") }),
    ),
    el("p.scale.quiet", el("span", `${format(low)} to ${format(high)}`)),
  );
}
