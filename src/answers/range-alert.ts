import { z } from "zod";
import type { AssetClass } from "../market/instrument.ts";
import {
  ALERT_RANGE_PROBABILITY,
  RANGE_ALERT_REASONS,
  type RangeAlert,
} from "../risk/range-events.ts";
import { priceRangeBounds, roundToSixDigits, toPercent } from "./risk.ts";
import { InstantAnswer, isoInstant } from "./shared-members.ts";

/** Members of a range event. */
export const RangeAlertFields = z.object({
  reason: z.enum(RANGE_ALERT_REASONS).describe("The side of the range on which the close lies."),
  range: z
    .object({
      probability: z.number().describe("Nominal share of closes inside at the end of the range."),
      from: z
        .object({ price: z.number(), at: InstantAnswer })
        .describe("Close at which it was forecast."),
      sessions: z.number().int().describe("After so many closes it would have ended."),
      low: z.number().describe("In price at from, without later dividends and splits."),
      high: z.number(),
      lowPercent: z.number(),
      highPercent: z.number(),
    })
    .describe("The range that has ended. The next one opens at the newest close."),
  close: z
    .object({
      price: z.number(),
      at: InstantAnswer.describe("When it became known."),
      changePercent: z.number().describe("Since from, dividends and splits included."),
    })
    .describe("The close that left the range."),
  session: z.number().int().min(1).describe("Closes since from, this one included."),
});

/** Renders a range event. */
export const rangeAlertAnswer = ({
  reason,
  range,
  table,
  bar,
  logReturn,
  sessions,
}: RangeAlert): z.input<typeof RangeAlertFields> => ({
  reason,
  range: {
    probability: ALERT_RANGE_PROBABILITY,
    from: { price: roundToSixDigits(range.price), at: isoInstant(range.openedAt) },
    sessions: table.horizon,
    ...priceRangeBounds(range, range.price),
  },
  close: {
    price: roundToSixDigits(bar.close),
    at: isoInstant(bar.availableAt),
    changePercent: toPercent(Math.expm1(logReturn)),
  },
  session: sessions,
});

/** Instruments of an asset class, as a word in texts. */
export const CLASS_PLURALS: Readonly<Record<AssetClass, string>> = {
  stock: "stocks",
  etf: "funds",
  crypto: "coins",
};
