import { z } from "zod";
import { alertScopes } from "../src/access/scopes.ts";
import { CursorInput, Provenance, provenance } from "../src/answers/shared-members.ts";
import { Problem } from "../src/lib/problem.ts";
import { type TablePage, tableOf } from "../src/tables/table.ts";
import {
  AttemptAnswer,
  attemptAnswer,
  EventAnswer,
  eventAnswer,
  extractSourceTerms,
} from "../src/tool/alert.ts";
import { AlertIdInput } from "../src/tool/alert-input.ts";
import { attemptColumns, eventColumns } from "../src/tool/alert-table.ts";
import { readableItems } from "../src/tool/pagination.ts";
import { defineTool, type ToolCall, type ToolContext } from "../src/tool/tool.ts";
import { DayOrInstantInput, rangeStartInstant } from "../src/tool/when.ts";

/** Maximum number of items on a page. */
const MAX_ITEMS = 100;

const Input = z.strictObject({
  view: z
    .enum(["events", "deliveries"])
    .default("events")
    .describe(
      "events, oldest first; deliveries: attempts at the webhook of alertId, newest first.",
    ),
  alertId: AlertIdInput.optional(),
  since: DayOrInstantInput.optional().describe("Without a cursor: start of the events."),
  cursor: CursorInput.optional(),
  limit: z.number().int().min(1).max(MAX_ITEMS).default(20).describe("Maximum items per page."),
});

type Query = z.output<typeof Input>;

/** The tool that returns the events of alerts, or their deliveries. */
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
    terms: z
      .record(z.string(), z.string())
      .optional()
      .describe("With events: the terms of their sources, by id."),
    deliveries: z.array(AttemptAnswer).optional(),
    nextCursor: z
      .string()
      .nullable()
      .describe("Cursor of the next call; with deliveries null on the last page."),
    hasMore: z.boolean().describe("Whether there is another page now."),
  }),

  tables: { kinds: { events: eventColumns, deliveries: attemptColumns }, read: table },

  async run(query, context, call) {
    const { asOf, market } = provenance(context, context.market.knownUntil());
    const page = query.view === "events" ? events(query, context, call) : log(query, context, call);
    return { asOf, market, ...(await page) };
  },
});

async function events(query: Query, context: ToolContext, call: ToolCall) {
  const page = await eventPage(query, context, call);
  const { events: told, terms } = extractSourceTerms(page.events.map(eventAnswer));
  const readable = readableItems(told);
  // The shorter page is read again, because its cursor must point to its own last event.
  if (readable.length < page.events.length) {
    return events({ ...query, limit: readable.length }, context, call);
  }
  return {
    events: readable,
    terms,
    nextCursor: page.cursor,
    hasMore: page.hasMore,
  };
}

function eventPage(query: Query, { alerts, market }: ToolContext, { caller }: ToolCall) {
  const { alertId, since, cursor, limit } = query;
  const begin = since === undefined ? undefined : rangeStartInstant(since, market);
  return alerts.events(caller, { alertId, since: begin, cursor, limit });
}

async function log(query: Query, context: ToolContext, call: ToolCall) {
  const page = await attemptPage(query, context, call);
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

/**
 * A page of delivery attempts.
 * @throws {Problem} `invalid_request` without an alert id, or with `since`.
 */
function attemptPage(
  { alertId, since, cursor, limit }: Query,
  { alerts }: ToolContext,
  { caller }: ToolCall,
) {
  if (alertId === undefined || since !== undefined) {
    throw new Problem("invalid_request", {
      detail: "alertId, since: deliveries are those of one alert, newest first.",
      next: "Give alertId and omit since.",
    });
  }
  return alerts.attempts({ caller, alertId }, { cursor, limit });
}

/**
 * A page of events or deliveries as a table. It has at most `MAX_ITEMS` rows, so that the archive
 * is never read as a whole.
 * @throws {Problem}
 */
async function table(wish: Query, context: ToolContext, call: ToolCall): Promise<TablePage> {
  const query: Query = { ...wish, limit: Math.min(wish.limit, MAX_ITEMS) };
  if (query.view === "deliveries") {
    const { attempts, cursor = null } = await attemptPage(query, context, call);
    return { ...tableOf(attemptColumns, attempts.map(attemptAnswer)), nextCursor: cursor };
  }
  const { events, cursor = null, hasMore } = await eventPage(query, context, call);
  const nextCursor = hasMore ? cursor : null;
  return { ...tableOf(eventColumns, events.map(eventAnswer)), nextCursor };
}
