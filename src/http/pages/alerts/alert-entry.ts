import type { z } from "zod";
import type { Alert } from "../../../alerts/alert.ts";
import type { AlertView } from "../../../alerts/api/queries.ts";
import type { Problem } from "../../../lib/problem.ts";
import { DEFAULT_SESSIONS_BEFORE_REPORT } from "../../../score/report-events.ts";
import { EVENT_RULES } from "../../../score/shift-and-volatility-events.ts";
import { DEFAULT_STEADINESS_LEVEL } from "../../../score/steadiness-events.ts";
import { normalizedAlertKinds } from "../../../tool/alert-input.ts";
import type { FieldErrors } from "../elements.ts";
import { issueErrors } from "../form.ts";
import { type AlertEntry, alertForm, SAVE_BUTTON_ID } from "./alert-form.ts";

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

/** The field of a member of the tool input. */
const fieldOf = (member: string): string | undefined => {
  if (member === "delivery") return "url";
  return Object.hasOwn(alertForm.fields, member) ? member : undefined;
};

/** Converts validation issues to form errors, each for the field of the invalid member. */
export const fieldErrorsOfIssues = (issues: readonly z.core.$ZodIssue[]): FieldErrors =>
  issueErrors(
    alertForm,
    issues.map((issue) => ({ ...issue, path: [fieldOf(String(issue.path[0])) ?? SAVE_BUTTON_ID] })),
  );

/**
 * Converts a problem to a form error, for the field whose member name is at the start of the
 * problem's detail.
 */
export function fieldErrorsOfProblem({ detail, next }: Problem): FieldErrors {
  const [, member = "", text = detail] = /^(\w+)(?:, \w+)*: (.+)$/s.exec(detail) ?? [];
  const field = fieldOf(member);
  const said = field === undefined ? detail : text;
  return [
    {
      id: field ?? SAVE_BUTTON_ID,
      text: `${said.charAt(0).toUpperCase()}${said.slice(1)} ${next}`,
    },
  ];
}
