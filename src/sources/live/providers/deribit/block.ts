import { z } from "zod";
import { utcDay } from "../../../../lib/day.ts";
import type { Observation, RejectedObservation } from "../../provider.ts";
import { coinTicker } from "../../provider-symbols.ts";
import { isLaterThanArrival } from "../../publication-times.ts";

/** Unix milliseconds up to the year 9999. */
export const UnixMillis = z.int().min(0).max(253_402_300_799_999);

/** One leg of a block trade. */
export interface BlockTradeLeg {
  readonly id: string;
  readonly instrument: string;
  /** When the block was traded, Unix milliseconds. */
  readonly tradedAt: number;
  /** Price of one coin, in USD. */
  readonly price: number;
  readonly amountUsd: number;
}

/**
 * A future sized in USD: `BTC-PERPETUAL` and `BTC-26DEC25`, not `BTC-26DEC25-90000-C` and not
 * `BTC_USDC-PERPETUAL`.
 */
const FUTURE = /^([A-Z]+)-(?:PERPETUAL|\d{1,2}[A-Z]{3}\d{2})$/;

/** Whether an instrument is a future on a coin, sized in USD. */
export const isFuturesContractOn = (instrument: string, symbol: string): boolean =>
  FUTURE.exec(instrument)?.[1] === coinTicker(symbol);

/**
 * Converts a block to a print. Its price was negotiated rather than set by quotes, and it is
 * reported without quotes. The side of its initiator is therefore unknown, so the print is shown
 * but never counted as a buy or a sell.
 */
export function printOfBlockLeg(
  block: BlockTradeLeg,
  symbol: string,
  receivedAt: number,
): Observation | RejectedObservation {
  const { id, instrument, tradedAt, price, amountUsd } = block;
  const place = { feed: "prints", symbol, at: tradedAt, id } as const;
  const reason = blockFault(block, receivedAt);
  if (reason !== undefined) return { ...place, reason };
  return {
    ...place,
    record: {
      id,
      session: utcDay(tradedAt),
      tradedAt,
      availableAt: tradedAt,
      price,
      sizeShares: amountUsd / price,
      venue: "Deribit block",
      conditions: instrument,
      bid: null,
      ask: null,
      canceled: false,
      signable: false,
    },
  };
}

function blockFault(
  { tradedAt, price, amountUsd }: BlockTradeLeg,
  receivedAt: number,
): string | undefined {
  if (isLaterThanArrival(tradedAt, receivedAt)) return "its time has not come";
  if (price <= 0) return `the price ${price} is not above 0`;
  return amountUsd > 0 ? undefined : `the amount ${amountUsd} is not above 0`;
}
