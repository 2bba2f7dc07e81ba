import { adaptiveDigitsText } from "../../pages/home/figure-text.js";
import { el, numberOf, svg } from "./elements.js";
import { facts } from "./facts.js";
import { signalMark } from "./marks.js";
import { backtestNote, instrumentHeader, scoreMeaningNote } from "./parts.js";
import { timeText } from "./times.js";

/** Width and height of a chart panel, in SVG user units. */
const FULL = 1_000;

/** Maximum number of sessions drawn: the maximum page size. */
const MAX_SESSIONS = 500;

/**
 * View of the history of one instrument: a price chart above a score chart.
 *
 * @throws {Error} If the answer has an unexpected shape.
 */
export function historyView({ history, signals, nextCursor, ...answer }) {
  const session = history.session.slice(-MAX_SESSIONS);
  const first = history.session.length - session.length;
  const spans = signalSpans(signals.slice(-MAX_SESSIONS), history.session, first);
  // The signal depends on the smoothed score, so thresholds are drawn only with the smoothed score.
  const isSmoothed = Array.isArray(history.scoreSmoothed);
  const panels = [
    panel("Price", history.price, { first, spans, format: adaptiveDigitsText }),
    panel(isSmoothed ? "Smoothed score" : "Score", history.scoreSmoothed ?? history.score, {
      first,
      spans,
      format: (value) => value.toFixed(0),
      axis: [0, 100],
      thresholds: isSmoothed && facts.thresholds[answer.assetClass],
    }),
  ];
  return el(
    "article",
    instrumentHeader(answer),
    backtestNote(answer.evidence),
    el(
      "section.card",
      panels,
      el("p.scale", el("span", timeText(session[0])), el("span", timeText(session.at(-1)))),
      nextCursor && el("p.small", "The sessions after these are on the next page."),
    ),
    el(
      "ul.changes",
      signals
        .slice(-12)
        .map((one) => el("li", signalMark(one.signal), ` ${timeText(one.session)}`)),
    ),
    scoreMeaningNote(),
  );
}

/**
 * Spans of LONG and SHORT signals, each with session indexes `from` and `to`, which count from the
 * first session drawn.
 */
function signalSpans(signals, sessions, first) {
  return signals.flatMap(({ signal, session }, at) => {
    if (signal !== "LONG" && signal !== "SHORT") return [];
    const next = signals[at + 1];
    const from = Math.max(0, sessions.indexOf(session) - first);
    const to = (next ? sessions.indexOf(next.session) : sessions.length) - first;
    return to > from ? [{ name: signal === "LONG" ? "span-up" : "span-down", from, to }] : [];
  });
}

/**
 * A chart panel with one line over the sessions.
 *
 * @param axis Lowest and highest value of the axis; default: the range of the line.
 * @param thresholds Scores at which LONG and SHORT begin, then at which they end; only for the line
 * that determines the signal.
 */
function panel(name, column, { first, spans, format, axis, thresholds }) {
  if (!Array.isArray(column)) return undefined;
  const values = column.slice(first);
  const known = values.filter((value) => value !== null).map(numberOf);
  if (known.length < 2) return el("p.quiet", `${name}: too few sessions to draw a line.`);
  const [lowest, highest] = [Math.min(...known), Math.max(...known)];
  const [low, high] = axis ?? [lowest, highest];
  const x = (place) => ((FULL * place) / values.length).toFixed(1);
  const y = (value) => (FULL * (1 - (value - low) / (high - low || 1))).toFixed(1);
  const across = (value) => `M0 ${y(value)}H${FULL}`;
  const [enterLong, enterShort, exitLong, exitShort] = thresholds || [];
  const last = format(known.at(-1));
  return el(
    "div",
    el("p.caption", el("span", name), el("strong", last)),
    svg(
      "svg.plot",
      {
        viewBox: `0 0 ${FULL} ${FULL}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `${name} over ${values.length} sessions: from ${format(known[0])} to ${last}, lowest ${format(lowest)}, highest ${format(highest)}`,
      },
      spans.map((span) =>
        svg(`rect.${span.name}`, { x: x(span.from), width: x(span.to - span.from), height: FULL }),
      ),
      thresholds && svg("path.begins", { d: across(enterLong) + across(enterShort) }),
      thresholds && svg("path.ends", { d: across(exitLong) + across(exitShort) }),
      svg("path", { d: pathOf(values, x, y) }),
    ),
    el(
      "p.scale",
      el(
        "span",
        `${format(low)} to ${format(high)}`,
        thresholds &&
          `. Dashed: LONG begins at ${enterLong}, SHORT at ${enterShort}. Dotted: they end at ${exitLong} and ${exitShort}.`,
      ),
    ),
  );
}

/** SVG path through values, with gaps at `null` values. */
function pathOf(values, x, y) {
  let command = "M";
  return values
    .map((value, place) => {
      const step = value === null ? "" : `${command}${x(place + 0.5)} ${y(value)}`;
      command = value === null ? "M" : "L";
      return step;
    })
    .join("");
}
