import { z } from "zod";
import { AttemptAnswer, attemptAnswer, EventAnswer, eventAnswer } from "../src/answers/alert.ts";
import { AlertIdInput } from "../src/answers/alert-input.ts";
import { CursorInput, Provenance, provenance } from "../src/answers/common.ts";
import { startOf, WhenInput } from "../src/answers/when.ts";
import { alertScopes } from "../src/auth/scopes.ts";
import { readableItems } from "../src/lib/pagination.ts";
import { Problem } from "../src/problem.ts";
import { type Call, defineTool, type ToolContext } from "../src/tool.ts";

const Input = z.strictObject({
  view: z
    .enum(["events", "deliveries"])
    .default("events")
    .describe(
      "events, oldest first; deliveries: attempts at the webhook of alertId, newest first.",
    ),
  alertId: AlertIdInput.optional(),
  since: WhenInput.optional().describe("Without a cursor: start of the events."),
  cursor: CursorInput.optional(),
  limit: z.number().int().min(1).max(100).default(20).describe("Maximum items per page."),
});

type Query = z.output<typeof Input>;

/** Events of alerts, and their deliveries. */
export const getAlertEvents = defineTool({
  name: "get_alert_events",
  title: "Get alert events",
  description:
    "Events of your alerts in the last 30 days, also those sent to webhooks. To poll, send the last nextCursor as cursor: no event is missed. view deliveries is the log of a webhook.",
  scopes: alertScopes,
  routes: [
    { method: "GET", path: "/api/alerts/events" },
    { method: "GET", path: "/api/alerts/{alertId}/deliveries", with: { view: "deliveries" } },
  ],
  input: Input,
  output: z.object({
    asOf: Provenance.shape.asOf,
    market: Provenance.shape.market,
    events: z.array(EventAnswer).optional(),
    deliveries: z.array(AttemptAnswer).optional(),
    nextCursor: z
      .string()
      .nullable()
      .describe("Cursor of the next call; with deliveries null on the last page."),
    hasMore: z.boolean().describe("Whether there is another page now."),
  }),

  async run(query, context, call) {
    const { asOf, market } = provenance(context, context.market.knownUntil());
    const page = query.view === "events" ? events(query, context, call) : log(query, context, call);
    return { asOf, market, ...(await page) };
  },
});

/** A page of events. */
interface EventsAnswer {
  readonly events: z.input<typeof EventAnswer>[];
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
}

/** A page of deliveries. */
interface DeliveriesAnswer {
  readonly deliveries: z.input<typeof AttemptAnswer>[];
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
}

async function events(query: Query, context: ToolContext, call: Call): Promise<EventsAnswer> {
  const { alertId, since, cursor, limit } = query;
  const begin = since === undefined ? undefined : startOf(since, context.market);
  const asked = { alertId, since: begin, cursor, limit };
  const page = await context.alerts.events(call.caller, asked);
  const readable = readableItems(page.events.map(eventAnswer));
  // A shorter page has a cursor of its own.
  if (readable.length < page.events.length) {
    return events({ ...query, limit: readable.length }, context, call);
  }
  return {
    events: readable,
    nextCursor: page.cursor ?? null,
    hasMore: page.hasMore,
  };
}

async function log(query: Query, context: ToolContext, call: Call): Promise<DeliveriesAnswer> {
  const { alertId, since, cursor, limit } = query;
  if (alertId === undefined || since !== undefined) {
    throw new Problem("invalid_request", {
      detail: "alertId, since: deliveries are those of one alert, newest first.",
      next: "Give alertId and omit since.",
    });
  }
  const { alerts } = context;
  const page = await alerts.attempts({ caller: call.caller, alertId }, { cursor, limit });
  const readable = readableItems(page.attempts.map(attemptAnswer));
  if (readable.length < page.attempts.length) {
    return log({ ...query, limit: readable.length }, context, call);
  }
  return {
    deliveries: readable,
    nextCursor: page.cursor ?? null,
    hasMore: page.cursor !== undefined,
  };
}
