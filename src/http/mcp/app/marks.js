import { pointsText, withMinus } from "../../pages/home/figure-text.js";
import { displayTextOf, el, isolatedText, svg } from "./elements.js";
import { facts } from "./facts.js";

/**
 * The label of a word in an answer. A word without a label is shown with spaces instead of
 * underscores.
 */
export const labelOf = (names, word) =>
  Object.hasOwn(names, word) ? names[word] : displayTextOf(word).replaceAll("_", " ");

/** A signal as a word with a shape, so that color is not the only distinction. */
export function signalMark(signal) {
  if (!Object.hasOwn(facts.shapes, signal)) return el("span.signal", isolatedText(signal));
  const path = svg("path", { d: facts.shapes[signal] });
  const shape = svg("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, path);
  return el(`span.signal.${signal.toLowerCase()}`, shape, signal);
}

const rect = (name, x, width, height = 6) =>
  svg(`rect.${name}`, { x: x.toFixed(2), width: Math.max(0, width).toFixed(2), height });

/** A drawing of 100 by 6 SVG units, stretched to fill its container. */
const strip = (name, ...shapes) =>
  svg(
    `svg.${name}`,
    { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    shapes,
  );

/**
 * A bar that starts in the middle, to the right for positive values and to the left for negative
 * ones. A value beyond `most` is truncated; a gap near the end of the bar marks the truncation.
 */
export function bar(value, most = 50) {
  const width = (50 * Math.min(Math.abs(value), most)) / most;
  const isDown = value < 0;
  return strip(
    "bar",
    rect("rail", 0, 100),
    rect(isDown ? "down" : "up", isDown ? 50 - width : 50, width),
    Math.abs(value) > most && rect("gap", isDown ? 5 : 92, 3),
    rect("middle", 49.5, 1),
  );
}

/** A fraction from 0 to 1, drawn as ten segments. */
export function shareBar(share) {
  const segments = Array.from({ length: 10 }, (_, at) => {
    const filled = Math.max(0, Math.min(1, 10 * share - at));
    return [rect("rail", 10 * at, 9), rect("seg", 10 * at, 9 * filled)];
  });
  return strip("cover", segments);
}

/**
 * The factors of an asset class as segments whose widths are proportional to their weights; factors
 * without a value are hollow.
 */
export function coverageBar(assetClass, missing) {
  const weights = Object.entries(facts.weights[assetClass] ?? {});
  const total = weights.reduce((sum, [, weight]) => sum + weight, 0);
  let x = 0;
  const segments = weights.map(([factor, weight]) => {
    const width = (100 * weight) / total;
    x += width;
    return rect(missing.includes(factor) ? "none" : "seg", x - width + 0.5, width - 1);
  });
  return strip("cover", segments);
}

/** Text such as "3 of 4 factors": how many factors of the asset class have a value. */
export function coverageText(assetClass, missing) {
  const expected = Object.keys(facts.weights[assetClass] ?? {});
  const measured = expected.filter((factor) => !missing.includes(factor));
  return `${measured.length} of ${expected.length} factors`;
}

/** A price range, with the current price as a line. All ranges of an answer share one scale. */
export function rangeBar([low, high], price, [least, most]) {
  const at = (value) => (100 * (value - least)) / (most - least || 1);
  return strip(
    "bar",
    rect("rail", 0, 100),
    rect("ahead", at(low), at(high) - at(low)),
    price !== undefined && rect("now", at(price) - 0.4, 0.8),
  );
}

/** The points of a factor as text, with their sign. */
export const pointsOf = (value) => withMinus(pointsText(value));
