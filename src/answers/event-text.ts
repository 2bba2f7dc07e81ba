import type { z } from "zod";
import { REPORT_WINDOW_COVERAGE } from "../factors/report-windows.ts";
import { inertText } from "../outbound/inert-text.ts";
import type { EventPayload } from "./event.ts";
import { DIRECTION_EVIDENCE_TEXT, DIRECTION_LIMITS_TEXT } from "./meaning.ts";
import type { MethodChangedEvent } from "./method-change.ts";
import { CLASS_PLURALS } from "./range-alert.ts";
import { toPercent } from "./risk.ts";
import { STEADINESS_MEANING } from "./steadiness.ts";

/** An event in plain English, for people. */
interface EventText {
  /** One line that says what happened to which instrument. */
  readonly headline: string;
  /** Further lines of text. */
  readonly details: readonly string[];
  /** Symbol of the instrument; absent for an event that is about no instrument. */
  readonly symbol?: string;
  /**
   * Label of the alert that the event is about, `null` if that alert has none; absent if it is the
   * alert for which the event is delivered.
   */
  readonly alertLabel?: string | null;
}

/** Payload of an event that is about no instrument. */
type OtherPayload =
  | z.input<typeof MethodChangedEvent>
  | { readonly type: "webhook.test" }
  | {
      readonly type: "endpoint.disabled";
      readonly data: {
        /** The alert whose webhook was disabled. */
        readonly alertId: string;
        /** The label of that alert. */
        readonly label: string | null;
        readonly reason: keyof typeof WEBHOOK_DISABLED_REASONS;
      };
    };

/** Why a webhook was disabled, in words. */
export const WEBHOOK_DISABLED_REASONS = {
  gone: "its webhook answered 410 Gone",
  failing: "its webhook failed for five days",
  unverified: "its webhook never confirmed",
} as const;

/** What follows for an alert when another method scores its instruments. */
const METHOD_CHANGE_NOTE =
  "Scores before and after it are not compared: the switch itself is told by no other event, and the alert begins anew with it.";

/** Maximum length of an instrument's name in an event text, in characters. */
const MAX_NAME = 60;

/**
 * Describes the payload of an event in words.
 *
 * @param body The recorded payload, as JSON.
 */
export function eventTextOf(body: string): EventText {
  const payload = JSON.parse(body) as EventPayload | OtherPayload;
  if (payload.type === "webhook.test") {
    return { headline: "Test of an alert", details: ["It works: events will arrive like this."] };
  }
  if (payload.type === "endpoint.disabled") {
    const { alertId, label, reason } = payload.data;
    return {
      // The headline becomes the subject of an email, so it contains no text of the owner.
      headline: `The webhook of the alert ${alertId} was disabled`,
      details: [
        `Reason: ${WEBHOOK_DISABLED_REASONS[reason]}.`,
        "Events of this alert are recorded and can be polled, but are not sent until the webhook is enabled again.",
      ],
      alertLabel: label,
    };
  }
  if (payload.type === "method.changed") {
    const { previousMethodVersion, methodVersion, change } = payload.data;
    return {
      headline: `The scores come from method ${methodVersion}, before from ${previousMethodVersion}`,
      details: [change, METHOD_CHANGE_NOTE],
    };
  }
  const { symbol, name, asOf } = payload.data;
  const { says, details } = wording(payload);
  const simulated = payload.data.market === "sandbox" ? ["The market is simulated."] : [];
  return {
    headline: `${symbol}: ${says}`,
    details: [
      `${inertText([...name].slice(0, MAX_NAME).join(""))}, ${moment(asOf)}.`,
      ...details,
      ...simulated,
    ],
    symbol,
  };
}

/** `says` follows the symbol in the headline; `details` are the lines below the headline. */
interface Wording {
  readonly says: string;
  readonly details: readonly string[];
}

function wording(payload: EventPayload): Wording {
  switch (payload.type) {
    case "signal.shift":
      return shiftWording(payload.data);
    case "volatility.alert":
      return volatilityWording(payload.data);
    case "report.alert":
      return reportWording(payload.data);
    case "range.alert":
      return rangeWording(payload.data);
    case "steadiness.alert":
      return steadinessWording(payload.data);
  }
}

type DataOf<T extends EventPayload["type"]> = Extract<EventPayload, { readonly type: T }>["data"];

function shiftWording(data: DataOf<"signal.shift">): Wording {
  const { reason, signal, score, previousSignal, previousScore, before, confidence } = data;
  const says =
    reason === "direction"
      ? `${signal}, was ${previousSignal}; score ${score}, was ${previousScore}`
      : `score ${score}, was ${previousScore}; still ${signal}`;
  return {
    says,
    details: [
      `Before: ${previousSignal} with a score of ${previousScore}, ${moment(before.asOf)}.`,
      `Confidence ${Math.round(100 * confidence)} %.`,
      `${DIRECTION_EVIDENCE_TEXT} ${DIRECTION_LIMITS_TEXT}`,
    ],
  };
}

function volatilityWording(data: DataOf<"volatility.alert">): Wording {
  const { severity, z, logReturn, dailyVolatility, signal, score } = data;
  const change = signedPercent(100 * Math.expm1(logReturn));
  return {
    says: `${severity} volatility; the session moved by ${change}`,
    details: [
      `A usual session moves by ${(100 * dailyVolatility).toFixed(2)} %${z === null ? "" : `; z is ${z.toFixed(2)}`}.`,
      `The signal is ${signal} with a score of ${score}.`,
    ],
  };
}

function reportWording(data: DataOf<"report.alert">): Wording {
  const { reason, report, sessionsUntil, filing } = data;
  const between =
    report === null
      ? []
      : [
          `${toPercent(REPORT_WINDOW_COVERAGE)} % of past filings came between ${report.earliest} and ${report.latest}.`,
        ];
  switch (reason) {
    case "report_ahead":
      return {
        says: `a quarterly report is expected to be filed on ${report?.expected}, in ${sessionsUntil} ${sessionsUntil === 1 ? "session" : "sessions"}`,
        details: between,
      };
    case "report_filed":
      return {
        says: `the report of the quarter to ${filing?.periodEnd} was filed on ${filing?.filed}`,
        details: report === null ? [] : [`It had been expected on ${report.expected}.`],
      };
    case "report_late":
      return {
        says: `the quarterly report expected on ${report?.expected} has not come`,
        details: between,
      };
  }
}

function rangeWording(data: DataOf<"range.alert">): Wording {
  const { reason, range, close, session } = data;
  const closes = session === 1 ? "1 close" : `${session} closes`;
  return {
    says: `closed at ${close.price}, ${reason} its expected range of ${range.low} to ${range.high}`,
    details: [
      `${signedPercent(close.changePercent)} in ${closes} since ${range.from.price}, ${moment(range.from.at)}.`,
      `Nominally ${Math.round(100 * range.probability)} % of closes stay inside.`,
    ],
  };
}

function steadinessWording(data: DataOf<"steadiness.alert">): Wording {
  const { reason, level, steadiness, rank, peers, assetClass } = data;
  const direction = reason === "below" ? "fell below" : "rose to or above";
  return {
    says: `steadiness is ${steadiness}; it ${direction} ${level}`,
    details: [
      `Rank ${rank} of ${peers} ${CLASS_PLURALS[assetClass]}, the steadiest first.`,
      STEADINESS_MEANING,
    ],
  };
}

const signedPercent = (value: number): string =>
  `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)} %`;

/** Formats an ISO 8601 instant for people, for example "2026-11-23 21:00 UTC". */
const moment = (iso: string): string => `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
