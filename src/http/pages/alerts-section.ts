import type { Alert, InstrumentSelector, Owner } from "../../alerts/alert.ts";
import type { AlertView } from "../../alerts/api/queries.ts";
import type { ApiKey } from "../../auth/keys/api-keys.ts";
import { destructiveAction, facts, timeElement, untrustedHost, untrustedText } from "./elements.ts";
import { type Html, html } from "./html.ts";

/** Maximum number of alerts shown. */
export const MOST_ALERTS_SHOWN = 100;

/** Maximum number of symbols shown per alert. */
const MOST_SYMBOLS_SHOWN = 12;

/** An alert that a person owns. */
interface AnsweredAlert extends AlertView {
  /** Time of the last successful delivery, milliseconds since the epoch; `undefined`: none recently. */
  readonly lastSuccessAt: number | undefined;
}

/** What the alerts section shows. */
export interface AlertsView {
  readonly formToken: string;
  /** Oldest first. */
  readonly alerts: readonly AnsweredAlert[];
  /** Number of alerts that are not shown. */
  readonly moreAlerts: number;
  /** Keys that some of the alerts were created with. */
  readonly keys: readonly ApiKey[];
}

/** The alerts that a person owns. */
export function alertsSection(view: AlertsView): Html {
  const { alerts, moreAlerts } = view;
  if (alerts.length === 0) return empty;
  return html`<ul class="cards">${alerts.map((alert) => alertCard(alert, view))}</ul>
${moreAlerts > 0 && html`<p class="note">${moreAlerts} more are not shown. They move up when you delete some of these.</p>`}`;
}

const empty = html`<div class="empty"><p>Alerts of your agents, your applications and programs with your keys appear here: which instruments they watch, and where events are sent. They make alerts with <code>register_alert</code>; you can delete any of them.</p></div>`;

function alertCard(seen: AnsweredAlert, { formToken, keys }: AlertsView): Html {
  const { id, alert } = seen;
  const { label, watched, owner, way, createdAt, expiresAt } = alert;
  return html`<li class="card">
<h3>${label === null ? "Alert without a label" : html`“${untrustedText(label)}”`}</h3>
${facts([
  ["Status", html`<strong>${statusWords(seen)}</strong>`],
  ["Watches", watchedWords(watched)],
  ["Tells of", kindWords(alert)],
  ["Sent to", way.by === "poll" ? "Nowhere: it is fetched" : webhookHost(way.url)],
  way.by === "webhook" && ["Last success", lastSuccessWords(seen.lastSuccessAt)],
  ["Made by", makerWords(owner, keys)],
  ["Made", timeElement(createdAt)],
  expiresAt !== null && ["Ends", timeElement(expiresAt)],
  ["Id", html`<code>${id}</code>`],
])}
${destructiveAction({
  action: `/account/alerts/${encodeURIComponent(id)}/remove`,
  formToken,
  summary: "Delete this alert",
  consequence:
    "Nothing more is recorded or sent for it, and what waits to be sent is dropped. It cannot be brought back.",
  button: "Delete alert for good",
})}
</li>`;
}

/** The state of an alert, in words. */
function statusWords({ status, alert }: AnsweredAlert): Html {
  switch (status) {
    case "active":
      return html`Active`;
    case "pending":
      return html`Waits until its webhook confirms that it wants this`;
    case "paused":
      return html`Paused`;
    case "snoozed":
      return html`Quiet until ${timeElement(alert.snoozedUntil ?? 0)}`;
    case "expired":
      return html`Over`;
    case "disabled":
      return html`Stopped: ${reasonWords(alert)}`;
  }
}

const REASONS = {
  gone: "its webhook said that it is gone",
  failing: "its webhook failed for five days",
  unverified: "its webhook never confirmed that it wants this",
} as const;

function reasonWords({ way }: Alert): string {
  return way.by === "webhook" && way.state.is === "disabled" ? REASONS[way.state.reason] : "";
}

const CLASSES = { stock: "All stocks", etf: "All funds", crypto: "All coins" } as const;

function watchedWords(watched: InstrumentSelector): Html {
  if (watched.by === "symbols") return symbolList(watched.symbols);
  const { assetClass, signal } = watched;
  const which = assetClass === null ? "Everything" : CLASSES[assetClass];
  return html`${which}${signal !== null && html` whose signal is ${signal}`}`;
}

function symbolList(symbols: readonly string[]): Html {
  const shown = symbols.slice(0, MOST_SYMBOLS_SHOWN);
  const more = symbols.length - shown.length;
  return html`<ul class="chips">${shown.map((symbol) => html`<li><code>${symbol}</code></li>`)}${more > 0 && html`<li>and ${more} more</li>`}</ul>`;
}

const KINDS = {
  signal_shift: "another signal or a far move of the score",
  volatility: "unusual volatility",
  report: "a quarterly report that is near, filed or late",
  range: "a close outside the expected range",
} as const;

function kindWords({ kinds }: Alert): string {
  const words = kinds.map((kind) => KINDS[kind]).join(", and ");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** Shows only the host, because the path of a webhook URL can contain a secret. */
const webhookHost = (url: string): Html => untrustedHost(new URL(url).host);

function lastSuccessWords(at: number | undefined): Html {
  return at === undefined ? html`<span class="quiet">none lately</span>` : timeElement(at);
}

function makerWords({ kind, id, clientId = "" }: Owner, keys: readonly ApiKey[]): Html {
  switch (kind) {
    case "agent":
      return html`Agent <code>${untrustedText(id)}</code>`;
    case "user":
      return html`Application <code>${untrustedHost(clientId)}</code>`;
    case "service": {
      const name = keys.find((key) => key.id === id)?.name ?? id;
      return html`Your key ${untrustedText(name)}`;
    }
  }
}
