import { type Caller, type CallerIdentity, callerKey } from "../access/caller.ts";
import type { Scope } from "../access/scopes.ts";
import { fingerprint } from "../lib/fingerprint.ts";
import type { Party } from "../limits/limits.ts";
import type { AssetClass } from "../market/instrument.ts";
import {
  accountClientGroup,
  accountRecordsGroup,
  clientGroup,
} from "../principals/agents/agent.ts";
import { apiKeyGroup } from "../principals/keys/api-keys.ts";
import type { Direction } from "../score/signal-hysteresis.ts";
import { collection, type Stored } from "../store/port/records.ts";

/**
 * Kinds of events to which an alert can subscribe. Their event types are, in this order,
 * `signal.shift`, `volatility.alert`, `report.alert`, `range.alert` and `steadiness.alert`.
 */
export const ALERT_KINDS = ["signal_shift", "volatility", "report", "range", "steadiness"] as const;
/** One of `ALERT_KINDS`. */
export type AlertKind = (typeof ALERT_KINDS)[number];

/** The caller that registered an alert. */
export interface AlertOwner extends Pick<Caller, "kind" | "id" | "accountId"> {
  /**
   * The OAuth client through which a person registered the alert; absent for other callers. An
   * alert that a person created in a browser, without a client, is visible to that person only.
   */
  readonly clientId?: string;
}

/**
 * Whether the caller registered the alert. An alert that a person registered through an OAuth
 * client belongs to that client alone.
 */
export const isOwnedBy = (owner: AlertOwner, caller: OwnerIdentity): boolean =>
  ownerKey(owner) === ownerKey(caller);

/**
 * Whether the owner is a person acting directly, in a browser or with their own key, rather than
 * through an OAuth client.
 */
export const isPersonWithoutClient = ({ kind, clientId }: AlertOwner): boolean =>
  kind === "user" && clientId === undefined;

/** Unique key of an alert owner. Two OAuth clients of one person are two owners. */
export const ownerKey = (owner: OwnerIdentity): string => callerKey(owner);

/** A caller that may own alerts. */
export type OwnerIdentity = CallerIdentity;

/**
 * Which instruments an alert covers: a list of symbols, the current symbols of a watchlist, or all
 * instruments that match a filter.
 */
export type InstrumentSelector = {
  /**
   * If set, the alert receives an event only if the signal has this direction after the event;
   * `null` or absent for no such limit.
   */
  readonly signal?: Direction | null;
} & (
  | { readonly by: "symbols"; readonly symbols: readonly string[] }
  | {
      readonly by: "watchlist";
      /** Record key of the watchlist. */
      readonly key: string;
      readonly name: string;
    }
  | { readonly by: "filter"; readonly assetClass: AssetClass | null }
);

/** Settings that decide whether a change causes an event. */
export interface AlertThresholds {
  /**
   * Minimum move of the score since the last event, in points from 5 to 50; `null` if only a new
   * signal causes an event.
   */
  readonly scoreMove: number | null;
  /** Minimum z-score of volatility, from 1.5 to 4. */
  readonly volatilityZ: number;
  /**
   * Minimum time between two events of the same kind for one instrument, in market days from 0.25
   * to 30; `null` for the method's default: one session for stocks and funds, a quarter of a day
   * for coins.
   */
  readonly cooldownDays: number | null;
  /**
   * Number of sessions by which the event precedes an expected report, from 1 to 21; absent in
   * older records, which use `DEFAULT_SESSIONS_BEFORE_REPORT`.
   */
  readonly reportSessions?: number;
  /**
   * Level of steadiness whose crossing causes an event, in points from 5 to 95; absent in older
   * records, which use `DEFAULT_STEADINESS_LEVEL`.
   */
  readonly steadinessLevel?: number;
}

/** Signing secrets of a webhook, encrypted with the context `secretEncryptionContext(alertId)`. */
export interface SigningSecrets {
  readonly current: string;
  /**
   * The previous secret, which also signs messages until the instant `until`, in milliseconds since
   * the epoch; `null` if there is none.
   */
  readonly previous: { readonly sealed: string; readonly until: number } | null;
}

/** State of a webhook, which decides whether events may be sent to it. */
export type WebhookState =
  /** The webhook has not answered the challenge yet. Events are held back. */
  | { readonly is: "pending"; readonly since: number; readonly challenge: string }
  | { readonly is: "active"; readonly since: number }
  /** Nothing is sent until the alert's owner enables the webhook again. */
  | {
      readonly is: "disabled";
      readonly since: number;
      /**
       * `gone`: the webhook answered 410; `failing`: five days without a success; `unverified`: the
       * webhook did not answer the challenge.
       */
      readonly reason: "gone" | "failing" | "unverified";
    };

/** A webhook to which the events of one alert are sent, without its URL. */
interface WebhookSettings {
  readonly by: "webhook";
  /**
   * Scopes of the credential that set the URL. Events contain only data that these scopes allow.
   * Absent in old records, whose events contain the data that the owner's scopes allow.
   */
  readonly scopes?: readonly Scope[];
  readonly secrets: SigningSecrets;
  readonly state: WebhookState;
}

/** A webhook as it is stored: its URL is encrypted, because it often contains a secret. */
export interface SealedWebhook extends WebhookSettings {
  /** The URL, encrypted; see `openWebhookUrl`. */
  readonly sealedUrl: string;
  /** Keyed hash of owner and URL; see `webhookEndpoint`. */
  readonly endpoint: string;
}

/**
 * A webhook as earlier versions stored it: with its URL in plain text. The start seals it; later it
 * can come from an export of an earlier version.
 */
export interface PlainWebhook extends WebhookSettings {
  readonly url: string;
}

/** A webhook to which the events of one alert are sent. */
export type Webhook = SealedWebhook | PlainWebhook;

/**
 * How events are delivered. Events that are sent to a webhook or channel can also be polled and
 * streamed. A channel gets events while it is active.
 */
export type DeliveryMethod =
  | { readonly by: "poll" }
  | Webhook
  | { readonly by: "channel"; readonly channelId: string };

/** A subscription to events. Instants are milliseconds since the epoch. */
export interface Alert {
  readonly owner: AlertOwner;
  /** Hash of the network from which the alert was registered; absent in older records. */
  readonly network?: string;
  /** Display name that the owner gave the alert; `null` if the alert has no name. */
  readonly label: string | null;
  readonly kinds: readonly AlertKind[];
  readonly watched: InstrumentSelector;
  readonly thresholds: AlertThresholds;
  readonly way: DeliveryMethod;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  /**
   * Until this instant, in milliseconds since the epoch, no events are recorded for the alert;
   * `null` if the alert is not snoozed.
   */
  readonly snoozedUntil: number | null;
  /**
   * While an alert is paused, no events are recorded for it, and its queued deliveries are not
   * sent.
   */
  readonly isPaused: boolean;
}

/** Alerts by id: `alert_` and 16 base62 characters. */
export const alerts = collection<Alert>("alerts", {
  groups: ({ owner, network }, key) => [
    ...groupsOfAlert(key, owner),
    ...(network === undefined ? [] : [networkRecordsGroup(network)]),
  ],
});

/** An alert with its key, revision and groups. */
export type StoredAlert = Stored<Alert>;

/** Topic that announces the id of an alert that was registered, changed or removed. */
export const ALERTS_TOPIC = "alerts";

/**
 * Group of the alerts and queued deliveries of one agent, API key or person. For a person, the
 * group includes all of their OAuth clients.
 */
export const ownerGroup = ({ kind, id }: Pick<AlertOwner, "kind" | "id">): string =>
  `alerts:${kind}:${id}`;

/**
 * Archive subject of an owner's events. Each OAuth client of a person has its own subject, so that
 * reading one client's events does not read the events of the other clients.
 */
export const eventSubject = ({ clientId, ...owner }: OwnerIdentity): string =>
  owner.kind === "user"
    ? `${ownerGroup(owner)}:${clientId === undefined ? "" : fingerprint(clientId)}`
    : ownerGroup(owner);

/** Group of all alerts of an account: those of the person, their agents and their API keys. */
export const accountAlertsGroup = (accountId: string): string => `alerts:account:${accountId}`;

/**
 * Group of the alerts that share one quota: all alerts of the owner's account, or only the owner's
 * alerts when the owner has no account.
 */
export const quotaGroup = (owner: AlertOwner): string =>
  owner.accountId === undefined ? ownerGroup(owner) : accountAlertsGroup(owner.accountId);

/** What causes events: an alert, or a channel of its owner. */
export type EventSource = Pick<Alert, "owner" | "network">;

/**
 * The party that the limit `events` counts. An alert of unknown network counts as one of its own.
 */
export function eventParty({ owner, network }: EventSource): Party {
  const caller = quotaGroup(owner);
  return { caller, network: network ?? caller };
}

/** Finds the `quotaGroup` among the groups of a delivery; an empty string when there is none. */
export const findQuotaGroup = (groups: readonly string[]): string =>
  groups.find((group) => group.startsWith(accountAlertsGroup(""))) ??
  groups.find((group) => group.startsWith("alerts:")) ??
  "";

/** Group of the records that count for a network. @param network Hash of the network. */
export const networkRecordsGroup = (network: string): string => `network:${network}`;

/** Group of all records that are deleted together with an alert. */
export const alertGroup = (alertId: string): string => `alert:${alertId}`;

/**
 * Groups of the records of an owner: the owner's group, the account's group, and the groups whose
 * removal deletes the records.
 */
export function groupsOfOwner(owner: AlertOwner): readonly string[] {
  const { accountId } = owner;
  const answering = accountId === undefined ? [] : [accountAlertsGroup(accountId)];
  return [ownerGroup(owner), ...answering, ...lifetimeGroups(owner)];
}

/** Groups of an alert and of the records that are deleted with it. */
export const groupsOfAlert = (alertId: string, owner: AlertOwner): readonly string[] => [
  alertGroup(alertId),
  ...groupsOfOwner(owner),
];

/**
 * Groups whose removal deletes an owner's records: the agent's group for an agent, the groups of
 * the person and of the OAuth client for a person, and the groups of the key and of its account for
 * an API key.
 */
function lifetimeGroups({ kind, id, accountId, clientId }: AlertOwner): readonly string[] {
  switch (kind) {
    case "agent":
      return [clientGroup(id)];
    case "user":
      return [
        accountRecordsGroup(id),
        ...(clientId === undefined
          ? []
          : [clientGroup(clientId), accountClientGroup(id, clientId)]),
      ];
    case "service":
      return [
        apiKeyGroup(id),
        ...(accountId === undefined ? [] : [accountRecordsGroup(accountId)]),
      ];
  }
}

/** Encryption context to which the signing secrets of an alert are bound. */
export const secretEncryptionContext = (alertId: string): string => `alert-secret:${alertId}`;

/** Statuses of an alert that its owner can see. */
export const ALERT_STATUSES = [
  "pending",
  "active",
  "paused",
  "snoozed",
  "disabled",
  "expired",
] as const;
/** One of `ALERT_STATUSES`. */
export type AlertStatus = (typeof ALERT_STATUSES)[number];

/** Whether the queued deliveries of an alert may be sent: it has an active webhook or a channel,
 *  and is not paused. */
export const isDeliveryActive = ({ isPaused, way }: Alert): boolean =>
  !isPaused && (way.by === "channel" || (way.by === "webhook" && way.state.is === "active"));

/** Status of an alert at the instant `now`, in milliseconds since the epoch. */
export function alertStatusAt(alert: Alert, now: number): AlertStatus {
  const { way, isPaused, expiresAt, snoozedUntil } = alert;
  if (expiresAt !== null && expiresAt <= now) return "expired";
  if (way.by === "webhook" && way.state.is === "disabled") return "disabled";
  if (isPaused) return "paused";
  if (snoozedUntil !== null && snoozedUntil > now) return "snoozed";
  return way.by === "webhook" && way.state.is === "pending" ? "pending" : "active";
}

/** Whether an alert sends its events to a channel. */
export const isSentToChannel = (
  { value: { way } }: Pick<StoredAlert, "value">,
  channelId: string,
): boolean => way.by === "channel" && way.channelId === channelId;
