import { z } from "zod";
import { COIN_STEADINESS_RULES } from "../score/coin-steadiness.ts";
import type { PastSnapshot } from "../score/snapshot.ts";
import {
  COIN_STEADINESS_INPUT,
  type RankedValue,
  STEADINESS_HORIZONS,
  STEADINESS_INPUTS,
  STEADINESS_RULES,
  type SteadinessReading,
} from "../score/steadiness.ts";
import { normalQuantile } from "../statistics/normal.ts";
import { InstantAnswer, isoInstant } from "./shared-members.ts";

/** The sentence that says what steadiness is. Pages, tools and docs quote it without rewording. */
export const STEADINESS_MEANING =
  "Steadiness ranks how far prices are likely to fall in a bad month, compared with the rest of the class; it says nothing about return or quality.";

/** Why no chance is published; the backtest grades it (docs/method-and-backtest.md). */
const NO_CHANCE_REASON =
  "A chance is given only after its calibration is measured on the instruments served here, which is not done yet.";

/** Weight of each measurement in the risk. */
const WEIGHTS = { ...STEADINESS_RULES.weights, [COIN_STEADINESS_INPUT]: 1 };

const SteadinessInputAnswer = z.object({
  name: z
    .enum([...STEADINESS_INPUTS, COIN_STEADINESS_INPUT])
    .describe("variance: of coins, of daily log returns, half-life 30 days."),
  value: z.number().nullable().describe("As measured; null: missing, and counts as z 0."),
  z: z.number().nullable().describe("Normal score of (rank - 0.5) / of."),
  weight: z.number().describe("Of z in the risk."),
  rank: z
    .number()
    .nullable()
    .describe("From 1 for the least risk; equal values share a mean rank."),
  of: z.int().nullable(),
});

/** The steadiness of an instrument, with what it is recomputed from. */
export const SteadinessAnswer = z.object({
  value: z
    .number()
    .min(0)
    .max(100)
    .nullable()
    .describe("100 (1 - (rank - 0.5) / peers), by the mean rank of risk."),
  reason: z.string().nullable().describe("Why value is null."),
  asOf: InstantAnswer.nullable().describe("The close it was ranked at."),
  rank: z.number().nullable().describe("1 is the steadiest."),
  peers: z
    .int()
    .nullable()
    .describe("Number of stocks or coins ranked; 1001 in the reference tables."),
  isReference: z
    .boolean()
    .nullable()
    .describe("Whether fewer than 30 stocks traded, so that the method's tables ranked it."),
  risk: z.number().nullable().describe("Sum of weight times z."),
  inputs: z.array(SteadinessInputAnswer),
  worstFifth: z
    .array(
      z.object({
        sessions: z.int(),
        probability: z.number().nullable(),
        reason: z.string().nullable().describe("Why it is null."),
      }),
    )
    .describe("Chance that its deepest fall is among the deepest fifth of its class."),
});

/** Steadiness in whole points, as brief answers show it; `null` if the instrument is not ranked. */
export const steadinessPoints = ({ steadiness }: PastSnapshot): number | null =>
  steadiness === undefined ? null : Math.round(steadiness.value);

/** Renders the steadiness of a snapshot. */
export function steadinessAnswer(snapshot: PastSnapshot): z.input<typeof SteadinessAnswer> {
  const { steadiness } = snapshot;
  const worstFifth = STEADINESS_HORIZONS.map((sessions) => ({
    sessions,
    probability: null,
    reason: NO_CHANCE_REASON,
  }));
  if (steadiness === undefined) {
    const unranked = { rank: null, peers: null, isReference: null, risk: null, inputs: [] };
    const absent = { value: null, asOf: null, ...unranked };
    return { ...absent, reason: noSteadinessReason(snapshot), worstFifth };
  }
  const { value, at, peers, isReference, evidence } = steadiness;
  return {
    value,
    reason: null,
    asOf: isoInstant(at),
    rank: evidence.risk.rank,
    peers,
    isReference,
    risk: evidence.risk.value,
    inputs: inputAnswers(evidence.inputs),
    worstFifth,
  };
}

/** Why an instrument has no steadiness. */
function noSteadinessReason({ instrument, factors, tables }: PastSnapshot): string {
  if (instrument.assetClass === "etf") return "Funds are not ranked.";
  if (factors === undefined) return "It is not kept for sessions this far back.";
  if (instrument.assetClass === "stock") {
    return "It did not trade at the last close, or its price has not moved yet.";
  }
  const { minBars, minCoins } = COIN_STEADINESS_RULES;
  const { length: measured = 0 } = tables?.coins?.variances ?? {};
  return measured < minCoins
    ? `Coins are ranked from ${minCoins} on, and ${measured} traded at the last close with ${minBars} prices.`
    : `It did not trade at the last close, or has fewer than ${minBars} prices.`;
}

const inputAnswers = (inputs: SteadinessReading["evidence"]["inputs"]) =>
  ([...STEADINESS_INPUTS, COIN_STEADINESS_INPUT] as const).flatMap((name) => {
    const place = inputs[name];
    return place === undefined ? [] : [{ name, weight: WEIGHTS[name], ...placeAnswer(place) }];
  });

const placeAnswer = (place: RankedValue | null) =>
  place === null
    ? { value: null, z: null, rank: null, of: null }
    : { ...place, z: normalQuantile((place.rank - 0.5) / place.of) };
