import type { Packing } from "../../market/packed-list.ts";
import type { Bar, Print } from "../../market/records.ts";
import { idPrefixes, type Scene, type Stage, type TradedScene } from "./day-context.ts";
import type { Profile } from "./profile.ts";
import { clamp, type Draw, eventCount, logUniform, normal, whole } from "./rng.ts";

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

/** Sale conditions: regular, then those whose price the quotes did not set: average price,
 *  contingent, derivative. */
const CONDITIONS = ["", "4", "4", "7", "W"] as const;
const REGULAR = 0;
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

/** What a print is made from. */
interface Draft {
  /** Days since the Unix epoch, and milliseconds since the start of the day. */
  readonly day: number;
  readonly offsetMs: number;
  /** Milliseconds from the trade to its report. */
  readonly delayMs: number;
  /** Number among the prints of the day. */
  readonly position: number;
  readonly price: number;
  readonly sizeShares: number;
  readonly quote: Quote;
  /** Place in `CONDITIONS`. */
  readonly conditions: number;
  readonly canceled: boolean;
}

interface PrintContext {
  readonly scene: TradedScene;
  readonly draw: Draw;
  readonly buyProbability: number;
  /** Position in the day's prints as a fraction, from 0. */
  readonly turn: number;
  readonly position: number;
}

function printOf({ scene, draw, buyProbability, turn, position }: PrintContext): Draft {
  const { stage, bar, day } = scene;
  const quote = quoteAt(draw, bar, turn);
  const signable = draw() >= UNSIGNABLE_PROBABILITY;
  const place = signable ? positionOf(draw, buyProbability) : 6 * draw() - 2.5;
  const tradedAt = Math.floor((day + OPEN_FRACTION + TRADING_FRACTION * turn) * stage.dayMs);
  return {
    ...{ day, position, quote },
    offsetMs: tradedAt - day * stage.dayMs,
    delayMs: Math.max(1, Math.round(draw() * MAX_DELAY_FRACTION * stage.dayMs)),
    price: priceAt(quote, place),
    sizeShares: Math.round(logUniform(() => draw() ** 1.6, SIZE_SHARES)),
    conditions: signable ? REGULAR : 1 + whole(draw, CONDITIONS.length - 1),
    canceled: draw() < CANCELED_PROBABILITY,
  };
}

/** Off-exchange trades of a day, in order; buyers or sellers have the upper hand for weeks. */
export function printsOf(scene: TradedScene): readonly Draft[] {
  const { stage, profile, day } = scene;
  const draw = stage.draws("prints", profile.index, day);
  const count = Math.min(MAX_PRINTS, eventCount(draw, profile.printsPerDay));
  const buyProbability = buyProbabilityOf(scene);
  return Array.from({ length: count }, (_, position) => {
    const turn = (position + 0.98 * draw()) / count;
    return printOf({ scene, draw, buyProbability, turn, position });
  });
}

function write(view: DataView, at: number, draft: Draft): void {
  view.setUint32(at, draft.day);
  view.setUint32(at + 4, draft.offsetMs);
  view.setUint32(at + 8, draft.delayMs);
  view.setUint32(at + 12, draft.sizeShares);
  view.setFloat64(at + 16, draft.price);
  view.setUint32(at + 24, draft.quote.bid);
  view.setUint32(at + 28, draft.quote.ask);
  view.setUint8(at + 32, draft.position);
  view.setUint8(at + 33, draft.conditions);
  view.setUint8(at + 34, Number(draft.canceled));
}

/** How the prints of an instrument are kept. */
export function packedPrints(
  profile: Profile,
  { dayMs, sessionOf }: Pick<Stage, "dayMs" | "sessionOf">,
): Packing<Draft, Print> {
  const prefixOf = idPrefixes(profile);
  return {
    bytes: 35,
    write,
    read(view, at) {
      const day = view.getUint32(at);
      const tradedAt = day * dayMs + view.getUint32(at + 4);
      const conditions = view.getUint8(at + 33);
      return {
        availableAt: tradedAt + view.getUint32(at + 8),
        id: prefixOf(day) + view.getUint8(at + 32),
        session: sessionOf(day),
        tradedAt,
        price: view.getFloat64(at + 16),
        sizeShares: view.getUint32(at + 12),
        venue: "SIM-TRF",
        conditions: CONDITIONS[conditions] as string,
        bid: view.getUint32(at + 24) / 100,
        ask: view.getUint32(at + 28) / 100,
        canceled: view.getUint8(at + 34) === 1,
        signable: conditions === REGULAR,
      };
    },
  };
}
