import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { LRUCache } from "lru-cache";
import { z } from "zod";
import type { AssetClass, Instrument } from "../market/instrument.ts";
import type { MarketView } from "../market/market-view.ts";
import { countKnownRecords } from "../market/point-in-time.ts";
import type { Bar, RecordList } from "../market/records.ts";
import { RISK_MODELS, RISK_RULES } from "../risk/forecast.ts";
import { riskTableOf, riskUniverseOf } from "../risk/measured-table.ts";
import {
  type HorizonOutlook,
  type PriceRange,
  peerSigmas,
  RISK_LEVEL_RULES,
  RISK_LEVELS,
  type RiskLevel,
  type RiskOutlook,
  riskLevel,
  riskOutlook,
  samplePeers,
} from "../risk/outlook.ts";
import { RANGE_PROBABILITIES } from "../risk/ranges.ts";
import { horizonVariance, spansReport } from "../risk/report-days.ts";
import { RISK_VERDICTS, type RiskEvidence, type RiskTable } from "../risk/table.ts";
import type { PastSnapshot } from "../score/snapshot.ts";
import { roundTo } from "./rounding.ts";
import { InstantAnswer, isoInstant } from "./shared-members.ts";

/** Reasons for which a range or the probability of a fall is not published. */
const WITHHELD = ["insufficient_data", "coverage_missed", "no_skill"] as const;

const Range = z.object({
  probability: z.number().describe("Nominal share of outcomes inside."),
  coverage: z
    .number()
    .describe("Share that was inside, out of sample; across reports if one is expected within."),
  low: z.number(),
  high: z.number(),
  lowPercent: z.number(),
  highPercent: z.number(),
});

const Horizon = z.object({
  sessions: z.number().int().describe("Trading sessions; for coins days."),
  universe: z.string().describe("What it was tested on; for others it is untested."),
  volatilityPercent: z.number().describe("Expected standard deviation over them."),
  reportFactor: z
    .number()
    .describe(
      "By how much a near report widens the above and the ranges, which contain it; 1 without any.",
    ),
  ranges: z.array(Range).nullable().describe("Close at the end, dividends included."),
  rangesWithheld: z.enum(WITHHELD).nullable(),
  fall: z.object({
    percent: z.number().describe("Fall below from.price, at the end of the horizon."),
    probability: z.number().nullable(),
    withheld: z.enum(WITHHELD).nullable(),
    skill: z.number().nullable().describe("Brier skill out of sample; 0 is no skill."),
    skillInterval: z.object({ low: z.number(), high: z.number() }).nullable(),
  }),
  model: z.enum(RISK_MODELS),
  verdict: z.enum(RISK_VERDICTS).describe("Is the volatility forecast better than EWMA .94?"),
  qlike: z
    .object({ forecast: z.number(), ewma: z.number(), randomWalk: z.number() })
    .nullable()
    .describe("Loss out of sample; smaller is better."),
});

const RiskForecast = z.object({
  from: z.object({ price: z.number(), at: InstantAnswer }).describe("The last known close."),
  annualVolatilityPercent: z.number(),
  horizons: z.array(Horizon),
  fitted: z.string().describe("When."),
  tested: z.string().describe("When; on the universe of each horizon."),
  sha256: z
    .string()
    .describe("Of the table, canonical JSON; parameters.risk of the method has it."),
});

/** The risk of an instrument. */
export const RiskAnswer = z.object({
  level: z.enum(RISK_LEVELS).nullable().describe("Against its own past year."),
  peerLevel: z.enum(RISK_LEVELS).nullable().describe("Against others of its class."),
  summary: z.string().describe("Expected range and chance of a fall, with their past accuracy."),
  table: z.string().describe("First 16 digits of the table's sha256."),
  forecast: RiskForecast.nullable().optional().describe("With risk=full; null: too young."),
});

/** The reason why a young instrument has no forecast, worded to follow a colon. */
export const TOO_FEW_SESSIONS_TEXT = `it needs ${RISK_RULES.windowSessions} sessions in which the price moves`;

/** Sessions a year, by asset class. */
export const SESSIONS_PER_YEAR: Readonly<Record<AssetClass, number>> = {
  stock: 252,
  etf: 252,
  crypto: 365,
};

/** Number of market days without a new bar after which an instrument no longer counts as a peer. */
const PEER_DAYS = 7;

/** Number of closes of a class for which its peers are cached. */
const MAX_PEER_CLOSES = 50;

const hashes = new WeakMap<RiskTable, string>();

/** SHA-256 of a table's canonical JSON (RFC 8785), hexadecimal. */
function hashOf(table: RiskTable): string {
  const known =
    hashes.get(table) ??
    createHash("sha256")
      .update(canonicalize(table) as string)
      .digest("hex");
  hashes.set(table, known);
  return known;
}

/**
 * The risk table of a market, its hash and the rules of risk levels, as published with the method.
 */
export const riskParameters = (market: MarketView) => {
  const table = riskTableOf(market.source);
  return { sha256: hashOf(table), levels: RISK_LEVEL_RULES, table };
};

/** Cached results for a market. Within a session they change only when a bar arrives late. */
interface Caches {
  readonly outlooks: LRUCache<string, { readonly outlook: RiskOutlook | undefined }>;
  readonly peers: LRUCache<string, readonly number[]>;
}

const cachesByMarket = new WeakMap<MarketView, Caches>();

function cachesOf(market: MarketView): Caches {
  const known = cachesByMarket.get(market) ?? {
    outlooks: new LRUCache({ max: 20_000 }),
    peers: new LRUCache({ max: MAX_PEER_CLOSES }),
  };
  cachesByMarket.set(market, known);
  return known;
}

/**
 * The risk outlook of an instrument at its last known close.
 *
 * @param at When the close became known, Unix milliseconds.
 */
function outlookAt(
  { symbol, assetClass }: Instrument,
  at: number,
  market: MarketView,
): RiskOutlook | undefined {
  const { outlooks } = cachesOf(market);
  const records = market.records(symbol);
  const key = `${symbol} ${at} ${records.bars.length} ${records.fundamentals?.length ?? 0}`;
  const known = outlooks.get(key) ?? {
    outlook: riskOutlook(records, assetClass, at, riskTableOf(market.source)),
  };
  outlooks.set(key, known);
  return known.outlook;
}

/** Caches the bars of the peers of a class at a close, keyed by the list of all instruments. */
const peersByList = new WeakMap<
  readonly Instrument[],
  LRUCache<string, readonly RecordList<Bar>[]>
>();

/**
 * The bars of the instruments with which a level of a class is determined at a close: a sample of
 * those that had a price by then, so that later listings do not change it.
 */
function peersOf(
  assetClass: AssetClass,
  at: number,
  market: MarketView,
): readonly RecordList<Bar>[] {
  const all = market.instruments();
  const samples = peersByList.get(all) ?? new LRUCache({ max: MAX_PEER_CLOSES });
  peersByList.set(all, samples);
  const key = `${assetClass} ${at}`;
  const known =
    samples.get(key) ??
    samplePeers(
      all
        .filter((one) => one.assetClass === assetClass)
        .map(({ symbol }) => market.records(symbol).bars)
        .filter((bars) => countKnownRecords(bars, at) > 0),
    );
  samples.set(key, known);
  return known;
}

/**
 * The volatility forecasts of a class's peers at a close, with which a risk level is determined.
 */
function peersAt(assetClass: AssetClass, at: number, market: MarketView): readonly number[] {
  const lists = peersOf(assetClass, at, market);
  const bars = lists.reduce((sum, { length }) => sum + length, 0);
  const { peers } = cachesOf(market);
  const key = `${assetClass} ${at} ${lists.length} ${bars}`;
  const newestSince = at - PEER_DAYS * market.dayMs;
  const known = peers.get(key) ?? peerSigmas(lists, assetClass, { at, newestSince });
  peers.set(key, known);
  return known;
}

function peerLevelOf(
  { sigma, bar }: RiskOutlook,
  assetClass: AssetClass,
  market: MarketView,
): RiskLevel | null {
  return riskLevel(sigma, peersAt(assetClass, bar.availableAt, market), RISK_LEVEL_RULES.minPeers);
}

/**
 * Renders the risk of one instrument.
 *
 * @param isFull Whether to include all figures of the forecast.
 */
export function riskAnswer(
  { instrument, price }: PastSnapshot,
  market: MarketView,
  isFull: boolean,
): z.input<typeof RiskAnswer> {
  const table = riskTableOf(market.source);
  const { assetClass } = instrument;
  const outlook = price === null ? undefined : outlookAt(instrument, price.at, market);
  const level = outlook?.level ?? null;
  const peerLevel = outlook ? peerLevelOf(outlook, assetClass, market) : null;
  return {
    level,
    peerLevel,
    summary: outlook
      ? summaryOf(outlook, assetClass, { level, peerLevel }, market)
      : `No forecast: ${TOO_FEW_SESSIONS_TEXT}.`,
    table: hashOf(table).slice(0, 16),
    ...(isFull && { forecast: outlook ? forecastOf(outlook, instrument, market) : null }),
  };
}

/**
 * The 80 % range of the close, [low, high], by horizon in sessions; `null` if no range is
 * published.
 */
export function rangesAt80Percent(
  { instrument, price }: PastSnapshot,
  market: MarketView,
): Readonly<Record<string, number[]>> | null {
  const outlook = price === null ? undefined : outlookAt(instrument, price.at, market);
  if (outlook === undefined) return null;
  const published = outlook.horizons.flatMap(({ table, ranges }) => {
    const range = ranges?.find(({ probability }) => probability === BRIEF_PROBABILITY);
    if (range === undefined) return [];
    const { low, high } = priceRangeBounds(range, outlook.bar.close);
    return [[String(table.horizon), [low, high]] satisfies [string, number[]]];
  });
  return published.length === 0 ? null : Object.fromEntries(published);
}

/** Nominal coverage of the range in a brief answer. */
const BRIEF_PROBABILITY = 0.8;

function forecastOf(
  { bar, sigma, horizons }: RiskOutlook,
  { assetClass }: Instrument,
  { source }: Pick<MarketView, "source">,
): z.input<typeof RiskForecast> {
  const table = riskTableOf(source);
  return {
    from: { price: bar.close, at: isoInstant(bar.availableAt) },
    annualVolatilityPercent: toPercent(sigma * Math.sqrt(SESSIONS_PER_YEAR[assetClass])),
    horizons: horizons.map((one) => ({
      ...horizonOf(one, bar.close),
      universe: riskUniverseOf(source, assetClass, one.table),
    })),
    fitted: table.fitted,
    tested: table.tested,
    sha256: hashOf(table),
  };
}

function horizonOf(
  outlook: HorizonOutlook,
  price: number,
): Omit<z.input<typeof Horizon>, "universe"> {
  const { table, sigma, ranges, fall } = outlook;
  const { horizon, model, fallPercent, evidence } = table;
  const { verdict, fallSkill } = evidence;
  const held = coverageOf(outlook);
  const after = evidence.qlike.after;
  const withheld = ranges === null ? whyWithheld(evidence) : null;
  return {
    sessions: horizon,
    volatilityPercent: toPercent(sigma),
    reportFactor: reportFactor(outlook),
    ranges:
      ranges?.map((range, index) => ({
        probability: range.probability,
        coverage: held[index] ?? 0,
        ...priceRangeBounds(range, price),
      })) ?? null,
    rangesWithheld: withheld,
    fall: {
      percent: fallPercent,
      probability: fall === null ? null : roundTo(fall, 3),
      withheld: fall === null ? (withheld ?? "no_skill") : null,
      skill: fallSkill?.value ?? null,
      skillInterval: fallSkill && { low: fallSkill.low, high: fallSkill.high },
    },
    model,
    verdict,
    qlike: after && {
      forecast: after.forecast,
      ewma: after.ewma,
      randomWalk: after.randomWalk,
    },
  };
}

const reportFactor = ({ table, reportIn }: HorizonOutlook): number =>
  roundTo(Math.sqrt(horizonVariance(table, reportIn) / table.horizon), 2);

/**
 * The measured coverage of each range. If a report is expected within the horizon, this is the
 * coverage of only those forecasts in whose horizon a report was expected, if it was measured.
 */
const coverageOf = ({ table, reportIn }: HorizonOutlook): readonly number[] => {
  const { coverage, acrossReports } = table.evidence;
  return (spansReport(reportIn, table.horizon) && acrossReports) || coverage;
};

const whyWithheld = ({ verdict }: RiskEvidence): (typeof WITHHELD)[number] =>
  verdict === "insufficient_data" ? "insufficient_data" : "coverage_missed";

/** Converts a fraction to percent with two decimals. */
export const toPercent = (share: number): number => roundTo(100 * share, 2);

/** Converts a range of log returns to prices and to percentages of the current price. */
export const priceRangeBounds = (
  { low, high }: Omit<PriceRange, "probability">,
  price: number,
) => ({
  low: roundToSixDigits(price * Math.exp(low)),
  high: roundToSixDigits(price * Math.exp(high)),
  lowPercent: toPercent(Math.expm1(low)),
  highPercent: toPercent(Math.expm1(high)),
});

/** Rounds a price to six significant digits, since a coin may cost a fraction of a cent. */
export const roundToSixDigits = (price: number): number => Number(price.toPrecision(6));

function summaryOf(
  { bar, horizons, sigma }: RiskOutlook,
  assetClass: AssetClass,
  { level, peerLevel }: { readonly level: RiskLevel | null; readonly peerLevel: RiskLevel | null },
  { source }: Pick<MarketView, "source">,
): string {
  const yearly = roundTo(100 * sigma * Math.sqrt(SESSIONS_PER_YEAR[assetClass]), 0);
  const levels = [level && `${level} for it`, peerLevel && `${peerLevel} among its class`];
  const words = levels.filter((one) => one !== null).join(", ");
  const [first] = horizons;
  const range = first && rangeSentence(first, bar.close, { assetClass, source });
  return [
    `Volatility ${yearly} % a year${words === "" ? "" : `: ${words}`}.`,
    ...(range === undefined ? [] : [range]),
  ].join(" ");
}

/** A sentence on the 95 % range and the probability of a fall over one horizon. */
function rangeSentence(
  outlook: HorizonOutlook,
  price: number,
  {
    assetClass,
    source,
  }: { readonly assetClass: AssetClass; readonly source: MarketView["source"] },
): string {
  const { table, ranges, fall, reportIn } = outlook;
  const { horizon, fallPercent, evidence } = table;
  const span = `${horizon} ${assetClass === "crypto" ? "days" : "sessions"}`;
  const widest = ranges?.at(-1);
  if (widest === undefined) {
    return `No range over ${span}: ${noRangeReason(evidence)}.`;
  }
  const { low, high, lowPercent, highPercent } = priceRangeBounds(widest, price);
  const held = roundTo(100 * (coverageOf(outlook)[RANGE_PROBABILITIES.length - 1] ?? 0), 1);
  const across = spansReport(reportIn, horizon)
    ? ` across reports: one is due in ${reportIn === 1 ? "1 session" : `${reportIn} sessions`}`
    : "";
  const skill = signedText(100 * (evidence.fallSkill?.value ?? 0));
  const chance =
    fall === null
      ? ""
      : `; ${roundTo(100 * fall, 0)} % chance to end more than ${fallPercent} % lower (skill ${skill} %${across === "" ? "" : " over all"})`;
  return `95 % range over ${span}: ${quotedPriceText(low)} to ${quotedPriceText(high)} (${signedText(lowPercent)} to ${signedText(highPercent)} %, held ${held} %${across})${chance}. Tested on ${riskUniverseOf(source, assetClass, table)}, ${riskTableOf(source).tested}.`;
}

/** The reason why ranges are not published, worded to follow a colon. */
export const noRangeReason = (evidence: RiskEvidence): string =>
  whyWithheld(evidence) === "insufficient_data"
    ? "too few instruments to test it on"
    : "it did not hold out of sample";

/** Formats a price for people: to the cent from 10 on, else with up to four significant digits. */
const quotedPriceText = (price: number): string =>
  price >= 10 ? price.toFixed(2) : String(Number(price.toPrecision(4)));

/** Formats a number with its sign and one decimal. */
const signedText = (value: number): string => `${value < 0 ? "" : "+"}${value.toFixed(1)}`;
