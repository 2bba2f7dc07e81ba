import { type Draw, normal, whole } from "./rng.ts";

/** Daily drift and standard deviation of log returns while a regime lasts. */
interface Regime {
  readonly drift: number;
  readonly volatility: number;
}

/** Bull, calm and bear. */
type Regimes = readonly [Regime, Regime, Regime];

/** The whole market's; a drift of .001 is a quarter per 252 sessions. */
export const MARKET_REGIMES: Regimes = [
  { drift: 0.001, volatility: 0.006 },
  { drift: 0.0003, volatility: 0.005 },
  { drift: -0.0014, volatility: 0.011 },
];

/** One sector's, beside the market's. */
export const SECTOR_REGIMES: Regimes = [
  { drift: 0.0006, volatility: 0.004 },
  { drift: 0, volatility: 0.003 },
  { drift: -0.0006, volatility: 0.005 },
];

/** Common to the coins: wider than any sector. */
export const COIN_REGIMES: Regimes = [
  { drift: 0.003, volatility: 0.022 },
  { drift: 0, volatility: 0.014 },
  { drift: -0.003, volatility: 0.03 },
];

/** An instrument's own; strong enough that a trend of months stands out of its noise. */
export function ownRegimes(volatility: number): Regimes {
  return [
    { drift: 0.2 * volatility, volatility: 0.9 * volatility },
    { drift: 0, volatility: 0.6 * volatility },
    { drift: -0.2 * volatility, volatility: 1.3 * volatility },
  ];
}

const SHORTEST_DAYS = 40;
const LONGEST_DAYS = 200;

/** Daily log returns under regimes that follow each other at random, each 40..200 days long. */
export function regimeReturns(draw: Draw, regimes: Regimes, days: number): Float64Array {
  const returns = new Float64Array(days);
  let regime: Regime = regimes[0];
  let until = 0;
  for (let day = 0; day < days; day++) {
    if (day === until) {
      regime = regimes[whole(draw, regimes.length)] as Regime;
      until += SHORTEST_DAYS + whole(draw, LONGEST_DAYS - SHORTEST_DAYS + 1);
    }
    returns[day] = regime.drift + regime.volatility * normal(draw);
  }
  return returns;
}
