import { callerKey } from "../../access/caller.ts";
import { Problem } from "../../lib/problem.ts";
import { partyAt } from "../../limits/address-key.ts";
import type { LimitLevel } from "../../limits/admission.ts";
import { concurrencyClasses } from "../../limits/classes.ts";
import { Concurrency } from "../../limits/concurrency.ts";
import { exportPanel } from "../../openapi/operations/market.ts";
import { panelPage } from "../../tool/export-page.ts";
import type { ToolContext } from "../../tool/tool.ts";
import { LoopTurns } from "../loop-turns.ts";
import type { OpenStreams } from "../open-streams.ts";
import { type Admit, operationRoute } from "../operation-routes.ts";
import type { Route } from "../route-table.ts";
import { createTableEtags } from "./answers.ts";
import { sendTable } from "./table-response.ts";

/** `Retry-After` of a refused export, in seconds. */
const RETRY_SECONDS = "10";

/** GET /api/export: scores, factors and prices of all instruments of an asset class over time. */
export function exportRoute(context: ToolContext, admit: Admit, streams: OpenStreams): Route {
  const versionOf = createTableEtags(context);
  const underWay = new Concurrency(concurrencyClasses.exports);
  const turns = new LoopTurns();
  return operationRoute(exportPanel, admit, async (request) => {
    const { caller } = request;
    const { res, ip } = request.context;
    const party = partyAt(ip, callerKey(caller));
    const level = underWay.refusing(party);
    if (level !== undefined) throw tooManyExports(level);
    if (!res.destroyed) res.once("close", underWay.enter(party));
    const turn = () => turns.next(party.network);
    const query = request.query();
    const hasFactors = caller.scopes.has("factor:read");
    await turn();
    if (res.destroyed) return;
    const page = panelPage(query, context, hasFactors);
    const etag = versionOf(`panel ${hasFactors} ${JSON.stringify(query)}`);
    const { format } = query;
    await sendTable({ ...request, streams, turn }, { ...page, format, etag });
  });
}

/** Who has as many exports under way as allowed, by the number that refuses one more. */
const HOLDERS = {
  caller: "You have",
  network: "Your network has",
  total: "All callers have",
} as const;

const tooManyExports = (level: LimitLevel): Problem =>
  new Problem("rate_limited", {
    detail: `${HOLDERS[level]} ${concurrencyClasses.exports[level]} exports under way already.`,
    next: "Read one to its end, or try again later.",
    headers: { "Retry-After": RETRY_SECONDS },
  });
