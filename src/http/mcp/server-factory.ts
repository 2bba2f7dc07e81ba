import {
  type AuthInfo,
  type CallToolResult,
  type InputRequiredResult,
  type McpRequestContext,
  McpServer,
  type ServerContext,
  type ServerOptions,
  type StandardSchemaWithJSON,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/server";
import { getSignal } from "../../../tools/get-signal.ts";
import { tools } from "../../../tools/index.ts";
import { mcpServerInfo, SERVER_NAME } from "../../../wellknown/server-card.ts";
import type { Caller } from "../../access/caller.ts";
import {
  DIRECTION_EVIDENCE_TEXT,
  DIRECTION_LIMITS_TEXT,
  SCORE_CAVEAT,
  SCORE_MEANING,
} from "../../answers/meaning.ts";
import { jsonSchema, schemaOutline } from "../../lib/json-schema.ts";
import { memo } from "../../lib/memo.ts";
import { Problem } from "../../lib/problem.ts";
import type { Tool, ToolContext } from "../../tool/tool.ts";
import type { ToolAnswers } from "../api/answers.ts";
import { appDocument } from "./app/app-document.ts";
import {
  type ClaimRequestOptions,
  createClaimRequest,
  type RequestClaim,
} from "./claim-request.ts";
import type { FastPathTargetNames } from "./fast-path.ts";
import { createPrompts, PROMPT_NAME } from "./prompts.ts";
import { APP_URI, LATEST_PROTOCOL_REVISION, mcpProtocol } from "./protocol.ts";
import { registerResources } from "./resources.ts";
import { toolResult } from "./tool-result-json.ts";

/**
 * Time for which clients may cache the lists of tools, resources and prompts, in milliseconds; they
 * change only with the version of the service.
 */
const LIST_TTL_MS = 300_000;
/** Time for which clients may cache the discovery response, in milliseconds. */
const DISCOVER_TTL_MS = 3_600_000;

const INSTRUCTIONS = `${SCORE_MEANING} Signals are LONG, SHORT or WAIT. Start with get_signal; get_factors gives the reasons, get_darkpool the off-exchange trades, find_instruments the symbols. register_alert notifies you of changes; if its answer is claim_required, do what next says. Read status, asOf and missingFactors before you rely on an answer; market sandbox means simulated data. ${SCORE_CAVEAT} ${DIRECTION_EVIDENCE_TEXT} ${DIRECTION_LIMITS_TEXT}`;

/** Additional features of a server, which the MCP conformance kits require. */
export interface McpExtension {
  readonly options: Pick<ServerOptions, "requestState">;
  readonly register: (server: McpServer) => void;
}

/** Dependencies of an MCP server. */
export interface McpServerOptions extends Pick<ClaimRequestOptions, "claims" | "limits"> {
  readonly context: ToolContext;
  readonly answers: ToolAnswers;
  readonly name: string;
  readonly version: string;
  /** Public origin without a trailing slash. */
  readonly baseUrl: string;
  /** Additional features; set only by tests. */
  readonly mcpAddition?: McpExtension | undefined;
  /** Called with every error that the caller did not cause. */
  readonly onError: (error: unknown) => void;
}

/** Creates the function that builds servers with tools, resources and prompts. The SDK path builds
 *  a server per request, so shared parts are built once. The caller is passed with each request. */
export function createServerFactory(options: McpServerOptions) {
  const { context, onError, mcpAddition } = options;
  const requestClaim = createClaimRequest(options);
  const info = mcpServerInfo(options);
  const registerPrompts = createPrompts(context);
  const appHtml = memo(() => appDocument(options));
  return ({ era }: Pick<McpRequestContext, "era">): McpServer => {
    const server = new McpServer(info, { ...settingsOf(era), ...mcpAddition?.options });
    for (const { tool, definition } of publishedTools) {
      server.registerTool(tool.name, definition, (input, { http, mcpReq: request }) =>
        call(tool, input, { ...options, ...senderIn(http?.authInfo), request, requestClaim }),
      );
    }
    const callerIn = (authInfo: AuthInfo | undefined) => senderIn(authInfo).caller;
    registerResources(server, { context, callerIn, onError, appHtml });
    registerPrompts(server);
    mcpAddition?.register(server);
    return server;
  };
}

/**
 * Settings of a server.
 *
 * @param era Only the modern era supports subscriptions: before 2026-07-28, a subscription outlives
 * its request, which requires sessions.
 */
const settingsOf = (era: McpRequestContext["era"]): ServerOptions => ({
  instructions: INSTRUCTIONS,
  supportedProtocolVersions:
    era === "modern" ? [LATEST_PROTOCOL_REVISION] : SUPPORTED_PROTOCOL_VERSIONS,
  capabilities: {
    ...mcpProtocol.capabilities,
    resources: { ...mcpProtocol.capabilities.resources, subscribe: era === "modern" },
  },
  cacheHints: {
    "tools/list": { ttlMs: LIST_TTL_MS, cacheScope: "public" },
    "resources/list": { ttlMs: LIST_TTL_MS, cacheScope: "public" },
    "resources/templates/list": { ttlMs: LIST_TTL_MS, cacheScope: "public" },
    "prompts/list": { ttlMs: LIST_TTL_MS, cacheScope: "public" },
    "server/discover": { ttlMs: DISCOVER_TTL_MS, cacheScope: "public" },
  },
});

/**
 * Annotations of a tool. `openWorldHint` is set for tools that change data, because they may make
 * this service call a URL of the caller.
 */
const annotationsOf = ({ title, effect }: Tool) => ({
  title,
  readOnlyHint: effect === undefined,
  destructiveHint: effect?.isDestructive ?? false,
  idempotentHint: effect === undefined,
  openWorldHint: effect !== undefined,
});

/** The sender of a message. */
interface Sender {
  readonly caller: Caller;
  /** Network address; `undefined` if the sender has disconnected. */
  readonly ip: string | undefined;
}

/** The caller in the form in which the SDK passes it to tools, without the token. */
export const authInfoOf = (caller: Caller, ip: string | undefined): AuthInfo => ({
  token: "",
  clientId: caller.clientId ?? caller.id,
  scopes: [...caller.scopes],
  extra: { caller, ip },
});

const senderIn = (authInfo: AuthInfo | undefined): Sender => authInfo?.extra as unknown as Sender;

/**
 * Metadata that links `get_signal` to the app, which draws its answers, under the current key and
 * the key that older hosts read. Clients do not show `_meta` to models. Every client gets the link,
 * because a list must not depend on the connection; clients that do not support apps ignore it.
 */
const APP_LINK = { ui: { resourceUri: APP_URI }, "ui/resourceUri": APP_URI };

/** The tools with their published schemas, created once. */
const publishedTools = tools.map((tool) => ({
  tool,
  definition: {
    title: tool.title,
    description: tool.description,
    inputSchema: publishedSchema(jsonSchema(tool.input, "input")),
    outputSchema: publishedSchema(
      schemaOutline({ type: "object", ...jsonSchema(tool.output, "output") }),
    ),
    annotations: annotationsOf(tool),
    ...(tool.name === getSignal.name && { _meta: APP_LINK }),
  },
}));

/** Names of the tools that change data. */
export const mutatingToolNames: ReadonlySet<unknown> = new Set(
  tools.filter(({ effect }) => effect !== undefined).map(({ name }) => name),
);

/** Names of the service's own tools and prompts, by method. */
export const fastPathTargetNames: FastPathTargetNames = {
  "tools/call": new Set(tools.map(({ name }) => name)),
  "prompts/get": new Set([PROMPT_NAME]),
};

/**
 * A published schema that accepts any value; `call` validates inputs, with the same errors as REST.
 */
function publishedSchema(json: Record<string, unknown>): StandardSchemaWithJSON<object, object> {
  return {
    "~standard": {
      version: 1,
      vendor: SERVER_NAME,
      validate: (value) => ({ value: value as object }),
      jsonSchema: { input: () => json, output: () => json },
    },
  };
}

/** Context of a tool call. */
interface CallContext extends Sender, Pick<McpServerOptions, "answers" | "onError"> {
  readonly request: ServerContext["mcpReq"];
  readonly requestClaim: RequestClaim;
}

/**
 * Calls a tool. The endpoint has already rejected callers that lack a scope, except agents that
 * must be claimed first. Only the message of a `Problem` is returned; other errors are replaced
 * with a general text, because the SDK would send any error message to the model.
 */
async function call(
  tool: Tool,
  input: unknown,
  { answers, onError, caller, ip, request, requestClaim }: CallContext,
): Promise<CallToolResult | InputRequiredResult> {
  try {
    const isAllowed = tool.scopes.every((scope) => caller.scopes.has(scope));
    if (!isAllowed) return await requestClaim({ tool, caller, ip, request });
    const from = { caller, scopes: caller.scopes, idempotencyKey: undefined };
    const { value, json } = await answers.of(tool, input, from);
    return toolResult(value, json);
  } catch (error) {
    if (!(error instanceof Problem)) onError(error);
    const text = error instanceof Problem ? error.message : "internal_error: The call failed.";
    return { isError: true, content: [{ type: "text", text }] };
  }
}
