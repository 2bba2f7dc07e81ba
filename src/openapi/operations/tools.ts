import { z } from "zod";
import { tools } from "../../../tools/index.ts";
import { isAboutAlerts, type Tool, type ToolRoute } from "../../tool/tool.ts";
import { LIMIT_HEADERS } from "../headers.ts";
import type { HttpMethod, Operation, SuccessResponse } from "../operation.ts";
import { BODY_PROBLEMS, PROTECTED_PROBLEMS } from "../problems.ts";
import { csvContent, FormatQuery } from "../tables.ts";
import { type RouteOverrides, routeOverridesOf } from "./tool-routes.ts";

const JSON_TYPE = { mediaType: "application/json" } as const;

/**
 * Schema of the header that makes it safe to retry a creation
 * (draft-ietf-httpapi-idempotency-key-header).
 */
const IdempotencyHeader = z.object({
  "Idempotency-Key": z
    .string()
    .optional()
    .describe(
      "1 to 255 visible ASCII characters. A repeated request within 24 hours creates no second resource.",
    ),
});

function operationOf(tool: Tool, route: ToolRoute): Operation {
  const overrides = routeOverridesOf(route);
  const { id = tool.name, summary = tool.title, description = tool.description } = overrides;
  return {
    id,
    summary,
    method: route.method.toLowerCase() as HttpMethod,
    path: route.path,
    tag: isAboutAlerts(tool) ? "Alerts" : "Market",
    description,
    access: { scopes: tool.scopes },
    allowsAnyOrigin: true,
    ...requestOf(tool, route, overrides),
    ...(overrides.exampleQuery && { exampleQuery: overrides.exampleQuery }),
    answers: {
      [route.status ?? 200]: answerOf(tool, route, overrides),
      ...(tool.isShared && { 304: NOT_MODIFIED }),
    },
    problems: [
      ...PROTECTED_PROBLEMS,
      ...(hasBody(route) ? BODY_PROBLEMS : []),
      ...(overrides.problems ?? []),
    ],
  };
}

const hasBody = ({ method }: ToolRoute): boolean => method === "POST" || method === "PATCH";

/** Splits the input of a route into path parameters and query or body members. */
function requestOf(
  { input, tables }: Tool,
  route: ToolRoute,
  { inputs }: RouteOverrides,
): Pick<Operation, "pathMembers" | "query" | "header" | "body"> {
  const names = Object.keys(input.shape);
  const inPath = names.filter((name) => route.path.includes(`{${name}}`));
  const fixed = [...inPath, ...Object.keys(route.with ?? {})];
  const rest = names.filter((name) => !fixed.includes(name) && (inputs?.includes(name) ?? true));
  const members = partOf(input, rest);
  return {
    ...(inPath.length > 0 && { pathMembers: partOf(input, inPath).required() }),
    ...(route.status === 201 && { header: IdempotencyHeader }),
    ...(rest.length > 0 &&
      (hasBody(route)
        ? { body: { ...JSON_TYPE, schema: members } }
        : { query: tables ? members.extend(FormatQuery.shape) : members })),
  };
}

/** The schema of selected members of an input. */
function partOf(input: z.ZodObject, names: readonly string[]): z.ZodObject {
  const mask: Record<string, true> = Object.fromEntries(names.map((name) => [name, true]));
  return input.pick(mask as Parameters<typeof input.pick>[0]);
}

/** The response 304 (Not Modified) of cacheable tool results. */
const NOT_MODIFIED: SuccessResponse = {
  description: "Not modified.",
  headers: ["ETag", ...LIMIT_HEADERS],
};

function answerOf(
  { output, isShared, tables }: Tool,
  { status }: ToolRoute,
  { outputs }: RouteOverrides,
): SuccessResponse {
  const all = output instanceof z.ZodUnion ? output.options : [output];
  const chosen = all.filter((_, place) => outputs?.includes(place) ?? true);
  const [only, ...others] = chosen;
  const schema = others.length === 0 && only !== undefined ? only : z.union(chosen);
  return {
    description: status === 201 ? "The created resource." : "The result.",
    content: [{ ...JSON_TYPE, schema }, ...(tables ? [csvContent(tables.kinds)] : [])],
    headers: [
      ...(status === 201 ? (["Location"] as const) : []),
      ...(isShared ? (["ETag"] as const) : []),
      ...(tables ? (["Link"] as const) : []),
      ...LIMIT_HEADERS,
    ],
  };
}

/** The operations of all tool routes. */
export const toolOperations: readonly Operation[] = tools.flatMap((tool) =>
  tool.routes.map((route) => operationOf(tool, route)),
);
