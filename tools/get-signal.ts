import { z } from "zod";
import { roundToWholePoints } from "../src/answers/rounding.ts";
import {
  answerOrigin,
  CursorInput,
  DetailInput,
  DirectionAnswer,
  instrumentAnswer,
  isoInstant,
  SymbolInput,
  Ticker,
} from "../src/answers/shared-members.ts";
import { steadinessPoints } from "../src/answers/steadiness.ts";
import { scoreAttributionAnswer } from "../src/answers/why.ts";
import { Problem } from "../src/lib/problem.ts";
import { AssetClass } from "../src/market/instrument.ts";
import type { RecordList } from "../src/market/records.ts";
import type { PastSnapshot } from "../src/score/snapshot.ts";
import { type TablePage, tableOf } from "../src/tables/table.ts";
import {
  cellsOfRecord,
  chosenColumns,
  createListPage,
  FieldsInput,
  rejectFieldsQuery,
} from "../src/tool/fields.ts";
import {
  lastSnapshot,
  requestedInstant,
  requestedInstantRange,
  requireComputedHistory,
  resolveInstrument,
  snapshotAt,
} from "../src/tool/lookup.ts";
import { type PageRequest, paginate, readablePage } from "../src/tool/pagination.ts";
import {
  briefSignalAnswer,
  directionEvidenceAnswer,
  type FailedSymbol,
  fullSignalAnswer,
  SignalAnswer,
  SignalHistory,
  SignalPage,
  signalChanges,
  signalCounts,
} from "../src/tool/signal.ts";
import { SIGNAL_HISTORY, scoreChange, signalColumns, signalItem } from "../src/tool/signal-row.ts";
import { defineTool, type ToolCall, type ToolContext } from "../src/tool/tool.ts";
import { WatchlistNameInput } from "../src/tool/watchlist.ts";
import { DayOrInstantInput, requestedDayMember } from "../src/tool/when.ts";

const Points = z.number().min(0).max(100);
const Fraction = z.number().min(0).max(1);

/** Sort orders of a list; each name says which instruments come first. */
const SORTS = [
  "symbol",
  "score",
  "lowest_score",
  "confidence",
  "steadiness",
  "lowest_steadiness",
  "rise",
  "fall",
  "newest_signal",
] as const;

const Input = z.strictObject({
  symbol: SymbolInput.optional(),
  symbols: z.array(Ticker).min(1).max(50).optional().describe("Several."),
  watchlist: WatchlistNameInput.optional().describe("Those of a watchlist."),
  detail: DetailInput,
  fields: FieldsInput,
  asOf: DayOrInstantInput.optional().describe("The past: an instant, or a date for its close."),
  since: DayOrInstantInput.optional().describe(
    "With symbol: what moved the score from then to asOf.",
  ),
  from: DayOrInstantInput.optional().describe("With symbol: start of a history."),
  to: DayOrInstantInput.optional().describe("Its end."),
  last: z.number().int().min(1).max(500).optional().describe("With symbol: sessions, until to."),
  risk: z.literal("full").optional().describe("With symbol: the full risk forecast."),
  signal: DirectionAnswer.optional().describe("Only this signal."),
  assetClass: AssetClass.optional().describe("Only this class."),
  sector: z.string().max(100).optional().describe("Only this sector; an unknown one names all."),
  minScore: Points.optional().describe("Least score."),
  maxScore: Points.optional().describe("Highest score."),
  minConfidence: Fraction.optional().describe("Least confidence."),
  minCoverage: Fraction.optional().describe("Least coverage."),
  minSteadiness: Points.optional().describe("Least steadiness."),
  sort: z.enum(SORTS).default("symbol").describe("What comes first; rise and fall by scoreChange."),
  limit: z
    .number()
    .int()
    .min(0)
    .max(500)
    .default(50)
    .describe("Most rows; 0: only counts, which obey filters; WAIT excludes insufficientData."),
  cursor: CursorInput.optional(),
});

type Query = z.output<typeof Input>;

/** The tool that returns the composite score and signal of one, several or all instruments, now or
 *  in the past. */
export const getSignal = defineTool({
  name: "get_signal",
  title: "Get signal",
  description:
    'Score (0 to 100) and LONG, SHORT or WAIT of stocks, funds and coins, now or before: one symbol, with price, range, steadiness, next report and evidence; its history (last, from, to); what moved it (since); a list: {"signal":"LONG","sort":"score","limit":5}; {"sort":"newest_signal"} for what changed. As files: /api/signals?format=csv; all sessions: /api/export.',
  scopes: ["signals:read"],
  extraScopes: ["factor:read"],
  routes: [{ method: "GET", path: "/api/signals" }],
  isShared: true,
  input: Input,
  output: z.union([SignalAnswer, SignalPage, SignalHistory]),

  tables: { kinds: { signals: signalColumns }, read: table },

  run(query, context, call) {
    rejectMixedQuery(query);
    const { symbol, symbols } = query;
    if (symbol !== undefined) {
      return isHistory(query) ? history(symbol, query, context) : one(symbol, query, context, call);
    }
    const at = requestedInstant(query.asOf, context);
    if (symbols === undefined) return page(filtered(query, at, context), query, context);
    const { found, failed } = snapshotsOf(symbols, query, context);
    return { ...page(found, query, context), failed };
  },
});

const isHistory = ({ from, to, last }: Query): boolean =>
  from !== undefined || to !== undefined || last !== undefined;

/** Parameters that filter the list of all instruments. */
const FILTERS = [
  "signal",
  "assetClass",
  "sector",
  "minScore",
  "maxScore",
  "minConfidence",
  "minCoverage",
  "minSteadiness",
] as const satisfies readonly (keyof Query)[];

/**
 * Rejects a query that combines parameters of different kinds of queries.
 * @throws {Problem} `invalid_request`
 */
function rejectMixedQuery(query: Query): void {
  const given = (names: readonly (keyof Query)[]) => names.filter((n) => query[n] !== undefined);
  const has = (...names: readonly (keyof Query)[]) => given(names).length > 0;
  const rejectIf = (isMixed: boolean, detail: string, next: string) => {
    if (isMixed) throw new Problem("invalid_request", { detail, next });
  };
  const filters = given(FILTERS).join(", ");
  const hasBoth = has("symbol") && has("symbols");
  rejectIf(hasBoth, "symbol, symbols: only one of the two may be given.", "Leave one out.");
  rejectIf(
    has("symbol", "symbols") && filters !== "",
    `${filters}: filters apply to all instruments, not to given symbols.`,
    "Leave the symbol out.",
  );
  rejectIf(
    isHistory(query) && !has("symbol"),
    "from, to, last: the history is that of one symbol.",
    "Give symbol; for all instruments of a day use asOf.",
  );
  rejectIf(
    has("since") && (!has("symbol") || isHistory(query)),
    "since: an attribution is that of one symbol at one instant.",
    "Give symbol, without from, to and last.",
  );
  rejectIf(
    has("asOf") && isHistory(query),
    "asOf: a history ends with to.",
    "Use to in place of asOf.",
  );
  rejectIf(
    has("last") && has("from"),
    "last, from: both say where the history begins.",
    "Leave one out.",
  );
  rejectIf(
    has("risk") && (!has("symbol") || isHistory(query)),
    "risk: the risk answer is that of one symbol at one instant.",
    "Give symbol, without from, to and last.",
  );
  rejectIf(
    has("cursor") && has("symbol") && !isHistory(query),
    "cursor: the answer for one symbol has one page.",
    "Leave it out.",
  );
}

function one(symbol: string, query: Query, context: ToolContext, { scopes }: ToolCall) {
  const { detail, since, fields } = query;
  rejectFieldsQuery(fields, "Leave them out, or ask for a history or a list.");
  const instrument = resolveInstrument(symbol, context);
  const snapshot = snapshotAt(instrument, query.asOf, context);
  const isRiskFull = query.risk === "full";
  const options = { showsFactors: scopes.has("factor:read"), isRiskFull };
  const render = detail === "full" || isRiskFull ? fullSignalAnswer : briefSignalAnswer;
  const answer = { ...requestedDayMember(query.asOf), ...render(snapshot, context, options) };
  if (since === undefined) return answer;
  const before = snapshotAt(instrument, since, context);
  if (before.at > snapshot.at) {
    throw new Problem("invalid_request", {
      detail: `since: it is after asOf, ${isoInstant(snapshot.at)}.`,
      next: "Use an earlier since.",
    });
  }
  return {
    ...answer,
    attribution: scoreAttributionAnswer(before, snapshot, { detail, ...options }),
  };
}

/** Stands for the steadiness of instruments that are not ranked: below every other. */
const UNRANKED = -1;

/** The snapshots of all instruments at an instant, reduced to those that match the filters. */
function filtered(query: Query, at: number, context: ToolContext): readonly PastSnapshot[] {
  const { sector } = query;
  if (sector !== undefined) rejectUnknownSector(sector, context);
  const { minConfidence = 0, minCoverage = 0, minSteadiness = UNRANKED } = query;
  return snapshotsAt(query, at, context).filter((snapshot) => {
    const { instrument, score, signal, confidence, coverage } = snapshot;
    if (query.assetClass !== undefined && instrument.assetClass !== query.assetClass) return false;
    if (sector !== undefined && !isSame(instrument.sector, sector)) return false;
    if (query.signal !== undefined && signal.direction !== query.signal) return false;
    if (!isScoreWithin(score, query)) return false;
    if ((steadinessPoints(snapshot) ?? UNRANKED) < minSteadiness) return false;
    return confidence >= minConfidence && coverage >= minCoverage;
  });
}

/** Whether a score, in whole points as answers show it, is within the bounds of a query. */
function isScoreWithin(score: number | null, { minScore, maxScore }: Query): boolean {
  if (minScore === undefined && maxScore === undefined) return true;
  const points = roundToWholePoints(score);
  if (points === null) return false;
  return points >= (minScore ?? 0) && points <= (maxScore ?? 100);
}

/**
 * The newest snapshot of each instrument or, for a past instant, the last snapshot of each
 * instrument up to that instant. Instruments without a snapshot by then are omitted.
 */
function snapshotsAt({ asOf }: Query, at: number, context: ToolContext): readonly PastSnapshot[] {
  if (asOf === undefined) return context.snapshots.allNewest();
  requireComputedHistory(context);
  const found = context.market
    .instruments()
    .flatMap(({ symbol }) => lastSnapshot(symbol, { asOf, at }, context) ?? []);
  if (found.length > 0) return found;
  throw new Problem("not_available_then", {
    detail: `Nothing was recorded at or before ${isoInstant(at)}.`,
    next: `Ask for a later time, up to ${isoInstant(context.market.now())}, or without asOf.`,
  });
}

const isSame = (sector: string | null, wanted: string): boolean =>
  sector?.toLowerCase() === wanted.toLowerCase();

/**
 * @throws {Problem} `invalid_request` for a sector that no instrument has; the problem lists the
 * existing sectors.
 */
function rejectUnknownSector(wanted: string, { market }: ToolContext): void {
  const sectors = new Set(market.instruments().flatMap(({ sector }) => sector ?? []));
  if ([...sectors].some((sector) => isSame(sector, wanted))) return;
  throw new Problem("invalid_request", {
    detail: `sector: no instrument has the sector ${JSON.stringify(wanted)}.`,
    next: `Use one of: ${[...sectors].sort().join(", ")}.`,
  });
}

/** The snapshots of several symbols, and the problem of each symbol without a snapshot. */
function snapshotsOf(symbols: readonly string[], { asOf }: Query, context: ToolContext) {
  const found = new Map<string, PastSnapshot>();
  const failed: FailedSymbol[] = [];
  for (const symbol of new Set(symbols)) {
    try {
      const instrument = resolveInstrument(symbol, context);
      found.set(instrument.symbol, snapshotAt(instrument, asOf, context));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { code, detail, next } = error;
      failed.push({ symbol, code, detail, next });
    }
  }
  return { found: [...found.values()], failed };
}

/**
 * A table of a list of signals, of one signal, or of the history of one signal.
 * @throws {Problem}
 */
function table(query: Query, context: ToolContext): TablePage {
  rejectMixedQuery(query);
  const [list, request] = tableSelection(query, context);
  const { items, nextCursor } = paginate(list, request);
  const records = items.map((snapshot) => ({ snapshot, context }));
  return { ...tableOf(chosenColumns(signalColumns, query.fields), records), nextCursor };
}

/** The rows of a table, and the request for a page of them. */
function tableSelection(query: Query, context: ToolContext) {
  const { symbol, symbols, asOf } = query;
  if (symbol !== undefined) {
    if (isHistory(query)) return historySelection(symbol, query, context);
    return pageSelection(
      [snapshotAt(resolveInstrument(symbol, context), asOf, context)],
      query,
      context,
    );
  }
  if (symbols === undefined) {
    return pageSelection(filtered(query, requestedInstant(asOf, context), context), query, context);
  }
  // An error for any symbol fails the whole table: rows have no place for an error, so a missing
  // symbol would go unnoticed.
  const wanted = new Set(symbols.map((one) => resolveInstrument(one, context)));
  const found = Array.from(wanted, (one) => snapshotAt(one, asOf, context));
  return pageSelection(found, query, context);
}

/** A list in the requested order, and the request for a page of it. */
function pageSelection(
  list: readonly PastSnapshot[],
  { sort, limit, cursor }: Query,
  context: ToolContext,
): readonly [readonly PastSnapshot[], PageRequest<PastSnapshot>] {
  const request: PageRequest<PastSnapshot> = {
    list: sort === "symbol" ? "signals" : `signals ${sort}`,
    limit,
    cursor,
    keyOf: ({ instrument }) => instrument.symbol,
    ...(sort === "symbol" && { order: "ascending" }),
  };
  return [inOrder(list, sort, context), request];
}

function page(list: readonly PastSnapshot[], query: Query, context: ToolContext) {
  const { detail, asOf } = query;
  const [ordered, request] = pageSelection(list, query, context);
  const { seen, items, table, nextCursor } = createListPage(ordered, {
    ...request,
    query,
    render: (snapshot) => ({
      ...signalItem({ snapshot, context }, detail),
      ...(isBySteadiness(query) && { steadiness: steadinessPoints(snapshot) }),
    }),
    columns: signalColumns,
    recordOf: (snapshot) => ({ snapshot, context }),
  });
  const symbols = seen.map(({ instrument }) => instrument.symbol);
  const classes = new Set(seen.map(({ instrument }) => instrument.assetClass));
  const at = asOf === undefined ? context.market.knownUntil() : requestedInstant(asOf, context);
  return {
    ...requestedDayMember(asOf),
    ...answerOrigin(context, at, { detail, symbols }),
    counts: signalCounts(list),
    total: list.length,
    ...(items && { items }),
    ...table,
    evidence: AssetClass.options
      .filter((option) => classes.has(option))
      .map((option) => directionEvidenceAnswer(option, detail)),
    nextCursor,
  };
}

/** Whether a list is sorted or filtered by steadiness, which its items then show. */
const isBySteadiness = ({ sort, minSteadiness }: Query): boolean =>
  sort === "steadiness" || sort === "lowest_steadiness" || minSteadiness !== undefined;

/** Sorts a list; items with equal values are in the order of their symbols. */
function inOrder(
  list: readonly PastSnapshot[],
  sort: Query["sort"],
  context: ToolContext,
): readonly PastSnapshot[] {
  const bySymbol = list.toSorted((a, b) => (a.instrument.symbol < b.instrument.symbol ? -1 : 1));
  const byFigure = (figure: (snapshot: PastSnapshot) => number) => {
    const figures = new Map(bySymbol.map((snapshot) => [snapshot, figure(snapshot)]));
    return bySymbol.toSorted((a, b) => (figures.get(b) ?? 0) - (figures.get(a) ?? 0));
  };
  switch (sort) {
    case "symbol":
      return bySymbol;
    case "score":
      return byFigure(({ score }) => score ?? -1);
    case "lowest_score":
      return byFigure(({ score }) => -(score ?? 101));
    case "confidence":
      return byFigure(({ confidence }) => confidence);
    case "steadiness":
      return byFigure(({ steadiness }) => steadiness?.value ?? UNRANKED);
    case "lowest_steadiness":
      return byFigure(({ steadiness }) => -(steadiness?.value ?? Number.MAX_VALUE));
    case "newest_signal":
      return byFigure(({ signal }) => signal.since);
    case "rise":
      return byFigure((snapshot) => scoreChange(snapshot, context) ?? 0);
    case "fall":
      return byFigure((snapshot) => -(scoreChange(snapshot, context) ?? 0));
  }
}

/** The sessions of a history, and the request for a page of them. */
function historySelection(
  symbol: string,
  query: Query,
  context: ToolContext,
): readonly [RecordList<PastSnapshot>, PageRequest<PastSnapshot>] {
  const { last, limit, cursor } = query;
  const { market, snapshots } = context;
  const instrument = resolveInstrument(symbol, context);
  requireComputedHistory(context);
  const { from, to } = requestedInstantRange(query, market.now(), market);
  const recorded = snapshots.history(instrument.symbol, from, to);
  const list = last === undefined ? recorded : recorded.slice(-last);
  const keyOf = ({ at }: PastSnapshot) => isoInstant(at);
  return [list, { list: "history", limit: last ?? limit, cursor, keyOf, order: "ascending" }];
}

function history(symbol: string, query: Query, context: ToolContext) {
  const { detail, fields = SIGNAL_HISTORY[detail] } = query;
  const columns = chosenColumns(signalColumns, fields);
  const [list, request] = historySelection(symbol, query, context);
  const { items, nextCursor } = readablePage(list, {
    ...request,
    render: (snapshot) => ({
      snapshot,
      row: cellsOfRecord(columns, { snapshot, context }, detail),
    }),
    shown: ({ row }) => row,
  });
  const instrument = resolveInstrument(symbol, context);
  return {
    ...instrumentAnswer(context, snapshotAt(instrument, undefined, context), detail),
    evidence: directionEvidenceAnswer(instrument.assetClass, detail),
    history: Object.fromEntries(
      columns.map(({ name }, place) => [name, items.map(({ row }) => row[place] ?? null)]),
    ),
    signals: signalChanges(
      items.map(({ snapshot }) => snapshot),
      context,
    ),
    nextCursor,
  };
}
