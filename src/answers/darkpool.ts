import { z } from "zod";
import { isBlock, sideProxy } from "../factors/off-exchange.ts";
import type { DaySummary } from "../factors/off-exchange-view.ts";
import type { Instrument } from "../market/instrument.ts";
import type { Print, WeeklyVolume } from "../market/records.ts";
import { Common, Instant, isoInstant } from "./common.ts";

/** What an off-exchange print is, and is not. */
const NOTE =
  'Off-exchange prints carry tape code "D": alternative trading systems, internalised orders and OTC trades together. Which venue made a print is not public.';

/** The same of coins, whose blocks are those of a derivatives exchange. */
const COIN_NOTE =
  "Block trades in futures on the coin, arranged away from the order book of one exchange; shown, and not part of the score.";

/** What is said where blocks are all that is kept of prints. */
const BLOCKS_NOTE =
  "Only blocks of regular trading are kept print by print, so that sums over all prints are null; shortVolumeRatio counts all.";

/** What the prints of an instrument are. @param printsAre Which of them there are. */
export function noteOn({ assetClass }: Instrument, printsAre: "blocks" | undefined): string {
  if (assetClass === "crypto") return COIN_NOTE;
  return printsAre === "blocks" ? `${NOTE} ${BLOCKS_NOTE}` : NOTE;
}

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

const AtsShare = z
  .object({
    weekStart: z.string().describe("Monday of the week."),
    value: z.number().nullable().describe("Fraction of off-exchange volume; null: none."),
    atsShares: z.number(),
    otcShares: z.number().describe("Internalised orders and OTC trades."),
    knownAt: Instant,
  })
  .nullable();

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
      atsShare: AtsShare.describe(
        "What alternative trading systems had of the newest week told of, weeks late; null: not observed.",
      ),
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

/**
 * The aggregates of one session, or of several; `null` where nothing observes the prints.
 *
 * @param printsAre Which prints there are: of blocks alone no sum over all prints is known.
 */
export function aggregates(
  { prints, volume, shortVolumeRatio }: Omit<DaySummary, "session">,
  printsAre: "blocks" | undefined,
) {
  const sums = prints === null ? NOT_OBSERVED : printed(prints);
  const shareOfVolume = prints !== null && volume ? prints.shares / volume : null;
  return {
    ...{ ...sums, shareOfVolume },
    ...(printsAre === "blocks" && OF_ALL_PRINTS),
    shortVolumeRatio,
  };
}

/** What only all prints tell. */
const OF_ALL_PRINTS = {
  prints: null,
  shares: null,
  notionalUsd: null,
  vwap: null,
  shareOfVolume: null,
} as const;

/** The share that alternative trading systems had in a week, `null` where none is observed. */
export function atsShare(week: WeeklyVolume | null): z.input<typeof AtsShare> {
  if (week === null) return null;
  const { weekStart, atsShares, otcShares, availableAt } = week;
  const shares = atsShares + otcShares;
  const value = shares > 0 ? atsShares / shares : null;
  return { weekStart, value, atsShares, otcShares, knownAt: isoInstant(availableAt) };
}

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
