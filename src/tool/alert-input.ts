import { z } from "zod";
import { ALERT_KINDS, type AlertKind } from "../alerts/alert.ts";
import { InstantInput, Ticker } from "../answers/shared-members.ts";
import { Label } from "../lib/label.ts";
import { EVENT_RULES } from "../score/shift-and-volatility-events.ts";
import { resolveInstrument } from "./lookup.ts";
import type { ToolContext } from "./tool.ts";

/** Maximum length of a webhook URL, in characters. */
const MAX_URL = 4_096;

/** Maximum number of symbols of an alert, or of one change of a watchlist. */
export const MAX_SYMBOLS = 100;

/** A webhook URL in tool input. */
export const WebhookUrlInput = z.string().max(MAX_URL).describe("It must answer a challenge.");

/** The id of an alert. An id of the wrong form is answered like an unknown alert: `not_found`. */
export const AlertIdInput = z.string().describe("Id of the alert.");

/** Alert members that a client can set on creation and change later. */
export const AlertFields = {
  symbols: z.array(Ticker).min(1).max(MAX_SYMBOLS).describe("Instruments to watch."),
  kinds: z
    .array(z.enum(ALERT_KINDS))
    .min(1)
    .max(ALERT_KINDS.length)
    .describe(
      "signal_shift: signal or score moved; volatility: it is unusual; report: near, filed or late; range: a close left the expected one; steadiness: it crossed steadinessLevel.",
    ),
  scoreMove: z
    .int()
    .min(5)
    .max(50)
    .nullable()
    .describe("Points of score that are reported without a new signal; null: none."),
  volatilityZ: z
    .number()
    .min(1.5)
    .max(EVENT_RULES.extremeZ)
    .multipleOf(0.1)
    .describe("Reported z of volatility, in steps of 0.1."),
  cooldownDays: z
    .number()
    .min(0.25)
    .max(30)
    .multipleOf(0.25)
    .describe("Market days without events after one; default a session, coins 0.25."),
  reportSessions: z.number().int().min(1).max(21).describe("Sessions before an expected report."),
  steadinessLevel: z.int().min(5).max(95).describe("Points; not of funds."),
  label: Label.describe("Your name for it."),
  expiresAt: InstantInput.describe("When it ends."),
  snoozedUntil: InstantInput.describe("Events until then are dropped."),
} as const;

/** Converts an ISO 8601 instant to Unix milliseconds; returns `null` and `undefined` unchanged. */
export const toUnixMs = <T extends null | undefined>(instant: string | T): number | T =>
  typeof instant === "string" ? Date.parse(instant) : instant;

/**
 * Resolves symbols to instruments; returns their canonical symbols, deduplicated and sorted.
 *
 * @throws {Problem} `unknown_symbol` or `ambiguous_symbol`, with the symbols that the caller may
 * have meant; `not_available_then` for an instrument that has no price yet.
 */
export function canonicalSymbols(
  symbols: readonly string[],
  context: ToolContext,
): readonly string[] {
  return [...new Set(symbols.map((symbol) => resolveInstrument(symbol, context).symbol))].sort();
}

/** Sorts kinds in the order of `ALERT_KINDS` and removes duplicates. */
export const normalizedAlertKinds = (kinds: readonly AlertKind[]): readonly AlertKind[] =>
  ALERT_KINDS.filter((kind) => kinds.includes(kind));
