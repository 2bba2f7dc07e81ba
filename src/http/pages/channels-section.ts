import { MAX_CHANNELS_PER_ACCOUNT } from "../../alerts/channels/channel.ts";
import type { ChannelView } from "../../alerts/channels/channel-view.ts";
import type { ChannelSchedule } from "../../alerts/channels/schedule.ts";
import { CHANNEL_KINDS, type ChannelKind, targetKinds } from "../../alerts/channels/targets.ts";
import { type Html, type HtmlContent, html } from "../../markup/html.ts";
import type { Account } from "../../principals/accounts/accounts.ts";
import {
  descriptionList,
  destructiveAction,
  type FieldErrors,
  field,
  form,
  timeElement,
  untrustedText,
} from "./elements.ts";

/** Maximum length of the name of a channel, in characters. */
export const MAX_CHANNEL_NAME_LENGTH = 40;

/** Data for the channels section. */
export interface ChannelsView {
  readonly formToken: string;
  /** The person, whose email address is suggested for new email channels. */
  readonly account: Pick<Account, "email">;
  /** Channels, sorted by name. */
  readonly channels: readonly ChannelView[];
  /** Whether emails are shown to the operator instead of being sent. */
  readonly isMailShownToOperator: boolean;
  /** Errors of the forms. */
  readonly errors?: FieldErrors;
  /** Values entered for a new channel. Tokens are not shown again and must be entered anew. */
  readonly enteredChannel?: {
    readonly kind: ChannelKind;
    readonly name: string;
    readonly to: string;
  };
}

/** HTML id of a field in the form that adds a channel. */
export const newChannelFieldId = (kind: ChannelKind, name: "name" | "to" | "token"): string =>
  `${kind}-${name}`;

/** HTML id of a field in the form of an existing channel. */
export const channelFieldId = (
  id: string,
  name: "code" | "from" | "until" | "digest" | "zone",
): string => `${name}-${id}`;

/** Renders the channels of a person and the forms that add a channel. */
export function channelsSection(view: ChannelsView): Html {
  const { channels } = view;
  return html`<p>Your alerts reach you here: by email, or in a chat. A channel gets a code first, which you enter below; nothing else is sent to it before. Choose it when you make an alert. You can have ${MAX_CHANNELS_PER_ACCOUNT}.</p>
${channels.length > 0 && html`<ul class="cards">${channels.map((one) => channelCard(one, view))}</ul>`}
${channels.length < MAX_CHANNELS_PER_ACCOUNT ? newChannelForms(view) : html`<p class="note">You have ${MAX_CHANNELS_PER_ACCOUNT} channels, which is the maximum. Remove one to add another.</p>`}`;
}

function channelCard(channel: ChannelView, view: ChannelsView): Html {
  const { formToken, errors = [] } = view;
  const { id, kind, name, hint, state, schedule, isShared, lastSuccessAt, alerts } = channel;
  const action = `/account/channels/${id}`;
  const isUnsent = kind === "email" && view.isMailShownToOperator;
  return html`<li class="card">
<h3>${targetKinds[kind].name}: ${untrustedText(name)}</h3>
${descriptionList([
  ["Status", html`<strong>${stateText(channel)}</strong>`],
  ["Sends to", untrustedText(hint)],
  state.is !== "pending" && ["Sends", scheduleText(schedule)],
  state.is !== "pending" && [
    "Alerts",
    alerts === 0
      ? html`none yet: <a href="/account/alerts/new?channel=${encodeURIComponent(name)}">make one</a>`
      : alerts,
  ],
  state.is !== "pending" && ["Used by", isShared ? SHARED : "You, and programs with your keys"],
  state.is !== "pending" && [
    isUnsent ? "Last shown to the operator" : "Last success",
    lastSuccessText(lastSuccessAt),
  ],
])}
${isUnsent && html`<p class="note">This service sends no mail yet: its operator sees what it would send, codes too. If that is you, it stands on the terminal of the service, and <code>npx --no-install market-signal admin mail</code> shows it.</p>`}
${state.is === "pending" && codeForm(channel, action, { formToken, errors })}
<div class="buttons">${channelButtons(channel, action, formToken)}</div>
${(state.is === "active" || state.is === "paused") && scheduleForm(channel, action, { formToken, errors })}
${destructiveAction({
  action: `${action}/remove`,
  formToken,
  summary: "Remove this channel",
  consequence:
    alerts === 0
      ? "What waits for it is dropped. This cannot be undone."
      : `What waits for it is dropped, and events of the ${alerts} ${alerts === 1 ? "alert" : "alerts"} that it sends are only recorded from then on. This cannot be undone.`,
  button: "Remove channel for good",
})}
</li>`;
}

/** Buttons for the actions that the state of a channel allows. */
function channelButtons(
  { state: { is }, isShared }: ChannelView,
  action: string,
  formToken: string,
): readonly HtmlContent[] {
  const button = (path: string, label: string): Html =>
    form(
      { action: `${action}/${path}`, formToken },
      html`<button class="second">${label}</button>`,
    );
  return [
    is === "active" && button("test", "Send a test"),
    is === "active" && button("pause", "Pause"),
    is === "paused" && button("resume", "Resume"),
    (is === "pending" || is === "disabled") && button("code", "Send a new code"),
    is !== "pending" && !isShared && button("share", "Let applications use it"),
    is !== "pending" && isShared && button("unshare", "End the use by applications"),
  ];
}

const SHARED = "You, your keys, and all your agents and applications that may make alerts";

const REASONS = {
  gone: "the service says that it does not exist any more",
  failing: "it failed for five days",
  unsubscribed: "it was unsubscribed by a link in an email",
} as const;

function stateText({ state, lastAttempt }: ChannelView): HtmlContent {
  switch (state.is) {
    case "active":
      return "Active";
    case "paused":
      return "Paused: what comes waits";
    case "disabled":
      return `Stopped: ${REASONS[state.reason]}. A new code starts it again`;
    case "pending": {
      if (state.code === null) return "The code was wrong too often: ask for a new one";
      const isRefused = lastAttempt !== undefined && lastAttempt.error !== "none";
      if (!isRefused) return html`Waits for its code, until ${timeElement(state.codeUntil)}`;
      return lastAttempt.status === null
        ? "The code could not be sent: no answer came"
        : `The code could not be sent: the answer was ${lastAttempt.status}`;
    }
  }
}

function scheduleText({ timeZone, quietHours, digestAt }: ChannelSchedule): string {
  const when = digestAt === null ? "at once" : `once a day at ${digestAt}`;
  const quiet = quietHours === null ? "" : `, quiet from ${quietHours.from} to ${quietHours.to}`;
  return quiet === "" && digestAt === null ? when : `${when}${quiet} (${timeZone})`;
}

const lastSuccessText = (at: number | undefined): HtmlContent =>
  at === undefined ? html`<span class="quiet">none recently</span>` : timeElement(at);

/** The data that the forms of a channel need. */
type FormView = Required<Pick<ChannelsView, "formToken" | "errors">>;

function codeForm({ id }: ChannelView, action: string, { formToken, errors }: FormView): Html {
  const code = field({
    id: channelFieldId(id, "code"),
    label: "Code",
    hint: "The six digits that were sent to it.",
    errors,
    attributes: html`type="text" inputmode="numeric" autocomplete="one-time-code" required maxlength="12"`,
  });
  return form({ action: `${action}/verify`, formToken }, html`${code}<button>Verify</button>`);
}

function scheduleForm(
  { id, schedule }: ChannelView,
  action: string,
  { formToken, errors }: FormView,
): Html {
  const { quietHours, digestAt, timeZone } = schedule;
  const time = (name: "from" | "until" | "digest", label: string, value: string | undefined) =>
    field({
      id: channelFieldId(id, name),
      label,
      value,
      errors,
      attributes: html`type="time"`,
    });
  const zone = field({
    id: channelFieldId(id, "zone"),
    label: "Time zone",
    value: timeZone,
    errors,
    hint: "Such as Europe/Berlin or America/New_York.",
    attributes: html`type="text" autocomplete="off" spellcheck="false" maxlength="64"`,
  });
  const isWrong = errors.some((error) => error.id.endsWith(id));
  return html`<details${isWrong && html` open`}>
<summary>Quiet time and daily digest</summary>
<p>Left empty, there is none. What comes in the quiet time is sent together at its end; a digest tells of a whole day in one message.</p>
${form(
  { action: `${action}/schedule`, formToken },
  html`${time("from", "Quiet from", quietHours?.from)}${time("until", "Quiet until", quietHours?.to)}${time("digest", "Daily digest at", digestAt ?? undefined)}${zone}<button>Save</button>`,
)}
</details>`;
}

/** A default name for a new channel that no other channel of the person has. */
function freeName(kind: ChannelKind, channels: readonly ChannelView[]): string {
  const taken = new Set(channels.map(({ name }) => name.toLowerCase()));
  const names = [
    targetKinds[kind].name,
    ...channels.map((_, at) => `${targetKinds[kind].name} ${at + 2}`),
  ];
  return names.find((name) => !taken.has(name.toLowerCase())) ?? targetKinds[kind].name;
}

function newChannelForms(view: ChannelsView): Html {
  return html`<div class="card"><h3>Add a channel</h3>${CHANNEL_KINDS.map((kind) => newChannelForm(kind, view))}</div>`;
}

function newChannelForm(
  kind: ChannelKind,
  { formToken, account, channels, errors = [], enteredChannel }: ChannelsView,
): Html {
  const { about, to, token } = targetKinds[kind].form;
  const isFirstEmail = kind === "email" && !channels.some((one) => one.kind === "email");
  const entered = enteredChannel?.kind === kind ? enteredChannel : undefined;
  const inputs = [
    field({
      id: newChannelFieldId(kind, "name"),
      label: "Name",
      value: entered?.name ?? freeName(kind, channels),
      errors,
      hint: "For you to know it by.",
      attributes: html`type="text" autocomplete="off" required maxlength="${MAX_CHANNEL_NAME_LENGTH}"`,
    }),
    field({
      id: newChannelFieldId(kind, "to"),
      label: to.label,
      value: entered?.to ?? (isFirstEmail ? account.email : undefined),
      errors,
      attributes: html`type="${to.type}" autocomplete="off" spellcheck="false" required placeholder="${to.example}"`,
    }),
    token !== undefined &&
      field({
        id: newChannelFieldId(kind, "token"),
        label: token,
        errors,
        attributes: html`type="password" autocomplete="off"`,
      }),
  ];
  const isOpen = errors.some(({ id }) => id.startsWith(`${kind}-`));
  return html`<details${isOpen && html` open`}>
<summary>${targetKinds[kind].name}</summary>
<p>${about}</p>
${form({ action: "/account/channels", formToken, hidden: { kind } }, html`${inputs}<button>Add and send a code</button>`)}
</details>`;
}
