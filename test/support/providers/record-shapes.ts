import { z } from "zod";
import type { Feed } from "../../../src/market/records.ts";
import type { Observation } from "../../../src/sources/live/provider.ts";

/** Unix milliseconds from 2000 to 2100. */
const Instant = z.int().min(Date.UTC(2000)).max(Date.UTC(2100));
const Positive = z.number().positive();
const Count = z.number().min(0);
const Quote = Positive.nullable();
const Known = { availableAt: Instant };

/** Schemas of plausible records, by feed. A session is given by its ISO date. */
const shapes = {
  bars: z.strictObject({
    ...Known,
    session: z.iso.date(),
    open: Positive,
    high: Positive,
    low: Positive,
    close: Positive,
    volume: Count,
    dividend: Count,
    split: Positive,
  }),
  fundamentals: z.strictObject({
    ...Known,
    metric: z.enum([
      "netIncome",
      "freeCashFlow",
      "ebitda",
      "equity",
      "assets",
      "debt",
      "cash",
      "shares",
    ]),
    periodEnd: Instant,
    value: z.number(),
  }),
  mentions: z.strictObject({
    ...Known,
    id: z.string().min(1).max(100),
    text: z.string().max(2_000),
    author: z.string().max(100).nullable(),
    followers: z.int().min(0).nullable(),
    accountAgeDays: Count.nullish(),
    symbolCount: z.int().min(1),
    stance: z.enum(["bullish", "bearish"]).nullable(),
  }),
  prints: z.strictObject({
    ...Known,
    id: z.string().min(1).max(100),
    session: z.iso.date(),
    tradedAt: Instant,
    price: Positive,
    sizeShares: Positive,
    venue: z.string().min(1).max(100),
    conditions: z.string().max(500),
    bid: Quote,
    ask: Quote,
    canceled: z.boolean(),
    signable: z.boolean(),
  }),
  shortVolumes: z
    .strictObject({ ...Known, session: z.iso.date(), shortShares: Count, totalShares: Positive })
    .refine(({ shortShares, totalShares }) => shortShares <= totalShares),
  weeklyVolumes: z.strictObject({
    ...Known,
    weekStart: z.iso.date(),
    atsShares: Count,
    otcShares: Count,
  }),
  onChain: z.strictObject({
    ...Known,
    session: z.iso.date(),
    mvrv: Quote,
    nvt: Quote.optional(),
    marketCapUsd: Quote.optional(),
  }),
} satisfies Readonly<Record<Feed, z.ZodType>>;

/** The fault of an observation; `undefined` if there is none. */
export function shapeFaults({
  feed,
  symbol,
  at,
  id,
  record,
}: Omit<Observation, never>): string | undefined {
  const place = `${feed} ${symbol} ${id}`;
  const shape = shapes[feed].safeParse(record);
  if (!shape.success) return `${place}: ${shape.error.message}`;
  if (!(at <= record.availableAt)) return `${place}: it is known before it happens`;
  return undefined;
}
