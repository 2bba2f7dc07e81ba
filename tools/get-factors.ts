import { z } from "zod";
import { CandidatesAnswer, candidatesAnswer } from "../src/answers/candidate.ts";
import {
  Common,
  common,
  Instant,
  InstantInput,
  isoInstant,
  isoInstantOrNull,
  rounded,
  SymbolInput,
} from "../src/answers/common.ts";
import { resolve, snapshotAt } from "../src/answers/lookup.ts";
import { AnalyserAnswer, tableVersion } from "../src/answers/method.ts";
import { indicators, MAX_BARS } from "../src/factors/indicators.ts";
import { addPrint, type OffExchangeDay } from "../src/factors/off-exchange.ts";
import { FACTOR_STATUSES, FACTORS, type Input, shown } from "../src/factors/reading.ts";
import { normalCdf } from "../src/factors/statistics.ts";
import { summarize } from "../src/factors/summary.ts";
import type { SourcesByFeed } from "../src/market/market.ts";
import { countKnown } from "../src/market/point-in-time.ts";
import type { Bar, Feed, InstrumentRecords } from "../src/market/records.ts";
import { Problem } from "../src/problem.ts";
import type { FactorResult } from "../src/score/snapshot.ts";
import { defineTool } from "../src/tool.ts";

const Factor = z.object({
  score: z.number().min(0).max(100).nullable().describe("Points, 100 Phi(z); null: not measured."),
  z: z.number().nullable().describe("Standard deviations, positive is bullish."),
  confidence: z.number().min(0).max(1),
  weight: z.number().describe("Base weight in the composite, a fraction."),
  contribution: z
    .number()
    .describe("Points of score; the four add up to the unrounded score minus 50."),
  status: z
    .enum(FACTOR_STATUSES)
    .describe(
      "no_activity: a feed looked and found nothing; not_observed: no feed; insufficient_data: history or peer group too short.",
    ),
  asOf: Instant.nullable().describe("When its newest input became known."),
  staleAfter: Instant.nullable(),
  inputs: z.array(
    z.object({
      name: z.string(),
      value: z.number().nullable().describe("In unit."),
      unit: z.string(),
      z: z.number().nullable(),
      weight: z.number().describe("Share of the factor's z; 0 when only shown."),
      observedAt: Instant.nullable(),
      source: z.string().describe("Ids of entries of sources, separated by spaces."),
    }),
  ),
  summary: z.string(),
});

/** The tool that returns the four factors behind a score, number by number. */
export const getFactors = defineTool({
  name: "get_factors",
  title: "Get factors",
  description:
    "The reasons for a score: momentum, valuation, social and dark pool evidence of one instrument, each with its inputs, confidence, contribution in points and, when it is missing, the reason.",
  scopes: ["factor:read"],
  routes: [{ method: "GET", path: "/api/factors" }],
  isShared: true,
  input: z.strictObject({
    symbol: SymbolInput,
    asOf: InstantInput.optional().describe("The last recorded factors at or before this instant."),
    include: z.literal("candidates").optional().describe("Adds candidate methods."),
  }),
  output: z.object({
    ...Common.shape,
    score: z.number().int().min(0).max(100),
    scoreRaw: z.number().min(0).max(100),
    confidence: z.number().min(0).max(1),
    sector: z.string().nullable(),
    tableVersion: z
      .string()
      .nullable()
      .describe(
        "GET /api/method/{methodVersion}?tables={tableVersion} has the weights, rules and peer tables to recompute the score.",
      ),
    analyser: AnalyserAnswer,
    factors: z.record(z.enum(FACTORS), Factor),
    candidates: CandidatesAnswer.optional().describe("Candidate methods, part of no score."),
  }),

  run({ symbol, asOf, include }, context) {
    const instrument = resolve(symbol, context);
    const snapshot = snapshotAt(instrument, asOf, context);
    const { factors, score, confidence, tables } = snapshot;
    const { analyser } = context;
    if (factors === undefined) {
      throw new Problem("not_available_then", {
        detail: `The factors of ${instrument.symbol} at ${isoInstant(snapshot.at)} are no longer stored.`,
        next: "Ask for a later asOf, or get_signal for the score of that time.",
      });
    }
    const records = context.market.records(instrument.symbol);
    const known = countKnown(records.bars, snapshot.at);
    const bars = records.bars.slice(Math.max(0, known - MAX_BARS), known);
    const { market } = context;
    const traded = () => offExchangeContext(bars.at(-1), records, { at: snapshot.at, ...market });
    const sources = market.sourcesOf?.(instrument.symbol);
    const answer = (name: (typeof FACTORS)[number], shown: readonly Input[] = []) =>
      factorAnswer(factors[name], [...factors[name].inputs, ...shown], {
        source: sources ? sourceIdsOf(name, sources) : market.source.id,
        summary: summarize(name, factors[name]),
      });
    return {
      ...common(context, snapshot),
      score: Math.round(score),
      scoreRaw: rounded(score, 2),
      confidence: rounded(confidence, 4),
      sector: instrument.sector,
      tableVersion: tables === undefined ? null : tableVersion(tables, analyser).version,
      analyser,
      factors: {
        momentum: answer("momentum", indicators(bars)),
        valuation: answer("valuation"),
        social: answer("social"),
        darkpool: answer("darkpool", market.printsAre ? [] : traded()),
      },
      ...(include !== undefined && { candidates: candidatesAnswer(snapshot) }),
    };
  },
});

/** The feeds that each factor reads. */
const FEEDS_BY_FACTOR: Readonly<Record<(typeof FACTORS)[number], readonly Feed[]>> = {
  momentum: ["bars"],
  valuation: ["fundamentals", "onChain", "bars"],
  social: ["mentions"],
  darkpool: ["prints", "shortVolumes"],
};

/** Ids of the sources of a factor's feeds. */
function sourceIdsOf(name: (typeof FACTORS)[number], givers: SourcesByFeed): string {
  const ids = FEEDS_BY_FACTOR[name].flatMap((feed) => (givers.get(feed) ?? []).map(({ id }) => id));
  return [...new Set(ids)].join(" ");
}

/** Inputs from the newest session's off-exchange prints that are only shown, since they indicate no
 *  direction: their share of its volume, and the price of blocks (VWAP) over that of all prints. */
function offExchangeContext(
  bar: Bar | undefined,
  { prints = [] }: Pick<InstrumentRecords, "prints">,
  { at, dayMs }: { readonly at: number; readonly dayMs: number },
): readonly Input[] {
  if (bar === undefined) return [];
  // No print of a session is known before the session's date, which starts at most one day earlier.
  const before = countKnown(prints, Date.parse(bar.session) - dayMs);
  const session = prints
    .slice(before, countKnown(prints, at))
    .filter((print) => print.session === bar.session);
  const days = new Map<string, OffExchangeDay>();
  for (const print of session) addPrint(days, print);
  const [day] = days.values();
  if (day === undefined) return [];
  const { shares, notionalUsd, blockShares, blockNotionalUsd } = day;
  const observedAt = Math.max(bar.availableAt, session.at(-1)?.availableAt ?? 0);
  const blocks = blockShares === 0 ? null : blockNotionalUsd / blockShares / (notionalUsd / shares);
  return [
    shown("offExchangeShare", bar.volume > 0 ? shares / bar.volume : null, "fraction", observedAt),
    shown("blockVwapOverVwap", blocks, "ratio", observedAt),
  ];
}

function factorAnswer(
  result: FactorResult,
  inputs: readonly Input[],
  { source, summary }: { readonly source: string; readonly summary: string },
): z.input<typeof Factor> {
  const { z: evidence, asOf, staleAfter } = result;
  return {
    score: evidence === null ? null : rounded(100 * normalCdf(evidence), 2),
    z: evidence,
    confidence: result.confidence,
    weight: result.weight,
    contribution: result.contribution,
    status: result.status,
    asOf: isoInstantOrNull(asOf),
    staleAfter: isoInstantOrNull(staleAfter),
    inputs: inputs.map(({ observedAt, ...input }) => ({
      ...input,
      observedAt: isoInstantOrNull(observedAt),
      source,
    })),
    summary,
  };
}
