import { callerKey } from "../../access/caller.ts";
import type { Limits } from "../../limits/quotas.ts";
import { exportOperations } from "../../openapi/operations/export.ts";
import { PanelQuery, panelPage } from "../../tool/export-page.ts";
import type { ToolContext } from "../../tool/tool.ts";
import { routeOf } from "../mount.ts";
import type { OpenStreams } from "../open-streams.ts";
import type { ProtectedResource } from "../protected-resource.ts";
import { requireWithinLimits } from "../rate-limits.ts";
import { queryParameters } from "../request-context.ts";
import type { Route } from "../route-table.ts";
import { createTableEtags } from "./answers.ts";
import { parseInput } from "./parse.ts";
import { sendTable } from "./table-response.ts";

const [exportPanel] = exportOperations;

/** Dependencies of the export. */
export interface ExportOptions {
  readonly context: ToolContext;
  readonly api: ProtectedResource;
  readonly limits: Limits;
  readonly streams: OpenStreams;
}

/** GET /api/export: scores, factors and prices of all instruments of an asset class over time. */
export function exportRoute({ context, api, limits, streams }: ExportOptions): Route {
  const versionOf = createTableEtags(context);
  return routeOf(exportPanel, async (request) => {
    const caller = await api.authorize(request, ["signals:read"]);
    requireWithinLimits(request.res, [await limits.count("exports", callerKey(caller))]);
    const query = parseInput(PanelQuery, queryParameters(request.req));
    const hasFactors = caller.scopes.has("factor:read");
    const page = panelPage(query, context, hasFactors);
    const etag = versionOf(`panel ${hasFactors} ${JSON.stringify(query)}`);
    const { format } = query;
    await sendTable({ context: request, caller, streams }, { ...page, format, etag });
  });
}
