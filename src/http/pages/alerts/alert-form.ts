import { ALERT_KINDS, type Alert, type AlertKind } from "../../../alerts/alert.ts";
import type { Channel } from "../../../alerts/channels/channel.ts";
import { OWN_MAILBOX_CHANNEL_NAME } from "../../../alerts/channels/channels.ts";
import { targetKinds } from "../../../alerts/channels/targets.ts";
import type { WatchlistOverview } from "../../../alerts/watchlists/watchlists.ts";
import { DirectionAnswer } from "../../../answers/common.ts";
import { STEADINESS_MEANING } from "../../../answers/steadiness.ts";
import { AssetClass } from "../../../market/instrument.ts";
import type { MarketView } from "../../../market/market-view.ts";
import { type Html, type HtmlContent, html } from "../../../markup/html.ts";
import { DEFAULT_SESSIONS_BEFORE_REPORT } from "../../../score/report-events.ts";
import { EVENT_RULES } from "../../../score/shift-and-volatility-events.ts";
import {
  DEFAULT_STEADINESS_LEVEL,
  STEADINESS_REARM_POINTS,
} from "../../../score/steadiness-events.ts";
import { AlertFields } from "../../../tool/alert-input.ts";
import { nextStepsOfRangeAlert } from "../../../tool/range-alert.ts";
import { watchedText } from "../alerts-section.ts";
import { errorText, type FieldErrors, field, form, select } from "../elements.ts";
import { assetClassNames } from "../home/marks.ts";
import { type AlertEntry, type InstrumentSuggestion, SAVE_BUTTON_ID } from "./alert-entry.ts";
import { choiceOption, instrumentsField } from "./instruments-field.ts";

/** Data for the alert form. */
export interface AlertFormView {
  readonly formToken: string;
  readonly entry: AlertEntry;
  readonly errors: FieldErrors;
  /** Instruments suggested for entered names. */
  readonly suggestions: readonly InstrumentSuggestion[];
  /** The watchlists that the alert can watch. */
  readonly lists: WatchlistOverview["lists"];
  /** Names and kinds of the channels to which the alert can be sent. */
  readonly channels: readonly Pick<Channel, "name" | "kind">[];
  /** Email address of a person without a channel; selecting it creates their first channel. */
  readonly ownMailbox: string | undefined;
  /** Whether emails are shown to the operator instead of being sent. */
  readonly isMailShownToOperator: boolean;
  readonly market: MarketView;
  /** The alert to change; absent in the form of a new alert. */
  readonly changed?: ChangedAlert | undefined;
}

/** The alert that a form changes. */
interface ChangedAlert {
  readonly id: string;
  readonly alert: Alert;
  /** `alertVersion` of the alert when the form was opened. */
  readonly version: string;
}

/**
 * The form that creates or changes an alert. The style sheet hides fields that depend on an option
 * that is not selected.
 *
 * @param request Idempotency key, so that submitting the form twice creates only one alert.
 */
export function alertForm(view: AlertFormView, request: string): Html {
  const { formToken, changed } = view;
  const hidden: Readonly<Record<string, string>> = changed
    ? { version: changed.version }
    : { request };
  return html`<div class="alert-form">${form(
    {
      formToken,
      hidden,
      action: changed ? `/account/alerts/${changed.id}` : "/account/alerts",
    },
    html`${watchPart(view)}
${kindsPart(view)}
${deliveryPart(view)}
${namePart(view)}
${errorText(view.errors, SAVE_BUTTON_ID)}
<p class="buttons"><button id="${SAVE_BUTTON_ID}">${changed ? "Save" : "Make the alert"}</button> <a class="second" href="${changed ? `/account/alerts/${changed.id}` : "/account#alerts"}">Cancel</a></p>`,
  )}</div>`;
}

function watchPart(view: AlertFormView): Html {
  const { entry, errors, lists, changed } = view;
  const way = (value: AlertEntry["watch"], label: HtmlContent, inside?: HtmlContent) =>
    choiceOption({
      type: "radio",
      id: `watch-${value}`,
      name: "watch",
      value,
      label,
      inside,
      isChosen: entry.watch === value,
    });
  return html`<fieldset class="card"><legend>What to watch</legend>
${changed?.alert.watched.by === "filter" && way("same", watchedText(changed.alert.watched))}
${way("symbols", "Instruments", instrumentsField(view))}
${
  (lists.length > 0 || entry.watchlist !== "") &&
  way(
    "watchlist",
    "A watchlist, with whatever is in it",
    select({
      id: "watchlist",
      label: "Watchlist",
      options: lists.filter(({ isOwn }) => isOwn).map(({ name }) => [name, name]),
      value: entry.watchlist,
      errors,
    }),
  )
}
${
  changed === undefined &&
  way(
    "filter",
    "All of a class, or everything with a signal",
    select({
      id: "assetClass",
      label: "Class",
      options: [
        ["", "Any class"],
        ...AssetClass.options.map((one) => [one, assetClassNames[one]] as const),
      ],
      value: entry.assetClass,
      errors,
    }),
  )
}
${select({
  id: "signal",
  label: "Signal after the event",
  options: [["", "Any signal"], ...DirectionAnswer.options.map((one) => [one, one] as const)],
  value: entry.signal,
  errors,
})}
</fieldset>`;
}

/**
 * Schemas of the form's fields, taken from the tools. The schemas of number fields supply the
 * minimum and maximum of their inputs.
 */
const alertFieldSchemas = { ...AlertFields, scoreMove: AlertFields.scoreMove.unwrap() };

/** A numeric form field. */
interface NumberField {
  readonly id: "scoreMove" | "volatilityZ" | "cooldownDays" | "reportSessions" | "steadinessLevel";
  readonly label: string;
  readonly hint: HtmlContent;
  readonly step: number;
}

function numberField(
  { id, label, hint, step }: NumberField,
  { entry, errors }: AlertFormView,
): Html {
  const { minValue, maxValue } = alertFieldSchemas[id];
  return field({
    id,
    label,
    hint,
    errors,
    value: entry[id],
    attributes: html`type="number" inputmode="decimal" min="${minValue}" max="${maxValue}" step="${step}"`,
  });
}

/** The bounds of a numeric field as text, such as "1 to 100". */
const bounds = (id: NumberField["id"]): string =>
  `${alertFieldSchemas[id].minValue} to ${alertFieldSchemas[id].maxValue}`;

const { scoreMove, highZ, coinQuietDays } = EVENT_RULES;

function kindsPart(view: AlertFormView): Html {
  const { entry, errors, market } = view;
  const inside: Readonly<Record<AlertKind, HtmlContent>> = {
    signal_shift: numberField(
      {
        id: "scoreMove",
        label: "Also when the score moves by, in points",
        hint: `${bounds("scoreMove")}; ${scoreMove} is usual. Leave it empty to hear of new signals alone.`,
        step: 1,
      },
      view,
    ),
    volatility: numberField(
      {
        id: "volatilityZ",
        label: "From how many standard deviations on",
        hint: `${bounds("volatilityZ")} above what is usual for it; ${highZ} is the default.`,
        step: 0.1,
      },
      view,
    ),
    report: numberField(
      {
        id: "reportSessions",
        label: "How many sessions before the expected filing",
        hint: `${bounds("reportSessions")}; ${DEFAULT_SESSIONS_BEFORE_REPORT} is usual. Each stock files four times a year, and each report has one event when it is near, one when it is filed, and rarely one when it is late.`,
        step: 1,
      },
      view,
    ),
    range: html`<p class="hint">${rangeRates(market)}</p>`,
    steadiness: numberField(
      {
        id: "steadinessLevel",
        label: "Level that steadiness crosses, in points",
        hint: `${bounds("steadinessLevel")}; below ${DEFAULT_STEADINESS_LEVEL} is the riskiest fifth of the class. ${STEADINESS_MEANING} After an event, the next one needs it to have been ${STEADINESS_REARM_POINTS} points away.`,
        step: 1,
      },
      view,
    ),
  };
  const labels: Readonly<Record<AlertKind, string>> = {
    signal_shift: "Another signal",
    volatility: "Unusual volatility",
    report: "A quarterly report that is near, filed or late (stocks)",
    range: "A close outside the range that was expected",
    steadiness: "Steadiness that crosses a level (stocks and coins)",
  };
  return html`<fieldset class="card"><legend>What to be told of</legend>
${errorText(errors, "kinds")}
${ALERT_KINDS.map((kind, index) =>
  choiceOption({
    // The first checkbox has the id of the whole field, so that error messages can link to it.
    type: "checkbox",
    id: index === 0 ? "kinds" : kind,
    name: "kinds",
    value: kind,
    isChosen: entry.kinds.includes(kind),
    label: labels[kind],
    inside: inside[kind],
  }),
)}
${numberField(
  {
    id: "cooldownDays",
    label: "Quiet time after an event, in market days",
    hint: `${bounds("cooldownDays")}; left empty it is one session, for coins ${coinQuietDays} days. It is for signals and volatility.`,
    step: 0.25,
  },
  view,
)}
</fieldset>`;
}

/**
 * Text that says how often a closing price leaves its forecast range, for each asset class of the
 * market.
 */
function rangeRates(market: MarketView): string {
  const watched = { by: "filter", assetClass: null, signal: null } as const;
  const rates = nextStepsOfRangeAlert({ kinds: ["range"], watched }, market);
  return rates
    .map((rate) => rate.replace(/^range: ([a-z])/, (_, letter: string) => letter.toUpperCase()))
    .join(" ");
}

function deliveryPart(view: AlertFormView): Html {
  const { entry, errors, changed } = view;
  const url = field({
    id: "url",
    label: "Address",
    hint: "A public https address. It must answer a challenge before it gets events, and each request is signed.",
    value: entry.url,
    errors,
    attributes: html`type="url" autocomplete="off" spellcheck="false" placeholder="https://"`,
  });
  // An alert with a webhook keeps the webhook; only its URL can be changed.
  if (changed?.alert.way.by === "webhook") {
    return html`<fieldset class="card"><legend>Where to send it</legend>
<input type="hidden" name="delivery" value="webhook">${url}
</fieldset>`;
  }
  const way = (value: AlertEntry["delivery"], label: string, inside?: HtmlContent) =>
    choiceOption({
      type: "radio",
      id: `delivery-${value}`,
      name: "delivery",
      value,
      label,
      inside,
      isChosen: entry.delivery === value,
    });
  return html`<fieldset class="card"><legend>Where to send it</legend>
${way("channel", "To me, by email or in a chat", channelChoice(view))}
${changed === undefined && way("webhook", "To a webhook of mine", url)}
${way("poll", "Nowhere: its page lists the events")}
</fieldset>`;
}

/** The selection of a channel, or a link to add one if the person has none. */
function channelChoice(view: AlertFormView): Html {
  const { entry, errors, channels, ownMailbox, isMailShownToOperator } = view;
  const names: readonly (readonly [value: string, text: string])[] =
    ownMailbox === undefined
      ? channels.map(({ name, kind }) => [
          name,
          name === targetKinds[kind].name ? name : `${name} (${targetKinds[kind].name})`,
        ])
      : [[OWN_MAILBOX_CHANNEL_NAME, `Email to ${ownMailbox}`]];
  const isListed = names.some(([name]) => name === entry.channel);
  const options = isListed || entry.channel === "" ? names : [...names, [entry.channel] as const];
  if (options.length === 0) {
    return html`<p class="hint">You have no channel yet. <a href="/account#channels">Add one on your account page</a>: an address or a chat, which gets a code that you enter there.</p>${errorText(errors, "channel")}`;
  }
  const isEmail = ownMailbox !== undefined || channels.some(({ kind }) => kind === "email");
  return html`${select({
    id: "channel",
    label: "Channel",
    options: options.map(([name, text = name]) => [name, text]),
    value: entry.channel,
    errors,
  })}<p class="hint">${isEmail && isMailShownToOperator && "This service sends no mail yet: its operator sees what it would send. "}<a href="/account#channels">Add another channel</a>.</p>`;
}

const namePart = ({
  entry,
  errors,
}: AlertFormView): Html => html`<fieldset class="card pair"><legend>If you like</legend>
${field({
  id: "label",
  label: "Name",
  hint: "For you to know it by.",
  value: entry.label,
  errors,
  attributes: html`type="text" autocomplete="off" maxlength="100"`,
})}
${field({
  id: "expiresAt",
  label: "End, in UTC",
  hint: "Left empty, it lasts until you delete it.",
  value: entry.expiresAt,
  errors,
  attributes: html`type="datetime-local"`,
})}
</fieldset>`;
