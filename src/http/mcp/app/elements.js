import { facts } from "./facts.js";

/** Maximum length of a text from a tool or the host, in characters: more than the longest URL of a
 *  webhook, which is shown whole. */
const MAX_TEXT = 5_000;

/** Maximum number of parts of an element: more than the rows of the largest page. */
const MAX_PARTS = 600;

/** Characters that can disguise text. */
const DECEPTIVE = new RegExp(facts.deceptive, "gu");

/** A text from a tool or the host: bounded, and with deceptive characters made visible. */
export function textOf(value, most = MAX_TEXT) {
  const text = String(value ?? "");
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  return cut.replace(DECEPTIVE, (found) => (found === "\n" ? "\n" : "\uFFFD"));
}

/**
 * Builds an element. Texts become text nodes, so that nothing from outside is ever read as markup.
 *
 * @param name Tag and classes, as in "p.quiet.small".
 * @param contents Texts, numbers, elements, lists of them; `undefined`, `null` and `false` are left out.
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
    element.append(content instanceof Node ? content : textOf(content));
  }
  return element;
}

/** A button with what it does. */
export function button(name, text, onClick) {
  const made = withAttributes(`button${name}`, { type: "button" }, text);
  made.addEventListener("click", onClick);
  return made;
}

/** A list of names and values; `false` entries are left out. @param name Tag and classes. */
export const factList = (entries, name = "dl") =>
  el(
    name,
    entries.filter(Boolean).map(([name, ...value]) => el("div", el("dt", name), el("dd", value))),
  );

/** Text of a third party, set apart from its surroundings. */
export const foreign = (value) => el("bdi", value);

/** A number that an answer must have. @throws {Error} */
export function numberOf(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) throw new Error("not a number");
  return value;
}

/** Whether an answer has a member; `null` says that there is no value. */
export const isKnown = (value) => value !== null && value !== undefined;

/** A figure that may be missing. */
export const figure = (value, format) =>
  isKnown(value)
    ? withAttributes("data", { value: numberOf(value) }, format(numberOf(value)))
    : el("span.quiet", "–");
