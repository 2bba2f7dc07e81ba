import { z } from "zod";
import { ALERT_STATUSES } from "../src/alerts/alert.ts";
import type { SeenAlert } from "../src/alerts/reading.ts";
import { AlertAnswer, AlertDetail, alertAnswer, alertDetail } from "../src/answers/alert.ts";
import { AlertIdInput } from "../src/answers/alert-input.ts";
import { CursorInput, isoInstant, Provenance } from "../src/answers/common.ts";
import { cutPage } from "../src/page.ts";
import { Problem } from "../src/problem.ts";
import { defineTool } from "../src/tool.ts";

/** The caller's own alerts. */
export const listAlerts = defineTool({
  name: "list_alerts",
  title: "List alerts",
  description:
    "Your alerts, or with id one of them with the health of its endpoint and what waits.",
  scope: "alerts:write",
  routes: [
    { method: "GET", path: "/api/alerts" },
    { method: "GET", path: "/api/alerts/{id}" },
  ],
  input: z.strictObject({
    id: AlertIdInput.optional(),
    status: z.enum(ALERT_STATUSES).optional().describe("Only this status."),
    limit: z.number().int().min(1).max(100).default(50).describe("Most items of a page."),
    cursor: CursorInput.optional(),
  }),
  output: z.union([
    z.object({ ...AlertDetail.shape, market: Provenance.shape.market }),
    z.object({
      market: Provenance.shape.market,
      items: z.array(AlertAnswer),
      nextCursor: z.string().nullable(),
    }),
  ]),

  async run({ id, status, limit, cursor }, { alerts, market: { mode: market } }, { caller }) {
    if (id !== undefined) {
      refuseFilters({ status, cursor });
      return { ...alertDetail(await alerts.find(caller, id)), market };
    }
    const own = await alerts.list(caller);
    const chosen = own.filter((alert) => status === undefined || alert.status === status);
    const page = cutPage(chosen, {
      list: "alerts",
      limit,
      cursor,
      keyOf: placeOf,
      order: "ascending",
    });
    return { market, items: page.items.map(alertAnswer), nextCursor: page.nextCursor };
  },
});

/** Rises through the list, so that it goes on behind an alert that was deleted meanwhile. */
const placeOf = ({ id, alert }: SeenAlert): string => `${isoInstant(alert.createdAt)} ${id}`;

/** @throws {Problem} `invalid_request` for what chooses among several. */
function refuseFilters(filters: Readonly<Record<string, string | undefined>>): void {
  const given = Object.keys(filters).filter((name) => filters[name] !== undefined);
  if (given.length === 0) return;
  throw new Problem("invalid_request", {
    detail: `${given.join(", ")}: with an id there is one alert.`,
    next: "Leave the id or the rest out.",
  });
}
