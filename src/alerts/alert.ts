import { type Caller, type CallerIdentity, callerKey } from "../auth/caller.ts";
import type { Scope } from "../auth/scopes.ts";
import { fingerprint } from "../lib/fingerprint.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { Direction } from "../score/signal-hysteresis.ts";
import { collection, type Stored } from "../store/port/records.ts";

/** Kinds of events that an alert can cover: `signal.shift`, `volatility.alert`, `report.alert` and
 *  `range.alert`. */
export const ALERT_KINDS = ["signal_shift", "volatility", "report", "range"] as const;
/** A kind of event. */
export type AlertKind = (typeof ALERT_KINDS)[number];

/** The caller that registered an alert. */
export interface Owner extends Pick<Caller, "kind" | "id" | "accountId"> {
  /** The OAuth client through which a person registered it; absent for other callers. An alert that
   *  a person created without a client, in a browser, is visible to that person only. */
  readonly clientId?: string;
}

/** Whether a caller registered an alert. Alerts that a person registered through a client belong to
 *  that client alone. */
export const isOwnedBy = (owner: Owner, caller: OwnerIdentity): boolean =>
  ownerKey(owner) === ownerKey(caller);

/** Whether an owner is a person, in a browser or with their own key, and not a client. */
export const isPerson = ({ kind, clientId }: Owner): boolean =>
  kind === "user" && clientId === undefined;

/** Identifies an owner of alerts. Two clients of one person are two owners. */
export const ownerKey = (owner: OwnerIdentity): string => callerKey(owner);

/** A caller that may own alerts. */
export type OwnerIdentity = CallerIdentity;

/** Which instruments an alert covers: the named symbols, the current symbols of a watchlist, or all
 *  that match a filter. */
export type InstrumentSelector =
  | { readonly by: "symbols"; readonly symbols: readonly string[] }
  | {
      readonly by: "watchlist";
      /** Key of the list. */
      readonly key: string;
      readonly name: string;
    }
  | {
      readonly by: "filter";
      readonly assetClass: AssetClass | null;
      /** Only events after which the signal has this direction. */
      readonly signal: Direction | null;
    };

/** Thresholds from which a change is an event. */
export interface Thresholds {
  /** Points by which the score must have moved since the last event, from 5 to 50; `null` if only a
   *  new signal is an event. */
  readonly scoreMove: number | null;
  /** z of volatility, from 1.5 to 4. */
  readonly volatilityZ: number;
  /** Market days without another event of the kind on the same instrument, from 0.25 to 30; `null`
   *  for the cooldown of the method: one session for stocks and funds, a quarter of a day for
   *  coins. */
  readonly cooldownDays: number | null;
  /** Sessions before an expected report, from 1 to 21; absent in older records, for which
   *  `REPORT_SESSIONS` applies. */
  readonly reportSessions?: number;
}

/** Signing secrets of a webhook, encrypted for `secretContext(alertId)`. */
export interface SigningSecrets {
  readonly current: string;
  /** The previous secret, which also signs until it expires, in milliseconds since the epoch;
   *  `null` for none. */
  readonly previous: { readonly sealed: string; readonly until: number } | null;
}

/** Whether events may be sent to a webhook. */
export type WebhookState =
  /** The webhook has not answered the challenge yet. Events are held back. */
  | { readonly is: "pending"; readonly since: number; readonly challenge: string }
  | { readonly is: "active"; readonly since: number }
  /** Nothing is sent until its owner enables it. */
  | {
      readonly is: "disabled";
      readonly since: number;
      /** `gone`: it answered 410; `failing`: five days without a success; `unverified`: it answered no
       *  challenge. */
      readonly reason: "gone" | "failing" | "unverified";
    };

/** Where events are sent. */
export interface Webhook {
  readonly by: "webhook";
  readonly url: string;
  /** The scopes of the credential that named the URL: events contain only what these allow. Absent
   *  in old records, whose events contain what the owner's scopes allow. */
  readonly scopes?: readonly Scope[];
  readonly secrets: SigningSecrets;
  readonly state: WebhookState;
}

/** A channel of the account to which events are sent, if the state of the channel allows it. */
interface ChannelDelivery {
  readonly by: "channel";
  readonly channelId: string;
}

/** How events are delivered. Events of a webhook or channel can be polled and streamed as well. */
export type DeliveryMethod = { readonly by: "poll" } | Webhook | ChannelDelivery;

/** A subscription to events. Instants are milliseconds since the epoch. */
export interface Alert {
  readonly owner: Owner;
  /** Name given by its owner. */
  readonly label: string | null;
  readonly kinds: readonly AlertKind[];
  readonly watched: InstrumentSelector;
  readonly thresholds: Thresholds;
  readonly way: DeliveryMethod;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  /** Instant until which no event is recorded for it, in milliseconds since the epoch; `null` for
   *  none. */
  readonly snoozedUntil: number | null;
  /** While it is paused, no event is recorded for it, and queued deliveries are not sent. */
  readonly isPaused: boolean;
}

/** Alerts by their id: `alert_` and 16 characters of base 62. */
export const alerts = collection<Alert>("alerts");

/** An alert with its key, revision and groups. */
export type StoredAlert = Stored<Alert>;

/** Topic that announces the id of an alert that was registered, changed or removed. */
export const ALERTS_TOPIC = "alerts";

/** Group of the alerts and queued deliveries of one agent, API key or person, of all clients of the
 *  person. */
export const ownerGroup = ({ kind, id }: Pick<Owner, "kind" | "id">): string =>
  `alerts:${kind}:${id}`;

/** Subject of the archive rows of the events of an owner: each client of a person has its own, so
 *  that reading the events of one does not read those of others. */
export const eventSubject = ({ clientId, ...owner }: OwnerIdentity): string =>
  owner.kind === "user"
    ? `${ownerGroup(owner)}:${clientId === undefined ? "" : fingerprint(clientId)}`
    : ownerGroup(owner);

/** Group of the alerts of an account: those of the person, of their agents and of their API keys. */
export const accountGroup = (accountId: string): string => `alerts:account:${accountId}`;

/** Group of the alerts that share a quota: those of the owner's account, or of the owner when it has no
 *  account. */
export const quotaGroup = (owner: Owner): string =>
  owner.accountId === undefined ? ownerGroup(owner) : accountGroup(owner.accountId);

/** The `quotaGroup` among the groups of a delivery. */
export const quotaGroupIn = (groups: readonly string[]): string =>
  groups.find((group) => group.startsWith(accountGroup(""))) ??
  groups.find((group) => group.startsWith("alerts:")) ??
  "";

/** Group of everything that is deleted with an alert. */
export const alertGroup = (alertId: string): string => `alert:${alertId}`;

/** Context that the signing secrets of an alert are bound to when they are encrypted. */
export const secretContext = (alertId: string): string => `alert-secret:${alertId}`;

/** Status of an alert, as its owner sees it. */
export const ALERT_STATUSES = [
  "pending",
  "active",
  "paused",
  "snoozed",
  "disabled",
  "expired",
] as const;
/** A status of an alert. */
export type AlertStatus = (typeof ALERT_STATUSES)[number];

/** Whether the queued deliveries of an alert may be sent: it has an active webhook or a channel,
 *  and is not paused. */
export const isSending = ({ isPaused, way }: Alert): boolean =>
  !isPaused && (way.by === "channel" || (way.by === "webhook" && way.state.is === "active"));

/** Status of an alert at an instant, milliseconds since the epoch. */
export function statusOf(alert: Alert, now: number): AlertStatus {
  const { way, isPaused, expiresAt, snoozedUntil } = alert;
  if (expiresAt !== null && expiresAt <= now) return "expired";
  if (way.by === "webhook" && way.state.is === "disabled") return "disabled";
  if (isPaused) return "paused";
  if (snoozedUntil !== null && snoozedUntil > now) return "snoozed";
  return way.by === "webhook" && way.state.is === "pending" ? "pending" : "active";
}
