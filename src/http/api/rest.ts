import type { IncomingMessage } from "node:http";
import express from "express";
import { LRUCache } from "lru-cache";
import { z } from "zod";
import { tools } from "../../../tools/index.ts";
import { withCallerAddress } from "../../access/auditor.ts";
import { Problem } from "../../lib/problem.ts";
import { FormatQuery } from "../../openapi/tables.ts";
import type { Tool, ToolRoute } from "../../tool/tool.ts";
import { hasMediaType, parseBody, requireShallowJson } from "../body-readers.ts";
import type { OpenStreams } from "../open-streams.ts";
import type { ProtectedResource } from "../protected-resource.ts";
import { queryValues, type RequestContext } from "../request-context.ts";
import type { Handler, Route } from "../route-table.ts";
import { sendAnswer } from "../send-response.ts";
import { preferredFormat } from "./answer-format.ts";
import type { TableTool, ToolAnswer, ToolAnswers } from "./answers.ts";
import { parseInput } from "./parse.ts";
import { sendTable } from "./table-response.ts";

/** Maximum total size of the cache, in characters of URLs and parsed inputs. */
const MAX_CHARACTERS = 1_000_000;

/**
 * Maximum length of a cached URL, in characters; enough for a query of fifty symbols with every
 * filter.
 */
const MAX_CACHED_URL = 1_000;

/** Estimated size of a parsed input, in characters; added to the length of its URL. */
const INPUT_CHARACTERS = 300;

/** Cache of parsed queries by URL; agents often repeat the same requests. */
type QueryCache = LRUCache<string, ParsedQuery>;

/** Dependencies of the REST routes. */
interface RestOptions {
  readonly answers: ToolAnswers;
  readonly api: ProtectedResource;
  readonly streams: OpenStreams;
}

/** Creates the REST routes of every tool. */
export function restRoutes(options: RestOptions): readonly Route[] {
  const known: QueryCache = new LRUCache({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (_query, url) => url.length + INPUT_CHARACTERS,
  });
  return tools.flatMap((tool) => {
    const inQuery = queryReader(tool);
    const read = tool.isShared ? cachedReader(inQuery, known) : inQuery;
    return tool.routes.map((route) => {
      const { method, path } = route;
      const hasBody = method === "POST" || method === "PATCH";
      const operation = { ...options, tool, route };
      const handle = hasBody ? withBody(operation) : withQuery(operation, read);
      return { method, path, handle };
    });
  });
}

/** A tool together with one of its routes. */
interface Operation extends RestOptions {
  readonly tool: Tool;
  readonly route: ToolRoute;
}

/** A parsed query string. */
interface ParsedQuery {
  /** The tool's input, not yet validated. */
  readonly input: JsonObject;
  /** Requested format; if absent, the `Accept` header decides. */
  readonly format?: "json" | "csv" | undefined;
}

/** Parses the query string of a request to a tool. */
type ReadQuery = (context: RequestContext) => ParsedQuery;

function withQuery(operation: Operation, read: ReadQuery): Handler {
  const { tool, route, answers, api } = operation;
  return async (context) => {
    const caller = await api.authorize(context, tool.scopes);
    const query = read(context);
    const input = inputOf(context, route, query.input);
    const call = { caller, scopes: caller.scopes, idempotencyKey: undefined };
    if (isTable(tool) && (query.format ?? preferredFormat(context.req)) === "csv") {
      const table = await answers.tableOf(tool, input, call);
      return sendTable({ ...operation, context, caller }, { ...table, format: "csv" });
    }
    const answer = await runTool(context, tool, () => answers.of(tool, input, call));
    await sendAnswer(context, answer);
  };
}

function withBody({ tool, route, answers, api }: Operation): Handler {
  return async (context) => {
    const { req, res } = context;
    const caller = await api.authorize(context, tool.scopes);
    const body = await readJson(context);
    await api.requireStillValid(context);
    const call = { caller, scopes: caller.scopes, idempotencyKey: idempotencyKeyOf(req) };
    const input = inputOf(context, route, asObject(body));
    const answer = await runTool(context, tool, () => answers.of(tool, input, call));
    if (route.status === 201) {
      res.statusCode = 201;
      res.setHeader("Location", locationOf(answer, route));
    }
    await sendAnswer(context, answer);
  };
}

/** Runs a tool. For tools that change data, the audit log records the client's address. */
function runTool(
  { ip }: RequestContext,
  { effect }: Tool,
  run: () => Promise<ToolAnswer>,
): Promise<ToolAnswer> {
  return effect === undefined ? run() : withCallerAddress(ip, run);
}

/** Path of the created resource, for the `Location` header. */
const locationOf = ({ value }: ToolAnswer, { path }: ToolRoute): string =>
  `${path}/${(value as { readonly id: string }).id}`;

/**
 * Merges the parameters of the path into the input of a tool.
 *
 * @throws {Problem} `invalid_request` if the body or the query contradicts the path.
 */
function inputOf({ params }: RequestContext, route: ToolRoute, given: JsonObject): JsonObject {
  const fromPath: JsonObject = { ...route.with, ...params };
  const names = Object.keys(fromPath);
  if (names.length === 0) return given;
  const contradicted = names.filter(
    (name) => Object.hasOwn(given, name) && given[name] !== fromPath[name],
  );
  if (contradicted.length === 0) return { ...given, ...fromPath };
  throw new Problem("invalid_request", {
    detail: `${contradicted.join(", ")}: the path says otherwise.`,
    next: "Leave it out.",
  });
}

const isTable = (tool: Tool): tool is TableTool => tool.tables !== undefined;

/**
 * Wraps a query parser with a cache by URL. The cached inputs are frozen, so `ToolAnswers`
 * validates each of them only once.
 */
function cachedReader(read: ReadQuery, known: QueryCache): ReadQuery {
  return (context) => {
    const { url = "" } = context.req;
    const before = known.get(url);
    if (before !== undefined) return before;
    const query = read(context);
    Object.freeze(query.input);
    if (url.length <= MAX_CACHED_URL) known.set(url, query);
    return query;
  };
}

/**
 * Creates the parser of a tool's query string. It converts number members to numbers, and list
 * members, whose values are comma-separated or repeated, to lists; other values stay text. The
 * schema then rejects invalid values. For a tool with a table, `format` is read separately, because
 * it is not part of the input.
 */
function queryReader(tool: Tool): ReadQuery {
  const { properties = {} } = z.toJSONSchema(tool.input, { io: "input" });
  const typeOf = (name: string) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return typeof property === "object" ? property.type : undefined;
  };
  const convert = (name: string, values: readonly string[]) => {
    const type = typeOf(name);
    if (type === "array") return values.flatMap((value) => value.split(","));
    if (values.length > 1) return values;
    const [value = ""] = values;
    const isNumber = type === "number" || type === "integer";
    return isNumber && value.trim() !== "" ? Number(value) : value;
  };
  return ({ req }) => {
    const { format, ...input } = Object.fromEntries(
      Array.from(queryValues(req), ([name, values]) => [name, convert(name, values)]),
    );
    if (format === undefined) return { input };
    if (!isTable(tool)) return { input: { ...input, format } };
    return { input, ...parseInput(FormatQuery, { format }) };
  };
}

/**
 * Matches an idempotency key as a quoted string (RFC 9651 section 3.3.3), as
 * draft-ietf-httpapi-idempotency-key-header-07 requires.
 */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;

/** Matches an unquoted idempotency key, which many clients send. */
const BARE = /^[!-~]{1,255}$/;

/**
 * The idempotency key of a request.
 *
 * @returns `undefined` if the header is missing.
 * @throws {Problem} `invalid_request` if the header is repeated, or the key is not 1 to 255 visible
 * ASCII characters.
 */
function idempotencyKeyOf({
  headersDistinct,
}: Pick<IncomingMessage, "headersDistinct">): string | undefined {
  const [header, ...more] = headersDistinct["idempotency-key"] ?? [];
  if (header === undefined) return undefined;
  const key = header.startsWith('"') ? unquoted(header) : header;
  if (more.length === 0 && key !== undefined && BARE.test(key)) return key;
  throw new Problem("invalid_request", {
    detail: "Idempotency-Key: expected one key of 1 to 255 visible ASCII characters.",
    next: "Send a UUID, for example.",
  });
}

const unquoted = (header: string): string | undefined =>
  QUOTED.exec(header)?.[1]?.replace(/\\(.)/g, "$1");

/** Maximum size of a request body, in bytes. */
const MAX_BODY_BYTES = 16 * 1024;

const json = express.json({ limit: MAX_BODY_BYTES, inflate: false });

/** The members of a JSON object. */
type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Reads a JSON body. `asObject` checks the value and replaces a missing body with an empty object.
 *
 * @throws {Problem} `unsupported_media_type`; the error writer converts the errors of the parser.
 */
async function readJson(context: RequestContext): Promise<unknown> {
  const { req } = context;
  const isEmpty = req.headers["content-length"] === "0";
  if (!isEmpty && hasMediaType(req, "application/json") === false) {
    throw new Problem("unsupported_media_type", {
      detail: "The body must be application/json.",
      next: "Send one JSON object with that content type.",
    });
  }
  return parseBody(json, context);
}

/**
 * Checks that a body is an object.
 *
 * @throws {Problem} `invalid_request` if the body is not an object or is nested too deeply.
 */
function asObject(body: unknown = {}): JsonObject {
  if (Array.isArray(body)) {
    throw new Problem("invalid_request", {
      detail: "The body is an array.",
      next: "Send one JSON object.",
    });
  }
  requireShallowJson(body);
  return body as JsonObject;
}
