import { alertFacts, watchedText } from "./alert-view.js";
import { button, el, withAttributes } from "./elements.js";
import { facts } from "./facts.js";

/** Members of a wish that the form shows but does not change. */
const KEPT = ["watchlist", "assetClass", "signal", "cooldownDays", "expiresAt", "snoozedUntil"];

/** A wish of the model, completed by the defaults of the tool; unusable members are left out. */
export function wishOf(given) {
  const { symbols, kinds, delivery, label } = given;
  const known = Array.isArray(kinds)
    ? kinds.filter((kind) => Object.hasOwn(facts.alertKinds, kind))
    : [];
  const isUsable = (value) => value === null || Number.isFinite(value);
  const number = (name) => (isUsable(given[name]) ? given[name] : facts.alert[name].default);
  return {
    ...Object.fromEntries(KEPT.filter((name) => name in given).map((name) => [name, given[name]])),
    ...(Array.isArray(symbols) && { symbols: symbols.map(String).slice(0, 100) }),
    kinds: known.length > 0 ? known : facts.alert.kinds,
    scoreMove: number("scoreMove"),
    volatilityZ: number("volatilityZ"),
    reportSessions: number("reportSessions"),
    delivery:
      delivery?.type === "webhook"
        ? { type: "webhook", url: String(delivery.url ?? "") }
        : { type: "poll" },
    ...(typeof label === "string" && { label }),
  };
}

/**
 * The form for an alert in two steps: what it shall be, and a question that says in full what will be
 * made. Nothing is sent before the second is answered with yes. It is no HTML form, because hosts that
 * do not allow forms would swallow its submission.
 *
 * @param wish What to start with.
 * @param onCreate Called with the wish once the person agreed.
 * @param onLeave Called when the person does not want it.
 */
export function alertForm(wish, { onCreate, onLeave }) {
  const place = el("article");
  const edit = (from) => place.replaceChildren(...editStep(from, review, onLeave));
  const review = (made) => {
    place.replaceChildren(...reviewStep(made, { onCreate, onChange: () => edit(made) }));
    place.querySelector("h1").focus();
  };
  edit(wish);
  return place;
}

function editStep(wish, onReview, onLeave) {
  const symbols = input("symbols", { value: wish.symbols?.join(" "), autocomplete: "off" });
  const isFixed = KEPT.slice(0, 3).some((name) => wish[name] !== undefined);
  const kinds = Object.entries(facts.alertKinds).map(([kind, text]) =>
    choice("checkbox", `kind-${kind}`, { text, isChosen: wish.kinds.includes(kind) }),
  );
  const numbers = Object.entries(facts.alertNumbers).map(([name, text]) => {
    const { min, max } = facts.alert[name];
    return field(
      text,
      input(name, { type: "number", min, max, step: "any", value: wish[name] ?? "" }),
    );
  });
  const isWebhook = wish.delivery.type === "webhook";
  const poll = choice("radio", "poll", {
    text: "The assistant asks for them",
    isChosen: !isWebhook,
  });
  const hook = choice("radio", "webhook", { text: "To my webhook", isChosen: isWebhook });
  const url = input("url", { type: "url", value: wish.delivery.url, placeholder: "https://" });
  const label = input("label", { value: wish.label, maxlength: 100 });
  const error = withAttributes("p.error", { role: "alert" });
  const go = () => {
    const chosen = Object.keys(facts.alertKinds).filter((_, at) => isChosen(kinds[at]));
    const made = {
      ...wish,
      ...(!isFixed && { symbols: symbols.value.split(/[\s,;]+/).filter(Boolean) }),
      kinds: chosen,
      ...Object.fromEntries(numbers.map((one) => [inputIn(one).id, numberIn(inputIn(one))])),
      delivery: isChosen(hook) ? { type: "webhook", url: url.value.trim() } : { type: "poll" },
      label: label.value.trim() === "" ? undefined : label.value.trim(),
    };
    error.textContent = faultOf(made, isFixed) ?? "";
    if (error.textContent === "") onReview(made);
  };
  return [
    withAttributes("h1", { tabindex: -1 }, "An alert"),
    isFixed ? el("p", "It watches ", watchedText(wish), ".") : field("Instruments", symbols),
    el("fieldset", el("legend", "Tell me of"), kinds),
    el("div.numbers", numbers),
    el("fieldset", el("legend", "Where events go"), poll, hook),
    field("Address of the webhook", url),
    field("Name, if you like", label),
    error,
    el("p.actions", button(".main", "Review", go), button("", "Not now", onLeave)),
  ];
}

/** What is wrong with a wish, in a sentence; `undefined` if nothing is. The tool checks it again. */
function faultOf({ symbols = [], kinds, delivery, ...wish }, isFixed) {
  if (!isFixed && symbols.length === 0) return "Name at least one instrument, such as AAPL.";
  if (kinds.length === 0) return "Choose at least one thing to be told of.";
  for (const [name, text] of Object.entries(facts.alertNumbers)) {
    const { min, max } = facts.alert[name];
    // Without points, an alert tells of new signals alone.
    if (name === "scoreMove" && wish[name] === null) continue;
    if (wish[name] === null || !(wish[name] >= min && wish[name] <= max))
      return `${text}: from ${min} to ${max}.`;
  }
  if (delivery.type === "webhook" && URL.parse(delivery.url)?.protocol !== "https:") {
    return "A webhook is an address that begins with https://.";
  }
  return undefined;
}

const reviewStep = (wish, { onCreate, onChange }) => [
  withAttributes("h1", { tabindex: -1 }, "Make this alert?"),
  el("section.card", alertFacts(wish)),
  el(
    "p.note",
    wish.delivery.type === "webhook"
      ? [
          "Signed messages will be sent to ",
          el("strong", new URL(wish.delivery.url).host),
          " until you delete it.",
        ]
      : "It is kept in your account until you delete it. Nothing is sent anywhere.",
  ),
  el(
    "p.actions",
    button(".main", "Make the alert", () => onCreate(wish)),
    button("", "Change", onChange),
  ),
];

const input = (id, attributes) => withAttributes("input", { id, type: "text", ...attributes });

const field = (text, control) =>
  el("div.field", withAttributes("label", { for: control.id }, text), control);

const choice = (type, id, { text, isChosen: checked }) =>
  el(
    "div.choice",
    withAttributes("input", {
      id,
      type,
      name: type === "radio" ? "delivery" : id,
      ...(checked && { checked: "" }),
    }),
    withAttributes("label", { for: id }, text),
  );

const inputIn = (part) => part.querySelector("input");
const numberIn = ({ value }) => (value.trim() === "" ? null : Number(value));
const isChosen = (part) => inputIn(part).checked;
