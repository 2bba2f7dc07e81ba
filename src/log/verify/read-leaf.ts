import canonicalize from "canonicalize";
import { z } from "zod";
import { EXCLUSION_REASONS } from "../../grading/track-record.ts";
import { AssetClass } from "../../market/instrument.ts";
import { MarketMode } from "../../market/market.ts";
import { CheckFailure } from "../../tree/check.ts";

const Instant = z.iso.datetime().transform((text) => Date.parse(text));
const Index = z.int().min(0);

const Thresholds = z.looseObject({ exitLong: z.number(), exitShort: z.number() });

/** The thresholds of each asset class; methods up to 1.1.0 have the same ones for all of them. */
const ThresholdsByClass = z.union([
  Thresholds.transform((all) => ({ stock: all, etf: all, crypto: all })),
  z.looseObject({ stock: Thresholds, etf: Thresholds, crypto: Thresholds }),
]);

const Method = z.looseObject({
  kind: z.literal("method"),
  v: z.literal(1),
  at: Instant,
  market: MarketMode,
  methodHash: z.string(),
  /** Release and first digits of the hash, such as `2.0.0+0123456789abcdef`. */
  version: z.string().optional(),
  /** The promotion rule that was registered with the candidate. */
  candidate: z.looseObject({ text: z.string() }).optional(),
  /** Why the method scores by the candidate before that rule was fulfilled. */
  departure: z.string().optional(),
  /** Text of the last checkpoint of the log that this log takes the place of. */
  replaces: z.string().optional(),
  settings: z.looseObject({ signal: z.looseObject({ thresholds: ThresholdsByClass }) }),
  record: z.looseObject({
    horizons: z.partialRecord(AssetClass, z.array(z.int().min(1))),
    headline: z.partialRecord(AssetClass, z.int().min(1)),
    rules: z.looseObject({
      significance: z.number().gt(0).lt(1),
      correctedWithin: z.int().min(0),
      minPeriods: z.number().min(0),
      maxIntervalWidth: z.number().min(0),
      seed: z.int(),
    }),
    verdictDates: z.array(Instant),
  }),
  risk: z.partialRecord(
    AssetClass,
    z.array(
      z.looseObject({
        horizon: z.int().min(1),
        fallPercent: z.number(),
        quantiles: z.array(z.number()).min(1),
        reportDays: z
          .looseObject({ before: z.int().min(0), factors: z.array(z.number().positive()) })
          .nullable(),
      }),
    ),
  ),
});

const Universe = z.looseObject({
  kind: z.literal("universe"),
  v: z.literal(1),
  assetClass: AssetClass,
  part: z.int().min(1),
  parts: z.int().min(1),
  symbols: z.array(z.string()),
});

const Run = z.looseObject({
  kind: z.literal("run"),
  v: z.literal(1),
  assetClass: AssetClass,
  close: Instant,
  at: Instant,
  methodHash: z.string(),
  universe: Index,
  results: Index,
});

/**
 * Maximum accepted forecast standard deviation of a log return, far above any realistic forecast.
 */
const MAX_SIGMA = 1_000;
/** Maximum rounding error of a sum of shares of a significance. */
const ROUNDING_OF_SUM = 1e-12;
/** Maximum number of horizons of an asset class. */
const MAX_HORIZONS = 8;

const Sigma = z.number().positive().max(MAX_SIGMA);
const Sigmas = z.array(Sigma).max(MAX_HORIZONS).nullable().optional();

const signalMembers = {
  kind: z.literal("signal"),
  run: Index,
  close: Instant,
  symbol: z.string(),
  status: z.string(),
  signal: z.enum(["LONG", "SHORT", "WAIT"]).optional(),
  coverage: z.number().optional(),
  factors: z.string().nullable().optional(),
};

/** Scores of version 2, which had one wherever there was a result. */
const scoreMembers = {
  scoreSmoothed: z.number().optional(),
  scoreRaw: z.number().optional(),
  sector: z.undefined().optional(),
};

const Percentile = z.number().min(0).max(100).nullable();

/** Value, value as compared with the sector, and rank among the stocks that have the part. */
const Part = z
  .looseObject({
    value: z.number(),
    relative: z.number(),
    rank: z.number().min(1),
    of: z.int().min(1),
  })
  .refine(({ rank, of }) => rank <= of)
  .nullable();

/** Members of version 3 that compare a stock with the stocks of its close; `null` elsewhere. */
const peerMembers = {
  parts: z
    .looseObject({ surprise: Part, residualMomentum: Part, reversal: Part })
    .nullable()
    .optional(),
  percentiles: z
    .looseObject({ beta: Percentile, volatility: Percentile, dollarVolume: Percentile })
    .nullable()
    .optional(),
  sector: z.string().nullable().optional(),
  steadiness: Percentile.optional(),
};

const Score = z.number().min(0).max(100).nullable().optional();

/** Members that a result of version 3 cannot lack, since it is graded by them. */
const GRADED = ["scoreRaw", "scoreSmoothed", "candidates", ...Object.keys(peerMembers)];

const Signal = z.discriminatedUnion("v", [
  z.looseObject({ ...signalMembers, ...scoreMembers, v: z.literal(2), sigmas: Sigmas }),
  z
    .looseObject({
      ...signalMembers,
      ...peerMembers,
      v: z.literal(3),
      scoreSmoothed: Score,
      scoreRaw: Score,
      candidates: z.record(z.string(), z.number().nullable()).optional(),
      sigmas: Sigmas,
    })
    .refine(({ status, ...leaf }) => status === "failed" || GRADED.every((name) => name in leaf)),
]);

const Settlement = z.looseObject({
  kind: z.literal("settlement"),
  v: z.literal(1),
  assetClass: AssetClass,
  run: Index,
  close: Instant,
  horizon: z.int().min(1),
  entry: Instant.nullable(),
  exit: Instant.nullable(),
  coveredAt: Instant,
  at: Instant,
  results: Index,
  corrects: Index.optional(),
});

/** Date of a session, or its close where days are shorter than 24 hours. */
const SessionLabel = z.string().regex(/^[\dTZ:.-]{1,32}$/);

const outcomeMembers = {
  kind: z.literal("outcome"),
  v: z.literal(1),
  settlement: Index,
  signal: Index,
  symbol: z.string(),
};

const OutcomeLeaf = z.discriminatedUnion("status", [
  z.looseObject({
    ...outcomeMembers,
    status: z.literal("settled"),
    followed: z.number(),
    fromClose: z.number().nullable(),
    lastPrice: SessionLabel.nullable(),
  }),
  z.looseObject({ ...outcomeMembers, status: z.enum(EXCLUSION_REASONS) }),
]);

const Significance = z.number().gt(0).lt(1);

const Claim = z
  .looseObject({
    kind: z.literal("claim"),
    v: z.literal(1),
    at: Instant,
    methodHash: z.string(),
    registeredAt: Instant,
    assetClass: AssetClass,
    horizon: z.int().min(1),
    minDates: Index,
    significance: Significance,
    looks: z.array(z.looseObject({ at: Instant, significance: Significance })).min(1),
  })
  .refine(({ looks, registeredAt }) =>
    looks.every(({ at }, place) => at > (looks[place - 1]?.at ?? registeredAt)),
  )
  .refine(
    ({ looks, significance }) =>
      looks.reduce((sum, look) => sum + look.significance, 0) <= significance + ROUNDING_OF_SUM,
  );

const Anchor = z.looseObject({
  kind: z.literal("anchor"),
  v: z.literal(1),
  checkpoint: z.string(),
});

const SCHEMAS = {
  method: Method,
  universe: Universe,
  claim: Claim,
  anchor: Anchor,
  run: Run,
  signal: Signal,
  settlement: Settlement,
  outcome: OutcomeLeaf,
} as const;

/** A parsed entry of kind `K`. */
export type LeafOf<K extends keyof typeof SCHEMAS> = z.output<(typeof SCHEMAS)[K]>;
type ParsedLeaf = { [K in keyof typeof SCHEMAS]: LeafOf<K> }[keyof typeof SCHEMAS];

/**
 * Parses an entry.
 *
 * @throws {CheckFailure} If the text is not canonical JSON, or does not have the form of its kind.
 */
export function parseLeaf(text: string): ParsedLeaf | { readonly kind: "unknown" } {
  const content = parsed(text);
  const { kind } = (content ?? {}) as { readonly kind?: unknown };
  if (!Object.hasOwn(SCHEMAS, String(kind))) return { kind: "unknown" };
  const { data, error } = SCHEMAS[kind as keyof typeof SCHEMAS].safeParse(content);
  if (error !== undefined) throw new CheckFailure(`is no ${kind} of a known version`);
  return data as ParsedLeaf;
}

function parsed(text: string): unknown {
  try {
    const content: unknown = JSON.parse(text);
    if (canonicalize(content) === text) return content;
  } catch {
    // Text that is not JSON fails with the error below.
  }
  throw new CheckFailure("is not canonical JSON");
}
