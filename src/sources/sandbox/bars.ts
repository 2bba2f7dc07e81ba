import type { RecordPacking } from "../../market/packed-list.ts";
import type { Bar, ReportedBar } from "../../market/records.ts";
import type { DayContext, SandboxWorld } from "./day-context.ts";
import { dividendYieldOn } from "./price-paths.ts";
import type { InstrumentProfile } from "./profile.ts";
import { standardNormal } from "./rng.ts";

/** Share of a day's move that happens before the open. */
const OVERNIGHT_SHARE = 0.3;

/** Rounds a price in USD to the nearest price step, but to at least one step. */
function toTick({ ticksPerUsd }: InstrumentProfile, price: number): number {
  return Math.max(1, Math.round(price * ticksPerUsd)) / ticksPerUsd;
}

/**
 * Volume of a day, in shares for stocks and in USD for coins. The caller's `noise` grows with the
 * size of the price move.
 */
function volumeOf(
  { instrument, dailyVolumeUsd }: InstrumentProfile,
  noise: number,
  close: number,
): number {
  const turnover = dailyVolumeUsd * Math.exp(noise);
  return Math.round(instrument.assetClass === "crypto" ? turnover : turnover / close);
}

/** The bar of a day, known at the end of the day; `undefined` while trading is halted. */
export function barOf(context: DayContext): ReportedBar | undefined {
  const { world, profile, day } = context;
  const segment = world.segmentOf(day);
  const offset = day - segment.firstDay;
  if (segment.halted[offset] === profile.index) return undefined;
  const path = segment.paths[profile.index];
  const move = path?.returns[offset] ?? 0;
  const price = Math.exp(path?.logPrices[offset] ?? 0);
  const rng = world.rngFor("bar", profile.index, day);
  const wick = 0.4 * profile.volatility;
  const start = price * Math.exp(wick * standardNormal(rng) - (1 - OVERNIGHT_SHARE) * move);
  const high = Math.max(start, price) * Math.exp(wick * Math.abs(standardNormal(rng)));
  const low = Math.min(start, price) * Math.exp(-wick * Math.abs(standardNormal(rng)));
  const close = toTick(profile, price);
  const paid = dividendYieldOn(profile, day);
  const dividend = paid === 0 ? 0 : toTick(profile, close * paid);
  const split = path?.split?.offset === offset ? path.split.ratio : 1;
  return {
    availableAt: (day + 1) * world.dayMs,
    session: world.sessionOf(day),
    open: toTick(profile, start),
    high: toTick(profile, high),
    low: toTick(profile, low),
    close,
    volume: volumeOf(profile, 0.35 * standardNormal(rng) + 5 * Math.abs(move), close),
    dividend,
    split,
  };
}

/** Binary layout of bars. */
export const barPacking = ({
  dayMs,
  sessionOf,
}: Pick<SandboxWorld, "dayMs" | "sessionOf">): RecordPacking<Bar, Bar> => ({
  bytes: 65,
  write(view, at, bar) {
    view.setUint32(at, bar.availableAt / dayMs - 1);
    view.setFloat64(at + 4, bar.open);
    view.setFloat64(at + 12, bar.high);
    view.setFloat64(at + 20, bar.low);
    view.setFloat64(at + 28, bar.close);
    view.setFloat64(at + 36, bar.volume);
    view.setFloat64(at + 44, bar.dividend);
    view.setFloat64(at + 52, bar.logReturn ?? Number.NaN);
    view.setUint8(at + 60, bar.split);
    view.setUint32(at + 61, Date.parse(bar.session) / dayMs);
  },
  read(view, at) {
    const day = view.getUint32(at);
    const sessionDay = view.getUint32(at + 61);
    const logReturn = view.getFloat64(at + 52);
    return {
      availableAt: (day + 1) * dayMs,
      session: sessionOf(sessionDay),
      open: view.getFloat64(at + 4),
      high: view.getFloat64(at + 12),
      low: view.getFloat64(at + 20),
      close: view.getFloat64(at + 28),
      volume: view.getFloat64(at + 36),
      dividend: view.getFloat64(at + 44),
      split: view.getUint8(at + 60),
      logReturn: Number.isNaN(logReturn) ? null : logReturn,
    };
  },
});
