import { z } from "zod";
import {
  AnswerStatus,
  Common,
  CursorInput,
  common,
  Identity,
  Instant,
  InstantInput,
  identityOf,
  instantRange,
  isoInstant,
  Provenance,
  provenance,
  resolve,
  rounded,
  SymbolInput,
  snapshotAt,
} from "../src/answer.ts";
import { FACTORS } from "../src/factors/reading.ts";
import { AssetClass } from "../src/market/instrument.ts";
import { cutPage } from "../src/page.ts";
import { Problem } from "../src/problem.ts";
import { DIRECTIONS, FORCED_WAITS, THRESHOLDS } from "../src/score/direction.ts";
import { METHOD_VERSION, type Snapshot } from "../src/score/snapshot.ts";
import { defineTool, type PastSnapshot, type ToolContext } from "../src/tool.ts";

/** The span that a score is about; it says nothing about longer or shorter ones. */
const HORIZON: Readonly<Record<AssetClass, string>> = {
  stock: "21 sessions",
  etf: "21 sessions",
  crypto: "7 days",
};

const Direction = z.enum(DIRECTIONS);

const Input = z.strictObject({
  symbol: SymbolInput.optional(),
  symbols: z.array(SymbolInput).min(1).max(50).optional().describe("Up to 50 symbols at once."),
  asOf: InstantInput.optional().describe("The last recorded signal at or before this instant."),
  from: InstantInput.optional().describe("With symbol: history from this instant on."),
  to: InstantInput.optional().describe("With symbol: history up to this instant."),
  signal: Direction.optional().describe("Without a symbol: only this signal."),
  assetClass: AssetClass.optional().describe("Without a symbol: only this class."),
  minScore: z.number().min(0).max(100).optional().describe("Without a symbol: at least this."),
  limit: z.number().int().min(1).max(500).default(50).describe("Most items of a page."),
  cursor: CursorInput.optional(),
});

const Score = z.number().int().min(0).max(100).describe("0 most bearish, 50 no view, 100 bullish.");

const SignalFields = z.object({
  signal: Direction.describe("Follows scoreSmoothed through the thresholds, not the score itself."),
  score: Score,
  scoreRaw: z.number().min(0).max(100).describe("The score with two decimals."),
  scoreSmoothed: z.number().min(0).max(100),
  confidence: z.number().min(0).max(1).describe("Weight of the evidence."),
  coverage: z.number().min(0).max(1).describe("Share of the factors' weight that has a value."),
});

const Signal = z.object({
  ...Common.shape,
  ...SignalFields.shape,
  thresholds: z
    .object({
      enterLong: z.number(),
      exitLong: z.number(),
      enterShort: z.number(),
      exitShort: z.number(),
      enterConfidence: z.number(),
      holdConfidence: z.number(),
    })
    .describe(
      "LONG begins at enterLong with enterConfidence and ends below exitLong; SHORT alike.",
    ),
  forcedWait: z.enum(FORCED_WAITS).nullable().describe("Why it is WAIT whatever the score."),
  since: Instant.describe("When this signal began, at the earliest when the record begins."),
  previousSignal: Direction.nullable(),
  frozen: z.boolean().describe("True while trading pauses; the signal is the last session's."),
  missingFactors: z.array(z.enum(FACTORS)),
  pOutperform: z.null().describe("Not calibrated yet, hence null: the score is no probability."),
  horizon: z.string(),
  price: z
    .object({ value: z.number(), currency: z.string(), at: Instant })
    .nullable()
    .describe("Newest close as traded."),
  snapshotId: z.string(),
});

const SignalItem = z.object({
  ...Identity.shape,
  asOf: Instant,
  status: AnswerStatus,
  ...SignalFields.shape,
});

const SignalPage = z.object({
  ...Provenance.shape,
  items: z.array(SignalItem),
  nextCursor: z.string().nullable(),
});

const SignalHistory = z.object({
  ...Common.shape,
  history: z.array(z.object({ asOf: Instant, status: AnswerStatus, ...SignalFields.shape })),
  nextCursor: z.string().nullable(),
});

type Query = z.output<typeof Input>;

/** Composite score and signal of one, several or all instruments, now or then. */
export const getSignal = defineTool({
  name: "get_signal",
  title: "Get signal",
  description:
    "Composite score (0 to 100) and LONG, SHORT or WAIT for a stock or coin, with confidence and what is missing. One symbol gives the full answer, symbols a short one for each, from/to its history, none a page of all instruments to filter. Call get_factors for the reasons.",
  scope: "signals:read",
  routes: [{ method: "GET", path: "/api/signals" }],
  input: Input,
  output: z.union([Signal, SignalPage, SignalHistory]),

  run(query, context) {
    refuseMixedQuery(query);
    const { symbol, symbols, from, to } = query;
    if (symbol !== undefined && (from !== undefined || to !== undefined)) {
      return history(symbol, query, context);
    }
    if (symbol !== undefined) return signal(symbol, query.asOf, context);
    return page(
      symbols === undefined ? filtered(query, context) : chosen(query, context),
      query,
      context,
    );
  },
});

/** @throws {Problem} `invalid_request` when parameters of different questions are mixed. */
function refuseMixedQuery(query: Query): void {
  const given = (names: readonly (keyof Query)[]) => names.filter((n) => query[n] !== undefined);
  const filters = given(["signal", "assetClass", "minScore"]);
  const refuse = (detail: string, next: string) => {
    throw new Problem("invalid_request", { detail, next });
  };
  if (query.symbol !== undefined && query.symbols !== undefined) {
    refuse("symbol, symbols: only one of the two may be given.", "Leave one out.");
  }
  if (given(["symbol", "symbols"]).length > 0 && filters.length > 0) {
    refuse(`${filters.join(", ")}: filters choose among all instruments.`, "Leave the symbol out.");
  }
  const dated = given(["from", "to", "asOf"]);
  if (query.symbol === undefined && dated.length > 0 && query.symbols === undefined) {
    refuse(`${dated.join(", ")}: the past is kept by instrument.`, "Give a symbol.");
  }
  if (query.symbol === undefined && given(["from", "to"]).length > 0) {
    refuse("from, to: history is given for one symbol at a time.", "Give symbol.");
  }
}

function signal(symbol: string, asOf: string | undefined, context: ToolContext) {
  const instrument = resolve(symbol, context);
  const snapshot = snapshotAt(instrument, asOf, context);
  const { at, price, signal } = snapshot;
  return {
    ...common(context, snapshot),
    ...signalFields(snapshot),
    thresholds: THRESHOLDS,
    forcedWait: signal.forcedWait,
    since: isoInstant(signal.since),
    previousSignal: signal.previous,
    frozen: signal.frozen,
    missingFactors: [...snapshot.missingFactors],
    pOutperform: null,
    horizon: HORIZON[instrument.assetClass],
    price: price && {
      value: price.value,
      currency: instrument.currency,
      at: isoInstant(price.at),
    },
    snapshotId: `${instrument.symbol}/${isoInstant(at)}/${METHOD_VERSION}`,
  };
}

const signalFields = ({ score, confidence, coverage, signal }: PastSnapshot) => ({
  signal: signal.direction,
  score: Math.round(score),
  scoreRaw: rounded(score, 2),
  scoreSmoothed: rounded(signal.smoothed, 2),
  confidence: rounded(confidence, 4),
  coverage: rounded(coverage, 4),
});

function filtered(query: Query, { snapshots }: ToolContext): readonly Snapshot[] {
  return snapshots.allNewest().filter(({ instrument, score, signal }) => {
    if (query.assetClass !== undefined && instrument.assetClass !== query.assetClass) return false;
    if (query.signal !== undefined && signal.direction !== query.signal) return false;
    return query.minScore === undefined || Math.round(score) >= query.minScore;
  });
}

function chosen({ symbols = [], asOf }: Query, context: ToolContext): readonly PastSnapshot[] {
  const instruments = [...new Set(symbols.map((symbol) => resolve(symbol, context)))];
  return instruments.map((instrument) => snapshotAt(instrument, asOf, context));
}

function page(list: readonly PastSnapshot[], { limit, cursor }: Query, context: ToolContext) {
  const keyOf = ({ instrument }: PastSnapshot) => instrument.symbol;
  const { items, nextCursor } = cutPage(list, { limit, cursor, keyOf });
  return {
    ...provenance(context, context.market.knownUntil()),
    items: items.map((snapshot) => ({
      ...identityOf(snapshot.instrument),
      asOf: isoInstant(snapshot.at),
      status: snapshot.status,
      ...signalFields(snapshot),
    })),
    nextCursor,
  };
}

function history(symbol: string, query: Query, context: ToolContext) {
  const instrument = resolve(symbol, context);
  const { from, to } = instantRange(query, context.market.now());
  const list = context.snapshots.history(instrument.symbol, from, to);
  const { items, nextCursor } = cutPage(list, {
    limit: query.limit,
    cursor: query.cursor,
    keyOf: ({ at }) => isoInstant(at),
  });
  return {
    ...common(context, snapshotAt(instrument, undefined, context)),
    history: items.map((snapshot) => ({
      asOf: isoInstant(snapshot.at),
      status: snapshot.status,
      ...signalFields(snapshot),
    })),
    nextCursor,
  };
}
