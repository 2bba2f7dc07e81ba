import { button, el, factList, isKnown, isolatedText, withAttributes } from "./elements.js";
import { facts } from "./facts.js";
import { labelOf } from "./marks.js";
import { viewHeader } from "./parts.js";
import { timeText } from "./times.js";

/** Text that says which instruments an existing or requested alert watches. */
export function watchedText({ symbols, watchlist, assetClass, signal }) {
  const leads = signal && `, if it is then ${signal}`;
  if (Array.isArray(symbols)) return [isolatedText(symbols.join(", ")), leads];
  if (watchlist) return ["the watchlist ", isolatedText(watchlist), leads];
  return assetClass
    ? [`every one of the class ${labelOf(facts.classNames, assetClass)}`, leads]
    : ["all instruments", leads];
}

/**
 * Lists all settings of an existing or requested alert. No setting may be missing, because the
 * person confirms the alert after reading this list.
 */
export function alertFacts(alert) {
  const { kinds, scoreMove, volatilityZ, reportSessions, steadinessLevel, cooldownDays, ...rest } =
    alert;
  const has = (kind) => kinds.includes(kind);
  return factList(
    [
      ["Watches", watchedText(alert)],
      ["Tells of", kinds.map((kind) => labelOf(facts.alertKinds, kind)).join("; ")],
      has("signal_shift") &&
        scoreMove !== undefined && [
          "Score",
          scoreMove === null
            ? "every new signal"
            : `every new signal, and moves of ${scoreMove} points`,
        ],
      has("volatility") && isKnown(volatilityZ) && ["Volatility", `z of ${volatilityZ} or more`],
      has("report") && isKnown(reportSessions) && ["Reports", `${reportSessions} sessions before`],
      has("steadiness") && isKnown(steadinessLevel) && ["Steadiness", `crosses ${steadinessLevel}`],
      isKnown(cooldownDays) && ["Quiet time", `${cooldownDays} market days after an event`],
      ["Sent", deliveryText(alert)],
      isKnown(rest.label) && ["Name", isolatedText(rest.label)],
      isKnown(rest.snoozedUntil) && ["Silent until", timeText(rest.snoozedUntil)],
      isKnown(rest.expiresAt) && ["Ends", timeText(rest.expiresAt)],
    ],
    "dl.listed",
  );
}

/**
 * Text that says where events are sent. A requested alert has the channel in the member `channel`;
 * an existing alert has it in `delivery`.
 */
function deliveryText({ delivery, channel }) {
  const { type, url, state, kind, channel: name = channel } = delivery;
  const condition = state && el("span.quiet", ` ${labelOf({}, state)}`);
  if (type === "webhook") return ["to ", isolatedText(url), condition];
  if (type === "channel" || name !== undefined) {
    return ["to your channel ", isolatedText(name), kind && ` (${labelOf({}, kind)})`, condition];
  }
  return "nowhere: the assistant reads them with get_alert_events";
}

/**
 * View of a new alert, as `register_alert` returns it.
 *
 * @throws {Error} If the answer has an unexpected shape.
 */
export function alertView(answer) {
  const { secret, nextSteps = [], id, status, market } = answer;
  return el(
    "article",
    viewHeader("The alert is made", [id, " · ", labelOf({}, status)], { market }),
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
  return isOurs && button("", text, () => onOpen(address.href));
}
