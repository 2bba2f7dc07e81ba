import { QUARTER_DAYS } from "./calendar.ts";
import type { Profile } from "./profile.ts";
import {
  COIN_REGIMES,
  MARKET_REGIMES,
  ownRegimes,
  regimeReturns,
  SECTOR_REGIMES,
} from "./regimes.ts";
import { clamp, type Draws, normal, whole } from "./rng.ts";
import { SECTOR_NAMES } from "./universe.ts";

/** Prices are anchored this often, so that none needs to be walked from the first day on. */
export const ERA_DAYS = 1024;

/** Standard deviation of an anchor's log price around the base price. */
const ANCHOR_SPREAD = 0.35;

/** No day moves further before its share of the bridge: keeps every |log return| under .8. */
const RETURN_BOUNDS = [-0.45, 0.45] as const;

const JUMP_PROBABILITY = 0.003;

/** A trading halt lasts 1..4 days; of each 4 days one stock misses the first, another the rest. */
const HALT_CYCLE_DAYS = 4;

/** A new number of shares for each old one. */
interface Split {
  /** Day within the era. */
  readonly offset: number;
  readonly ratio: number;
}

/** One instrument over one era; positions are days within the era. */
interface Path {
  /** Log total return of each day. */
  readonly returns: Float64Array;
  /** Log of the price as traded. */
  readonly logPrices: Float64Array;
  readonly split: Split | null;
}

/** Everything that moves prices over 1,024 days. */
interface Era {
  readonly firstDay: number;
  /** By day within the era: the index of the halted instrument. */
  readonly halted: Uint8Array;
  /** By index of the instrument. */
  readonly paths: readonly Path[];
}

/** The era in which a day lies. */
export type EraOf = (day: number) => Era;

/** Dividend per share as a fraction of the price on a day, 0 on most days. */
export function dividendYieldOn(profile: Profile, day: number): number {
  const exDay = (profile.index * 7) % QUARTER_DAYS;
  return day % QUARTER_DAYS === exDay ? profile.dividendYield : 0;
}

function haltsOf(draws: Draws, profiles: readonly Profile[], firstDay: number): Uint8Array {
  const candidates = profiles.filter(
    ({ instrument, traits }) => instrument.assetClass === "stock" && traits.listing === null,
  );
  const halted = new Uint8Array(ERA_DAYS);
  const quarter = Math.floor(candidates.length / 4);
  for (let cycle = 0; cycle < ERA_DAYS / HALT_CYCLE_DAYS; cycle++) {
    const start = cycle * HALT_CYCLE_DAYS;
    const draw = draws("halt", 0, firstDay + start);
    const change = start + 1 + whole(draw, HALT_CYCLE_DAYS);
    // Neighbouring halts draw from different quarters of the candidates, so that none joins the next.
    const pick = (part: number) =>
      candidates[whole(draw, quarter) * 4 + ((cycle * 2 + part) % 4)] as Profile;
    halted.fill(pick(0).index, start, change);
    halted.fill(pick(1).index, change, start + HALT_CYCLE_DAYS);
  }
  return halted;
}

function splitOf(draws: Draws, profile: Profile, era: Pick<Era, "firstDay" | "halted">) {
  if (!profile.splits) return null;
  const draw = draws("split", profile.index, era.firstDay);
  const offset = 100 + whole(draw, ERA_DAYS - 200);
  const ratio = draw() < 0.75 ? 2 : 3;
  return era.halted[offset] === profile.index ? null : { offset, ratio };
}

interface Common {
  readonly market: Float64Array;
  readonly sectors: readonly Float64Array[];
}

function commonOf(draws: Draws, firstDay: number): Common {
  const sector = (index: number) => draws("sector", index, firstDay);
  const stocks = SECTOR_NAMES.map((_, index) =>
    regimeReturns(sector(index), SECTOR_REGIMES, ERA_DAYS),
  );
  const coins = regimeReturns(sector(SECTOR_NAMES.length), COIN_REGIMES, ERA_DAYS);
  const market = regimeReturns(draws("market", 0, firstDay), MARKET_REGIMES, ERA_DAYS);
  return { market, sectors: [...stocks, coins] };
}

function anchor(draws: Draws, profile: Profile, day: number): number {
  const spread = ANCHOR_SPREAD * normal(draws("anchor", profile.index, day));
  return Math.log(profile.basePrice) + spread;
}

type Moves = Pick<Path, "returns"> & { readonly payouts: Float64Array };

/** Returns before the bridge, and what splits and dividends take off the price. */
function movesOf(
  draws: Draws,
  profile: Profile,
  era: Pick<Era, "firstDay" | "halted"> & { common: Common; split: Split | null },
): Moves {
  const draw = draws("path", profile.index, era.firstDay);
  const returns = regimeReturns(draw, ownRegimes(profile.volatility), ERA_DAYS);
  const payouts = new Float64Array(ERA_DAYS);
  const sector = era.common.sectors[profile.sectorIndex] as Float64Array;
  for (let offset = 0; offset < ERA_DAYS; offset++) {
    const jump = draw() < JUMP_PROBABILITY ? Math.sign(draw() - 0.5) * (0.08 + 0.2 * draw()) : 0;
    const shared = profile.beta * (era.common.market[offset] ?? 0) + (sector[offset] ?? 0);
    if (era.halted[offset] === profile.index) {
      returns[offset] = 0;
      continue;
    }
    returns[offset] = clamp((returns[offset] ?? 0) + shared + jump, RETURN_BOUNDS);
    const split = era.split?.offset === offset ? era.split.ratio : 1;
    payouts[offset] = Math.log(split * (1 + dividendYieldOn(profile, era.firstDay + offset)));
  }
  return { returns, payouts };
}

/** Spreads over all days what is missing between the two anchors. */
function bridge({ returns, payouts }: Moves, from: number, to: number): Omit<Path, "split"> {
  const sum = returns.reduce((total, value, offset) => total + value - (payouts[offset] ?? 0), 0);
  const share = (to - from - sum) / ERA_DAYS;
  const bridged = returns.map((value) => value + share);
  let level = from;
  const logPrices = bridged.map((value, offset) => {
    level += value - (payouts[offset] ?? 0);
    return level;
  });
  return { returns: bridged, logPrices };
}

function createEra(draws: Draws, profiles: readonly Profile[], firstDay: number): Era {
  const halted = haltsOf(draws, profiles, firstDay);
  const common = commonOf(draws, firstDay);
  const paths = profiles.map((profile) => {
    const split = splitOf(draws, profile, { firstDay, halted });
    const moves = movesOf(draws, profile, { firstDay, halted, common, split });
    const from = anchor(draws, profile, firstDay);
    const to = anchor(draws, profile, firstDay + ERA_DAYS);
    return { ...bridge(moves, from, to), split };
  });
  return { firstDay, halted, paths };
}

/** Eras on demand, 0.8 MB each. Days come one after another and look back half a year at most, so that
 *  one and its neighbours are enough. */
export function createEras(draws: Draws, profiles: readonly Profile[]): EraOf {
  const eras = new Map<number, Era>();
  return (day) => {
    const firstDay = Math.floor(day / ERA_DAYS) * ERA_DAYS;
    const known = eras.get(firstDay);
    if (known !== undefined) return known;
    const era = createEra(draws, profiles, firstDay);
    for (const old of eras.keys()) {
      if (Math.abs(old - firstDay) > ERA_DAYS) eras.delete(old);
    }
    eras.set(firstDay, era);
    return era;
  };
}
