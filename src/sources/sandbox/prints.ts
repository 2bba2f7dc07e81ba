import type { RecordPacking } from "../../market/packed-list.ts";
import type { Print, ReportedBar } from "../../market/records.ts";
import {
  createIdPrefixes,
  type DayContext,
  type SandboxWorld,
  type TradedDayContext,
} from "./day-context.ts";
import type { InstrumentProfile } from "./profile.ts";
import { clamp, eventCount, logUniform, type Rng, standardNormal, uniformInteger } from "./rng.ts";

/** Maximum number of prints in a day; with more, late reports could change their order. */
const MAX_PRINTS = 30;

/**
 * Start and length of trading hours as fractions of a day; even a late report falls on the same
 * day.
 */
const OPEN_FRACTION = 0.02;
const TRADING_FRACTION = 0.95;

/** The reporting limit of ten seconds, as a fraction of a session of six and a half hours. */
const MAX_DELAY_FRACTION = 10 / 23_400;

/** Number of days for which either buyers or sellers dominate. */
const PRESSURE_DAYS = 15;

/** Smallest and largest size of a print, in shares. */
const SIZE_SHARES = [100, 60_000] as const;

/**
 * Sale condition codes: regular first, then prices not set by the quotes (average price,
 * contingent, derivative).
 */
const CONDITIONS = ["", "4", "4", "7", "W"] as const;
/** Index of the regular sale condition in `CONDITIONS`. */
const REGULAR = 0;

/** Probability that the price of a print was not set by the quotes, and that a print is canceled. */
const UNSIGNABLE_PROBABILITY = 0.08;
const CANCELED_PROBABILITY = 0.01;

/** Bid and ask in cents. */
interface Quote {
  readonly bid: number;
  readonly ask: number;
}

function quoteAt(rng: Rng, bar: ReportedBar, turn: number): Quote {
  const noise = (bar.high - bar.low) * 0.4 * (rng() - 0.5);
  const drift = bar.open + (bar.close - bar.open) * turn;
  const mid = 100 * clamp(drift + noise, [bar.low, bar.high]);
  const spread = Math.max(1, Math.round(mid * 0.0004 * (0.5 + rng())));
  const bid = Math.max(1, Math.round(mid - spread / 2));
  return { bid, ask: bid + spread };
}

/**
 * Position of the price between bid (0) and ask (1): one third of the trades each at the midpoint,
 * between midpoint and quote, and at the quote.
 */
function quotePositionOf(rng: Rng, buyProbability: number): number {
  const direction = rng() < buyProbability ? 1 : -1;
  const kind = uniformInteger(rng, 3);
  if (kind === 0) return 0.5;
  return 0.5 + direction * (kind === 1 ? 0.1 + 0.35 * rng() : 0.5);
}

/** Price in USD, rounded to a hundredth of a cent, the finest unit that is reported. */
function priceAt({ bid, ask }: Quote, quotePosition: number): number {
  return Math.round((bid + (ask - bid) * quotePosition) * 100) / 10_000;
}

function buyProbabilityOf({ world, profile, day }: DayContext): number {
  const block = Math.floor(day / PRESSURE_DAYS);
  return clamp(
    0.5 + 0.15 * standardNormal(world.rngFor("pressure", profile.index, block)),
    [0.1, 0.9],
  );
}

/** A print as packed in memory. */
interface PackedPrint {
  /** Days since the Unix epoch, and milliseconds since the start of the day. */
  readonly day: number;
  readonly offsetMs: number;
  /** Time from the trade to its report, in milliseconds. */
  readonly delayMs: number;
  /** Index among the prints of the day. */
  readonly position: number;
  readonly price: number;
  readonly sizeShares: number;
  readonly quote: Quote;
  /** Index of the sale condition in `CONDITIONS`. */
  readonly conditions: number;
  readonly canceled: boolean;
}

interface PrintContext {
  readonly context: TradedDayContext;
  readonly rng: Rng;
  readonly buyProbability: number;
  /** Time of the print as a fraction of trading hours, from 0. */
  readonly turn: number;
  /** Index among the prints of the day. */
  readonly position: number;
}

function printOf({ context, rng, buyProbability, turn, position }: PrintContext): PackedPrint {
  const { world, bar, day } = context;
  const quote = quoteAt(rng, bar, turn);
  const signable = rng() >= UNSIGNABLE_PROBABILITY;
  // A price that the quotes did not set lies up to two and a half spreads beyond them.
  const quotePosition = signable ? quotePositionOf(rng, buyProbability) : 6 * rng() - 2.5;
  const tradedAt = Math.floor((day + OPEN_FRACTION + TRADING_FRACTION * turn) * world.dayMs);
  return {
    day,
    position,
    quote,
    offsetMs: tradedAt - day * world.dayMs,
    delayMs: Math.max(1, Math.round(rng() * MAX_DELAY_FRACTION * world.dayMs)),
    price: priceAt(quote, quotePosition),
    sizeShares: Math.round(logUniform(() => rng() ** 1.6, SIZE_SHARES)),
    conditions: signable ? REGULAR : 1 + uniformInteger(rng, CONDITIONS.length - 1),
    canceled: rng() < CANCELED_PROBABILITY,
  };
}

/** Off-exchange prints of a day, in order of execution. */
export function printsOf(context: TradedDayContext): readonly PackedPrint[] {
  const { world, profile, day } = context;
  const rng = world.rngFor("prints", profile.index, day);
  const count = Math.min(MAX_PRINTS, eventCount(rng, profile.printsPerDay));
  const buyProbability = buyProbabilityOf(context);
  return Array.from({ length: count }, (_, position) => {
    const turn = (position + 0.98 * rng()) / count;
    return printOf({ context, rng, buyProbability, turn, position });
  });
}

function write(view: DataView, at: number, draft: PackedPrint): void {
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

/** Binary layout of the prints of an instrument. */
export function printPacking(
  profile: InstrumentProfile,
  { dayMs, sessionOf }: Pick<SandboxWorld, "dayMs" | "sessionOf">,
): RecordPacking<PackedPrint, Print> {
  const prefixOf = createIdPrefixes(profile);
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
