import type { Caller } from "../auth/caller.ts";
import type { Scope } from "../auth/scopes.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { Direction } from "../score/signal-hysteresis.ts";
import { collection, type Stored } from "../store/port/records.ts";

/** What an alert can tell of (method 3.3), by events `signal.shift` and `volatility.alert`. */
export const ALERT_KINDS = ["signal_shift", "volatility"] as const;
/** One of them. */
export type AlertKind = (typeof ALERT_KINDS)[number];

/** Whose an alert is: the caller that made it. */
export interface Owner extends Pick<Caller, "kind" | "id" | "accountId"> {
  /** The client through which a person made it; absent for others. An alert of a person without one
   *  is of no client: the person alone sees it. */
  readonly clientId?: string;
}

/** Whether a caller made an alert. What a person made through a client is that client's alone. */
export const isMadeBy = (owner: Owner, caller: Maker): boolean =>
  makerKey(owner) === makerKey(caller);

/** Names who makes alerts. Two clients of one person are two makers. */
export const makerKey = ({ kind, id, clientId }: Maker): string =>
  kind === "user" ? `${kind}:${id}:${clientId}` : `${kind}:${id}`;

/** Who makes alerts, and hears of their events. */
export interface Maker extends Pick<Caller, "kind" | "id"> {
  readonly clientId?: string | undefined;
}

/** Which instruments are watched: those named, or all that fit. */
export type Watched =
  | { readonly by: "symbols"; readonly symbols: readonly string[] }
  | {
      readonly by: "filter";
      readonly assetClass: AssetClass | null;
      /** Only events after which the signal is this one. */
      readonly signal: Direction | null;
    };

/** From when on a change is told. */
export interface Thresholds {
  /** Points of score since the last event, from 5 to 50. */
  readonly scoreMove: number;
  /** z of volatility, from 1.5 to 4. */
  readonly volatilityZ: number;
  /** Market days without another event of the kind on the same instrument, from 0.25 to 30; `null`:
   *  those of the method, a session for stocks and funds and a quarter of a day for coins. */
  readonly cooldownDays: number | null;
}

/** Signing secrets of a webhook, sealed for `secretOf(alertId)`. */
export interface Secrets {
  readonly current: string;
  /** Signs besides the current one until it ends. */
  readonly previous: { readonly sealed: string; readonly until: number } | null;
}

/** Whether events may be sent to a webhook. */
export type WebhookState =
  /** It has not yet answered the challenge. Events wait. */
  | { readonly is: "pending"; readonly since: number; readonly challenge: string }
  | { readonly is: "active"; readonly since: number }
  /** Nothing is sent; its owner can enable it. */
  | {
      readonly is: "disabled";
      readonly since: number;
      /** `gone`: it answered 410; `failing`: five days without success; `unverified`: no challenge
       *  was answered. */
      readonly reason: "gone" | "failing" | "unverified";
    };

/** How events leave. Every event can be polled and streamed as well. */
export type Way =
  | { readonly by: "poll" }
  | {
      readonly by: "webhook";
      readonly url: string;
      /** What the credential held that named the URL: no more is told there. Absent in a record
       *  of before: whatever the owner holds. */
      readonly scopes?: readonly Scope[];
      readonly secrets: Secrets;
      readonly state: WebhookState;
    };

/** A subscription to events. Instants are milliseconds since the epoch. */
export interface Alert {
  readonly owner: Owner;
  /** What its owner calls it. */
  readonly label: string | null;
  readonly kinds: readonly AlertKind[];
  readonly watched: Watched;
  readonly thresholds: Thresholds;
  readonly way: Way;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  /** Nothing is recorded for it until then. */
  readonly snoozedUntil: number | null;
  /** Nothing is recorded for it, and what waits is not sent. */
  readonly isPaused: boolean;
}

/** Alerts by their id: `alert_` and 16 characters of base 62. */
export const alerts = collection<Alert>("alerts");

/** An alert as it is kept. */
export type StoredAlert = Stored<Alert>;

/** Topic that is announced with the id of an alert that was made, changed or removed. */
export const ALERTS_TOPIC = "alerts";

/** Group of the alerts of one agent, key or person, who has them by several clients, and of what
 *  waits to be sent for them. */
export const ownerGroup = ({ kind, id }: Pick<Owner, "kind" | "id">): string =>
  `alerts:${kind}:${id}`;

/** Group of the alerts that a person answers for: their own, their agents' and their keys'. */
export const accountGroup = (accountId: string): string => `alerts:account:${accountId}`;

/** Group of all alerts of whoever answers for an owner: of a person with all their agents and keys, or
 *  of a caller that nobody answers for. */
export const quotaGroup = (owner: Owner): string =>
  owner.accountId === undefined ? ownerGroup(owner) : accountGroup(owner.accountId);

/** Of the groups of something that waits, the one of whoever answers for it. */
export const quotaGroupIn = (groups: readonly string[]): string =>
  groups.find((group) => group.startsWith(accountGroup(""))) ??
  groups.find((group) => group.startsWith("alerts:")) ??
  "";

/** Group of everything that goes with one alert. */
export const alertGroup = (alertId: string): string => `alert:${alertId}`;

/** Where a signing secret is sealed for. */
export const secretContext = (alertId: string): string => `alert-secret:${alertId}`;

/** What an alert is doing, for its owner. */
export const ALERT_STATUSES = [
  "pending",
  "active",
  "paused",
  "snoozed",
  "disabled",
  "expired",
] as const;
/** One of them. */
export type AlertStatus = (typeof ALERT_STATUSES)[number];

/** What an alert is doing at an instant (milliseconds since the epoch). */
export function statusOf(alert: Alert, now: number): AlertStatus {
  const { way, isPaused, expiresAt, snoozedUntil } = alert;
  if (expiresAt !== null && expiresAt <= now) return "expired";
  if (way.by === "webhook" && way.state.is === "disabled") return "disabled";
  if (isPaused) return "paused";
  if (snoozedUntil !== null && snoozedUntil > now) return "snoozed";
  return way.by === "webhook" && way.state.is === "pending" ? "pending" : "active";
}
