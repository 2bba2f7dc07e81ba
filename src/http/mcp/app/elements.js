import { facts } from "./facts.js";

/** Maximum length of a text from a tool or the host, in characters. */
const MAX_TEXT = 5_000;

/** Maximum number of children of an element; the largest page of results has fewer rows. */
const MAX_PARTS = 600;

/** Control and bidirectional characters, which can disguise text. */
const DECEPTIVE = new RegExp(facts.deceptive, "gu");

/**
 * A text from a tool or the host, truncated to `most` characters, with each deceptive character
 * replaced by U+FFFD.
 */
export function displayTextOf(value, most = MAX_TEXT) {
  const text = String(value ?? "");
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  return cut.replace(DECEPTIVE, (found) => (found === "\n" ? "\n" : "\uFFFD"));
}

/**
 * Builds an element. Strings become text nodes, so that untrusted text is never parsed as markup.
 *
 * @param name Tag and classes, as in "p.quiet.small".
 * @param contents Texts, numbers, elements, and arrays of these; `undefined`, `null` and `false`
 * are skipped.
 */
export const el = (name, ...contents) => withAttributes(name, {}, ...contents);

/** Builds an element with attributes. */
export function withAttributes(name, attributes, ...contents) {
  const [tag, ...classes] = name.split(".");
  return build(document.createElement(tag), classes, attributes, contents);
}

/** Builds an SVG element. */
export function svg(name, attributes, ...contents) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return build(element, classes, attributes, contents);
}

function build(element, classes, attributes, contents) {
  if (classes.length > 0) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  for (const content of contents.flat(3).slice(0, MAX_PARTS)) {
    if (content === undefined || content === null || content === false) continue;
    element.append(content instanceof Node ? content : displayTextOf(content));
  }
  return element;
}

/** A button with its label and click handler. */
export function button(text, onClick) {
  const made = withAttributes("button", { type: "button" }, text);
  made.addEventListener("click", onClick);
  return made;
}

/** A list of names and values; `false` entries are skipped. */
export const factList = (entries) =>
  el(
    "dl",
    entries.filter(Boolean).map(([name, ...value]) => el("div", el("dt", name), el("dd", value))),
  );

/**
 * Text of a third party, isolated so that its writing direction does not affect the surrounding
 * text.
 */
export const isolatedText = (value) => el("bdi", value);

/**
 * Returns a value unchanged if it is a finite number.
 *
 * @throws {Error} For any other value.
 */
export function numberOf(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) throw new Error("not a number");
  return value;
}

/** Whether a member of an answer has a value: it is neither missing nor `null`. */
export const isKnown = (value) => value !== null && value !== undefined;

/** A formatted number; a dash if the value is missing or `null`. */
export const numberOrDash = (value, format) =>
  isKnown(value)
    ? withAttributes("data", { value: numberOf(value) }, format(numberOf(value)))
    : el("span.quiet", "–");
