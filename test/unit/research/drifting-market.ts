import { DAY_MS } from "../../../src/lib/day.ts";
import type { Market } from "../../../src/market/market.ts";
import type { Bar, InstrumentRecords } from "../../../src/market/records.ts";
import { randomAt } from "../../../src/statistics/random.ts";

const FIRST_DAY = Date.parse("2012-01-02");
/**
 * Time after UTC midnight in milliseconds at which a bar is known: 16:15 in New York in summer,
 * which is accurate enough here.
 */
const KNOWN_MS = 20.25 * 3_600_000;

/** Parameters of a simulated market. */
interface Drift {
  readonly names: number;
  readonly days: number;
  /**
   * Daily log return by which the drifts of the first and the last instrument differ. With 0, no
   * skill can be found.
   */
  readonly drift: number;
  /** Number of instruments that stop trading halfway. */
  readonly ending?: number;
  /** ISO date from which prices follow another random series. Earlier prices stay the same. */
  readonly otherFrom?: string;
  /**
   * Whether the instruments are ETFs with short volume, so that they have a second factor and
   * enough coverage for a LONG or SHORT signal.
   */
  readonly areFunds?: boolean;
}

/** A market of stocks with different permanent drifts, so that momentum predicts returns. */
export function driftingMarket(recipe: Drift): Market {
  const records = Array.from({ length: recipe.names }, (_, name) => stock(recipe, name));
  return {
    mode: "files",
    source: { id: "test", name: "Test", terms: "Made up.", simulated: true },
    dayMs: DAY_MS,
    recordsUntil: () => records,
    sessionAt: (at) => dateOf(at),
    servedFrom: (at) => Date.parse(`${Number(dateOf(at).slice(0, 4)) - 1}-01-01`),
  };
}

const dateOf = (at: number) => new Date(at).toISOString().slice(0, 10);

function stock(
  { names, days, drift, ending = 0, otherFrom = "9999", areFunds = false }: Drift,
  name: number,
) {
  const length = name < ending ? days / 2 : days;
  const bars: Bar[] = [];
  let close = 100;
  for (let day = 0; day < length; day++) {
    const at = FIRST_DAY + day * DAY_MS;
    if ([0, 6].includes(new Date(at).getUTCDay())) continue;
    const seed = dateOf(at) < otherFrom ? name : name + 1_000;
    const noise = 0.02 * (randomAt(seed, day) - 0.5);
    const logReturn = noise + drift * (name / (names - 1) - 0.5);
    const open = close;
    close *= Math.exp(logReturn);
    bars.push({
      session: dateOf(at),
      availableAt: at + KNOWN_MS,
      open,
      high: Math.max(open, close) * 1.001,
      low: Math.min(open, close) * 0.999,
      close,
      // The traded value does not follow the drift, which would make the drift an effect of size.
      volume: 100_000_000 / close,
      dividend: 0,
      split: 1,
      logReturn: bars.length === 0 ? null : logReturn,
    });
  }
  const instrument = {
    symbol: `S${String(name).padStart(2, "0")}`,
    name: `Stock <${name}>`,
    assetClass: areFunds ? ("etf" as const) : ("stock" as const),
    exchange: null,
    currency: "USD",
    sector: name % 2 === 0 ? "Even" : "Odd",
  };
  if (!areFunds) return { instrument, bars } satisfies InstrumentRecords;
  const shortVolumes = bars.map(({ session, availableAt }, day) => ({
    session,
    availableAt,
    shortShares: 400_000 + Math.floor(200_000 * randomAt(name + 2_000, day)),
    totalShares: 1_000_000,
  }));
  return { instrument, bars, shortVolumes } satisfies InstrumentRecords;
}
