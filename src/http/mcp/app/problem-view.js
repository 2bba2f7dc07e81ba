import { button, el, factList, isolatedText, withAttributes } from "./elements.js";
import { facts } from "./facts.js";
import { labelOf } from "./marks.js";

/**
 * View of a failed call: the reason and the next step.
 *
 * @param answer Members of the error, if the tool returned any.
 * @param text Error text from the tool or the host.
 * @param actions Buttons.
 */
export function problemView(answer, text, actions) {
  const [, code = "", said = text] = /^([a-z_]{3,40}): (.+)$/s.exec(text) ?? [];
  const { detail = said, next, claim } = Object(answer);
  return el(
    "article",
    withAttributes("h1", { tabindex: -1 }, headline(code)),
    el("p", detail),
    next && el("p.note", next),
    claim &&
      factList([
        ["Page", isolatedText(claim.page)],
        ["Code", el("code", claim.code)],
      ]),
    actions.length > 0 && el("p.actions", actions),
  );
}

/** Headline for an error code; a general text for an empty code. */
const headline = (code) =>
  code === "" ? "It did not work" : labelOf({}, code).replace(/^./, (first) => first.toUpperCase());

/**
 * A button that asks the host to open a page of this service; `false` for a URL of another origin.
 */
export function linkButton(text, url, onOpen) {
  const address = URL.parse(String(url));
  const isOurs = address !== null && address.origin === new URL(facts.baseUrl).origin;
  return isOurs && button(text, () => onOpen(address.href));
}
