import { z } from "zod";
import {
  Common,
  CursorInput,
  common,
  Instant,
  InstantInput,
  instantRange,
  isoInstant,
  resolve,
  SymbolInput,
  snapshotAt,
} from "../src/answer.ts";
import { isBlock, sideProxy } from "../src/factors/off-exchange.ts";
import {
  type DaySummary,
  type OffExchangeView,
  offExchangeDays,
  offExchangeView,
  summariseDays,
} from "../src/factors/off-exchange-view.ts";
import type { Print } from "../src/market/records.ts";
import { cutPage } from "../src/page.ts";
import { Problem } from "../src/problem.ts";
import { defineTool } from "../src/tool.ts";

/** Sessions of a summary when the caller gives no range. */
const SUMMARY_SESSIONS = 20;
/** Largest prints that a summary lists. */
const LARGEST_PRINTS = 5;

const NOTE =
  'Off-exchange prints carry tape code "D": alternative trading systems, internalised orders and OTC trades together. Which venue made a print is not public.';

const View = z.enum(["summary", "prints", "blocks", "days"]);

const Input = z.strictObject({
  symbol: SymbolInput,
  view: View.default("summary").describe(
    "summary of a range, single prints, block prints only, or one row per session.",
  ),
  from: InstantInput.optional().describe("Only what traded from this instant on."),
  to: InstantInput.optional().describe("Only what traded up to this instant."),
  minShares: z.number().int().min(1).optional().describe("With prints or blocks: at least."),
  minNotionalUsd: z.number().positive().optional().describe("With prints or blocks: at least."),
  limit: z.number().int().min(1).max(500).default(20).describe("Most items of a page."),
  cursor: CursorInput.optional(),
  asOf: InstantInput.optional().describe("What was known at the last snapshot by this instant."),
});

const FeedStatus = z.enum(["ok", "stale", "no_activity", "not_observed"]);

const PrintAnswer = z.object({
  id: z.string(),
  session: z.string(),
  tradedAt: Instant,
  price: z.number(),
  sizeShares: z.number(),
  notionalUsd: z.number(),
  block: z.boolean().describe("At least 10,000 shares or USD 200,000."),
  venueClass: z.literal("off_exchange"),
  venue: z.string().describe("Reporting facility, not the place of execution."),
  side: z.number().min(-1).max(1).nullable().describe("Proxy: 1 buyer, -1 seller, null unknown."),
  sideMethod: z.literal("graded_quote_rule").nullable(),
  conditions: z.string(),
  canceled: z.boolean(),
  reportingDelayMs: z.number(),
});

const Aggregates = {
  prints: z.number().int(),
  shares: z.number(),
  notionalUsd: z.number(),
  vwap: z.number().nullable(),
  blocks: z.number().int(),
  blockShares: z.number(),
  blockNotionalUsd: z.number(),
  canceledPrints: z.number().int().describe("Not in the other figures."),
  shareOfVolume: z.number().nullable().describe("Fraction of consolidated volume; null: unknown."),
  shortVolumeRatio: z
    .number()
    .nullable()
    .describe("Fraction of off-exchange volume marked short; of the newest session in a summary."),
};

const Output = z.object({
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
      largestPrints: z.array(
        PrintAnswer.pick({ id: true, tradedAt: true, price: true, sizeShares: true, side: true }),
      ),
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

type Query = z.output<typeof Input>;

/** Off-exchange prints of one instrument and what they add up to. */
export const getDarkpool = defineTool({
  name: "get_darkpool",
  title: "Get dark pool activity",
  description:
    "Off-exchange (dark pool) activity of one stock: a summary with block aggregates and short-volume ratio, one row per session, or the single prints and blocks with a buy/sell proxy.",
  scope: "darkpool:read",
  routes: [{ method: "GET", path: "/api/darkpool" }],
  input: Input,
  output: Output,

  run(query, context) {
    refuseUnusedFilters(query);
    const instrument = resolve(query.symbol, context);
    const snapshot = snapshotAt(instrument, query.asOf, context);
    const view = offExchangeView(context.market.records(instrument.symbol), {
      at: snapshot.at,
      ...instantRange(query, snapshot.at),
      dayMs: context.market.dayMs,
    });
    return {
      ...common(context, snapshot),
      feeds: view.feeds,
      note: NOTE,
      view: query.view,
      ...part(query, view),
    };
  },
});

/** @throws {Problem} `invalid_request` for a filter that the view would ignore. */
function refuseUnusedFilters({ view, minShares, minNotionalUsd }: Query): void {
  const isFiltered = minShares !== undefined || minNotionalUsd !== undefined;
  if (!isFiltered || view === "prints" || view === "blocks") return;
  throw new Problem("invalid_request", {
    detail: `minShares, minNotionalUsd: the view ${view} adds up all prints.`,
    next: "Use the view prints or blocks, or leave the filters out.",
  });
}

function part(query: Query, view: OffExchangeView) {
  if (query.view === "summary") return { summary: summary(query, view), nextCursor: null };
  return query.view === "days" ? days(query, view) : prints(query, view);
}

function summary({ from, to }: Query, view: OffExchangeView) {
  const all = offExchangeDays(view);
  const isDefaultRange = from === undefined && to === undefined;
  const chosen = isDefaultRange ? all.slice(0, SUMMARY_SESSIONS) : all;
  const sessions = new Set(chosen.map(({ session }) => session));
  const largest = view.prints
    .filter(({ session, canceled }) => sessions.has(session) && !canceled)
    .sort((a, b) => b.price * b.sizeShares - a.price * a.sizeShares)
    .slice(0, LARGEST_PRINTS);
  return {
    sessions: chosen.length,
    firstSession: chosen.at(-1)?.session ?? null,
    lastSession: chosen[0]?.session ?? null,
    ...aggregates(summariseDays(chosen)),
    largestPrints: largest.map(printAnswer).map(({ id, tradedAt, price, sizeShares, side }) => ({
      id,
      tradedAt,
      price,
      sizeShares,
      side,
    })),
  };
}

function days({ limit, cursor }: Query, view: OffExchangeView) {
  const keyOf = ({ session }: DaySummary) => session;
  const { items, nextCursor } = cutPage(offExchangeDays(view), { limit, cursor, keyOf });
  return {
    days: items.map((day) => ({ session: day.session, ...aggregates(day) })),
    nextCursor,
  };
}

const aggregates = (day: Omit<DaySummary, "session">) => ({
  prints: day.prints,
  shares: day.shares,
  notionalUsd: day.notionalUsd,
  vwap: day.shares > 0 ? day.notionalUsd / day.shares : null,
  blocks: day.blocks,
  blockShares: day.blockShares,
  blockNotionalUsd: day.blockNotionalUsd,
  canceledPrints: day.canceled,
  shareOfVolume: day.volume ? day.shares / day.volume : null,
  shortVolumeRatio: day.shortVolumeRatio,
});

function prints(
  { view, minShares = 0, minNotionalUsd = 0, limit, cursor }: Query,
  seen: OffExchangeView,
) {
  const matching = seen.prints.filter(
    (print) =>
      (view === "prints" || isBlock(print)) &&
      print.sizeShares >= minShares &&
      print.price * print.sizeShares >= minNotionalUsd,
  );
  const keyOf = ({ id }: Print) => id;
  const { items, nextCursor } = cutPage(matching.reverse(), { limit, cursor, keyOf });
  return { prints: items.map(printAnswer), nextCursor };
}

function printAnswer(print: Print): z.input<typeof PrintAnswer> {
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
    reportingDelayMs: print.availableAt - print.tradedAt,
  };
}
