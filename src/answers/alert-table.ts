import type { z } from "zod";
import { type Column, memberColumn } from "../tables/table.ts";
import type { AlertAnswer, AttemptAnswer, CreatorFields, EventAnswer } from "./alert.ts";

type Alert = z.input<typeof AlertAnswer> & z.input<typeof CreatorFields>;

const ofAlert = memberColumn<Alert>();

/** Columns of alerts. */
export const alertColumns: readonly Column<Alert>[] = [
  ofAlert("id", "text"),
  ofAlert("status", "text"),
  ofAlert("label", "text"),
  {
    name: "symbols",
    type: "text",
    about: "With spaces between; empty: the watchlist or the filters choose.",
    cell: ({ symbols }) => symbols?.join(" ") ?? null,
  },
  ofAlert("watchlist", "text"),
  ofAlert("assetClass", "text"),
  ofAlert("signal", "text"),
  {
    name: "kinds",
    type: "text",
    about: "With spaces between.",
    cell: ({ kinds }) => kinds.join(" "),
  },
  ofAlert("scoreMove", "number", "Points; empty: new signals alone."),
  ofAlert("volatilityZ", "number"),
  ofAlert("cooldownDays", "number", "Empty: a session, for coins a quarter of a day."),
  ofAlert("reportSessions", "integer"),
  { name: "delivery", type: "text", cell: ({ delivery }) => delivery.type },
  { name: "url", type: "text", cell: ({ delivery }) => delivery.url ?? null },
  { name: "state", type: "text", cell: ({ delivery }) => delivery.state ?? null },
  ofAlert("createdAt", "instant"),
  ofAlert("expiresAt", "instant"),
  ofAlert("snoozedUntil", "instant"),
  { name: "madeBy", type: "text", about: "Empty: you.", cell: ({ madeBy }) => madeBy?.id ?? null },
];

type Event = z.input<typeof EventAnswer>;

const ofEvent = memberColumn<Event>();

/** A column for a member of an event's payload, as it was sent. */
const payloadColumn = (name: string, type: Column<Event>["type"]): Column<Event> => ({
  name,
  type,
  cell: ({ data }) => (data[name] as string | number | undefined) ?? null,
});

/** Columns of events. */
export const eventColumns: readonly Column<Event>[] = [
  ofEvent("id", "text"),
  ofEvent("type", "text"),
  ofEvent("timestamp", "instant"),
  payloadColumn("alertId", "text"),
  payloadColumn("symbol", "text"),
  payloadColumn("sequence", "integer"),
  payloadColumn("asOf", "instant"),
  payloadColumn("signal", "text"),
  payloadColumn("score", "integer"),
  payloadColumn("reason", "text"),
  {
    name: "data",
    type: "text",
    about: "All that was sent, as JSON.",
    cell: ({ data }) => JSON.stringify(data),
  },
];

const ofAttempt = memberColumn<z.input<typeof AttemptAnswer>>();

/** Columns of attempts to deliver. */
export const attemptColumns: readonly Column<z.input<typeof AttemptAnswer>>[] = [
  ofAttempt("at", "instant"),
  ofAttempt("eventId", "text"),
  ofAttempt("type", "text"),
  ofAttempt("attempt", "integer"),
  ofAttempt("httpStatus", "integer", "Empty: no answer came."),
  ofAttempt("latencyMs", "number"),
  ofAttempt("error", "text"),
  {
    name: "response",
    type: "text",
    about: "First 1 kB of the endpoint's response, untrusted; without control characters.",
    cell: ({ response }) => response.replace(/[^\P{Cc}\t\r\n]/gu, "\ufffd"),
  },
  ofAttempt("nextAttemptAt", "instant"),
];
