import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import {
  type AuthInfo,
  type JSONRPCRequest,
  type JSONRPCResponse,
  LOG_LEVEL_META_KEY,
  type McpServer,
  PROTOCOL_VERSION_META_KEY,
  type ProtocolEra,
  ProtocolErrorCode,
  RELATED_TASK_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/server";
import { hasPlainJsonType } from "./message-body.ts";
import { MuxTransport } from "./mux-transport.ts";
import { LATEST_PROTOCOL_REVISION } from "./protocol.ts";
import { resultJson } from "./tool-result-json.ts";

/** Dependencies of the fast path. */
interface FastPathOptions {
  readonly newServer: (about: { readonly era: ProtocolEra }) => McpServer;
  /** Called with the errors that the SDK reports. */
  readonly onReport: (error: unknown) => void;
}

/** Writes a response. */
type Write = (res: ServerResponse) => void;

/** Answers a request of an authorized caller. @returns `undefined` if the SDK's handler must answer
 *  it. */
type FastPath = (request: FastPathRequest, authInfo: AuthInfo) => Promise<Write> | undefined;

/**
 * Creates the fast path, which answers ordinary requests with servers that live as long as the
 * service. The SDK's own handler covers the whole protocol, but builds a server for each request,
 * which takes far longer than answering the request.
 */
export function createFastPath({ newServer, onReport }: FastPathOptions): FastPath {
  const start = (era: ProtocolEra): MuxTransport => {
    const { server } = newServer({ era });
    const transport = new MuxTransport(era, server);
    server.onerror = onReport;
    server.connect(transport).catch(onReport);
    return transport;
  };
  const transports = { modern: start("modern"), legacy: start("legacy") };
  return ({ era, message }, authInfo) => {
    const answering = transports[era].dispatch(message, authInfo);
    return answering?.then((response) => (res) => writers[era](res, response));
  };
}

type WriteResponse = (res: ServerResponse, response: JSONRPCResponse) => void;

/**
 * Writers of responses by protocol era, in the same format as the SDK's handler: JSON since
 * revision 2026-07-28, a server-sent event for earlier revisions.
 */
const writers: Readonly<Record<ProtocolEra, WriteResponse>> = {
  modern(res, response) {
    res.statusCode = statusOf(response);
    res.setHeader("Content-Type", "application/json");
    res.end(resultJson(response));
  },
  legacy(res, response) {
    res.setHeader("Content-Type", "text/event-stream");
    res.setHeader("Cache-Control", "no-cache, no-transform");
    res.setHeader("X-Accel-Buffering", "no");
    res.end(`event: message\ndata: ${resultJson(response)}\n\n`);
  },
};

/**
 * The HTTP status of a response: 400 for the one error for which MCP 2026-07-28 requires it,
 * otherwise 200.
 */
function statusOf(response: JSONRPCResponse): number {
  const code = "error" in response ? response.error.code : undefined;
  return code === ProtocolErrorCode.MissingRequiredClientCapability ? 400 : 200;
}

/** A message as received. */
export interface ReceivedMessage {
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** A request that the fast path can answer. */
interface FastPathRequest {
  readonly era: ProtocolEra;
  readonly message: JSONRPCRequest;
}

type Values = Readonly<Record<string, unknown>>;

/**
 * Target names that the fast path accepts, by method. For a method that is not listed, it accepts
 * any name.
 */
export type FastPathTargetNames = Readonly<Record<string, ReadonlySet<unknown>>>;

/**
 * Methods that have a single immediate response, each with the parameter that identifies its
 * target, if there is one.
 */
const methods: ReadonlyMap<unknown, "name" | "uri" | undefined> = new Map([
  ["tools/call", "name"],
  ["tools/list", undefined],
  ["resources/read", "uri"],
  ["resources/list", undefined],
  ["resources/templates/list", undefined],
  ["prompts/get", "name"],
  ["prompts/list", undefined],
  ["completion/complete", undefined],
]);

/** Parameters of a request that continues an earlier request. */
const CONTINUATION_PARAMETERS = ["inputResponses", "requestState", "task"];

/** Metadata that the fast path does not support: progress notifications, logging and tasks. */
const UNSUPPORTED_META = ["progressToken", LOG_LEVEL_META_KEY, RELATED_TASK_META_KEY];

/** Matches a name that `Mcp-Name` contains unencoded and that proxies do not alter. */
const PLAIN_NAME = /^(?!=\?)[!-~]+$/;

/**
 * Checks whether a message is an ordinary request: a single request that has a single response and
 * whose headers agree with its body. The server detects all other errors.
 *
 * @returns `undefined` for any other message.
 */
export function fastPathRequestOf(
  { headers, body }: ReceivedMessage,
  names: FastPathTargetNames,
): FastPathRequest | undefined {
  if (!hasPlainJsonType(headers) || !isKnownRequest(body)) return undefined;
  const { _meta: meta = {}, ...params } = body.params ?? {};
  if (hasAny(params, CONTINUATION_PARAMETERS) || hasAny(meta, UNSUPPORTED_META)) return undefined;
  const asked = { method: body.method, name: targetName(body.method, params) };
  if (names[asked.method]?.has(asked.name) === false) return undefined;
  const era = meta[PROTOCOL_VERSION_META_KEY] === undefined ? "legacy" : "modern";
  const fits =
    era === "legacy" ? acceptsLegacyResponse(headers) : matchesModernHeaders(headers, meta, asked);
  return fits ? { era, message: body } : undefined;
}

/** Members that a JSON-RPC request can have. */
const MEMBERS: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params"]);

/** Whether a message is a JSON-RPC request with a known method. The SDK's own check is slow. */
function isKnownRequest(body: unknown): body is JSONRPCRequest {
  if (!isObject(body) || !methods.has(body.method) || body.jsonrpc !== "2.0") return false;
  const isNamed = typeof body.id === "string" || Number.isSafeInteger(body.id);
  if (!isNamed || !Object.keys(body).every((name) => MEMBERS.has(name))) return false;
  const { params = {} } = body;
  if (!isObject(params)) return false;
  const { _meta = {} } = params;
  return isObject(_meta);
}

/**
 * Whether the headers of the latest revision (`MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name`)
 * agree with the message.
 */
function matchesModernHeaders(
  headers: IncomingHttpHeaders,
  meta: Values,
  { method, name }: { readonly method: string; readonly name: unknown },
): boolean {
  const versions = [headers["mcp-protocol-version"], meta[PROTOCOL_VERSION_META_KEY]];
  if (versions.some((version) => version !== LATEST_PROTOCOL_REVISION)) return false;
  if (headers["mcp-method"] !== method) return false;
  if (methods.get(method) === undefined) return true;
  return typeof name === "string" && PLAIN_NAME.test(name) && headers["mcp-name"] === name;
}

/**
 * Whether a client of an earlier revision uses a supported revision and accepts both JSON and
 * server-sent events, as that revision requires.
 */
function acceptsLegacyResponse(headers: IncomingHttpHeaders): boolean {
  const version = headers["mcp-protocol-version"];
  const isKnown = version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(version));
  return isKnown && acceptsMcpMediaTypes(headers);
}

/**
 * The media types of JSON and server-sent events, both of which older revisions require a client to
 * accept.
 */
export const MCP_ACCEPT_HEADER = "application/json, text/event-stream";

/**
 * Whether a client accepts both JSON and server-sent events: by name, by a wildcard, or by sending
 * no `Accept` (RFC 9110 section 12.5.1).
 */
export const acceptsMcpMediaTypes = ({ accept = "*/*" }: IncomingHttpHeaders): boolean =>
  accept.includes("*/*") ||
  (accept.includes("application/json") && accept.includes("text/event-stream"));

/** The value of the parameter that identifies the target of a request. */
function targetName(method: string, params: Values): unknown {
  const member = methods.get(method);
  return member === undefined ? undefined : params[member];
}

const hasAny = (values: object, names: readonly string[]): boolean =>
  names.some((name) => name in values);

const isObject = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value);
