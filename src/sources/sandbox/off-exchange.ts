import type { Bar, Print, ShortVolume } from "../../market/records.ts";
import { clamp, type Draw, eventCount, logUniform, normal, whole } from "./draw.ts";
import { idPrefix, type Scene, type TradedScene } from "./scene.ts";

/** More would let reports overtake each other. */
const MAX_PRINTS = 30;

/** Part of a day in which prints happen, so that even a late report falls into the same day. */
const OPEN_FRACTION = 0.02;
const TRADING_FRACTION = 0.95;

/** Ten seconds, the limit for a report, as a fraction of a session of six and a half hours. */
const MAX_DELAY_FRACTION = 10 / 23_400;

/** Buyers or sellers press for this long. */
const PRESSURE_DAYS = 15;

const SIZE_SHARES = [100, 60_000] as const;

/** Sale conditions whose price the quotes did not set: average price, contingent, derivative. */
const UNSIGNABLE = ["4", "4", "7", "W"] as const;
const UNSIGNABLE_PROBABILITY = 0.08;
const CANCELED_PROBABILITY = 0.01;

/** Quotes in cents. */
interface Quote {
  readonly bid: number;
  readonly ask: number;
}

function quoteAt(draw: Draw, bar: Bar, dayFraction: number): Quote {
  const noise = (bar.high - bar.low) * 0.4 * (draw() - 0.5);
  const drift = bar.open + (bar.close - bar.open) * dayFraction;
  const mid = 100 * clamp(drift + noise, [bar.low, bar.high]);
  const spread = Math.max(1, Math.round(mid * 0.0004 * (0.5 + draw())));
  const bid = Math.max(1, Math.round(mid - spread / 2));
  return { bid, ask: bid + spread };
}

/** Where between bid (0) and ask (1) a trade is priced: a third each at mid, inside, at the quote. */
function positionOf(draw: Draw, buyProbability: number): number {
  const direction = draw() < buyProbability ? 1 : -1;
  const kind = whole(draw, 3);
  if (kind === 0) return 0.5;
  return 0.5 + direction * (kind === 1 ? 0.1 + 0.35 * draw() : 0.5);
}

/** To the hundredth of a cent, the finest price that is reported. */
function priceAt({ bid, ask }: Quote, position: number): number {
  return Math.round((bid + (ask - bid) * position) * 100) / 10_000;
}

function buyProbabilityOf({ stage, profile, day }: Scene): number {
  const block = Math.floor(day / PRESSURE_DAYS);
  return clamp(0.5 + 0.15 * normal(stage.draws("pressure", profile.index, block)), [0.1, 0.9]);
}

interface PrintContext {
  readonly scene: TradedScene;
  readonly draw: Draw;
  readonly buyProbability: number;
  /** Position in the day's prints as a fraction, from 0. */
  readonly turn: number;
  readonly id: string;
}

function printOf({ scene, draw, buyProbability, turn, id }: PrintContext): Print {
  const { stage, bar, day, session } = scene;
  const quote = quoteAt(draw, bar, turn);
  const signable = draw() >= UNSIGNABLE_PROBABILITY;
  const position = signable ? positionOf(draw, buyProbability) : 6 * draw() - 2.5;
  const tradedAt = Math.floor((day + OPEN_FRACTION + TRADING_FRACTION * turn) * stage.dayMs);
  const delayMs = Math.max(1, Math.round(draw() * MAX_DELAY_FRACTION * stage.dayMs));
  return {
    availableAt: tradedAt + delayMs,
    id,
    session,
    tradedAt,
    price: priceAt(quote, position),
    sizeShares: Math.round(logUniform(() => draw() ** 1.6, SIZE_SHARES)),
    venue: "SIM-TRF",
    conditions: signable ? "" : (UNSIGNABLE[whole(draw, UNSIGNABLE.length)] as string),
    bid: quote.bid / 100,
    ask: quote.ask / 100,
    canceled: draw() < CANCELED_PROBABILITY,
    signable,
  };
}

/** Off-exchange trades of a day, in order; buyers or sellers have the upper hand for weeks. */
export function printsOf(scene: TradedScene): readonly Print[] {
  const { stage, profile, day } = scene;
  const draw = stage.draws("prints", profile.index, day);
  const count = Math.min(MAX_PRINTS, eventCount(draw, profile.printsPerDay));
  const buyProbability = buyProbabilityOf(scene);
  const prefix = idPrefix(scene);
  return Array.from({ length: count }, (_, position) => {
    const turn = (position + 0.98 * draw()) / count;
    return printOf({ scene, draw, buyProbability, turn, id: prefix + position });
  });
}

/** Short share of off-exchange volume: mean .47, sd .08, of which a part lasts for days. */
const SHORT_RATIO = { mean: 0.47, ownSd: 0.03, levelSd: 0.05, dailySd: 0.055 } as const;
const LEVEL_DAYS = 5;

/** Published this many days after the start of the session: after the evaluation at its end. */
const SHORT_PUBLISHED_DAYS = 1.08;

/** Short volume of the day before, known a little after its end. */
export function shortVolumeOf(scene: Scene, yesterday: Bar): ShortVolume {
  const { stage, profile } = scene;
  const day = scene.day - 1;
  const draw = stage.draws("short", profile.index, day);
  const level = stage.draws("shortLevel", profile.index, Math.floor(day / LEVEL_DAYS));
  const own = stage.draws("shortOwn", profile.index, 0);
  const ratio =
    SHORT_RATIO.mean +
    SHORT_RATIO.ownSd * normal(own) +
    SHORT_RATIO.levelSd * normal(level) +
    SHORT_RATIO.dailySd * normal(draw);
  const totalShares = Math.round(yesterday.volume * (0.3 + 0.1 * draw()));
  return {
    availableAt: Math.floor((day + SHORT_PUBLISHED_DAYS) * stage.dayMs),
    session: yesterday.session,
    shortShares: Math.round(totalShares * clamp(ratio, [0.1, 0.9])),
    totalShares,
  };
}
