import { z } from "zod";
import type { Alert } from "../../../alerts/alert.ts";
import type { AlertView } from "../../../alerts/api/queries.ts";
import { Problem } from "../../../lib/problem.ts";
import type { Instrument } from "../../../market/instrument.ts";
import {
  isWeakMatch,
  matchInstruments,
  resolveSymbol,
  searchInstruments,
} from "../../../market/symbols.ts";
import { DEFAULT_SESSIONS_BEFORE_REPORT } from "../../../score/report-events.ts";
import { EVENT_RULES } from "../../../score/shift-and-volatility-events.ts";
import { DEFAULT_STEADINESS_LEVEL } from "../../../score/steadiness-events.ts";
import { normalizedAlertKinds } from "../../../tool/alert-input.ts";
import { resolveInstrument } from "../../../tool/lookup.ts";
import type { ToolContext } from "../../../tool/tool.ts";
import type { FieldErrors } from "../elements.ts";
import { CheckboxValues } from "../form.ts";

/** Schema of a text field; empty if the field was not sent, or sent more than once. */
const Text = z.string().catch("");

/** Options for what an alert watches; `same` keeps the current selection. */
const WATCHES = ["symbols", "watchlist", "filter", "same"] as const;

/** Schema of the values in the alert form. */
export const AlertEntry = z.object({
  watch: z.enum(WATCHES).catch("symbols"),
  /** Symbols or names of instruments, separated by commas or spaces. */
  symbols: Text,
  /** Symbols that were selected from the suggestions for a name. */
  symbol: CheckboxValues.catch([]),
  watchlist: Text,
  assetClass: Text,
  signal: Text,
  kinds: CheckboxValues.catch([]),
  /** Minimum score change in points; empty to report new signals only. */
  scoreMove: Text,
  volatilityZ: Text,
  /** Cooldown after an event, in market days; empty for the default of the scoring method. */
  cooldownDays: Text,
  reportSessions: Text,
  steadinessLevel: Text,
  delivery: z.enum(["poll", "channel", "webhook"]).catch("poll"),
  /** Name of a channel. */
  channel: Text,
  url: Text,
  label: Text,
  /** Expiry time in UTC, as `datetime-local` sends it; empty for an alert that does not expire. */
  expiresAt: Text,
});
/** The values in the alert form. */
export type AlertEntry = z.output<typeof AlertEntry>;

/** Initial values of the form for a new alert: the defaults of `register_alert`. */
export const newAlertEntry = (prefilled: Partial<AlertEntry>): AlertEntry => ({
  watch: "symbols",
  symbols: "",
  symbol: [],
  watchlist: "",
  assetClass: "",
  signal: "",
  kinds: ["signal_shift", "volatility"],
  scoreMove: String(EVENT_RULES.scoreMove),
  volatilityZ: String(EVENT_RULES.highZ),
  cooldownDays: "",
  reportSessions: String(DEFAULT_SESSIONS_BEFORE_REPORT),
  steadinessLevel: String(DEFAULT_STEADINESS_LEVEL),
  delivery: "poll",
  channel: "",
  url: "",
  label: "",
  expiresAt: "",
  ...prefilled,
});

/** Initial values of the form that changes an alert. */
export function alertEntryOf({ alert, url = "", channel }: AlertView): AlertEntry {
  const { watched, thresholds, way, kinds, label, expiresAt } = alert;
  const {
    scoreMove,
    volatilityZ,
    cooldownDays,
    reportSessions = DEFAULT_SESSIONS_BEFORE_REPORT,
    steadinessLevel = DEFAULT_STEADINESS_LEVEL,
  } = thresholds;
  return newAlertEntry({
    watch: watched.by === "filter" ? "same" : watched.by,
    symbols: watched.by === "symbols" ? watched.symbols.join(" ") : "",
    watchlist: watched.by === "watchlist" ? watched.name : "",
    signal: watched.signal ?? "",
    kinds: [...kinds],
    scoreMove: String(scoreMove ?? ""),
    volatilityZ: String(volatilityZ),
    cooldownDays: String(cooldownDays ?? ""),
    reportSessions: String(reportSessions),
    steadinessLevel: String(steadinessLevel),
    delivery: way.by,
    channel: channel?.name ?? "",
    url,
    label: label ?? "",
    expiresAt: expiresAt === null ? "" : new Date(expiresAt).toISOString().slice(0, 16),
  });
}

/** An entered name that is not a symbol, and the instruments that match it. */
export interface InstrumentSuggestion {
  readonly text: string;
  readonly found: readonly Instrument[];
}

/** Maximum number of instruments suggested for a name. */
const MAX_FOUND = 8;

/** Maximum number of entered names that are looked up. */
const MAX_NAMES = 5;

/** The form fields that specify instruments. */
export type InstrumentNameFields = Pick<AlertEntry, "symbols" | "symbol">;

/**
 * The instruments of an entry: the symbols, also of names that only one instrument has, and the
 * matching instruments for each other name.
 */
export function matchEntryInstruments(
  { symbols, symbol }: InstrumentNameFields,
  context: ToolContext,
) {
  const all = context.market.instruments();
  const isKnown = (text: string) => resolveSymbol(all, text).kind === "found";
  const parts = symbols
    .split(/[,\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .flatMap((part) => {
      const words = part.split(/\s+/);
      return !isKnown(part) && words.some(isKnown) ? words : [part];
    });
  // A name that only one instrument has is meant; within other words it may be another's.
  const namedBy = (text: string): string => {
    if (isKnown(text)) return text;
    const [one, ...others] = matchInstruments(all, text).filter(({ match }) => !isWeakMatch(match));
    return one !== undefined && others.length === 0 ? one.instrument.symbol : text;
  };
  const meant = parts.map(namedBy);
  const suggestions: readonly InstrumentSuggestion[] = meant
    .filter((part) => !isKnown(part))
    .slice(0, MAX_NAMES)
    .map((text) => ({ text, found: searchInstruments(all, text).slice(0, MAX_FOUND) }));
  // Once a suggestion for a name is chosen, the name itself is no longer looked up.
  const names = symbol.length > 0 ? meant.filter(isKnown) : meant;
  return { symbols: [...names, ...symbol], suggestions: symbol.length > 0 ? [] : suggestions };
}

/** Form errors for names that are not symbols, in the wording of the tools. */
export function symbolErrors(symbols: readonly string[], context: ToolContext): FieldErrors {
  const texts = symbols.flatMap((symbol) => {
    try {
      resolveInstrument(symbol, context);
      return [];
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return [error.detail];
    }
  });
  return texts.length === 0 ? [] : [{ id: "symbols", text: texts.slice(0, MAX_NAMES).join(" ") }];
}

const numberOf = (text: string): number | undefined =>
  text.trim() === "" ? undefined : Number(text);

/** Members of the input that `register_alert` and `manage_alert` share. */
const commonInput = (entry: AlertEntry) => ({
  kinds: normalizedAlertKinds(entry.kinds as Alert["kinds"]),
  scoreMove: numberOf(entry.scoreMove) ?? null,
  volatilityZ: numberOf(entry.volatilityZ) ?? EVENT_RULES.highZ,
  reportSessions: numberOf(entry.reportSessions) ?? DEFAULT_SESSIONS_BEFORE_REPORT,
  steadinessLevel: numberOf(entry.steadinessLevel) ?? DEFAULT_STEADINESS_LEVEL,
});

/**
 * Converts the value of a `datetime-local` field, which omits seconds if they are 0, to an instant.
 */
const instantOf = (text: string): string | undefined =>
  text === "" ? undefined : `${text}${/T\d\d:\d\d$/.test(text) ? ":00" : ""}Z`;

/** Converts an entry to the input of `register_alert`. */
export function alertRegistrationInput(entry: AlertEntry, symbols: readonly string[]): object {
  const { watch, watchlist, assetClass, signal, delivery, channel, url, label } = entry;
  const watched = {
    symbols: { symbols },
    watchlist: { watchlist },
    filter: { assetClass: assetClass || undefined },
    same: {},
  }[watch];
  return {
    ...watched,
    signal: signal || undefined,
    ...commonInput(entry),
    cooldownDays: numberOf(entry.cooldownDays),
    delivery: delivery === "webhook" ? { type: "webhook", url } : { type: "poll" },
    channel: delivery === "channel" ? channel : undefined,
    label: label.trim() === "" ? undefined : label,
    expiresAt: instantOf(entry.expiresAt),
  };
}

/** The input of `manage_alert` that updates an alert to the values of an entry. */
export function alertUpdateInput(
  id: string,
  entry: AlertEntry,
  symbols: readonly string[],
): object {
  const { watch, watchlist, signal, delivery, channel, url, label } = entry;
  return {
    id,
    ...(watch === "symbols" && { symbols }),
    ...(watch === "watchlist" && { watchlist }),
    signal: signal || null,
    ...commonInput(entry),
    cooldownDays: numberOf(entry.cooldownDays) ?? null,
    ...(delivery === "webhook" ? { url } : { channel: delivery === "channel" ? channel : null }),
    label: label.trim() === "" ? null : label,
    expiresAt: instantOf(entry.expiresAt) ?? null,
  };
}

/** Form fields by member of the tool input: the id of the field and its name in error messages. */
const FIELDS: Readonly<Record<string, readonly [id: string, name: string]>> = {
  symbols: ["symbols", "The instruments"],
  watchlist: ["watchlist", "The watchlist"],
  assetClass: ["assetClass", "The class"],
  signal: ["signal", "The signal"],
  kinds: ["kinds", "The events"],
  scoreMove: ["scoreMove", "The change of the score"],
  volatilityZ: ["volatilityZ", "The z of volatility"],
  cooldownDays: ["cooldownDays", "The quiet time"],
  reportSessions: ["reportSessions", "The sessions before a report"],
  steadinessLevel: ["steadinessLevel", "The level of steadiness"],
  delivery: ["url", "The address"],
  channel: ["channel", "The channel"],
  url: ["url", "The address"],
  label: ["label", "The name"],
  expiresAt: ["expiresAt", "The end"],
};

/** Id of the submit button, next to which errors that belong to no field are shown. */
export const SAVE_BUTTON_ID = "save";

/** Converts validation issues to form errors, each for the field of the invalid member. */
export function fieldErrorsOfIssues(issues: readonly z.core.$ZodIssue[]): FieldErrors {
  const errors = issues.map(({ path, message }) => {
    const [id, name] = FIELDS[String(path[0])] ?? [SAVE_BUTTON_ID, String(path[0])];
    const text = message.replace(/\.$/, "");
    return { id, text: /^[a-z]/.test(text) ? `${name} ${text}.` : `${name}: ${text}.` };
  });
  return [...new Map(errors.map((error) => [error.id, error])).values()];
}

/**
 * Converts a problem to a form error, for the field whose member name is at the start of the
 * problem's detail.
 */
export function fieldErrorsOfProblem({ detail, next }: Problem): FieldErrors {
  const [, member = "", text = detail] = /^(\w+)(?:, \w+)*: (.+)$/s.exec(detail) ?? [];
  const [id = SAVE_BUTTON_ID] = FIELDS[member] ?? [];
  const said = FIELDS[member] === undefined ? detail : text;
  return [{ id, text: `${said.charAt(0).toUpperCase()}${said.slice(1)} ${next}` }];
}
