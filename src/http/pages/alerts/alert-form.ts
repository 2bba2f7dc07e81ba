import { z } from "zod";
import { ALERT_KINDS, type Alert, type AlertKind } from "../../../alerts/alert.ts";
import type { Channel } from "../../../alerts/channels/channel.ts";
import { OWN_MAILBOX_CHANNEL_NAME } from "../../../alerts/channels/channels.ts";
import { targetKinds } from "../../../alerts/channels/targets.ts";
import type { WatchlistOverview } from "../../../alerts/watchlists/watchlists.ts";
import { DirectionAnswer } from "../../../answers/shared-members.ts";
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
import { CheckboxValues, createForm, type Form, type Options, type Refused } from "../form.ts";
import { errorText, type ShowField, showForm } from "../form-html.ts";
import { assetClassNames } from "../home/marks.ts";
import {
  type InstrumentSuggestion,
  instrumentFields,
  showInstruments,
} from "./instruments-field.ts";

/**
 * Maximum size of the form, in bytes: a URL of 4,096 characters and 100 symbols fit,
 * percent-encoded.
 */
const MAX_FORM_BYTES = 24 * 1024;

/** Maximum number of fields in the form, which can suggest up to 40 instruments. */
const MAX_FORM_FIELDS = 80;

/** Schema of a text field, which the tools validate; empty if it was not sent, or sent twice. */
const Text = z.string().catch("");

/**
 * Schemas of the tools for the number fields, which supply the bounds.
 */
const numberSchemas = { ...AlertFields, scoreMove: AlertFields.scoreMove.unwrap() };

type NumberName =
  | "scoreMove"
  | "volatilityZ"
  | "cooldownDays"
  | "reportSessions"
  | "steadinessLevel";

/** The bounds of a number as text, such as "1 to 100". */
const bounds = (name: NumberName): string =>
  `${numberSchemas[name].minValue} to ${numberSchemas[name].maxValue}`;

/** A number field with the bounds of the tools. */
const numberField = (
  name: NumberName,
  question: { label: string; hint: string; subject: string; step: number },
) =>
  ({
    ...question,
    control: "input",
    type: "number",
    inputMode: "decimal",
    min: numberSchemas[name].minValue,
    max: numberSchemas[name].maxValue,
    schema: Text,
  }) as const;

const { scoreMove, highZ, coinQuietDays } = EVENT_RULES;

const kindLabels: Readonly<Record<AlertKind, string>> = {
  signal_shift: "Another signal",
  volatility: "Unusual volatility",
  report: "A quarterly report that is near, filed or late (stocks)",
  range: "A close outside the range that was expected",
  steadiness: "Steadiness that crosses a level (stocks and coins)",
};

/** The form that creates or changes an alert. The tools validate what it sends. */
export const alertForm = createForm(
  {
    ...instrumentFields,
    /** What the alert watches; `same` keeps the current selection. */
    watch: {
      control: "radio",
      schema: z.enum(["symbols", "watchlist", "filter", "same"]).catch("symbols"),
    },
    watchlist: {
      control: "select",
      label: "Watchlist",
      subject: "The watchlist",
      schema: Text,
    },
    assetClass: {
      control: "select",
      label: "Class",
      subject: "The class",
      options: [
        ["", "Any class"],
        ...AssetClass.options.map((one) => [one, assetClassNames[one]] as const),
      ],
      schema: Text,
    },
    signal: {
      control: "select",
      label: "Signal after the event",
      subject: "The signal",
      options: [["", "Any signal"], ...DirectionAnswer.options.map((one) => [one, one] as const)],
      schema: Text,
    },
    kinds: {
      control: "checkboxes",
      subject: "The events",
      options: ALERT_KINDS.map((kind) => [kind, kindLabels[kind]] as const),
      schema: CheckboxValues.catch([]),
    },
    scoreMove: numberField("scoreMove", {
      label: "Also when the score moves by, in points",
      hint: `${bounds("scoreMove")}; ${scoreMove} is usual. Leave it empty to hear of new signals alone.`,
      subject: "The change of the score",
      step: 1,
    }),
    volatilityZ: numberField("volatilityZ", {
      label: "From how many standard deviations on",
      hint: `${bounds("volatilityZ")} above what is usual for it; ${highZ} is the default.`,
      subject: "The z of volatility",
      step: 0.1,
    }),
    cooldownDays: numberField("cooldownDays", {
      label: "Quiet time after an event, in market days",
      hint: `${bounds("cooldownDays")}; left empty it is one session, for coins ${coinQuietDays} days. It is for signals and volatility.`,
      subject: "The quiet time",
      step: 0.25,
    }),
    reportSessions: numberField("reportSessions", {
      label: "How many sessions before the expected filing",
      hint: `${bounds("reportSessions")}; ${DEFAULT_SESSIONS_BEFORE_REPORT} is usual. Each stock files four times a year, and each report has one event when it is near, one when it is filed, and rarely one when it is late.`,
      subject: "The sessions before a report",
      step: 1,
    }),
    steadinessLevel: numberField("steadinessLevel", {
      label: "Level that steadiness crosses, in points",
      hint: `${bounds("steadinessLevel")}; below ${DEFAULT_STEADINESS_LEVEL} is the riskiest fifth of the class. ${STEADINESS_MEANING} After an event, the next one needs it to have been ${STEADINESS_REARM_POINTS} points away.`,
      subject: "The level of steadiness",
      step: 1,
    }),
    delivery: {
      control: "radio",
      schema: z.enum(["poll", "channel", "webhook"]).catch("poll"),
    },
    /** Name of a channel. */
    channel: {
      control: "select",
      label: "Channel",
      subject: "The channel",
      schema: Text,
    },
    url: {
      control: "input",
      label: "Address",
      hint: "A public https address. It must answer a challenge before it gets events, and each request is signed.",
      subject: "The address",
      type: "url",
      autocomplete: "off",
      isExact: true,
      placeholder: "https://",
      schema: Text,
    },
    label: {
      control: "input",
      label: "Name",
      hint: "For you to know it by.",
      subject: "The name",
      type: "text",
      autocomplete: "off",
      maxLength: 100,
      schema: Text,
    },
    /** Expiry time in UTC; empty for an alert that does not expire. */
    expiresAt: {
      control: "input",
      label: "End, in UTC",
      hint: "Left empty, it lasts until you delete it.",
      subject: "The end",
      type: "datetime-local",
      schema: Text,
    },
  },
  { maxBytes: MAX_FORM_BYTES, maxFields: MAX_FORM_FIELDS },
);

type AlertFormFields = typeof alertForm extends Form<infer F> ? F : never;

/** The values in the alert form. Numbers are texts, and empty for a default. */
export type AlertEntry = z.output<(typeof alertForm)["schema"]>;

/** Id of the submit button, next to which errors that belong to no field are shown. */
export const SAVE_BUTTON_ID = "save";

/** Data for the alert form. */
interface AlertFormView {
  readonly formToken: string;
  readonly entry: AlertEntry;
  readonly refused: Refused | undefined;
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
 * Shows the alert form. The style sheet hides fields that depend on an option that is not selected.
 *
 * @param request Idempotency key, so that submitting the form twice creates only one alert.
 */
export function showAlertForm(view: AlertFormView, request: string): Html {
  const { formToken, entry, refused, changed, lists } = view;
  const hidden: Readonly<Record<string, string>> = changed
    ? { version: changed.version }
    : { request };
  const action = changed ? `/account/alerts/${changed.id}` : "/account/alerts";
  const vary = {
    watch: { options: watchOptions(view) },
    watchlist: {
      options: lists.filter(({ isOwn }) => isOwn).map(({ name }) => [name, name] as const),
    },
    delivery: { options: deliveryOptions(view) },
    channel: { options: channelOptions(view) },
  };
  return html`<div class="alert-form">${showForm(
    alertForm,
    { action, formToken, hidden, values: entry, refused, vary },
    (show) => html`<fieldset class="card"><legend>What to watch</legend>
${show("watch", {
  symbols: showInstruments(show, view.suggestions),
  watchlist: show("watchlist"),
  filter: show("assetClass"),
})}${show("signal")}
</fieldset>
<fieldset class="card"><legend>What to be told of</legend>
${show("kinds", {
  signal_shift: show("scoreMove"),
  volatility: show("volatilityZ"),
  report: show("reportSessions"),
  range: html`<p class="hint">${rangeRates(view.market)}</p>`,
  steadiness: show("steadinessLevel"),
})}${show("cooldownDays")}
</fieldset>
<fieldset class="card"><legend>Where to send it</legend>
${deliveryPart(view, show)}
</fieldset>
<fieldset class="card pair"><legend>If you like</legend>
${show("label")}${show("expiresAt")}
</fieldset>
${errorText(refused?.errors, SAVE_BUTTON_ID)}
<p class="buttons"><button id="${SAVE_BUTTON_ID}">${changed ? "Save" : "Make the alert"}</button> <a class="second" href="${changed ? action : "/account#alerts"}">Cancel</a></p>`,
  )}</div>`;
}

/** What an alert can watch. A changed alert keeps its filter, or gets no filter. */
function watchOptions({ entry, lists, changed }: AlertFormView): Options {
  const watched = changed?.alert.watched;
  const ways: readonly (Options[number] | false)[] = [
    watched?.by === "filter" && ["same", watchedText(watched)],
    ["symbols", "Instruments"],
    (lists.length > 0 || entry.watchlist !== "") && [
      "watchlist",
      "A watchlist, with whatever is in it",
    ],
    changed === undefined && ["filter", "All of a class, or everything with a signal"],
  ];
  return ways.filter((way) => way !== false);
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

/** Where an alert can be sent; an alert with a webhook keeps it. */
function deliveryOptions({ changed }: AlertFormView): Options {
  const ways: readonly (Options[number] | false)[] = [
    ["channel", "To me, by email or in a chat"],
    changed === undefined && ["webhook", "To a webhook of mine"],
    ["poll", "Nowhere: its page lists the events"],
  ];
  return ways.filter((way) => way !== false);
}

function deliveryPart(view: AlertFormView, show: ShowField<AlertFormFields>): Html {
  // An alert with a webhook keeps the webhook; only its URL can be changed.
  if (view.changed?.alert.way.by === "webhook") {
    return html`${show("url")}<input type="hidden" name="delivery" value="webhook">`;
  }
  return show("delivery", { channel: channelPart(view, show("channel")), webhook: show("url") });
}

/** The channels to choose from; the current one is among them even if it is no longer usable. */
function channelOptions({ entry, channels, ownMailbox }: AlertFormView): Options {
  const names: Options =
    ownMailbox === undefined
      ? channels.map(({ name, kind }) => [
          name,
          name === targetKinds[kind].name ? name : `${name} (${targetKinds[kind].name})`,
        ])
      : [[OWN_MAILBOX_CHANNEL_NAME, `Email to ${ownMailbox}`]];
  const isListed = names.some(([name]) => name === entry.channel);
  return isListed || entry.channel === "" ? names : [...names, [entry.channel, entry.channel]];
}

/** The selection of a channel, or a link to add one if the person has none. */
function channelPart(view: AlertFormView, select: Html): HtmlContent {
  const { channels, ownMailbox, isMailShownToOperator, refused } = view;
  if (channelOptions(view).length === 0) {
    return html`<p class="hint">You have no channel yet. <a href="/account#channels">Add one on your account page</a>: an address or a chat, which gets a code that you enter there.</p>${errorText(refused?.errors, "channel")}`;
  }
  const isEmail = ownMailbox !== undefined || channels.some(({ kind }) => kind === "email");
  return html`${select}<p class="hint">${isEmail && isMailShownToOperator && "This service sends no mail yet: its operator sees what it would send. "}<a href="/account#channels">Add another channel</a>.</p>`;
}
