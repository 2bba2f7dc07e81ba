import { z } from "zod";
import { panelColumns } from "../../answers/export-table.ts";
import { PUBLISHED_METHOD_VERSION } from "../../method/running.ts";
import { WIDGET_PATH_PREFIX } from "../../openbb/widget.ts";
import { widgetSources } from "../../openbb/widgets.ts";
import { PARQUET_MEDIA_TYPE } from "../../tables/parquet.ts";
import { PanelQuery } from "../../tool/export-page.ts";
import { MethodDocument, MethodQuery, MethodVersion } from "../../tool/method.ts";
import { LIMIT_HEADERS } from "../headers.ts";
import { jsonResponse, type Operation } from "../operation.ts";
import { PROTECTED_PROBLEMS } from "../problems.ts";
import { binaryContent, csvContent } from "../tables.ts";

/** The operation that exports scores for research. */
export const exportPanel = {
  id: "export_panel",
  method: "get",
  path: "/api/export",
  tag: "Market",
  summary: "Export scores, factors and prices",
  description: `Every session of a class with all its instruments, as known at its close. Pages of whole sessions: follow the header Link. Factors need \`factor:read\`.`,
  access: { scopes: ["signals:read"] },
  allowsAnyOrigin: true,
  query: PanelQuery,
  answers: {
    200: {
      description: "The rows, by date and symbol.",
      content: [
        csvContent({ panel: panelColumns({ dayMs: 86_400_000, hasFactors: true }) }),
        binaryContent(PARQUET_MEDIA_TYPE),
      ],
      headers: ["ETag", "Link", ...LIMIT_HEADERS],
    },
    304: { description: "Not modified.", headers: ["ETag", ...LIMIT_HEADERS] },
  },
  problems: PROTECTED_PROBLEMS,
} as const satisfies Operation;

const Widget = z
  .enum(widgetSources.map(({ name }) => name))
  .describe("Name of a widget of /widgets.json, or symbols for the list of instruments.");

/** Schema of all parameters of all widgets, each as a string. */
const Params = z.object(
  Object.fromEntries(
    widgetSources
      .flatMap(({ params }) => params)
      .map(({ paramName, description }) => [
        paramName,
        z.string().optional().describe(description),
      ]),
  ),
);

/** The operation whose results OpenBB Workspace displays. */
export const getOpenbbWidget = {
  id: "get_openbb_widget",
  method: "get",
  path: `${WIDGET_PATH_PREFIX}/{widget}`,
  tag: "Market",
  summary: "Get a widget of OpenBB Workspace",
  description:
    "The answer of a tool in the form in which OpenBB Workspace draws it. Needs the scopes of that tool; /widgets.json names it. Parameters that a widget does not have are ignored.",
  access: { scopes: [] },
  allowsAnyOrigin: true,
  pathMembers: z.object({ widget: Widget }),
  query: Params,
  answers: {
    200: jsonResponse(
      "Rows, figures with labels, or Markdown.",
      z.union([z.array(z.looseObject({})), z.string()]),
      ["ETag", ...LIMIT_HEADERS],
    ),
    304: { description: "Not modified.", headers: ["ETag", ...LIMIT_HEADERS] },
  },
  problems: [
    ...PROTECTED_PROBLEMS,
    "not_found",
    "unknown_symbol",
    "ambiguous_symbol",
    "not_available_then",
  ],
} as const satisfies Operation;

/** The operation that publishes the scoring method. */
export const getMethod = {
  id: "get_method",
  method: "get",
  path: "/api/method/{version}",
  tag: "Market",
  summary: "Get the scoring method",
  description:
    "Weights, thresholds and tables of peers, to recompute the score in any answer of get_factors.",
  access: { scopes: ["factor:read"] },
  allowsAnyOrigin: true,
  pathMembers: z.object({
    version: MethodVersion.meta({
      description: "methodVersion of an answer.",
      examples: [PUBLISHED_METHOD_VERSION],
    }),
  }),
  query: MethodQuery,
  answers: {
    200: jsonResponse("The method with the requested tables.", MethodDocument, [
      "ETag",
      ...LIMIT_HEADERS,
    ]),
    304: { description: "Not modified.", headers: ["ETag"] },
  },
  problems: [...PROTECTED_PROBLEMS, "not_found", "not_available_then"],
} as const satisfies Operation;

/** Operations on the market, apart from those that are offered as tools. */
export const marketOperations: readonly Operation[] = [exportPanel, getOpenbbWidget, getMethod];
