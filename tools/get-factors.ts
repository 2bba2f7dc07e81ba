import { z } from "zod";
import {
  Common,
  common,
  Instant,
  InstantInput,
  isoInstant,
  isoInstantOrNull,
  resolve,
  rounded,
  SymbolInput,
  snapshotAt,
} from "../src/answers/common.ts";
import { tableVersion } from "../src/answers/method.ts";
import { indicators } from "../src/factors/indicators.ts";
import { FACTOR_STATUSES, FACTORS, type Input } from "../src/factors/reading.ts";
import { normalCdf } from "../src/factors/statistics.ts";
import { summarise } from "../src/factors/summary.ts";
import { countKnown } from "../src/market/point-in-time.ts";
import { Problem } from "../src/problem.ts";
import type { FactorResult } from "../src/score/snapshot.ts";
import { defineTool, type ToolContext } from "../src/tool.ts";

const Factor = z.object({
  score: z.number().min(0).max(100).nullable().describe("100 Phi(z); null when not measured."),
  z: z.number().nullable().describe("Standardised evidence, positive is bullish."),
  confidence: z.number().min(0).max(1),
  weight: z.number().describe("Base weight in the composite."),
  contribution: z
    .number()
    .describe("Points of score; the four add up to the unrounded score minus 50."),
  status: z
    .enum(FACTOR_STATUSES)
    .describe(
      "no_activity: a feed looked and found nothing; not_observed: no feed; insufficient_data: history or peer group too short.",
    ),
  asOf: Instant.nullable().describe("When the newest datum behind it became known."),
  staleAfter: Instant.nullable(),
  inputs: z.array(
    z.object({
      name: z.string(),
      value: z.number().nullable(),
      unit: z.string(),
      z: z.number().nullable(),
      weight: z.number().describe("Share of the factor's z; 0 when only shown."),
      observedAt: Instant.nullable(),
      source: z.string().describe("id of an entry of sources."),
    }),
  ),
  summary: z.string(),
});

/** The four factors behind a score, number by number. */
export const getFactors = defineTool({
  name: "get_factors",
  title: "Get factors",
  description:
    "Why the score is what it is: momentum, valuation, social and dark pool evidence of one instrument, each with its inputs, confidence, contribution in points and, when it is missing, the reason.",
  scope: "factor:read",
  routes: [{ method: "GET", path: "/api/factors" }],
  input: z.strictObject({
    symbol: SymbolInput,
    asOf: InstantInput.optional().describe("The last recorded factors at or before this instant."),
  }),
  output: z.object({
    ...Common.shape,
    score: z.number().int().min(0).max(100),
    scoreRaw: z.number().min(0).max(100),
    confidence: z.number().min(0).max(1),
    sector: z.string().nullable(),
    tableVersion: z.string().nullable().describe("See /api/method/{methodVersion}."),
    factors: z.record(z.enum(FACTORS), Factor),
  }),

  run({ symbol, asOf }, context) {
    const instrument = resolve(symbol, context);
    const snapshot = snapshotAt(instrument, asOf, context);
    const { factors, score, confidence } = snapshot;
    if (factors === undefined) {
      throw new Problem("not_available_then", {
        detail: `The factors of ${instrument.symbol} at ${isoInstant(snapshot.at)} are not kept any more.`,
        next: "Ask for a later asOf, or get_signal for the score of that time.",
      });
    }
    const source = context.market.source.id;
    const answer = (name: (typeof FACTORS)[number], shown: readonly Input[] = []) =>
      factorAnswer(factors[name], [...factors[name].inputs, ...shown], {
        source,
        summary: summarise(name, factors[name]),
      });
    return {
      ...common(context, snapshot),
      score: Math.round(score),
      scoreRaw: rounded(score, 2),
      confidence: rounded(confidence, 4),
      sector: instrument.sector,
      tableVersion: snapshot.tables === undefined ? null : tableVersion(snapshot.tables).version,
      factors: {
        momentum: answer("momentum", indicators(barsAt(instrument.symbol, snapshot.at, context))),
        valuation: answer("valuation"),
        social: answer("social"),
        darkpool: answer("darkpool"),
      },
    };
  },
});

function barsAt(symbol: string, at: number, { market }: ToolContext) {
  const { bars } = market.records(symbol);
  return bars.slice(0, countKnown(bars, at));
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
