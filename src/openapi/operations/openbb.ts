import { z } from "zod";
import { WIDGET_PATH_PREFIX } from "../../openbb/widget.ts";
import { widgetSources } from "../../openbb/widgets.ts";
import { LIMIT_HEADERS } from "../headers.ts";
import { jsonResponse, type Operation } from "../operation.ts";
import { PROTECTED_PROBLEMS } from "../problems.ts";
import { anyCredentialWith } from "../security.ts";

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

/** The operations whose results OpenBB Workspace displays. */
export const openbbOperations = [
  {
    id: "get_openbb_widget",
    method: "get",
    path: `${WIDGET_PATH_PREFIX}/{widget}`,
    tag: "Market",
    summary: "Get a widget of OpenBB Workspace",
    description:
      "The answer of a tool in the form in which OpenBB Workspace draws it. Needs the scopes of that tool; /widgets.json names it. Parameters that a widget does not have are ignored.",
    security: anyCredentialWith(),
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
  },
] as const satisfies readonly Operation[];
