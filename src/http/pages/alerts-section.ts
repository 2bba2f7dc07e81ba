import {
  type Alert,
  type AlertOwner,
  type InstrumentSelector,
  isPersonWithoutClient,
} from "../../alerts/alert.ts";
import type { AlertView } from "../../alerts/api/queries.ts";
import { WEBHOOK_DISABLED_REASONS } from "../../answers/event-text.ts";
import { instrumentPath } from "../../lib/paths.ts";
import { type Html, type HtmlContent, html } from "../../markup/html.ts";
import type { ApiKey } from "../../principals/keys/api-keys.ts";
import { descriptionList, timeElement, untrustedHost, untrustedText } from "./elements.ts";
import { destructiveAction } from "./form-html.ts";

/** Maximum number of alerts shown. */
export const MAX_ALERTS_SHOWN = 100;

/** Maximum number of symbols shown per alert. */
const MAX_SYMBOLS_SHOWN = 12;

/** An alert that a person owns, with its last delivery. */
interface OwnedAlert extends AlertView {
  /** Time of the last successful delivery, in milliseconds since the epoch; `undefined` if none is
   *  recent. */
  readonly lastSuccessAt: number | undefined;
}

/** Data for the alerts section. */
export interface AlertsView {
  readonly formToken: string;
  /** Alerts, oldest first. */
  readonly alerts: readonly OwnedAlert[];
  /** Number of alerts that are not shown. */
  readonly moreAlerts: number;
  /** API keys of the person, for the names of the keys that created alerts. */
  readonly keys: readonly ApiKey[];
}

/** Renders the alerts that a person owns. */
export function alertsSection(view: AlertsView): Html {
  const { alerts, moreAlerts } = view;
  const make = html`<p class="buttons"><a class="${alerts.length === 0 ? "main" : "second"}" href="/account/alerts/new">Make an alert</a></p>`;
  if (alerts.length === 0) return html`<div class="empty">${empty}${make}</div>`;
  return html`${make}<ul class="cards">${alerts.map((alert) => alertCard(alert, view))}</ul>
${moreAlerts > 0 && html`<p class="note">${moreAlerts} more are not shown. They move up when you delete some of these.</p>`}`;
}

const empty = html`<p>An alert tells when a signal changes, volatility is unusual, a price leaves its range or a report is near.</p>
<p>Alerts of your agents, your applications and programs with your keys appear here too, which make them with <code>register_alert</code>; you can delete any of them.</p>`;

function alertCard(seen: OwnedAlert, { formToken, keys }: AlertsView): Html {
  const { id, alert } = seen;
  const { label, watched, owner, way, createdAt, expiresAt } = alert;
  const title = label === null ? "Alert without a label" : html`“${untrustedText(label)}”`;
  return html`<li class="card">
<h3>${isPersonWithoutClient(owner) ? html`<a href="/account/alerts/${id}">${title}</a>` : title}</h3>
${descriptionList([
  ["Status", html`<strong>${alertStatusText(seen)}</strong>`],
  ["Watches", watchedText(watched)],
  ["Notifies about", alertKindsText(alert)],
  ["Sent to", deliveryTargetText(seen)],
  way.by !== "poll" && ["Last success", lastSuccessText(seen.lastSuccessAt)],
  ["Created by", creatorText(owner, keys)],
  ["Created", timeElement(createdAt)],
  expiresAt !== null && ["Ends", timeElement(expiresAt)],
  ["Id", html`<code>${id}</code>`],
])}
${destructiveAction({
  action: `/account/alerts/${encodeURIComponent(id)}/remove`,
  formToken,
  summary: "Delete this alert",
  consequence:
    "Nothing more is recorded or sent for it, and what waits to be sent is dropped. This cannot be undone.",
  button: "Delete alert for good",
})}
</li>`;
}

/** The state of an alert, as text. */
export function alertStatusText({ status, alert }: AlertView): Html {
  switch (status) {
    case "active":
      return html`Active`;
    case "pending":
      return html`Waiting for its webhook to confirm`;
    case "paused":
      return html`Paused`;
    case "snoozed":
      return html`Snoozed until ${timeElement(alert.snoozedUntil ?? 0)}`;
    case "expired":
      return html`Expired`;
    case "disabled":
      return html`Stopped: ${disabledReason(alert)}`;
  }
}

function disabledReason({ way }: Alert): string {
  if (way.by === "channel") return "its channel is stopped";
  const isDisabled = way.by === "webhook" && way.state.is === "disabled";
  return isDisabled ? WEBHOOK_DISABLED_REASONS[way.state.reason] : "";
}

const CLASSES = { stock: "All stocks", etf: "All funds", crypto: "All coins" } as const;

/** Text that says which instruments an alert watches. */
export function watchedText(watched: InstrumentSelector): Html {
  const { signal = null } = watched;
  return html`${instrumentsText(watched)}${signal !== null && ` whose signal is ${signal} then`}`;
}

function instrumentsText(watched: InstrumentSelector): HtmlContent {
  switch (watched.by) {
    case "symbols":
      return symbolList(watched.symbols);
    case "watchlist":
      return html`The watchlist ${watched.name}`;
    case "filter":
      return watched.assetClass === null ? "Everything" : CLASSES[watched.assetClass];
  }
}

/** A list of symbols, shortened to the first `MAX_SYMBOLS_SHOWN`. */
export function symbolList(symbols: readonly string[]): Html {
  const shown = symbols.slice(0, MAX_SYMBOLS_SHOWN);
  const more = symbols.length - shown.length;
  return html`<ul class="chips">${shown.map((symbol) => html`<li><a href="${instrumentPath(symbol)}"><code>${symbol}</code></a></li>`)}${more > 0 && html`<li>and ${more} more</li>`}</ul>`;
}

/** Labels of the kinds of events that an alert can report. */
const ALERT_KIND_LABELS = {
  signal_shift: "a signal change or a large score change",
  volatility: "unusual volatility",
  report: "a quarterly report that is near, filed or late",
  range: "a close outside the expected range",
  steadiness: "steadiness that crosses a level",
} as const;

/** The kinds of events that an alert covers, as text. */
export function alertKindsText({ kinds }: Alert): string {
  const words = kinds.map((kind) => ALERT_KIND_LABELS[kind]).join(", and ");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** Text that says where the events of an alert are sent. */
export function deliveryTargetText({ alert: { way }, url = "", channel }: AlertView): HtmlContent {
  switch (way.by) {
    case "poll":
      return "Nowhere: it is polled";
    case "webhook":
      return webhookHost(url);
    case "channel":
      return channel === undefined
        ? "Nowhere: its channel is gone"
        : html`Your channel ${untrustedText(channel.name)}`;
  }
}

/** The host of a webhook URL. The rest is not shown, because the path can contain a secret. */
const webhookHost = (url: string): Html => untrustedHost(new URL(url).host);

function lastSuccessText(at: number | undefined): Html {
  return at === undefined ? html`<span class="quiet">none recently</span>` : timeElement(at);
}

/** The creator of an alert or a watchlist, as text. */
export function creatorText(
  { kind, id, clientId = "" }: AlertOwner,
  keys: readonly ApiKey[],
): Html {
  switch (kind) {
    case "agent":
      return html`Agent <code>${untrustedText(id)}</code>`;
    case "user":
      if (clientId === "") return html`You`;
      return html`Application <code>${untrustedHost(clientId)}</code>`;
    case "service": {
      const name = keys.find((key) => key.id === id)?.name ?? id;
      return html`Your key ${untrustedText(name)}`;
    }
  }
}
