import { z } from "zod";
import { isBlock, sideProxy } from "../factors/off-exchange.ts";
import type { DaySummary } from "../factors/off-exchange-view.ts";
import type { Print } from "../market/records.ts";
import { Common, Instant, isoInstant } from "./common.ts";

/** What an off-exchange print is, and is not. */
export const NOTE =
  'Off-exchange prints carry tape code "D": alternative trading systems, internalised orders and OTC trades together. Which venue made a print is not public.';

/** Ways to look at off-exchange trading. */
export const View = z.enum(["summary", "prints", "blocks", "days"]);

const FeedStatus = z.enum(["ok", "stale", "no_activity", "not_observed"]);

const PrintAnswer = z.object({
  id: z.string(),
  session: z.string(),
  tradedAt: Instant,
  price: z.number().describe("USD a share."),
  sizeShares: z.number(),
  notionalUsd: z.number(),
  block: z.boolean().describe("At least 10,000 shares or USD 200,000."),
  venueClass: z.literal("off_exchange"),
  venue: z.string().describe("Reporting facility, not the place of execution."),
  side: z.number().min(-1).max(1).nullable().describe("Proxy: 1 buyer, -1 seller, null unknown."),
  sideMethod: z.literal("graded_quote_rule").nullable(),
  conditions: z.string(),
  canceled: z.boolean(),
  reportingDelayMs: z.number().nullable().describe("null when the source does not say."),
});

const Aggregates = {
  prints: z.number().int().nullable().describe("null, like the next five: not observed."),
  shares: z.number().nullable(),
  notionalUsd: z.number().nullable(),
  vwap: z.number().nullable().describe("USD a share."),
  blocks: z.number().int().nullable(),
  blockShares: z.number().nullable(),
  blockNotionalUsd: z.number().nullable(),
  canceledPrints: z.number().int().nullable().describe("Not in the other figures."),
  shareOfVolume: z.number().nullable().describe("Fraction of consolidated volume; null: unknown."),
  shortVolumeRatio: z
    .number()
    .nullable()
    .describe("Fraction of off-exchange volume marked short; of the newest session in a summary."),
};

/** Off-exchange trading, with the part that the view asks for. */
export const OffExchange = z.object({
  ...Common.shape,
  feeds: z
    .object({ prints: FeedStatus, shortVolume: FeedStatus })
    .describe("not_observed: no feed; no_activity: nothing in the range; stale: nothing lately."),
  note: z.string(),
  view: View,
  summary: z
    .object({
      sessions: z.number().int(),
      firstSession: z.string().nullable(),
      lastSession: z.string().nullable(),
      ...Aggregates,
      largestPrints: z.array(PrintAnswer),
    })
    .optional()
    .describe("With view summary."),
  prints: z.array(PrintAnswer).optional().describe("With view prints or blocks, newest first."),
  days: z
    .array(z.object({ session: z.string(), ...Aggregates }))
    .optional()
    .describe("With view days, newest first."),
  nextCursor: z.string().nullable(),
});

/** The aggregates of one session, or of several; `null` where nothing observes the prints. */
export const aggregates = ({ prints, volume, shortVolumeRatio }: Omit<DaySummary, "session">) => ({
  ...(prints === null ? NOT_OBSERVED : printed(prints)),
  shareOfVolume: prints !== null && volume ? prints.shares / volume : null,
  shortVolumeRatio,
});

const NOT_OBSERVED = {
  prints: null,
  shares: null,
  notionalUsd: null,
  vwap: null,
  blocks: null,
  blockShares: null,
  blockNotionalUsd: null,
  canceledPrints: null,
} as const;

const printed = (day: NonNullable<DaySummary["prints"]>) => ({
  prints: day.prints,
  shares: day.shares,
  notionalUsd: day.notionalUsd,
  vwap: day.shares > 0 ? day.notionalUsd / day.shares : null,
  blocks: day.blocks,
  blockShares: day.blockShares,
  blockNotionalUsd: day.blockNotionalUsd,
  canceledPrints: day.canceled,
});

/** One print. */
export function printAnswer(print: Print): z.input<typeof PrintAnswer> {
  const side = sideProxy(print);
  return {
    id: print.id,
    session: print.session,
    tradedAt: isoInstant(print.tradedAt),
    price: print.price,
    sizeShares: print.sizeShares,
    notionalUsd: print.price * print.sizeShares,
    block: isBlock(print),
    venueClass: "off_exchange",
    venue: print.venue,
    side,
    sideMethod: side === null ? null : "graded_quote_rule",
    conditions: print.conditions,
    canceled: print.canceled,
    reportingDelayMs:
      print.availableAt > print.tradedAt ? print.availableAt - print.tradedAt : null,
  };
}
