import { z } from "zod";
import type { Caller } from "../src/access/caller.ts";
import { ALERT_STATUSES, isOwnedBy } from "../src/alerts/alert.ts";
import type { AlertView } from "../src/alerts/api/queries.ts";
import { CursorInput, isoInstant, Provenance } from "../src/answers/shared-members.ts";
import { Problem } from "../src/lib/problem.ts";
import { type TablePage, tableOf } from "../src/tables/table.ts";
import {
  AlertAnswer,
  AlertDetailAnswer,
  alertAnswer,
  alertDetailAnswer,
  CreatorFields,
} from "../src/tool/alert.ts";
import { AlertIdInput } from "../src/tool/alert-input.ts";
import { alertColumns } from "../src/tool/alert-table.ts";
import { paginate, readablePage } from "../src/tool/pagination.ts";
import { defineTool, type ToolCall, type ToolContext } from "../src/tool/tool.ts";

const Input = z.strictObject({
  id: AlertIdInput.optional(),
  status: z.enum(ALERT_STATUSES).optional().describe("Only this status."),
  limit: z.number().int().min(1).max(100).default(50).describe("Maximum items per page."),
  cursor: CursorInput.optional(),
});

type Query = z.output<typeof Input>;

/**
 * The tool that lists the caller's alerts; for a person's API key, the alerts of all clients that
 * act for the person.
 */
export const listAlerts = defineTool({
  name: "list_alerts",
  title: "List alerts",
  description:
    "Your alerts; with id one of them, with the health of its endpoint and pending deliveries.",
  scopes: ["signals:read"],
  routes: [
    { method: "GET", path: "/api/alerts" },
    { method: "GET", path: "/api/alerts/{id}" },
  ],
  input: Input,
  output: z.union([
    z.object({
      ...AlertDetailAnswer.shape,
      ...CreatorFields.shape,
      market: Provenance.shape.market,
    }),
    z.object({
      market: Provenance.shape.market,
      items: z.array(z.object({ ...AlertAnswer.shape, ...CreatorFields.shape })),
      others: z
        .number()
        .int()
        .min(0)
        .describe(
          "Alerts of your person that other clients made; the person can see and delete them.",
        ),
      nextCursor: z.string().nullable(),
    }),
  ]),

  tables: { kinds: { alerts: alertColumns }, read: table },

  async run(query, { alerts, market: { mode: market } }, { caller }) {
    const { id, status, cursor } = query;
    if (id !== undefined) {
      rejectFilters({ status, cursor });
      const alert = await alerts.find(caller, id);
      return { ...alertDetailAnswer(alert), ...madeBy(alert, caller), market };
    }
    const { alerts: all, others } = await alerts.list(caller);
    const page = readablePage(chosen(all, query), {
      ...requestOf(query),
      render: (alert) => ({ ...alertAnswer(alert), ...madeBy(alert, caller) }),
    });
    return { market, items: page.items, others, nextCursor: page.nextCursor };
  },
});

const chosen = (all: readonly AlertView[], { status }: Query): readonly AlertView[] =>
  all.filter((alert) => status === undefined || alert.status === status);

/** Request for the page of alerts that a query asks for. */
const requestOf = ({ limit, cursor }: Query) => ({
  list: "alerts",
  limit,
  cursor,
  keyOf: pageKeyOf,
  order: "ascending" as const,
});

/**
 * A table of alerts, or of a single alert.
 * @throws {Problem}
 */
async function table(
  query: Query,
  { alerts }: ToolContext,
  { caller }: ToolCall,
): Promise<TablePage> {
  const { id, status, cursor } = query;
  if (id !== undefined) rejectFilters({ status, cursor });
  const all =
    id === undefined ? (await alerts.list(caller)).alerts : [await alerts.find(caller, id)];
  const { items, nextCursor } = paginate(chosen(all, query), requestOf(query));
  const rows = items.map((alert) => ({ ...alertAnswer(alert), ...madeBy(alert, caller) }));
  return { ...tableOf(alertColumns, rows), nextCursor };
}

function madeBy({ alert: { owner } }: AlertView, caller: Caller): z.input<typeof CreatorFields> {
  if (isOwnedBy(owner, caller)) return {};
  const { kind, id, clientId = "" } = owner;
  switch (kind) {
    case "agent":
      return { madeBy: { type: "agent", id } };
    case "user":
      return { madeBy: { type: "application", id: clientId } };
    case "service":
      return { madeBy: { type: "key", id } };
  }
}

/**
 * Page key of an alert. The key increases through the list, so that a page can continue after an
 * alert that was deleted in the meantime.
 */
const pageKeyOf = ({ id, alert }: AlertView): string => `${isoInstant(alert.createdAt)} ${id}`;

/**
 * Rejects filters in a query by id.
 * @throws {Problem} `invalid_request`
 */
function rejectFilters(filters: Readonly<Record<string, string | undefined>>): void {
  const given = Object.keys(filters).filter((name) => filters[name] !== undefined);
  if (given.length === 0) return;
  throw new Problem("invalid_request", {
    detail: `${given.join(", ")}: with an id there is one alert.`,
    next: "Omit the id or everything else.",
  });
}
