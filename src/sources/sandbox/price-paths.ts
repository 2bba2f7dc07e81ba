import { QUARTER_DAYS } from "./calendar.ts";
import type { InstrumentProfile } from "./profile.ts";
import { clamp, type Rng, type RngFor, standardNormal, uniformInteger } from "./rng.ts";
import { SECTOR_NAMES } from "./universe.ts";

/** Drift and standard deviation of daily log returns while a regime lasts. */
interface Regime {
  readonly drift: number;
  readonly volatility: number;
}

/** A bull, a calm and a bear regime. */
type Regimes = readonly [Regime, Regime, Regime];

/** Regimes of the whole market; a drift of .001 a day is a log return of .25 in 252 sessions. */
const MARKET_REGIMES: Regimes = [
  { drift: 0.001, volatility: 0.006 },
  { drift: 0.0003, volatility: 0.005 },
  { drift: -0.0014, volatility: 0.011 },
];

/** Regimes of one sector, in addition to those of the market. */
const SECTOR_REGIMES: Regimes = [
  { drift: 0.0006, volatility: 0.004 },
  { drift: 0, volatility: 0.003 },
  { drift: -0.0006, volatility: 0.005 },
];

/** Regimes that all coins share, more volatile than the regimes of any sector. */
const COIN_REGIMES: Regimes = [
  { drift: 0.003, volatility: 0.022 },
  { drift: 0, volatility: 0.014 },
  { drift: -0.003, volatility: 0.03 },
];

/**
 * Regimes of a single instrument; the drift is large enough for a trend of months to exceed the
 * noise.
 */
function ownRegimes(volatility: number): Regimes {
  return [
    { drift: 0.2 * volatility, volatility: 0.9 * volatility },
    { drift: 0, volatility: 0.6 * volatility },
    { drift: -0.2 * volatility, volatility: 1.3 * volatility },
  ];
}

const SHORTEST_DAYS = 40;
const LONGEST_DAYS = 200;

/** Daily log returns under a random sequence of regimes, each of which lasts 40 to 200 days. */
function regimeReturns(rng: Rng, regimes: Regimes): Float64Array {
  const returns = new Float64Array(SEGMENT_DAYS);
  let regime: Regime = regimes[0];
  let until = 0;
  for (let day = 0; day < SEGMENT_DAYS; day++) {
    if (day === until) {
      regime = regimes[uniformInteger(rng, regimes.length)] as Regime;
      until += SHORTEST_DAYS + uniformInteger(rng, LONGEST_DAYS - SHORTEST_DAYS + 1);
    }
    returns[day] = regime.drift + regime.volatility * standardNormal(rng);
  }
  return returns;
}

/**
 * Length of a price segment in days. Prices are anchored at both ends of a segment, so that a price
 * can be computed without all the days before it.
 */
export const SEGMENT_DAYS = 1024;

/** Standard deviation of an anchor's log price around the base price. */
const ANCHOR_SPREAD = 0.35;

/**
 * Bounds of a daily log return before `bridge` adjusts it. The absolute value of the adjusted
 * return then stays below .8.
 */
const RETURN_BOUNDS = [-0.45, 0.45] as const;

const JUMP_PROBABILITY = 0.003;

/**
 * Length of a halt cycle in days. One stock is halted for the first 1 to 4 days of the cycle,
 * another for the rest.
 */
const HALT_CYCLE_DAYS = 4;

/** A stock split. */
interface Split {
  /** Day of the split, counted from the start of the segment. */
  readonly offset: number;
  /** New shares per old share. */
  readonly ratio: number;
}

/** Prices of one instrument over a segment, by day within the segment. */
interface Path {
  /** Logarithmic total return of each day. */
  readonly returns: Float64Array;
  /** Natural logarithm of the price as traded. */
  readonly logPrices: Float64Array;
  readonly split: Split | null;
}

/** Price paths and trading halts of all instruments over 1,024 days. */
interface PriceSegment {
  readonly firstDay: number;
  /** Index of the halted instrument, by day within the segment. */
  readonly halted: Uint8Array;
  /** Price path of each instrument, by its index. */
  readonly paths: readonly Path[];
}

/** Returns the segment that contains a day. */
export type FindSegment = (day: number) => PriceSegment;

/** Dividend per share on a day, as a fraction of the price; 0 on most days. */
export function dividendYieldOn(profile: InstrumentProfile, day: number): number {
  const exDay = (profile.index * 7) % QUARTER_DAYS;
  return day % QUARTER_DAYS === exDay ? profile.dividendYield : 0;
}

function haltsOf(
  rngFor: RngFor,
  profiles: readonly InstrumentProfile[],
  firstDay: number,
): Uint8Array {
  const candidates = profiles.filter(
    ({ instrument, traits }) => instrument.assetClass === "stock" && traits.listing === null,
  );
  const halted = new Uint8Array(SEGMENT_DAYS);
  const quarter = Math.floor(candidates.length / 4);
  for (let cycle = 0; cycle < SEGMENT_DAYS / HALT_CYCLE_DAYS; cycle++) {
    const start = cycle * HALT_CYCLE_DAYS;
    const rng = rngFor("halt", 0, firstDay + start);
    const change = start + 1 + uniformInteger(rng, HALT_CYCLE_DAYS);
    // The candidates form four sets. Consecutive halts draw from different sets, so that no stock
    // is halted twice in a row.
    const pick = (part: number) =>
      candidates[uniformInteger(rng, quarter) * 4 + ((cycle * 2 + part) % 4)] as InstrumentProfile;
    halted.fill(pick(0).index, start, change);
    halted.fill(pick(1).index, change, start + HALT_CYCLE_DAYS);
  }
  return halted;
}

function splitOf(
  rngFor: RngFor,
  profile: InstrumentProfile,
  segment: Pick<PriceSegment, "firstDay" | "halted">,
) {
  if (!profile.splits) return null;
  const rng = rngFor("split", profile.index, segment.firstDay);
  const offset = 100 + uniformInteger(rng, SEGMENT_DAYS - 200);
  const ratio = rng() < 0.75 ? 2 : 3;
  return segment.halted[offset] === profile.index ? null : { offset, ratio };
}

interface Common {
  readonly market: Float64Array;
  readonly sectors: readonly Float64Array[];
}

function commonOf(rngFor: RngFor, firstDay: number): Common {
  const sector = (index: number) => rngFor("sector", index, firstDay);
  const stocks = SECTOR_NAMES.map((_, index) => regimeReturns(sector(index), SECTOR_REGIMES));
  const coins = regimeReturns(sector(SECTOR_NAMES.length), COIN_REGIMES);
  const market = regimeReturns(rngFor("market", 0, firstDay), MARKET_REGIMES);
  return { market, sectors: [...stocks, coins] };
}

function anchor(rngFor: RngFor, profile: InstrumentProfile, day: number): number {
  const spread = ANCHOR_SPREAD * standardNormal(rngFor("anchor", profile.index, day));
  return Math.log(profile.basePrice) + spread;
}

type Moves = Pick<Path, "returns"> & { readonly payouts: Float64Array };

/**
 * Generates the daily log returns, which `bridge` then adjusts, and the log factors by which splits
 * and dividends lower the price.
 */
function movesOf(
  rngFor: RngFor,
  profile: InstrumentProfile,
  segment: Pick<PriceSegment, "firstDay" | "halted"> & { common: Common; split: Split | null },
): Moves {
  const rng = rngFor("path", profile.index, segment.firstDay);
  const returns = regimeReturns(rng, ownRegimes(profile.volatility));
  const payouts = new Float64Array(SEGMENT_DAYS);
  const sector = segment.common.sectors[profile.sectorIndex] as Float64Array;
  for (let offset = 0; offset < SEGMENT_DAYS; offset++) {
    const jump = rng() < JUMP_PROBABILITY ? Math.sign(rng() - 0.5) * (0.08 + 0.2 * rng()) : 0;
    const shared = profile.beta * (segment.common.market[offset] ?? 0) + (sector[offset] ?? 0);
    if (segment.halted[offset] === profile.index) {
      returns[offset] = 0;
      continue;
    }
    returns[offset] = clamp((returns[offset] ?? 0) + shared + jump, RETURN_BOUNDS);
    const split = segment.split?.offset === offset ? segment.split.ratio : 1;
    payouts[offset] = Math.log(split * (1 + dividendYieldOn(profile, segment.firstDay + offset)));
  }
  return { returns, payouts };
}

/**
 * Makes a path end at its second anchor (`to`), like a Brownian bridge: the gap between that anchor
 * and the end of the unadjusted path is spread evenly over the returns of all days.
 */
function bridge({ returns, payouts }: Moves, from: number, to: number): Omit<Path, "split"> {
  const sum = returns.reduce((total, value, offset) => total + value - (payouts[offset] ?? 0), 0);
  const share = (to - from - sum) / SEGMENT_DAYS;
  const bridged = returns.map((value) => value + share);
  let level = from;
  const logPrices = bridged.map((value, offset) => {
    level += value - (payouts[offset] ?? 0);
    return level;
  });
  return { returns: bridged, logPrices };
}

function createSegment(
  rngFor: RngFor,
  profiles: readonly InstrumentProfile[],
  firstDay: number,
): PriceSegment {
  const halted = haltsOf(rngFor, profiles, firstDay);
  const common = commonOf(rngFor, firstDay);
  const paths = profiles.map((profile) => {
    const split = splitOf(rngFor, profile, { firstDay, halted });
    const moves = movesOf(rngFor, profile, { firstDay, halted, common, split });
    const from = anchor(rngFor, profile, firstDay);
    const to = anchor(rngFor, profile, firstDay + SEGMENT_DAYS);
    return { ...bridge(moves, from, to), split };
  });
  return { firstDay, halted, paths };
}

/**
 * Generates segments on demand, 0.8 MB each. Days are read in order and at most half a year back,
 * so it is enough to keep a segment and its neighbors.
 */
export function createPriceSegments(
  rngFor: RngFor,
  profiles: readonly InstrumentProfile[],
): FindSegment {
  const segments = new Map<number, PriceSegment>();
  return (day) => {
    const firstDay = Math.floor(day / SEGMENT_DAYS) * SEGMENT_DAYS;
    const known = segments.get(firstDay);
    if (known !== undefined) return known;
    const segment = createSegment(rngFor, profiles, firstDay);
    for (const old of segments.keys()) {
      if (Math.abs(old - firstDay) > SEGMENT_DAYS) segments.delete(old);
    }
    segments.set(firstDay, segment);
    return segment;
  };
}
