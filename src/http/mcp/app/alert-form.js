import { alertFacts, watchedText } from "./alert-view.js";
import { button, el, isKnown, isolatedText, withAttributes } from "./elements.js";
import { facts } from "./facts.js";

/** Members of a requested alert that the form does not change. */
const KEPT = ["watchlist", "assetClass", "signal", "cooldownDays", "expiresAt", "snoozedUntil"];

/** Maximum number of symbols of an alert. */
const MAX_SYMBOLS = 100;

/**
 * Converts the arguments of `register_alert` to a draft: the requested alert with defaults filled
 * in. A numeric setting is included only if the kind of event that uses the setting is selected.
 */
export function alertDraftOf(given) {
  const { symbols, delivery } = given;
  const known = [given.kinds ?? []].flat().filter((kind) => Object.hasOwn(facts.alertKinds, kind));
  const kinds = known.length > 0 ? known : facts.usualKinds;
  const numbers = Object.entries(facts.alertNumbers)
    .filter(([, { kind }]) => kinds.includes(kind))
    .map(([name, { usual }]) => {
      const own = name === "scoreMove" && isKnown(given.signal) ? null : usual;
      return [name, isNumber(given[name]) ? given[name] : own];
    });
  return {
    ...pick(given, [...KEPT, "channel", "label"]),
    ...(Array.isArray(symbols) && { symbols: symbols.map(String).slice(0, MAX_SYMBOLS) }),
    kinds,
    ...Object.fromEntries(numbers),
    delivery:
      delivery?.type === "webhook"
        ? { type: "webhook", url: String(delivery.url ?? "") }
        : { type: "poll" },
  };
}

/** Copies the named members of an object that have a value. */
const pick = (object, names) =>
  Object.fromEntries(
    names.filter((name) => isKnown(object[name])).map((name) => [name, object[name]]),
  );

/** Whether a value is a finite number, or `null`, which means that no number is set. */
const isNumber = (value) => value === null || Number.isFinite(value);

/**
 * The form that creates an alert in two steps: the person edits the values, then confirms a
 * complete summary. Nothing is sent before the confirmation. No `<form>` element is used, because
 * hosts that forbid forms would block its submission.
 *
 * @param wish Initial values.
 * @param onCreate Called with the entered values after the person has confirmed them.
 * @param onLeave Called when the person cancels.
 */
export function alertForm(wish, { onCreate, onLeave }) {
  const place = el("article");
  const show = (step) => {
    place.replaceChildren(...step);
    place.querySelector("h1").focus();
  };
  const edit = (from) => show(editStep(from, review, onLeave));
  const review = (made) => show(reviewStep(made, { onCreate, onChange: () => edit(made) }));
  place.replaceChildren(...editStep(wish, review, onLeave));
  return place;
}

function editStep(wish, onReview, onLeave) {
  const { watchlist, assetClass, signal } = wish;
  const isFixed = [watchlist, assetClass, wish.symbols ? undefined : signal].some(isKnown);
  const symbols = input("symbols", { value: wish.symbols?.join(" "), autocomplete: "off" });
  const kinds = Object.entries(facts.alertKinds).map(([kind, text]) =>
    kindChoice(kind, { text, wish }),
  );
  const ways = wayChoices(wish);
  const label = input("label", { value: wish.label, maxlength: 100 });
  const error = withAttributes("p.error", { role: "alert" });
  const go = () => {
    const name = label.value.trim();
    const way = ways.find(isChosen);
    const made = {
      ...pick(wish, KEPT),
      ...(!isFixed && { symbols: symbols.value.split(/[\s,;]+/).filter(Boolean) }),
      kinds: kinds.filter(isChosen).map((choice) => inputsOf(choice)[0].value),
      ...Object.fromEntries(kinds.filter(isChosen).flatMap(numbersIn)),
      delivery: deliveryIn(way),
      ...(inputsOf(way)[0].value === "channel" && pick(wish, ["channel"])),
      ...(name !== "" && { label: name }),
    };
    error.textContent = faultOf(made, isFixed) ?? "";
    if (error.textContent === "") onReview(made);
  };
  return [
    withAttributes("h1", { tabindex: -1 }, "An alert"),
    isFixed ? el("p", "It watches ", watchedText(wish), ".") : field("Instruments", symbols),
    !isFixed && signal && el("p", `Only events that end in ${signal}.`),
    el("fieldset", el("legend", "Tell me of"), kinds),
    el("fieldset", el("legend", "Where events go"), ways),
    field("Name, if you like", label),
    error,
    el("p.actions", button(".main", "Review", go), button("", "Not now", onLeave)),
  ];
}

/** The checkbox for a kind of event, with inputs for the numbers that it uses. */
function kindChoice(kind, { text, wish }) {
  const numbers = Object.entries(facts.alertNumbers)
    .filter(([, number]) => number.kind === kind)
    .map(([name, number]) => {
      const value = name in wish ? wish[name] : number.usual;
      const { min, max, step } = number;
      return field(
        number.text,
        input(name, { type: "number", min, max, step, value: value ?? "" }),
      );
    });
  const box = { id: `kind-${kind}`, type: "checkbox", value: kind };
  return choice(box, { text, isChosen: wish.kinds.includes(kind), inside: numbers });
}

/**
 * The radio buttons for the delivery. A channel is offered only if the requested alert specifies
 * one.
 */
function wayChoices({ delivery, channel }) {
  const isWebhook = delivery.type === "webhook";
  const way = (value, isChosen, text, inside) =>
    choice({ id: value, type: "radio", name: "way", value }, { text, isChosen, inside });
  const url = input("url", { type: "url", value: delivery.url, placeholder: "https://" });
  return [
    way("poll", !isWebhook && channel === undefined, "The assistant asks for them"),
    way("webhook", isWebhook, "To my webhook", field("Address of the webhook", url)),
    channel !== undefined && way("channel", !isWebhook, ["To my channel ", isolatedText(channel)]),
  ].filter(Boolean);
}

/**
 * The delivery that the selected radio button represents. A webhook URL is normalized by the
 * browser, so that the summary shows exactly the URL that is sent.
 */
function deliveryIn(way) {
  const [{ value }, url] = inputsOf(way);
  if (value !== "webhook") return { type: "poll" };
  const typed = url.value.trim();
  return { type: "webhook", url: URL.parse(typed)?.href ?? typed };
}

/**
 * Describes the first error in a requested alert; `undefined` if there is none. The tool validates
 * the alert again.
 */
function faultOf({ symbols = [], kinds, delivery, ...wish }, isFixed) {
  if (!isFixed && symbols.length === 0) return "Name at least one instrument, such as AAPL.";
  if (kinds.length === 0) return "Choose at least one thing to be told of.";
  for (const [name, { text, min, max }] of Object.entries(facts.alertNumbers)) {
    const value = wish[name];
    // An empty `scoreMove` is valid: the alert then reports only new signals.
    if (value === undefined || (name === "scoreMove" && value === null)) continue;
    if (value === null || !(value >= min && value <= max)) return `${text}: from ${min} to ${max}.`;
  }
  if (delivery.type === "webhook" && URL.parse(delivery.url)?.protocol !== "https:") {
    return "A webhook is an address that begins with https://.";
  }
  return undefined;
}

const reviewStep = (wish, { onCreate, onChange }) => [
  withAttributes("h1", { tabindex: -1 }, "Make this alert?"),
  el("section.card", alertFacts(wish)),
  el("p.note", consequence(wish)),
  el(
    "p.actions",
    button(".main", "Make the alert", () => onCreate(wish)),
    button("", "Change", onChange),
  ),
];

/** Text that says what the alert will do once the person has confirmed it. */
function consequence({ delivery, channel }) {
  if (delivery.type === "webhook") {
    const host = el("strong", isolatedText(new URL(delivery.url).host));
    return ["Signed messages will be sent to ", host, " until you delete it."];
  }
  if (channel !== undefined) {
    return [
      "Messages will be sent to your channel ",
      isolatedText(channel),
      " until you delete it.",
    ];
  }
  return "It is kept in your account until you delete it. Nothing is sent anywhere.";
}

const input = (id, attributes) => withAttributes("input", { id, type: "text", ...attributes });

const field = (text, control) =>
  el("div.field", withAttributes("label", { for: control.id }, text), control);

/** A checkbox or radio button. The style sheet hides `inside` while the option is not selected. */
const choice = (box, { text, isChosen: checked, inside }) =>
  el(
    "div.choice",
    withAttributes("input", { ...box, ...(checked && { checked: "" }) }),
    withAttributes("label", { for: box.id }, text),
    el("div.inside", inside),
  );

const inputsOf = (part) => [...part.querySelectorAll("input")];
const isChosen = (part) => inputsOf(part)[0].checked;

/**
 * The numbers entered for a kind of event, as pairs of name and value; `null` for an empty field.
 */
const numbersIn = (part) =>
  inputsOf(part)
    .slice(1)
    .map(({ id, value }) => [id, value.trim() === "" ? null : Number(value)]);
