import { z } from "zod";
import {
  ALERT_KINDS,
  ALERT_STATUSES,
  type DeliveryMethod,
  type WebhookState,
} from "../alerts/alert.ts";
import type { AlertEvent } from "../alerts/api/event-log.ts";
import type { AlertDetails, AlertView, DeliveryAttemptView } from "../alerts/api/queries.ts";
import type { ChannelState } from "../alerts/channels/channel.ts";
import { CHANNEL_KINDS } from "../alerts/channels/targets.ts";
import type { DeliveryAttempt } from "../alerts/delivery/delivery.ts";
import {
  DirectionAnswer,
  InstantAnswer,
  isoInstant,
  isoInstantOrNull,
} from "../answers/shared-members.ts";
import { AssetClass } from "../market/instrument.ts";
import type { DataSource } from "../market/market.ts";
import { DEFAULT_SESSIONS_BEFORE_REPORT } from "../score/report-events.ts";
import { EVENT_RULES } from "../score/shift-and-volatility-events.ts";
import { DEFAULT_STEADINESS_LEVEL } from "../score/steadiness-events.ts";

/** How the events of an alert are delivered. */
const DeliveryAnswer = z.object({
  type: z.enum(["webhook", "poll", "channel"]),
  url: z.string().optional(),
  channel: z.string().optional().describe("Name of the person's channel."),
  kind: z.enum(CHANNEL_KINDS).optional().describe("Of the channel."),
  state: z
    .enum(["pending", "active", "paused", "disabled"])
    .optional()
    .describe("pending: it has not answered the challenge yet, and events wait."),
  stateSince: InstantAnswer.optional(),
  disabledReason: z
    .enum(["gone", "failing", "unverified", "unsubscribed"])
    .optional()
    .describe(
      "gone: it answered 410; failing: five days without success; unverified: no challenge was answered.",
    ),
  previousSecretUntil: InstantAnswer.optional().describe(
    "Until then the earlier secret signs as well.",
  ),
});

/** An alert as its owner sees it. */
export const AlertAnswer = z.object({
  id: z.string(),
  status: z.enum(ALERT_STATUSES),
  label: z.string().nullable(),
  symbols: z.array(z.string()).nullable().describe("null: the watchlist or the filters choose."),
  watchlist: z.string().nullable(),
  assetClass: AssetClass.nullable(),
  signal: DirectionAnswer.nullable().describe("Only events after which it is this; null: all."),
  kinds: z.array(z.enum(ALERT_KINDS)),
  scoreMove: z.number().nullable().describe("Points; null: new signals alone."),
  volatilityZ: z.number(),
  cooldownDays: z.number().nullable().describe("null: cooldownDefault applies."),
  cooldownDefault: z.string().optional().describe("Present while cooldownDays is null."),
  reportSessions: z.number().int(),
  steadinessLevel: z.int().describe("Points."),
  delivery: DeliveryAnswer,
  createdAt: InstantAnswer,
  expiresAt: InstantAnswer.nullable(),
  snoozedUntil: InstantAnswer.nullable(),
});

/** The agent, application or API key that created an alert, if different from the caller. */
export const CreatorFields = z.object({
  madeBy: z
    .object({
      type: z.enum(["agent", "application", "key"]),
      id: z.string().describe("Of the client or key."),
    })
    .optional()
    .describe(
      "Absent: you. Your own key also sees, and can delete, alerts that others made for you.",
    ),
});

/** Suggested next steps, one sentence each. */
export const NextSteps = z.array(z.string());

/** The signing secret of a webhook. */
export const SigningSecretAnswer = z.string().optional().describe("Signs; shown once.");

/** An alert with the failures and pending deliveries of its webhook. */
export const AlertDetailAnswer = z.object({
  ...AlertAnswer.shape,
  failures: z
    .object({ since: InstantAnswer, count: z.number().int() })
    .nullable()
    .describe("Attempts since the last success; null: none failed."),
  waiting: z
    .object({ count: z.number().int(), nextAttemptAt: InstantAnswer.nullable() })
    .describe("Deliveries not yet accepted; at most 100 are counted."),
});

/** The default cooldown after an event, in words; it depends on the asset class. */
const COOLDOWN_DEFAULT = `a session; ${EVENT_RULES.coinQuietDays} days for coins`;

/** Renders an alert. */
export function alertAnswer({
  id,
  alert,
  status,
  url,
  channel,
}: AlertView): z.input<typeof AlertAnswer> {
  const { label, kinds, watched, thresholds, way, createdAt, expiresAt, snoozedUntil } = alert;
  return {
    id,
    status,
    label,
    symbols: watched.by === "symbols" ? [...watched.symbols] : null,
    watchlist: watched.by === "watchlist" ? watched.name : null,
    assetClass: watched.by === "filter" ? watched.assetClass : null,
    signal: watched.signal ?? null,
    kinds: [...kinds],
    ...thresholds,
    ...(thresholds.cooldownDays === null && { cooldownDefault: COOLDOWN_DEFAULT }),
    reportSessions: thresholds.reportSessions ?? DEFAULT_SESSIONS_BEFORE_REPORT,
    steadinessLevel: thresholds.steadinessLevel ?? DEFAULT_STEADINESS_LEVEL,
    delivery: deliveryAnswer(way, url, channel),
    createdAt: isoInstant(createdAt),
    expiresAt: isoInstantOrNull(expiresAt),
    snoozedUntil: isoInstantOrNull(snoozedUntil),
  };
}

function deliveryAnswer(
  way: DeliveryMethod,
  url: AlertView["url"],
  channel: AlertView["channel"],
): z.input<typeof DeliveryAnswer> {
  if (way.by === "poll") return { type: "poll" };
  if (way.by === "channel") {
    if (channel === undefined) return { type: "channel" };
    return { type: "channel", channel: channel.name, kind: channel.kind, ...stateOf(channel) };
  }
  const { previous } = way.secrets;
  return {
    type: "webhook",
    url,
    ...stateOf(way),
    ...(previous && { previousSecretUntil: isoInstant(previous.until) }),
  };
}

/** Renders the state of a webhook or channel. */
const stateOf = ({ state }: { readonly state: WebhookState | ChannelState }) => ({
  state: state.is,
  stateSince: isoInstant(state.since),
  ...(state.is === "disabled" && { disabledReason: state.reason }),
});

/** Renders an alert with the failures and pending deliveries of its webhook. */
export function alertDetailAnswer(alert: AlertDetails): z.input<typeof AlertDetailAnswer> {
  const { health, waiting } = alert;
  return {
    ...alertAnswer(alert),
    failures: health ? { since: isoInstant(health.failingSince), count: health.failures } : null,
    waiting: { count: waiting.count, nextAttemptAt: isoInstantOrNull(waiting.nextAt) },
  };
}

/** A recorded event as shown in answers. */
export const EventAnswer = z.object({
  id: z.string().describe("The webhook-id under which it is sent."),
  type: z.string(),
  timestamp: InstantAnswer,
  data: z
    .looseObject({ alertId: z.string() })
    .describe(
      "As sent to webhooks, but for the terms of sources: sequence counts from 1 by alert and symbol, without gaps.",
    ),
});
type EventAnswer = z.input<typeof EventAnswer>;

/** Renders an event as its id plus the payload that is sent to webhooks. */
export const eventAnswer = ({ id, body }: AlertEvent): z.input<typeof EventAnswer> => ({
  id,
  ...(JSON.parse(body) as Omit<z.input<typeof EventAnswer>, "id">),
});

/**
 * Moves the license terms of data sources out of the events. Most events repeat the same terms, so
 * each text is returned once, keyed by source id.
 */
export function extractSourceTerms(events: readonly EventAnswer[]) {
  const terms = new Map<string, string>();
  const told = events.map((event): EventAnswer => {
    const { sources } = event.data as { readonly sources?: readonly DataSource[] };
    if (sources === undefined) return event;
    for (const source of sources) terms.set(source.id, source.terms);
    const named = sources.map(({ id, name, simulated }) => ({ id, name, simulated }));
    return { ...event, data: { ...event.data, sources: named } };
  });
  return { events: told, terms: Object.fromEntries(terms) };
}

const ERRORS = [
  "none",
  "http_status",
  "bad_challenge",
  "unreachable",
] as const satisfies readonly DeliveryAttempt["error"][];

/** One delivery attempt. */
export const AttemptAnswer = z.object({
  at: InstantAnswer,
  eventId: z.string(),
  type: z.string(),
  attempt: z.number().int(),
  httpStatus: z.number().int().nullable().describe("null: no answer came."),
  latencyMs: z.number().nullable(),
  error: z
    .enum(ERRORS)
    .describe(
      "bad_challenge: a 2xx without the challenge; unreachable: no response, for any reason.",
    ),
  response: z.string().describe("First 1 kB of the endpoint's response; untrusted."),
  nextAttemptAt: InstantAnswer.nullable(),
});

/** Renders a delivery attempt. */
export const attemptAnswer = (attempt: DeliveryAttemptView): z.input<typeof AttemptAnswer> => {
  const { at, eventId, type, number, status, latencyMs, error, response, nextInMs } = attempt;
  return {
    at: isoInstant(at),
    eventId,
    type,
    attempt: number,
    httpStatus: status,
    latencyMs,
    error,
    response,
    nextAttemptAt: isoInstantOrNull(nextInMs === null ? null : at + nextInMs),
  };
};
