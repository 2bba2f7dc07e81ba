import { z } from "zod";
import type { Caller } from "../src/access/caller.ts";
import { alertScopes } from "../src/access/scopes.ts";
import type { InstrumentSelector } from "../src/alerts/alert.ts";
import { DirectionAnswer, Provenance } from "../src/answers/shared-members.ts";
import { Problem } from "../src/lib/problem.ts";
import { AssetClass } from "../src/market/instrument.ts";
import { DEFAULT_SESSIONS_BEFORE_REPORT } from "../src/score/report-events.ts";
import { EVENT_RULES } from "../src/score/shift-and-volatility-events.ts";
import { DEFAULT_STEADINESS_LEVEL } from "../src/score/steadiness-events.ts";
import { AlertAnswer, alertAnswer, NextSteps, SigningSecretAnswer } from "../src/tool/alert.ts";
import {
  AlertFields,
  canonicalSymbols,
  normalizedAlertKinds,
  toUnixMs,
  WebhookUrlInput,
} from "../src/tool/alert-input.ts";
import { nextStepsOfRangeAlert, requireForecastRange } from "../src/tool/range-alert.ts";
import { nextStepsOfSignalAlert } from "../src/tool/signal-alert.ts";
import {
  nextStepsOfSteadinessAlert,
  requireRankedInstrument,
} from "../src/tool/steadiness-alert.ts";
import { defineTool, type ToolCall, type ToolContext } from "../src/tool/tool.ts";
import { WatchlistNameInput, watchlistSelector } from "../src/tool/watchlist.ts";

const Input = z.strictObject({
  symbols: AlertFields.symbols.optional(),
  watchlist: WatchlistNameInput.optional().describe("Instead of symbols."),
  assetClass: AssetClass.optional().describe("Instead of symbols: all of a class."),
  signal: DirectionAnswer.optional().describe("Only events that end in it; alone: of any symbol."),
  kinds: AlertFields.kinds.default(["signal_shift", "volatility"]),
  scoreMove: AlertFields.scoreMove
    .optional()
    .describe(
      `Points of score that are reported without a new signal; null: none. Default ${EVENT_RULES.scoreMove}, with signal null.`,
    ),
  volatilityZ: AlertFields.volatilityZ.default(EVENT_RULES.highZ),
  cooldownDays: AlertFields.cooldownDays.optional(),
  reportSessions: AlertFields.reportSessions.default(DEFAULT_SESSIONS_BEFORE_REPORT),
  steadinessLevel: AlertFields.steadinessLevel.default(DEFAULT_STEADINESS_LEVEL),
  delivery: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("webhook"), url: WebhookUrlInput }),
      z.strictObject({ type: z.literal("poll") }),
    ])
    .default({ type: "poll" })
    .describe("webhook: a public https URL; poll: get_alert_events."),
  channel: z.string().optional().describe("Of the person, instead of delivery."),
  label: AlertFields.label.optional(),
  expiresAt: AlertFields.expiresAt.optional(),
  snoozedUntil: AlertFields.snoozedUntil.optional(),
  idempotencyKey: z
    .string()
    .regex(/^[!-~]{1,255}$/, "Expected 1 to 255 visible ASCII characters.")
    .optional()
    .describe("Repeated within 24 hours, it creates no second alert."),
});

type AlertInput = z.output<typeof Input>;

/** The tool that creates an alert: a subscription to events. */
export const registerAlert = defineTool({
  name: "register_alert",
  title: "Register alert",
  description:
    "Get notified when a signal shifts, volatility is unusual, a price leaves its range, steadiness crosses a level or a report is near, by webhook or polling. The answer has the signing secret, once, and the next steps.",
  scopes: alertScopes,
  routes: [{ method: "POST", path: "/api/alerts", status: 201 }],
  effect: { isDestructive: false },
  input: Input,
  output: z.object({
    ...AlertAnswer.shape,
    market: Provenance.shape.market,
    secret: SigningSecretAnswer,
    nextSteps: NextSteps,
  }),

  async run(wish, context, call) {
    const { cooldownDays = null, delivery, volatilityZ, reportSessions, steadinessLevel } = wish;
    // "When it becomes LONG" means the change of signal, not every move of the score within LONG.
    const { scoreMove = wish.signal === undefined ? EVENT_RULES.scoreMove : null } = wish;
    const watched = await selectorOf(wish, context, call.caller);
    const wanted = {
      label: wish.label ?? null,
      kinds: normalizedAlertKinds(wish.kinds),
      watched,
      thresholds: {
        scoreMove,
        volatilityZ,
        cooldownDays,
        reportSessions,
        // Absent by default, so that the fingerprint of a repeated request stays the same.
        ...(steadinessLevel !== DEFAULT_STEADINESS_LEVEL && { steadinessLevel }),
      },
      url: delivery.type === "webhook" ? delivery.url : undefined,
      ...(wish.channel !== undefined && { channelId: await channelOf(wish, context, call.caller) }),
      expiresAt: toUnixMs(wish.expiresAt ?? null),
      snoozedUntil: toUnixMs(wish.snoozedUntil ?? null),
    };
    const resolved = { ...wanted, watched: await context.watchlists.resolve(watched) };
    requireForecastRange(resolved, context.market);
    requireRankedInstrument(resolved, context.market);
    const idempotencyKey = idempotencyKeyOf(wish, call);
    const alert = await context.alerts.register(call.caller, { wanted, idempotencyKey });
    const { secret, nextSteps } = alert;
    return {
      ...alertAnswer(alert),
      market: context.market.mode,
      ...(secret !== undefined && { secret }),
      nextSteps: [
        ...nextSteps,
        ...nextStepsOfSignalAlert(resolved, context),
        ...nextStepsOfRangeAlert(resolved, context.market),
        ...nextStepsOfSteadinessAlert(resolved, context.market),
      ],
    };
  },
});

/**
 * The instruments that an alert watches.
 * @throws {Problem} `invalid_request` unless a signal, or one of symbols, a watchlist and a class
 * is given; `not_found` for an unknown watchlist.
 */
async function selectorOf(
  { symbols, watchlist, assetClass, signal }: AlertInput,
  context: ToolContext,
  caller: Caller,
): Promise<InstrumentSelector> {
  const given = [symbols, watchlist, assetClass].filter((one) => one !== undefined);
  if (given.length > 1 || (given.length === 0 && signal === undefined)) {
    throw new Problem("invalid_request", {
      detail:
        "symbols, watchlist, assetClass, signal: an alert has one of the first three, a signal, or both.",
      next: "Give symbols, watchlist or assetClass, with or without signal, or signal alone.",
    });
  }
  // Without a signal the member is absent, so that the fingerprint of a repeated request is the
  // same as before selectors had it.
  const limit = signal === undefined ? {} : { signal };
  if (watchlist !== undefined) {
    return { ...(await watchlistSelector(watchlist, context, caller)), ...limit };
  }
  if (symbols !== undefined) {
    return { by: "symbols", symbols: canonicalSymbols(symbols, context), ...limit };
  }
  return { by: "filter", assetClass: assetClass ?? null, signal: signal ?? null };
}

/**
 * The id of the channel that an alert uses.
 * @throws {Problem} `invalid_request` for a channel together with a webhook; `not_found` for an
 * unknown channel.
 */
async function channelOf(
  { channel = "", delivery }: AlertInput,
  { channels }: ToolContext,
  caller: Caller,
): Promise<string> {
  if (delivery.type === "poll") return channels.idOf(caller, channel);
  throw new Problem("invalid_request", {
    detail: "channel, delivery: an alert has either a channel or a webhook.",
    next: "Leave one of the two out.",
  });
}

/**
 * The idempotency key in the header or the input.
 * @throws {Problem} `invalid_request` if the two contain different keys.
 */
function idempotencyKeyOf(
  { idempotencyKey: own }: AlertInput,
  { idempotencyKey: ofRequest }: ToolCall,
) {
  if (own === undefined || ofRequest === undefined || own === ofRequest) return own ?? ofRequest;
  throw new Problem("invalid_request", {
    detail: "idempotencyKey: the header Idempotency-Key has a different key.",
    next: "Send one of the two.",
  });
}
