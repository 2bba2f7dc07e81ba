import { button, el, factList, foreign, isKnown, withAttributes } from "./elements.js";
import { facts } from "./facts.js";
import { label } from "./marks.js";
import { viewHead } from "./parts.js";
import { timeText } from "./times.js";

/** What an alert, or the wish for one, watches. */
export function watchedText({ symbols, watchlist, assetClass, signal }) {
  if (Array.isArray(symbols)) return foreign(symbols.join(", "));
  if (watchlist) return ["the watchlist ", foreign(watchlist)];
  const leads = signal ? `that become ${signal}` : "";
  return assetClass
    ? `every instrument of the class ${label(facts.classNames, assetClass)} ${leads}`
    : `all instruments ${leads}`;
}

/** What an alert, or the wish for one, is, as a list: all of it, for a person agrees to this. */
export function alertFacts(alert) {
  const { kinds, scoreMove, volatilityZ, reportSessions, cooldownDays, ...rest } = alert;
  const has = (kind) => kinds.includes(kind);
  return factList(
    [
      ["Watches", watchedText(alert)],
      ["Tells of", kinds.map((kind) => label(facts.alertKinds, kind)).join("; ")],
      has("signal_shift") &&
        scoreMove !== undefined && [
          "Score",
          scoreMove === null
            ? "every new signal"
            : `every new signal, and moves of ${scoreMove} points`,
        ],
      has("volatility") && isKnown(volatilityZ) && ["Volatility", `z of ${volatilityZ} or more`],
      has("report") && isKnown(reportSessions) && ["Reports", `${reportSessions} sessions before`],
      isKnown(cooldownDays) && ["Quiet time", `${cooldownDays} market days after an event`],
      ["Sent", deliveryText(alert)],
      isKnown(rest.label) && ["Name", foreign(rest.label)],
      isKnown(rest.snoozedUntil) && ["Silent until", timeText(rest.snoozedUntil)],
      isKnown(rest.expiresAt) && ["Ends", timeText(rest.expiresAt)],
    ],
    "dl.listed",
  );
}

/** Where events go. A wish names its channel beside the delivery, an alert in it. */
function deliveryText({ delivery, channel }) {
  const { type, url, state, kind, channel: name = channel } = delivery;
  const condition = state && el("span.quiet", ` ${label({}, state)}`);
  if (type === "webhook") return ["to ", foreign(url), condition];
  if (type === "channel" || name !== undefined) {
    return ["to your channel ", foreign(name), kind && ` (${label({}, kind)})`, condition];
  }
  return "nowhere: the assistant reads them with get_alert_events";
}

/** An alert that was made, as `register_alert` answers. @throws {Error} If the answer has another
 *  shape. */
export function alertView(answer) {
  const { secret, nextSteps = [], id, status, market } = answer;
  return el(
    "article",
    viewHead("The alert is made", [id, " · ", label({}, status)], { market }),
    el("section.card", alertFacts(answer)),
    secret &&
      el("details", el("summary", "Signing secret, shown once"), el("p", el("code", secret))),
    nextSteps.length > 0 && [
      el("h2", "Next"),
      el(
        "ol",
        nextSteps.map((step) => el("li", step)),
      ),
    ],
  );
}

/**
 * Why a call failed, and what to do.
 *
 * @param answer Members of the failure, if the tool gave them.
 * @param text What the tool, or the host, said.
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
        ["Page", foreign(claim.page)],
        ["Code", el("code", claim.code)],
      ]),
    actions.length > 0 && el("p.actions", actions),
  );
}

/** The stable name of a failure as a headline. */
const headline = (code) =>
  code === "" ? "It did not work" : label({}, code).replace(/^./, (first) => first.toUpperCase());

/** A button that asks the host to open a page of this service; nothing for any other address. */
export function linkButton(text, url, onOpen) {
  const address = URL.parse(String(url));
  const isOurs = address !== null && address.origin === new URL(facts.baseUrl).origin;
  return isOurs && button("", text, () => onOpen(address.href));
}
