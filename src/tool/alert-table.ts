import { z } from "zod";
import { InstantAnswer } from "../answers/shared-members.ts";
import { columnOf, columnsOf, memberColumns } from "../tables/row.ts";
import { AlertAnswer, AttemptAnswer, type CreatorFields, EventAnswer } from "./alert.ts";

const alertColumn = columnOf<z.input<typeof AlertAnswer> & z.input<typeof CreatorFields>>();

/** Columns of the table of alerts. */
export const alertColumns = columnsOf({
  ...memberColumns(AlertAnswer, ["id", "status", "label"]),
  symbols: alertColumn(z.string().nullable(), ({ symbols }) => symbols?.join(" ") ?? null, {
    about: "With spaces between; empty: the watchlist or the filters choose.",
  }),
  ...memberColumns(AlertAnswer, ["watchlist", "assetClass", "signal"]),
  kinds: alertColumn(z.string(), ({ kinds }) => kinds.join(" "), { about: "With spaces between." }),
  ...memberColumns(AlertAnswer, ["scoreMove", "volatilityZ", "cooldownDays", "reportSessions"], {
    scoreMove: { about: "Points; empty: new signals alone." },
    cooldownDays: { about: "Empty: a session, for coins a quarter of a day." },
  }),
  delivery: alertColumn(z.string(), ({ delivery }) => delivery.type),
  url: alertColumn(z.string().nullable(), ({ delivery }) => delivery.url ?? null),
  state: alertColumn(z.string().nullable(), ({ delivery }) => delivery.state ?? null),
  ...memberColumns(AlertAnswer, ["createdAt", "expiresAt", "snoozedUntil"]),
  madeBy: alertColumn(z.string().nullable(), ({ madeBy }) => madeBy?.id ?? null, {
    about: "Empty: you.",
  }),
  ...memberColumns(AlertAnswer, ["steadinessLevel"]),
});

const eventColumn = columnOf<z.input<typeof EventAnswer>>();

/** A column that shows one member of an event's payload unchanged. */
const payloadColumn = (name: string, schema: z.ZodType) =>
  eventColumn(schema, ({ data }) => (data[name] as string | number | undefined) ?? null);

/** Columns of the table of events. */
export const eventColumns = columnsOf({
  ...memberColumns(EventAnswer, ["id", "type", "timestamp"]),
  alertId: payloadColumn("alertId", z.string()),
  symbol: payloadColumn("symbol", z.string()),
  sequence: payloadColumn("sequence", z.int()),
  asOf: payloadColumn("asOf", InstantAnswer),
  signal: payloadColumn("signal", z.string()),
  score: payloadColumn("score", z.int()),
  reason: payloadColumn("reason", z.string()),
  data: eventColumn(z.string(), ({ data }) => JSON.stringify(data), {
    about: "All that was sent, as JSON.",
  }),
});

/** Columns of the table of delivery attempts. */
export const attemptColumns = columnsOf({
  ...memberColumns(
    AttemptAnswer,
    ["at", "eventId", "type", "attempt", "httpStatus", "latencyMs", "error"],
    { httpStatus: { about: "Empty: no answer came." } },
  ),
  response: columnOf<z.input<typeof AttemptAnswer>>()(
    z.string(),
    ({ response }) => response.replace(/[^\P{Cc}\t\r\n]/gu, "\ufffd"),
    {
      about: "First 1 kB of the endpoint's response, untrusted; without control characters.",
    },
  ),
  ...memberColumns(AttemptAnswer, ["nextAttemptAt"]),
});
