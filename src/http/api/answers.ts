import { randomUUID } from "node:crypto";
import type { z } from "zod";
import type { Scope } from "../../access/scopes.ts";
import { strongEtag } from "../../lib/etag.ts";
import { Problem } from "../../lib/problem.ts";
import type { TablePage } from "../../tables/table.ts";
import type { Meters } from "../../telemetry/meters.ts";
import { traceWork } from "../../telemetry/traces.ts";
import type { Tool, ToolCall, ToolContext } from "../../tool/tool.ts";
import { createEditionCache, type EditionCache } from "../edition-cache.ts";
import { parseInput } from "./parse.ts";

/** The result of a tool call. */
export interface ToolAnswer {
  /** Shared by all callers with the same query; must not be modified. */
  readonly value: object;
  /** `value` as JSON. */
  readonly json: string;
  /**
   * Strong validator (ETag) of `json` (RFC 9110 section 8.8.3); `undefined` if the result depends
   * on the caller.
   */
  readonly etag: string | undefined;
}

/** The result of a tool call as a table. */
interface TableAnswer extends TablePage {
  /**
   * Strong validator (ETag) of the rows as CSV; `undefined` if the rows depend on the caller, or
   * can change before the scores change.
   */
  readonly etag: string | undefined;
}

/** A tool whose result is available as a table. */
export type TableTool = Tool & Required<Pick<Tool, "tables">>;

/** Runs tools for REST and MCP. */
export interface ToolAnswers {
  /**
   * Runs a tool.
   *
   * @param input The unvalidated input. If it is deeply frozen, it is validated only once.
   * @throws {Problem} `invalid_request` for an invalid input; any problem that the tool throws.
   */
  of(tool: Tool, input: unknown, call: ToolCall): Promise<ToolAnswer>;
  /**
   * Runs a tool and returns its result as table rows: all rows, unless the input sets a `limit`.
   *
   * @throws {Problem} As `of`; also if the result is not a table.
   */
  tableOf(tool: TableTool, input: object, call: ToolCall): Promise<TableAnswer>;
}

/** A validated query of a cacheable tool. */
interface CachedQuery {
  readonly tool: Tool;
  readonly query: z.output<Tool["input"]>;
  /** Cache key: equal for equivalent queries. */
  readonly key: string;
}

/**
 * Creates the runner of tools. A result that does not depend on the caller is computed once and
 * cached for as long as it is valid.
 */
export function createToolAnswers(context: ToolContext): ToolAnswers {
  const cache = createAnswerCache(context);
  const parseQuery = createQueryParser();
  const questionOf = (tool: Tool, input: object, call: ToolCall) => {
    const parsed = parseQuery(tool, input);
    return "watchlist" in parsed.query ? withSymbols(parsed, context, call) : parsed;
  };
  const versionOf = createTableEtags(context);
  return {
    async of(tool, input, call) {
      if (tool.isShared === undefined) {
        const value = await tool.run(parseInput(tool.input, input ?? {}), context, call);
        return { value, json: JSON.stringify(value), etag: undefined };
      }
      const { query, key } = await questionOf(tool, input ?? {}, call);
      const scopes = extraScopesOf(tool, call);
      const sharedKey = `${scopes.join(" ")} ${key}`;
      const answer = async () => toolAnswerOf(await tool.run(query, context, sharedCall(scopes)));
      return cache.find(sharedKey) ?? cache.compute(sharedKey, answer);
    },
    async tableOf(tool, input, call) {
      const { query, key } = await questionOf(tool, input, call);
      const isLimited = Object.hasOwn(input, "limit");
      const page = await tool.tables.read(
        isLimited ? query : { ...query, limit: Number.POSITIVE_INFINITY },
        context,
        call,
      );
      const etag = tool.isShared ? versionOf(`csv ${isLimited} ${key}`) : undefined;
      return { ...page, etag };
    },
  };
}

/**
 * Creates the function that derives the ETag of a table from its query, so that the ETag is known
 * before the rows are computed.
 *
 * @returns A function that takes a text containing the query and the format, and returns the ETag;
 * `undefined` if the rows can change merely because time passes.
 */
export function createTableEtags({
  snapshots,
  market,
}: ToolContext): (question: string) => string | undefined {
  // Each process counts editions from its own start, so the same edition number can mean different
  // data in two processes.
  const origin = randomUUID();
  return (question) => {
    const isCurrent = snapshots.latestAt() <= market.now();
    return isCurrent ? strongEtag(`${origin} ${snapshots.edition()} ${question}`) : undefined;
  };
}

/** The scopes that the caller has among the optional scopes of a tool. */
const extraScopesOf = ({ extraScopes = [] }: Tool, { scopes }: ToolCall): readonly Scope[] =>
  extraScopes.filter((scope) => scopes.has(scope));

/**
 * A call that reveals only some scopes of the caller, so that all callers with these scopes can
 * share the result.
 */
const sharedCall = (scopes: readonly Scope[]): ToolCall => ({
  get caller(): never {
    throw new Error("A shared answer must not depend on the caller.");
  },
  scopes: new Set(scopes),
  idempotencyKey: undefined,
});

/**
 * Replaces the watchlist in a query with the symbols on it, so that the result can be shared.
 *
 * @throws {Problem} `not_found` for an unknown watchlist; `invalid_request` if the query contains
 * both symbols and a watchlist.
 */
async function withSymbols(
  { tool, query: { watchlist, ...query } }: CachedQuery,
  { watchlists }: ToolContext,
  { caller }: ToolCall,
): Promise<CachedQuery> {
  if ("symbol" in query || "symbols" in query) {
    throw new Problem("invalid_request", {
      detail: "watchlist: it stands in place of symbols.",
      next: "Leave one out.",
    });
  }
  const { value } = await watchlists.find(caller, String(watchlist));
  return cachedQuery(tool, { ...query, symbols: value.symbols });
}

/**
 * Creates a query with its cache key. The schema has ordered the members and filled in defaults, so
 * equivalent queries have the same key.
 */
const cachedQuery = (tool: Tool, query: CachedQuery["query"]): CachedQuery => ({
  tool,
  query,
  key: `${tool.name} ${JSON.stringify(query)}`,
});

/** Creates the validator of tool inputs, which caches its result for frozen inputs. */
function createQueryParser(): (tool: Tool, input: object) => CachedQuery {
  const known = new WeakMap<object, CachedQuery>();
  return (tool, input) => {
    const before = known.get(input);
    if (before?.tool === tool) return before;
    const question = cachedQuery(tool, parseInput(tool.input, input));
    if (Object.isFrozen(input)) known.set(input, question);
    return question;
  };
}

/** Creates the answer, with its JSON and ETag, from a result that is not for one caller only. */
export function toolAnswerOf(value: object): ToolAnswer {
  const json = JSON.stringify(value);
  return { value, json, etag: strongEtag(json) };
}

/** Maximum total size of cached results, in bytes. */
const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Upper estimate of the memory per character of JSON, in bytes, for the text and the parsed object
 * together. Measured: 1.9 to 2.7, plus 1 for text beyond Latin-1.
 */
const BYTES_PER_CHARACTER = 6;

/** Memory overhead of a cache entry, in bytes. */
const BYTES_PER_ENTRY = 400;

/** Caches results of tools that depend only on the query and the market. */
export const createAnswerCache = (context: ToolContext): EditionCache<ToolAnswer> =>
  createEditionCache(context, {
    maxSize: MAX_BYTES,
    sizeOf: ({ json }, question) =>
      BYTES_PER_ENTRY + BYTES_PER_CHARACTER * (question.length + json.length),
  });

/**
 * Wraps `ToolAnswers` so that each tool call is traced, and counted and timed by tool and outcome.
 */
export function measuredToolAnswers(
  answers: ToolAnswers,
  meters: Pick<Meters, "toolCall">,
): ToolAnswers {
  return {
    of: (tool, input, call) => measured(tool, meters, () => answers.of(tool, input, call)),
    tableOf: (tool, input, call) =>
      measured(tool, meters, () => answers.tableOf(tool, input, call)),
  };
}

function measured<T>(
  { name }: Tool,
  meters: Pick<Meters, "toolCall">,
  run: () => Promise<T>,
): Promise<T> {
  const attributes = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name };
  return traceWork({ name: `execute_tool ${name}`, attributes }, async () => {
    const startedAt = performance.now();
    const seconds = () => (performance.now() - startedAt) / 1_000;
    try {
      const answer = await run();
      meters.toolCall({ tool: name, outcome: "ok" }, seconds());
      return answer;
    } catch (error) {
      const outcome = error instanceof Problem ? error.code : "internal_error";
      meters.toolCall({ tool: name, outcome }, seconds());
      throw error;
    }
  });
}
