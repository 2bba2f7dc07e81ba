import canonicalize from "canonicalize";
import { z } from "zod";
import { HEADLINE_HORIZON_SESSIONS } from "../../grading/run-grade.ts";
import { EXCLUSION_REASONS, TRACK_RECORD_RULES } from "../../grading/track-record.ts";
import { AssetClass } from "../../market/instrument.ts";
import { MarketMode } from "../../market/market.ts";
import { CheckFailure } from "./check.ts";

const Instant = z.iso.datetime().transform((text) => Date.parse(text));
const Index = z.int().min(0);

const Method = z.looseObject({
  kind: z.literal("method"),
  v: z.literal(1),
  at: Instant,
  market: MarketMode,
  methodHash: z.string(),
  /** Text of the last checkpoint of the log that this log takes the place of. */
  replaces: z.string().optional(),
  settings: z.looseObject({
    signal: z.looseObject({
      thresholds: z.looseObject({ exitLong: z.number(), exitShort: z.number() }),
    }),
  }),
  /** Absent in methods that predate settlements. */
  record: z
    .looseObject({
      horizons: z.partialRecord(AssetClass, z.array(z.int().min(1))),
      headline: z.partialRecord(AssetClass, z.int().min(1)).default(HEADLINE_HORIZON_SESSIONS),
      rules: z.looseObject({
        significance: z.number().gt(0).lt(1).default(TRACK_RECORD_RULES.significance),
        /** Absent in methods that predate corrections. */
        correctedWithin: z.int().min(0).default(TRACK_RECORD_RULES.correctedWithin),
        minPeriods: z.number().min(0).default(TRACK_RECORD_RULES.minPeriods),
        maxIntervalWidth: z.number().min(0).default(TRACK_RECORD_RULES.maxIntervalWidth),
        seed: z.int().default(TRACK_RECORD_RULES.seed),
      }),
      verdictDates: z.array(Instant),
    })
    .optional(),
  /** Absent in methods that predate settlements. */
  risk: z
    .partialRecord(
      AssetClass,
      z.array(
        z.looseObject({
          horizon: z.int().min(1),
          fallPercent: z.number(),
          quantiles: z.array(z.number()).min(1),
          /** Absent in methods that predate the forecast of report dates. */
          reportDays: z
            .looseObject({ before: z.int().min(0), factors: z.array(z.number().positive()) })
            .nullable()
            .default(null),
        }),
      ),
    )
    .optional(),
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
/** Maximum number of horizons of an asset class. */
const MAX_HORIZONS = 8;

const Sigma = z.number().positive().max(MAX_SIGMA);

const signalMembers = {
  kind: z.literal("signal"),
  run: Index,
  close: Instant,
  symbol: z.string(),
  status: z.string(),
  signal: z.enum(["LONG", "SHORT", "WAIT"]).optional(),
  scoreSmoothed: z.number().optional(),
  scoreRaw: z.number().optional(),
  coverage: z.number().optional(),
  factors: z.string().nullable().optional(),
};

const Signal = z.discriminatedUnion("v", [
  z.looseObject({
    ...signalMembers,
    v: z.literal(1),
    sigma: Sigma.nullable().optional(),
    sigmas: z.undefined().optional(),
  }),
  z.looseObject({
    ...signalMembers,
    v: z.literal(2),
    sigma: z.undefined().optional(),
    sigmas: z.array(Sigma).max(MAX_HORIZONS).nullable().optional(),
  }),
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

const Anchor = z.looseObject({
  kind: z.literal("anchor"),
  v: z.literal(1),
  checkpoint: z.string(),
});

const SCHEMAS = {
  method: Method,
  universe: Universe,
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
