import { z } from "zod";
import { type Alert, isDeliveryActive } from "../../../alerts/alert.ts";
import type { AlertEvent } from "../../../alerts/api/event-log.ts";
import type {
  AlertDetails,
  DeliveryAttemptPage,
  DeliveryAttemptView,
} from "../../../alerts/api/queries.ts";
import { instrumentPath } from "../../../lib/paths.ts";
import { type Html, type HtmlContent, html } from "../../../markup/html.ts";
import { DEFAULT_SESSIONS_BEFORE_REPORT } from "../../../score/report-events.ts";
import { EVENT_RULES } from "../../../score/shift-and-volatility-events.ts";
import { DEFAULT_STEADINESS_LEVEL } from "../../../score/steadiness-events.ts";
import {
  alertKindsText,
  alertStatusText,
  deliveryTargetText,
  watchedText,
} from "../alerts-section.ts";
import { copyButton, copyScriptHref } from "../copy.ts";
import { descriptionList, timeElement, untrustedText } from "../elements.ts";
import { createForm } from "../form.ts";
import { buttonForm, destructiveAction, showForm } from "../form-html.ts";
import type { PageAnswer } from "../page-answer.ts";

/** Data for the page of an alert. */
interface AlertPageView {
  readonly formToken: string;
  readonly details: AlertDetails;
  /** Events, newest first. */
  readonly events: readonly AlertEvent[];
  readonly attempts: DeliveryAttemptPage;
  /** Which instruments have too little coverage to become LONG or SHORT; absent if none has. */
  readonly lowCoverage: string | undefined;
  /** Message about the action that was just completed; absent if there was none. */
  readonly done?: string | undefined;
}

/** Maximum number of events shown. */
export const MAX_EVENTS_SHOWN = 50;

/** Maximum number of delivery attempts on a page. */
export const MAX_ATTEMPTS_SHOWN = 20;

/** Maximum duration for which an alert can be snoozed, in hours: a week. */
const MAX_SNOOZE_HOURS = 168;

/** The form that snoozes an alert. */
export const snoozeForm = createForm({
  hours: {
    control: "select",
    label: "Snooze for",
    options: [
      ["1", "an hour"],
      ["24", "a day"],
      [String(MAX_SNOOZE_HOURS), "a week"],
    ],
    schema: z.coerce.number().int().min(1).max(MAX_SNOOZE_HOURS).optional(),
  },
});

/** The page of one alert: its settings, the actions on it, its events and its deliveries. */
export function alertPage(view: AlertPageView): PageAnswer {
  const { details, events, attempts, lowCoverage, done } = view;
  const { id, alert } = details;
  const { label, watched, way, createdAt, expiresAt } = alert;
  const isSent = way.by !== "poll";
  return {
    heading: label === null ? "Your alert" : label,
    place: "account",
    isSignedIn: true,
    isWide: true,
    body: html`${done !== undefined && html`<p class="note" role="status">${done}</p>`}
<section class="card" aria-label="Settings">
${descriptionList([
  ["Status", html`<strong>${alertStatusText(details)}</strong>`],
  ["Watches", watchedText(watched)],
  ["Conditions", alertKindsText(alert)],
  lowCoverage !== undefined && ["Coverage", lowCoverage],
  ["Thresholds", thresholdsText(alert)],
  ["Sent to", isSent ? deliveryTargetText(details) : "Nowhere: its events stand below"],
  ...(isSent ? healthFacts(details) : []),
  expiresAt !== null && ["Ends", timeElement(expiresAt)],
  ["Made", timeElement(createdAt)],
  ["Id", html`<code>${id}</code>`],
])}
${actions(view)}
</section>
<section aria-labelledby="events"><h2 id="events">Events</h2>
${eventsTable(events)}
</section>
${isSent && deliveriesPart(view, attempts)}
<section aria-label="Delete">${destructiveAction({
      action: `/account/alerts/${id}/remove`,
      formToken: view.formToken,
      summary: "Delete this alert",
      consequence:
        "Nothing more is recorded or sent for it, and what waits to be sent is dropped. This cannot be undone.",
      button: "Delete alert for good",
    })}</section>
<p><a href="/account#alerts">All your alerts</a></p>`,
  };
}

/** Text with the thresholds of the event kinds that an alert covers. */
function thresholdsText({ kinds, thresholds }: Alert): string {
  const {
    scoreMove,
    volatilityZ,
    cooldownDays,
    reportSessions = DEFAULT_SESSIONS_BEFORE_REPORT,
    steadinessLevel = DEFAULT_STEADINESS_LEVEL,
  } = thresholds;
  const quiet =
    cooldownDays === null
      ? `one session, for coins ${EVENT_RULES.coinQuietDays} days`
      : `${cooldownDays} market days`;
  const texts = [
    kinds.includes("signal_shift") &&
      (scoreMove === null ? "new signals alone" : `score moves of ${scoreMove} points`),
    kinds.includes("volatility") && `z of volatility from ${volatilityZ}`,
    kinds.includes("report") && `${reportSessions} sessions before a report`,
    kinds.includes("range") && "the 95 % range",
    kinds.includes("steadiness") && `steadiness crossing ${steadinessLevel}`,
    (kinds.includes("signal_shift") || kinds.includes("volatility")) &&
      `quiet after an event for ${quiet}`,
  ];
  const all = texts.filter((text) => text !== false).join("; ");
  return `${all.charAt(0).toUpperCase()}${all.slice(1)}`;
}

function healthFacts({
  health,
  waiting,
}: AlertDetails): readonly (readonly [string, HtmlContent] | false)[] {
  return [
    health !== undefined && [
      "Failing",
      html`since ${timeElement(health.failingSince)}, ${health.failures} attempts`,
    ],
    waiting.count > 0 && [
      "Waiting",
      html`${waiting.count}${waiting.nextAt !== null && html`, the next at ${timeElement(waiting.nextAt)}`}`,
    ],
  ];
}

/** Buttons for the actions that the state of the alert allows. */
function actions({ details, formToken }: AlertPageView): Html {
  const { id, status, alert } = details;
  const isHeld = status === "paused" || status === "snoozed";
  const act = (action: string, text: string) =>
    buttonForm(
      { formToken, action: `/account/alerts/${id}/manage`, hidden: { action } },
      html`<button class="second">${text}</button>`,
    );
  return html`<div class="actions">
<a class="main" href="/account/alerts/${id}/edit">Change</a>
${isHeld ? act("resume", "Resume") : act("pause", "Pause")}
${alert.way.by === "webhook" && html`${isDeliveryActive(alert) && act("test", "Send a test")}${alert.way.state.is !== "active" && act("enable", "Send the challenge again")}${act("rotate_secret", "New signing secret")}`}
${
  !isHeld &&
  showForm(
    snoozeForm,
    {
      formToken,
      action: `/account/alerts/${id}/manage`,
      hidden: { action: "snooze" },
      values: { hours: "24" },
    },
    html`<button class="second">Snooze</button>`,
  )
}
</div>`;
}

/** Members of the payload of an event that the page shows. */
interface EventData {
  /** Absent for an event that is about no instrument. */
  readonly symbol?: string;
  readonly signal?: string;
  readonly score?: number;
  readonly previousSignal?: string;
  readonly previousScore?: number;
  readonly reason?: string;
  readonly severity?: string;
  readonly steadiness?: number;
  readonly level?: number;
  readonly previousMethodVersion?: string;
  readonly methodVersion?: string;
}

function eventsTable(events: readonly AlertEvent[]): Html {
  if (events.length === 0) {
    return html`<div class="empty"><p>Nothing yet. Conditions are evaluated when a session closes, and what is so when watching begins is not told again.</p></div>`;
  }
  const note = events.length === MAX_EVENTS_SHOWN ? `The newest ${MAX_EVENTS_SHOWN}.` : "";
  return html`<div class="scroller" tabindex="0"><table class="figures log">
<caption>Of the last 30 days, newest first. ${note}</caption>
<thead><tr><th scope="col">When</th><th scope="col">Instrument</th><th scope="col">What</th><th scope="col">Score</th></tr></thead>
<tbody>${events.map(eventRow)}</tbody>
</table></div>`;
}

function eventRow({ at, type, body }: AlertEvent): Html {
  const { data } = JSON.parse(body) as { readonly data: EventData };
  return html`<tr><td>${timeElement(at)}</td><td>${data.symbol === undefined ? "–" : html`<a href="${instrumentPath(data.symbol)}">${data.symbol}</a>`}</td><td>${whatHappened(type, data)}</td><td>${data.score}</td></tr>
`;
}

/** Text that describes an event. */
function whatHappened(type: string, data: EventData): string {
  const { reason, previousSignal, signal, previousScore, severity, steadiness, level } = data;
  switch (type) {
    case "signal.shift":
      return reason === "direction"
        ? `${signal}, was ${previousSignal}`
        : `Score was ${previousScore}, still ${signal}`;
    case "method.changed":
      return `Method ${data.methodVersion}, was ${data.previousMethodVersion}`;
    case "volatility.alert":
      return `Volatility is ${severity}`;
    case "steadiness.alert":
      return `Steadiness ${steadiness}, ${reason} ${level}`;
    case "report.alert":
      return (
        { report_ahead: "Report is near", report_filed: "Report was filed" }[String(reason)] ??
        "Report is late"
      );
    default:
      return `Close ${reason} its range`;
  }
}

function deliveriesPart({ details, formToken }: AlertPageView, page: DeliveryAttemptPage): Html {
  const { id, alert } = details;
  const action = `/account/alerts/${id}/manage`;
  const again = (hidden: Readonly<Record<string, string>>, text: string) =>
    buttonForm(
      { action, formToken, hidden: { action: "redeliver", ...hidden } },
      html`<button class="second">${text}</button>`,
    );
  const isOff = alert.way.by === "webhook" && alert.way.state.is === "disabled";
  const row = (
    attempt: DeliveryAttemptView,
  ) => html`<tr><td>${timeElement(attempt.at)}</td><td><code>${attempt.type}</code> <span class="unit">attempt ${attempt.number}</span></td><td>${answerText(attempt)}</td><td>${
    attempt.nextInMs === null ? "–" : timeElement(attempt.at + attempt.nextInMs)
  }</td><td>${!isOff && isEvent(attempt) && again({ eventId: attempt.eventId }, "Send again")}</td></tr>
`;
  return html`<section aria-labelledby="deliveries"><h2 id="deliveries">Deliveries</h2>
${
  page.attempts.length === 0
    ? html`<div class="empty"><p>Nothing was sent yet.</p></div>`
    : html`<div class="scroller" tabindex="0"><table class="figures log">
<caption>Every attempt of 30 days, newest first.</caption>
<thead><tr><th scope="col">When</th><th scope="col">What</th><th scope="col">Answer</th><th scope="col">Next attempt</th><th scope="col"><span class="unseen">Send again</span></th></tr></thead>
<tbody>${page.attempts.map(row)}</tbody>
</table></div>
<div class="actions">${!isOff && again({}, "Send all that failed again")}${page.cursor !== undefined && html`<a class="second" href="?cursor=${encodeURIComponent(page.cursor)}#deliveries">Older</a>`}</div>`
}
</section>`;
}

/**
 * Whether a delivery attempt was for an event, not for a message about the webhook; only events can
 * be sent again.
 */
const isEvent = ({ type }: DeliveryAttemptView): boolean => !/^(webhook|endpoint)\./.test(type);

const ERRORS = {
  none: "",
  http_status: "",
  bad_challenge: "without the challenge",
  unreachable: "No answer",
} as const;

/**
 * Text for the result of a delivery attempt. An email has no response, because it is only handed to
 * the mail server.
 */
const answerText = ({ status, error, latencyMs, response }: DeliveryAttemptView): Html =>
  status === null && error === "none"
    ? html`Handed to the mail server`
    : html`${status !== null && html`<strong>${status}</strong> `}${ERRORS[error]}${latencyMs !== null && html` <span class="quiet">${Math.round(latencyMs)} ms</span>`}${
        response.trim() !== "" &&
        html` <span class="unit quiet">${untrustedText(response.trim())}</span>`
      }`;

/** The page that shows the signing secret of a webhook; it is shown only once. */
export const webhookSecretPage = ({
  id,
  secret,
  heading,
  nextSteps,
}: {
  readonly id: string;
  readonly secret: string;
  readonly heading: string;
  readonly nextSteps: readonly string[];
}): PageAnswer => ({
  heading,
  place: "account",
  isSignedIn: true,
  scriptPath: copyScriptHref,
  body: html`<p class="lead">Copy the signing secret now: it is shown this once and never again.</p>
<p class="secret"><code id="secret">${secret}</code></p>
<p class="buttons">${copyButton("secret", "the secret")}<a class="main" href="/account/alerts/${id}">I have saved it</a></p>
<h2>What happens next</h2>
<ul class="plain">${nextSteps.map((step) => html`<li>${step}</li>`)}</ul>`,
});
