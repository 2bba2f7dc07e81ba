import { Router } from "express";
import { z } from "zod";
import { MAX_CHANNELS_PER_ACCOUNT } from "../../alerts/channels/channel.ts";
import type { ChannelView } from "../../alerts/channels/channel-view.ts";
import { type ChannelSchedule, isTimeZone } from "../../alerts/channels/schedule.ts";
import { targetKinds } from "../../alerts/channels/targets.ts";
import { type Html, type HtmlContent, html } from "../../markup/html.ts";
import { descriptionList, timeElement, untrustedText } from "./elements.ts";
import { createForm, formAt, type Refused, readForm, refuseForm } from "./form.ts";
import { buttonForm, destructiveAction, showForm } from "./form-html.ts";
import {
  addChannel,
  codeFormHtml,
  confirmChannel,
  type NewChannelView,
  newChannelsCard,
} from "./new-channel.ts";
import type { PageContext } from "./page-context.ts";
import { ACCOUNT_PATH } from "./return-to.ts";
import { mountSignedInForm, type ShowAccount, type SignedInVisit } from "./signed-in.ts";

const CHANNELS_PATH = `${ACCOUNT_PATH}/channels`;

/** A time of day (HH:MM), or an empty text. */
const Time = z
  .string()
  .trim()
  .default("")
  .refine(
    (time) => /^(|([01]\d|2[0-3]):[0-5]\d)$/.test(time),
    "Enter times as 22:30, or leave them empty.",
  );

const scheduleForm = createForm({
  from: { control: "input", label: "Quiet from", type: "time", schema: Time },
  until: { control: "input", label: "Quiet until", type: "time", schema: Time },
  digest: { control: "input", label: "Daily digest at", type: "time", schema: Time },
  zone: {
    control: "input",
    label: "Time zone",
    hint: "Such as Europe/Berlin or America/New_York.",
    type: "text",
    autocomplete: "off",
    isExact: true,
    maxLength: 64,
    schema: z
      .string()
      .trim()
      .default("")
      .refine(isTimeZone, "It is no time zone, such as Europe/Berlin."),
  },
});

/** The form for the schedule of a channel. */
const scheduleFormOf = (id: string) => formAt(scheduleForm, `${id}-schedule`);

/**
 * Handles a form of one channel.
 *
 * @returns The refusal of the form; `undefined` if it is accepted.
 */
type Act = (visit: SignedInVisit, id: string) => Promise<Refused | undefined>;

/** Routes that add, verify, change and remove the channels of a person. */
export function channelRoutes(context: PageContext, showAccount: ShowAccount): Router {
  const { channels } = context;
  const router = Router();
  const mountAct = (path: string, act: Act) =>
    mountSignedInForm(router, context, `${CHANNELS_PATH}/:id/${path}`, async (visit) => {
      const refused = await act(visit, String(visit.req.params.id));
      if (refused !== undefined) return showAccount(visit, refused);
      visit.res.redirect(303, `${ACCOUNT_PATH}#channels`);
    });
  mountSignedInForm(router, context, CHANNELS_PATH, (visit) =>
    addChannel(visit, context, showAccount),
  );
  mountAct("verify", (visit, id) => confirmChannel(visit, id, context));
  mountAct("schedule", (visit, id) => saveSchedule(visit, id, context));
  const simple: Readonly<Record<string, (accountId: string, id: string) => Promise<void>>> = {
    code: (accountId, id) => channels.sendCode(accountId, id),
    test: (accountId, id) => channels.test(accountId, id),
    pause: (accountId, id) => channels.setPaused(accountId, id, true),
    resume: (accountId, id) => channels.setPaused(accountId, id, false),
    share: (accountId, id) => channels.setShared(accountId, id, true),
    unshare: (accountId, id) => channels.setShared(accountId, id, false),
    remove: (accountId, id) => channels.remove(accountId, id),
  };
  for (const [path, act] of Object.entries(simple)) {
    mountAct(path, async ({ account }, id) => {
      await act(account.id, id);
      return undefined;
    });
  }
  return router;
}

async function saveSchedule(
  { req, account }: SignedInVisit,
  id: string,
  { channels }: PageContext,
): Promise<Refused | undefined> {
  const form = scheduleFormOf(id);
  const { data, refused } = readForm(form, req);
  if (refused !== undefined) return refused;
  const { from, until, digest, zone } = data;
  if ((from === "") !== (until === "")) {
    return refuseForm(form, req, { until: "A quiet time has a start and an end." });
  }
  if (from !== "" && from === until) {
    return refuseForm(form, req, { until: "The quiet time would never end." });
  }
  const schedule: ChannelSchedule = {
    timeZone: zone,
    quietHours: from === "" ? null : { from, to: until },
    digestAt: digest === "" ? null : digest,
  };
  await channels.setSchedule(account.id, id, schedule);
  return undefined;
}

/** Data for the channels section. */
export interface ChannelsView extends NewChannelView {
  /** Whether emails are shown to the operator instead of being sent. */
  readonly isMailShownToOperator: boolean;
}

/** Renders the channels of a person and the forms that add a channel. */
export function channelsSection(view: ChannelsView): Html {
  const { channels } = view;
  return html`<p>Your alerts reach you here: by email, or in a chat. A channel gets a code first, which you enter below; nothing else is sent to it before. Choose it when you make an alert. You can have ${MAX_CHANNELS_PER_ACCOUNT}.</p>
${channels.length > 0 && html`<ul class="cards">${channels.map((one) => channelCard(one, view))}</ul>`}
${channels.length < MAX_CHANNELS_PER_ACCOUNT ? newChannelsCard(view) : html`<p class="note">You have ${MAX_CHANNELS_PER_ACCOUNT} channels, which is the maximum. Remove one to add another.</p>`}`;
}

function channelCard(channel: ChannelView, view: ChannelsView): Html {
  const { formToken } = view;
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
${state.is === "pending" && codeFormHtml(channel, action, view)}
<div class="buttons">${channelButtons(channel, action, formToken)}</div>
${(state.is === "active" || state.is === "paused") && scheduleFormHtml(channel, action, view)}
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
    buttonForm(
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

function scheduleFormHtml(
  { id, schedule }: ChannelView,
  action: string,
  { formToken, refused }: ChannelsView,
): Html {
  const { quietHours, digestAt, timeZone } = schedule;
  const form = scheduleFormOf(id);
  const values = {
    from: quietHours?.from,
    until: quietHours?.to,
    digest: digestAt ?? undefined,
    zone: timeZone,
  };
  return html`<details${refused?.form === form.id && html` open`}>
<summary>Quiet time and daily digest</summary>
<p>Left empty, there is none. What comes in the quiet time is sent together at its end; a digest tells of a whole day in one message.</p>
${showForm(form, { action: `${action}/schedule`, formToken, values, refused }, html`<button>Save</button>`)}
</details>`;
}
