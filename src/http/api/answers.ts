import { randomUUID } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { z } from "zod";
import type { Scope } from "../../auth/scopes.ts";
import { strongEtag } from "../../lib/etag.ts";
import { Problem } from "../../problem.ts";
import type { TablePage } from "../../tables/table.ts";
import type { Meters } from "../../telemetry/meters.ts";
import { traceWork } from "../../telemetry/traces.ts";
import type { Call, Tool, ToolContext } from "../../tool.ts";
import { parse } from "./parse.ts";

/** The result of a tool call. */
export interface Answer {
  /** Shared by all callers with the same query; must not be modified. */
  readonly value: object;
  /** `value` as JSON. */
  readonly json: string;
  /**
   * A strong validator of `json` (RFC 9110 section 8.8.3); absent where the result depends on the
   * caller.
   */
  readonly etag: string | undefined;
}

/** The result of a tool call as a table. */
interface TableAnswer extends TablePage {
  /** A strong validator of the rows as CSV; absent where they may change before scores do, and
   *  where they depend on the caller. */
  readonly etag: string | undefined;
}

/** A tool whose answer can be a table. */
export type TableTool = Tool & Required<Pick<Tool, "tables">>;

/** Runs tools for REST and MCP. */
export interface Answers {
  /**
   * Runs a tool.
   *
   * @param input As the caller sent it. A deeply frozen input is validated only once.
   * @throws {Problem} `invalid_request`, and what the tool throws.
   */
  of(tool: Tool, input: unknown, call: Call): Promise<Answer>;
  /**
   * Runs a tool for rows: all of them, unless the input sets a `limit`.
   *
   * @throws {Problem} As `of`, and if the answer is not a table.
   */
  tableOf(tool: TableTool, input: object, call: Call): Promise<TableAnswer>;
}

/** A validated query of a cacheable tool. */
interface CachedQuery {
  readonly tool: Tool;
  readonly query: z.output<Tool["input"]>;
  /** Cache key: equal for equivalent queries. */
  readonly key: string;
}

/** Creates the runner of tools. A shared result is computed once for as long as it is valid. */
export function createAnswers(context: ToolContext): Answers {
  const cache = createAnswerCache(context);
  const parseQuery = createQueryParser();
  const questionOf = (tool: Tool, input: object, call: Call) => {
    const parsed = parseQuery(tool, input);
    return "watchlist" in parsed.query ? withSymbols(parsed, context, call) : parsed;
  };
  const versionOf = createTableVersions(context);
  return {
    async of(tool, input, call) {
      if (tool.isShared === undefined) {
        const value = await tool.run(parse(tool.input, input ?? {}), context, call);
        return { value, json: JSON.stringify(value), etag: undefined };
      }
      const { query, key } = await questionOf(tool, input ?? {}, call);
      const scopes = extraScopesOf(tool, call);
      const sharedKey = `${scopes.join(" ")} ${key}`;
      const answer = async () => answerOf(await tool.run(query, context, sharedCall(scopes)));
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
 * Creates the validators (ETags) of tables. They are needed before the rows of a table are
 * computed.
 *
 * @returns The validator for the text of a query and its format; `undefined` if the rows can change
 * with time alone.
 */
export function createTableVersions({
  snapshots,
  market,
}: ToolContext): (question: string) => string | undefined {
  // Editions are counted by each process, from its start.
  const origin = randomUUID();
  return (question) => {
    const isCurrent = snapshots.latestAt() <= market.now();
    return isCurrent ? strongEtag(`${origin} ${snapshots.edition()} ${question}`) : undefined;
  };
}

/** The extra scopes of a tool that the caller holds. */
const extraScopesOf = ({ extraScopes = [] }: Tool, { scopes }: Call): readonly Scope[] =>
  extraScopes.filter((scope) => scopes.has(scope));

/** A call that reveals nothing about the caller except some scopes, so that all callers who hold
 *  these scopes can share the answer. */
const sharedCall = (scopes: readonly Scope[]): Call => ({
  get caller(): never {
    throw new Error("A shared answer must not depend on the caller.");
  },
  scopes: new Set(scopes),
  idempotencyKey: undefined,
});

/**
 * The query with the symbols of the caller's watchlist in its place, so that its result can be shared.
 *
 * @throws {Problem} `not_found`; `invalid_request` for symbols and a watchlist together.
 */
async function withSymbols(
  { tool, query: { watchlist, ...query } }: CachedQuery,
  { watchlists }: ToolContext,
  { caller }: Call,
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

/** The schema orders the members and fills in defaults, so equivalent queries have the same key. */
const cachedQuery = (tool: Tool, query: CachedQuery["query"]): CachedQuery => ({
  tool,
  query,
  key: `${tool.name} ${JSON.stringify(query)}`,
});

/** Validates inputs, and caches the result for inputs that cannot change. */
function createQueryParser(): (tool: Tool, input: object) => CachedQuery {
  const known = new WeakMap<object, CachedQuery>();
  return (tool, input) => {
    const before = known.get(input);
    if (before?.tool === tool) return before;
    const question = cachedQuery(tool, parse(tool.input, input));
    if (Object.isFrozen(input)) known.set(input, question);
    return question;
  };
}

/** The answer of a shared result. */
export function answerOf(value: object): Answer {
  const json = JSON.stringify(value);
  return { value, json, etag: strongEtag(json) };
}

/** Maximum memory of cached results, in bytes. */
const MAX_BYTES = 32 * 1024 * 1024;

/** Estimated bytes per character of JSON, stored both as text and as an object. Measured: 1.9 to
 *  2.7, plus 1 for text beyond Latin-1. */
const BYTES_PER_CHARACTER = 6;

/** Overhead of a cache entry, in bytes. */
const BYTES_PER_ENTRY = 400;

/** Caches results that depend only on the query and the market. */
export interface AnswerCache {
  /** The cached result of a query, if running it again would return the same. */
  find(question: string): Answer | undefined;
  /** Runs a query and caches its result; errors are not cached. */
  compute(question: string, answer: () => Answer | Promise<Answer>): Promise<Answer>;
}

/** Creates a cache whose results always equal those of running the query again. Between two
 *  editions of the snapshots only time can change a result: a snapshot of a later instant becomes
 *  visible, or a requested time is no longer in the future. A result computed while no snapshot
 *  lies in the future therefore stays valid until the next edition, or until the clock is set back. */
export function createAnswerCache({ market, snapshots }: ToolContext): AnswerCache {
  const answers = new LRUCache<string, Answer>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ json }, question) =>
      BYTES_PER_ENTRY + BYTES_PER_CHARACTER * (question.length + json.length),
  });
  /** Edition of the cached results, and the latest instant at which one was computed. */
  let current = { edition: snapshots.edition(), at: Number.NEGATIVE_INFINITY };
  const clearIfOutdated = (edition: number, at: number): void => {
    if (current.edition === edition && current.at <= at) return;
    answers.clear();
    current = { edition, at: Number.NEGATIVE_INFINITY };
  };
  return {
    find(question) {
      clearIfOutdated(snapshots.edition(), market.now());
      return answers.get(question);
    },
    async compute(question, make) {
      const [edition, at] = [snapshots.edition(), market.now()];
      const isCurrent = snapshots.latestAt() <= at;
      const answer = await make();
      if (!isCurrent || snapshots.edition() !== edition) return answer;
      clearIfOutdated(edition, at);
      current = { edition, at };
      answers.set(question, answer);
      return answer;
    },
  };
}

/** Wraps `Answers` with metrics and traces, by tool and outcome. */
export function measuredAnswers(answers: Answers, meters: Pick<Meters, "toolCall">): Answers {
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
