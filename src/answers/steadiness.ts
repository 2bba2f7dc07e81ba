import { z } from "zod";
import type { AssetClass } from "../market/instrument.ts";
import type { PastSnapshot } from "../score/snapshot.ts";
import {
  type RankedValue,
  STEADINESS_HORIZONS,
  STEADINESS_INPUTS,
  STEADINESS_RULES,
  type SteadinessReading,
} from "../score/steadiness.ts";
import { normalQuantile } from "../statistics/statistics.ts";
import { InstantAnswer, isoInstant } from "./common.ts";

/** The sentence that says what steadiness is. Pages, tools and docs quote it without rewording. */
export const STEADINESS_MEANING =
  "Steadiness ranks how far prices are likely to fall in a bad month, compared with the other stocks; it says nothing about return or quality.";

/** Why no chance is published; the backtest grades it (docs/method-and-backtest.md). */
const NO_CHANCE_REASON =
  "A chance is given only after its calibration is measured on the stocks served here, which is not done yet.";

const NOT_RANKED: Readonly<Record<Exclude<AssetClass, "stock">, string>> = {
  etf: "Funds are not ranked.",
  crypto: "Coins are not ranked.",
};

const SteadinessInputAnswer = z.object({
  name: z.enum(STEADINESS_INPUTS),
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
  peers: z.int().nullable().describe("Number of stocks ranked; 1001 in the reference tables."),
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
    .describe("Chance that its deepest fall is among the deepest fifth of stocks."),
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
function noSteadinessReason({ instrument, factors }: PastSnapshot): string {
  if (instrument.assetClass !== "stock") return NOT_RANKED[instrument.assetClass];
  if (factors === undefined) return "It is not kept for sessions this far back.";
  return "It did not trade at the last close, or its price has not moved yet.";
}

const inputAnswers = (inputs: SteadinessReading["evidence"]["inputs"]) =>
  STEADINESS_INPUTS.map((name) => ({
    name,
    weight: STEADINESS_RULES.weights[name],
    ...placeAnswer(inputs[name]),
  }));

const placeAnswer = (place: RankedValue | null) =>
  place === null
    ? { value: null, z: null, rank: null, of: null }
    : { ...place, z: normalQuantile((place.rank - 0.5) / place.of) };
