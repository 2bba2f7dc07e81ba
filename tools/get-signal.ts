import { z } from "zod";
import {
  CursorInput,
  common,
  Direction,
  InstantInput,
  isoInstant,
  provenance,
  SymbolInput,
} from "../src/answers/common.ts";
import {
  instantAsked,
  instantRange,
  refuseWhileWarm,
  resolve,
  snapshotAt,
} from "../src/answers/lookup.ts";
import {
  evidenceAnswer,
  type FailedSymbol,
  Signal,
  SignalHistory,
  SignalPage,
  signalAnswer,
  signalItem,
} from "../src/answers/signal.ts";
import { signalPoint } from "../src/answers/signal-point.ts";
import { signalColumns } from "../src/answers/signal-table.ts";
import { type Page, paginate } from "../src/lib/pagination.ts";
import { AssetClass } from "../src/market/instrument.ts";
import { Problem } from "../src/problem.ts";
import type { PastSnapshot, Snapshot } from "../src/score/snapshot.ts";
import { type TablePage, tableOf } from "../src/tables/table.ts";
import { defineTool, type ToolContext } from "../src/tool.ts";

const Input = z.strictObject({
  symbol: SymbolInput.optional(),
  symbols: z
    .array(SymbolInput.describe("Ticker."))
    .min(1)
    .max(50)
    .optional()
    .describe("Several at once."),
  asOf: InstantInput.optional().describe("The last signal recorded at or before this instant."),
  from: InstantInput.optional().describe("With symbol: start of its history."),
  to: InstantInput.optional().describe("With symbol: end of its history."),
  risk: z.literal("full").optional().describe("With symbol: the full risk answer."),
  signal: Direction.optional().describe("Without a symbol: only this signal."),
  assetClass: AssetClass.optional().describe("Without a symbol: only this class."),
  minScore: z.number().min(0).max(100).optional().describe("Without a symbol: minimum score."),
  limit: z.number().int().min(1).max(500).default(50).describe("Maximum items per page."),
  cursor: CursorInput.optional(),
});

type Query = z.output<typeof Input>;

/** The tool that returns the composite score and signal of one, several or all instruments, now or
 *  in the past. */
export const getSignal = defineTool({
  name: "get_signal",
  title: "Get signal",
  description:
    "Score (0 to 100 points) and LONG, SHORT or WAIT for a stock, fund or coin, with confidence, gaps, expected range and next report. symbol: the full answer, with from or to its history; symbols: a short answer each, and which failed; neither: all, by page and filter. get_factors gives the reasons.",
  scopes: ["signals:read"],
  routes: [{ method: "GET", path: "/api/signals" }],
  isShared: true,
  input: Input,
  output: z.union([Signal, SignalPage, SignalHistory]),

  tables: { kinds: { signals: signalColumns }, read: table },

  run(query, context) {
    rejectMixedQuery(query);
    const { symbol, symbols, from, to } = query;
    if (symbol !== undefined && (from !== undefined || to !== undefined)) {
      return history(symbol, query, context);
    }
    if (symbol !== undefined) {
      const snapshot = snapshotAt(resolve(symbol, context), query.asOf, context);
      return signalAnswer(snapshot, context, query.risk === "full");
    }
    if (symbols === undefined) return page(filterSnapshots(query, context), query, context);
    const { found, failed } = snapshotsOf(symbols, query.asOf, context);
    return { ...page(found, query, context), failed };
  },
});

/** Rejects a query that mixes parameters of different questions. @throws {Problem}
 *  `invalid_request` */
function rejectMixedQuery(query: Query): void {
  const given = (names: readonly (keyof Query)[]) => names.filter((n) => query[n] !== undefined);
  const has = (...names: readonly (keyof Query)[]) => given(names).length > 0;
  const rejectIf = (isMixed: boolean, detail: string, next: string) => {
    if (isMixed) throw new Problem("invalid_request", { detail, next });
  };
  const filters = given(["signal", "assetClass", "minScore"]).join(", ");
  const hasBoth = has("symbol") && has("symbols");
  rejectIf(hasBoth, "symbol, symbols: only one of the two may be given.", "Leave one out.");
  rejectIf(
    has("symbol", "symbols") && filters !== "",
    `${filters}: filters apply to all instruments, not to given symbols.`,
    "Leave the symbol out.",
  );
  rejectIf(
    has("from", "to") && !has("symbol"),
    "from, to: the history is that of one symbol.",
    "Give symbol.",
  );
  rejectIf(
    has("asOf") && !has("symbol", "symbols"),
    "asOf: past signals are read by symbol.",
    "Give a symbol.",
  );
  rejectIf(
    has("asOf") && has("from", "to"),
    "asOf: a history ends with to.",
    "Use to in place of asOf.",
  );
  rejectIf(
    has("risk") && (!has("symbol") || has("from", "to")),
    "risk: the risk answer is that of one symbol at one instant.",
    "Give symbol, without from and to.",
  );
  rejectIf(
    has("cursor") && has("symbol") && !has("from", "to"),
    "cursor: the answer for one symbol has one page.",
    "Leave it out.",
  );
}

function filterSnapshots(query: Query, { snapshots }: ToolContext): readonly Snapshot[] {
  return snapshots.allNewest().filter(({ instrument, score, signal }) => {
    if (query.assetClass !== undefined && instrument.assetClass !== query.assetClass) return false;
    if (query.signal !== undefined && signal.direction !== query.signal) return false;
    return query.minScore === undefined || Math.round(score) >= query.minScore;
  });
}

/** The snapshots of several symbols. Symbols without a snapshot are reported separately; an instant
 *  that is invalid for all of them is rejected. */
function snapshotsOf(symbols: readonly string[], asOf: string | undefined, context: ToolContext) {
  instantAsked(asOf, context);
  const found = new Map<string, PastSnapshot>();
  const failed: FailedSymbol[] = [];
  for (const symbol of new Set(symbols)) {
    try {
      const instrument = resolve(symbol, context);
      found.set(instrument.symbol, snapshotAt(instrument, asOf, context));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { code, detail, next } = error;
      failed.push({ symbol, code, detail, next });
    }
  }
  return { found: [...found.values()], failed };
}

/** A list, one instrument or its history as a table. @throws {Problem} */
function table(query: Query, context: ToolContext): TablePage {
  rejectMixedQuery(query);
  const { items, nextCursor } = snapshotPage(query, context);
  const { market } = context;
  const records = items.map((snapshot) => ({ snapshot, market }));
  return { ...tableOf(signalColumns, records), nextCursor };
}

function snapshotPage(query: Query, context: ToolContext): Page<PastSnapshot> {
  const { symbol, symbols, from, to } = query;
  if (symbols !== undefined) {
    // Any failure fails the whole table: rows have no place for it, and it would go unnoticed.
    const wanted = new Set(symbols.map((one) => resolve(one, context)));
    const found = Array.from(wanted, (one) => snapshotAt(one, query.asOf, context));
    return pageOf(found, query);
  }
  if (symbol === undefined) return pageOf(filterSnapshots(query, context), query);
  if (from !== undefined || to !== undefined) return historyPage(symbol, query, context);
  const snapshot = snapshotAt(resolve(symbol, context), query.asOf, context);
  return { items: [snapshot], nextCursor: null };
}

function page(list: readonly PastSnapshot[], query: Query, context: ToolContext) {
  const { items, nextCursor } = pageOf(list, query);
  return {
    ...provenance(context, context.market.knownUntil(), symbolsOf(items)),
    items: items.map(signalItem),
    evidence: AssetClass.options
      .filter((option) => items.some(({ instrument }) => instrument.assetClass === option))
      .map(evidenceAnswer),
    nextCursor,
  };
}

function pageOf(list: readonly PastSnapshot[], { limit, cursor }: Query): Page<PastSnapshot> {
  const bySymbol = [...list].sort((a, b) => (a.instrument.symbol < b.instrument.symbol ? -1 : 1));
  return paginate(bySymbol, {
    list: "signals",
    limit,
    cursor,
    keyOf: ({ instrument }) => instrument.symbol,
    order: "ascending",
  });
}

const symbolsOf = (items: readonly PastSnapshot[]): readonly string[] =>
  items.map(({ instrument }) => instrument.symbol);

function historyPage(symbol: string, query: Query, context: ToolContext): Page<PastSnapshot> {
  const instrument = resolve(symbol, context);
  refuseWhileWarm(context);
  const { from, to } = instantRange(query, context.market.now());
  const list = context.snapshots.history(instrument.symbol, from, to);
  return paginate(list, {
    list: "history",
    limit: query.limit,
    cursor: query.cursor,
    keyOf: ({ at }) => isoInstant(at),
    order: "ascending",
  });
}

function history(symbol: string, query: Query, context: ToolContext) {
  const { items, nextCursor } = historyPage(symbol, query, context);
  const instrument = resolve(symbol, context);
  return {
    ...common(context, snapshotAt(instrument, undefined, context)),
    evidence: evidenceAnswer(instrument.assetClass),
    history: items.map(signalPoint),
    nextCursor,
  };
}
