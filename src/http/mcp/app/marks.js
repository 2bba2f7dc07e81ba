import { pointsText, withMinus } from "../../pages/home/figure-text.js";
import { el, foreign, svg, textOf } from "./elements.js";
import { facts } from "./facts.js";

/** A label that the service has for a word of an answer; without one, the word itself. */
export const label = (names, word) =>
  Object.hasOwn(names, word) ? names[word] : textOf(word).replaceAll("_", " ");

/** A signal as a word with a shape, so that color is not the only cue. */
export function signalMark(signal) {
  if (!Object.hasOwn(facts.shapes, signal)) return el("span.signal", foreign(signal));
  const path = svg("path", { d: facts.shapes[signal] });
  const shape = svg("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, path);
  return el(`span.signal.${signal.toLowerCase()}`, shape, signal);
}

const rect = (name, x, width, height = 6) =>
  svg(`rect.${name}`, { x: x.toFixed(2), width: Math.max(0, width).toFixed(2), height });

/** A drawing of 100 by 6 that fills its place. */
const strip = (name, ...shapes) =>
  svg(
    `svg.${name}`,
    { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    shapes,
  );

/** A bar from the middle to the right or left. A truncated bar has a gap near its end. */
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

/** A share of 0 to 1 as ten segments. */
export function shareBar(share) {
  const segments = Array.from({ length: 10 }, (_, at) => {
    const filled = Math.max(0, Math.min(1, 10 * share - at));
    return [rect("rail", 10 * at, 9), rect("seg", 10 * at, 9 * filled)];
  });
  return strip("cover", segments);
}

/** The factors of a class as segments as wide as their weights; those without a value are hollow. */
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

/** How many factors of those that a class can have are measured. */
export function coverageText(assetClass, missing) {
  const expected = Object.keys(facts.weights[assetClass] ?? {});
  const measured = expected.filter((factor) => !missing.includes(factor));
  return `${measured.length} of ${expected.length} factors`;
}

/** A price range on a scale that all ranges of an answer share, with the price as a line. */
export function rangeBar([low, high], price, [least, most]) {
  const at = (value) => (100 * (value - least)) / (most - least || 1);
  return strip(
    "bar",
    rect("rail", 0, 100),
    rect("ahead", at(low), at(high) - at(low)),
    price !== undefined && rect("now", at(price) - 0.4, 0.8),
  );
}

/** Points of a factor with their sign. */
export const pointsOf = (value) => withMinus(pointsText(value));
