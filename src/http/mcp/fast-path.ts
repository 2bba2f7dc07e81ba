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
import { MODERN } from "./announced.ts";
import { isUsualJson } from "./message-body.ts";
import { MuxTransport } from "./mux-transport.ts";
import { jsonOf } from "./tool-result-json.ts";

/** What the fast path is made from. */
interface FastOptions {
  readonly newServer: (about: { readonly era: ProtocolEra }) => McpServer;
  /** Told what the SDK reports. */
  readonly onReport: (error: unknown) => void;
}

/** Writes an answer. */
type Write = (res: ServerResponse) => void;

/** @returns `undefined` when the request is for the SDK's handler after all. */
export type AnswerUsual = (usual: Usual, authInfo: AuthInfo) => Promise<Write> | undefined;

/**
 * Answers usual requests with servers that live as long as the service. The SDK's own handler, which
 * knows the whole protocol, builds one for each request; that takes far longer than to answer.
 *
 * @returns Answers a request of a caller who may make it.
 */
export function createFastPath({ newServer, onReport }: FastOptions): AnswerUsual {
  const start = (era: ProtocolEra): MuxTransport => {
    const [server, transport] = [newServer({ era }), new MuxTransport(era)];
    server.server.onerror = onReport;
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

/** As the SDK's handler writes answers. Before 2026-07-28 each is an event. */
const writers: Readonly<Record<ProtocolEra, WriteResponse>> = {
  modern(res, response) {
    res.statusCode = statusOf(response);
    res.setHeader("Content-Type", "application/json");
    res.end(jsonOf(response));
  },
  legacy(res, response) {
    res.setHeader("Content-Type", "text/event-stream");
    res.setHeader("Cache-Control", "no-cache, no-transform");
    res.setHeader("X-Accel-Buffering", "no");
    res.end(`event: message\ndata: ${jsonOf(response)}\n\n`);
  },
};

/** One failure of a handler has a status of its own, as MCP 2026-07-28 demands. */
function statusOf(response: JSONRPCResponse): number {
  const code = "error" in response ? response.error.code : undefined;
  return code === ProtocolErrorCode.MissingRequiredClientCapability ? 400 : 200;
}

/** How a message came. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** A request that has nothing unusual about it. */
export interface Usual {
  readonly era: ProtocolEra;
  readonly message: JSONRPCRequest;
}

type Values = Readonly<Record<string, unknown>>;

/** By method, the names that are usual to ask for; of a method that is not here, all are. */
export type UsualNames = Readonly<Record<string, ReadonlySet<unknown>>>;

/** Methods that are answered at once and in one piece, each with the parameter that names what is
 *  asked for, if it has one. */
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

/** Parameters of requests that belong to others. */
const CONTINUING = ["inputResponses", "requestState", "task"];

/** What is said about requests that are told of meanwhile, or belong to a task. */
const ACCOMPANIED = ["progressToken", LOG_LEVEL_META_KEY, RELATED_TASK_META_KEY];

/** What the name of a thing looks like in a header as it is: not encoded, and kept by every proxy. */
const PLAIN_NAME = /^(?!=\?)[!-~]+$/;

/**
 * Finds out whether a message is a usual request: a single one, for one answer, and with headers that
 * agree with it. What is not right in another way, the server that gets it refuses.
 *
 * @returns `undefined` when there is anything unusual.
 */
export function usualRequest({ headers, body }: Received, names: UsualNames): Usual | undefined {
  if (!isUsualJson(headers) || !isKnown(body)) return undefined;
  const { _meta: meta = {}, ...params } = body.params ?? {};
  if (hasAny(params, CONTINUING) || hasAny(meta, ACCOMPANIED)) return undefined;
  const asked = { method: body.method, name: nameIn(body.method, params) };
  if (names[asked.method]?.has(asked.name) === false) return undefined;
  const era = meta[PROTOCOL_VERSION_META_KEY] === undefined ? "legacy" : "modern";
  const fits = era === "legacy" ? fitsLegacy(headers) : fitsModern(headers, meta, asked);
  return fits ? { era, message: body } : undefined;
}

/** Members of a request of JSON-RPC. */
const MEMBERS: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params"]);

/** Whether a message is a request with a method that there is, in the form of JSON-RPC. The SDK
 *  checks the form again, at length. */
function isKnown(body: unknown): body is JSONRPCRequest {
  if (!isObject(body) || !methods.has(body.method) || body.jsonrpc !== "2.0") return false;
  const isNamed = typeof body.id === "string" || Number.isSafeInteger(body.id);
  if (!isNamed || !Object.keys(body).every((name) => MEMBERS.has(name))) return false;
  const { params = {} } = body;
  if (!isObject(params)) return false;
  const { _meta = {} } = params;
  return isObject(_meta);
}

/** What a request asks for. */
interface Asked {
  readonly method: string;
  readonly name: unknown;
}

/** Whether the three headers of the newest revision say what the message says. */
function fitsModern(headers: IncomingHttpHeaders, meta: Values, { method, name }: Asked): boolean {
  const versions = [headers["mcp-protocol-version"], meta[PROTOCOL_VERSION_META_KEY]];
  if (versions.some((version) => version !== MODERN)) return false;
  if (headers["mcp-method"] !== method) return false;
  if (methods.get(method) === undefined) return true;
  return typeof name === "string" && PLAIN_NAME.test(name) && headers["mcp-name"] === name;
}

/** Whether an older client takes an answer in either form, as its revision demands, and speaks one
 *  that there is. */
function fitsLegacy(headers: IncomingHttpHeaders): boolean {
  const version = headers["mcp-protocol-version"];
  const isKnown = version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(version));
  return isKnown && acceptsBoth(headers);
}

/** Both forms of an answer, as older revisions demand that a client accepts them. */
export const BOTH_FORMS = "application/json, text/event-stream";

/** Whether a client accepts both: it names them, or says that it accepts anything, or says nothing
 *  (RFC 9110 section 12.5.1). */
export const acceptsBoth = ({ accept = "*/*" }: IncomingHttpHeaders): boolean =>
  accept.includes("*/*") ||
  (accept.includes("application/json") && accept.includes("text/event-stream"));

/** What a request asks for by name. */
function nameIn(method: string, params: Values): unknown {
  const member = methods.get(method);
  return member === undefined ? undefined : params[member];
}

const hasAny = (values: object, names: readonly string[]): boolean =>
  names.some((name) => name in values);

const isObject = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value);
