import type { z } from "zod";
import { type Column, createMemberColumn } from "../tables/table.ts";
import type { AlertAnswer, AttemptAnswer, CreatorFields, EventAnswer } from "./alert.ts";

type Alert = z.input<typeof AlertAnswer> & z.input<typeof CreatorFields>;

const alertColumn = createMemberColumn<Alert>();

/** Columns of the table of alerts. */
export const alertColumns: readonly Column<Alert>[] = [
  alertColumn("id", "text"),
  alertColumn("status", "text"),
  alertColumn("label", "text"),
  {
    name: "symbols",
    type: "text",
    about: "With spaces between; empty: the watchlist or the filters choose.",
    cell: ({ symbols }) => symbols?.join(" ") ?? null,
  },
  alertColumn("watchlist", "text"),
  alertColumn("assetClass", "text"),
  alertColumn("signal", "text"),
  {
    name: "kinds",
    type: "text",
    about: "With spaces between.",
    cell: ({ kinds }) => kinds.join(" "),
  },
  alertColumn("scoreMove", "number", "Points; empty: new signals alone."),
  alertColumn("volatilityZ", "number"),
  alertColumn("cooldownDays", "number", "Empty: a session, for coins a quarter of a day."),
  alertColumn("reportSessions", "integer"),
  { name: "delivery", type: "text", cell: ({ delivery }) => delivery.type },
  { name: "url", type: "text", cell: ({ delivery }) => delivery.url ?? null },
  { name: "state", type: "text", cell: ({ delivery }) => delivery.state ?? null },
  alertColumn("createdAt", "instant"),
  alertColumn("expiresAt", "instant"),
  alertColumn("snoozedUntil", "instant"),
  { name: "madeBy", type: "text", about: "Empty: you.", cell: ({ madeBy }) => madeBy?.id ?? null },
  alertColumn("steadinessLevel", "integer"),
];

type Event = z.input<typeof EventAnswer>;

const eventColumn = createMemberColumn<Event>();

/** A column that shows one member of an event's payload unchanged. */
const payloadColumn = (name: string, type: Column<Event>["type"]): Column<Event> => ({
  name,
  type,
  cell: ({ data }) => (data[name] as string | number | undefined) ?? null,
});

/** Columns of the table of events. */
export const eventColumns: readonly Column<Event>[] = [
  eventColumn("id", "text"),
  eventColumn("type", "text"),
  eventColumn("timestamp", "instant"),
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

const attemptColumn = createMemberColumn<z.input<typeof AttemptAnswer>>();

/** Columns of the table of delivery attempts. */
export const attemptColumns: readonly Column<z.input<typeof AttemptAnswer>>[] = [
  attemptColumn("at", "instant"),
  attemptColumn("eventId", "text"),
  attemptColumn("type", "text"),
  attemptColumn("attempt", "integer"),
  attemptColumn("httpStatus", "integer", "Empty: no answer came."),
  attemptColumn("latencyMs", "number"),
  attemptColumn("error", "text"),
  {
    name: "response",
    type: "text",
    about: "First 1 kB of the endpoint's response, untrusted; without control characters.",
    cell: ({ response }) => response.replace(/[^\P{Cc}\t\r\n]/gu, "\ufffd"),
  },
  attemptColumn("nextAttemptAt", "instant"),
];
