import { findInstruments } from "../../../tools/find-instruments.ts";
import { strongEtag } from "../../lib/etag.ts";
import { Problem } from "../../lib/problem.ts";
import { getOpenbbWidget } from "../../openapi/operations/market.ts";
import { NO_FILTER, type WidgetData, type WidgetSource } from "../../openbb/widget.ts";
import { widgetSources } from "../../openbb/widgets.ts";
import type { Tool, ToolCall } from "../../tool/tool.ts";
import { type Admit, operationRoute } from "../operation-routes.ts";
import type { ProtectedResource } from "../protected-resource.ts";
import { queryOf } from "../request-context.ts";
import type { Route } from "../route-table.ts";
import { sendAnswer } from "../send-response.ts";
import type { TableTool, ToolAnswers } from "./answers.ts";

/**
 * GET /api/openbb/{widget}: the result of a tool in the format that an OpenBB Workspace widget
 * displays.
 */
export function openbbRoute(answers: ToolAnswers, api: ProtectedResource, admit: Admit): Route {
  return operationRoute(getOpenbbWidget, admit, async ({ context, caller }) => {
    const source = sourceOf(context.params.widget ?? "");
    api.requireScopes(caller, source.tool.scopes);
    const call = { caller, scopes: caller.scopes, idempotencyKey: undefined };
    const drawn = await draw(source, queryOf(context.req), call, answers);
    const json = JSON.stringify(drawn);
    await sendAnswer(context, { value: Object(drawn), json, etag: strongEtag(json) });
  });
}

/**
 * Finds a widget by name.
 *
 * @throws {Problem} `not_found` for an unknown name; its `next` lists the known names.
 */
function sourceOf(name: string): WidgetSource {
  const source = widgetSources.find((one) => one.name === name);
  if (source !== undefined) return source;
  throw new Problem("not_found", {
    detail: "There is no such widget.",
    next: `Use one of: ${widgetSources.map((one) => one.name).join(", ")}. /widgets.json describes them.`,
  });
}

async function draw(
  { tool, input, params, reads, shape }: WidgetSource,
  query: URLSearchParams,
  call: ToolCall,
  answers: ToolAnswers,
): Promise<WidgetData> {
  const asked = { ...input, ...chosenInput(params, query) };
  const isOfOne = params.some(({ paramName }) => paramName === "symbol");
  const full =
    isOfOne && !("symbol" in asked)
      ? { ...asked, symbol: await firstSymbol(call, answers) }
      : asked;
  const read =
    reads === "rows"
      ? await rowsOf(tool, full, call, answers)
      : (await answers.of(tool, full, call)).value;
  return shape === undefined ? (read as readonly object[]) : shape(read);
}

/**
 * Reads the widget parameters from the query string. Skips parameters that Workspace adds, such as
 * `theme`; empty values, which Workspace sends for unset parameters; and the value `NO_FILTER` of a
 * drop-down list.
 */
function chosenInput(
  params: WidgetSource["params"],
  query: URLSearchParams,
): Readonly<Record<string, string | number>> {
  const chosen = params.flatMap(({ paramName, type, options }) => {
    const value = query.get(paramName) ?? "";
    if (value === "" || (options !== undefined && value === NO_FILTER)) return [];
    return [[paramName, type === "number" ? Number(value) : value] as const];
  });
  return Object.fromEntries(chosen);
}

/**
 * Symbol that a widget shows until the user selects an instrument: the first in the list.
 *
 * @throws {Problem} `not_found` while no instrument is covered.
 */
async function firstSymbol(call: ToolCall, answers: ToolAnswers): Promise<string> {
  const [row] = await rowsOf(findInstruments, { limit: 1 }, call, answers);
  if (row !== undefined) return String(row.symbol);
  throw new Problem("not_found", {
    detail: "No instrument is covered yet.",
    next: "Ask again in a moment; GET /api/health says how many there are.",
  });
}

/** Runs a tool and returns its table rows as objects, keyed by column name. */
async function rowsOf(
  tool: Tool,
  input: object,
  call: ToolCall,
  answers: ToolAnswers,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { columns, rows } = await answers.tableOf(tool as TableTool, input, call);
  return Array.from(rows, (cells) =>
    Object.fromEntries(columns.map(({ name }, place) => [name, cells[place]])),
  );
}
