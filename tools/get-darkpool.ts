import { z } from "zod";
import {
  DayItem,
  dayItem,
  OffExchangeTotals,
  offExchangeDayColumns,
  offExchangePrintColumns,
  offExchangeTotals,
  PrintItem,
  printItem,
} from "../src/answers/off-exchange-row.ts";
import {
  CursorInput,
  DetailInput,
  InstantAnswer,
  InstrumentAnswer,
  instrumentAnswer,
  isoInstant,
  SymbolInput,
} from "../src/answers/shared-members.ts";
import {
  type OffExchangeDaySummary,
  type OffExchangeView,
  offExchangeView,
  summarizeOffExchangeDays,
} from "../src/factors/off-exchange.ts";
import { Problem } from "../src/lib/problem.ts";
import { isBlockTrade } from "../src/market/block-size.ts";
import type { Instrument } from "../src/market/instrument.ts";
import type { Print, WeeklyVolume } from "../src/market/records.ts";
import { type TablePage, tableOf } from "../src/tables/table.ts";
import {
  chosenColumns,
  createListPage,
  FieldsInput,
  FieldTable,
  rejectFieldsQuery,
} from "../src/tool/fields.ts";
import { requestedInstantRange, resolveInstrument, snapshotAt } from "../src/tool/lookup.ts";
import { type PageRequest, paginate } from "../src/tool/pagination.ts";
import { defineTool, type ToolContext } from "../src/tool/tool.ts";
import { DayOrInstantInput, isIsoDate, requestedDayMember } from "../src/tool/when.ts";

/** Note that explains off-exchange prints. */
const NOTE =
  'Off-exchange prints carry tape code "D": alternative trading systems, internalized orders and OTC trades together. Which venue made a print is not public.';

/** Note for cryptocurrencies, whose block trades come from a derivatives exchange. */
const COIN_NOTE =
  "Off-exchange trades of a coin are block trades in futures on it, arranged away from the order book of one exchange. They are no part of the score.";

/** Sentence added to `COIN_NOTE` when no feed observes the prints. */
const NO_COIN_FEED = "No feed observes them here.";

/** Note for markets in which only block prints are stored. */
const BLOCKS_NOTE =
  "Of single prints only blocks of regular trading are stored, so totals over all prints are null; shortVolumeRatio covers all.";

/**
 * The note for an instrument.
 *
 * @param printsAre `blocks` if only block prints are stored; `undefined` if all prints are stored.
 */
function noteFor(
  { assetClass }: Instrument,
  { feeds }: OffExchangeView,
  printsAre: PrintsAre,
): string {
  if (assetClass === "crypto") {
    return feeds.prints === "no_feed" ? `${COIN_NOTE} ${NO_COIN_FEED}` : COIN_NOTE;
  }
  return printsAre === "blocks" ? `${NOTE} ${BLOCKS_NOTE}` : NOTE;
}

/** Views of off-exchange trading. */
const View = z.enum(["summary", "prints", "blocks", "days"]);

const FeedStatus = z.enum(["ok", "stale", "no_activity", "no_feed"]);

const AtsShare = z
  .object({
    weekStart: z.string().describe("Monday of the week."),
    value: z.number().nullable().describe("Fraction of off-exchange volume; null: none."),
    atsShares: z.number(),
    otcShares: z.number().describe("Internalized orders and OTC trades."),
    knownAt: InstantAnswer,
  })
  .nullable();

/** Schema of off-exchange trading, with the part that the view selects. */
export const OffExchange = z.object({
  ...InstrumentAnswer.shape,
  feeds: z
    .object({ prints: FeedStatus, shortVolume: FeedStatus })
    .describe("no_activity: nothing in the range; stale: no recent data."),
  note: z.string(),
  view: View,
  summary: z
    .object({
      sessions: z.number().int(),
      firstSession: z.string().nullable(),
      lastSession: z.string().nullable(),
      ...OffExchangeTotals.shape,
      atsShare: AtsShare.describe(
        "Share of alternative trading systems in the newest published week, weeks late; null: no feed.",
      ),
      largestPrints: z.array(PrintItem),
    })
    .optional()
    .describe("With view summary."),
  prints: z.array(PrintItem).optional().describe("With view prints or blocks, newest first."),
  days: z.array(DayItem).optional().describe("With view days, newest first."),
  ...FieldTable.shape,
  nextCursor: z.string().nullable(),
});

/** The weekly volume share of alternative trading systems (ATS); `null` without a feed. */
export function atsShareAnswer(week: WeeklyVolume | null): z.input<typeof AtsShare> {
  if (week === null) return null;
  const { weekStart, atsShares, otcShares, availableAt } = week;
  const shares = atsShares + otcShares;
  const value = shares > 0 ? atsShares / shares : null;
  return { weekStart, value, atsShares, otcShares, knownAt: isoInstant(availableAt) };
}

/** Number of sessions in a summary without a requested range. */
const SUMMARY_SESSIONS = 20;
/** Number of largest prints in a summary. */
const LARGEST_PRINTS = 5;

const Input = z.strictObject({
  symbol: SymbolInput,
  view: View.default("summary").describe(
    `summary: totals and largest prints of the range or of the last ${SUMMARY_SESSIONS} sessions; prints: single trades; blocks: large ones; days: a row per session.`,
  ),
  detail: DetailInput,
  fields: FieldsInput,
  from: DayOrInstantInput.optional().describe("First date, or earliest trade or close."),
  to: DayOrInstantInput.optional().describe("Last date, or latest trade or close."),
  minShares: z.number().int().min(1).optional().describe("With prints or blocks: minimum size."),
  minNotionalUsd: z.number().positive().optional().describe("The same, by value."),
  limit: z.number().int().min(1).max(500).default(20).describe("Most rows of a page."),
  cursor: CursorInput.optional(),
  asOf: DayOrInstantInput.optional().describe(
    "As known then: an instant, or a date for its close.",
  ),
});

type Query = z.output<typeof Input>;

/** The tool that returns the off-exchange prints of one instrument, and their aggregates. */
export const getDarkpool = defineTool({
  name: "get_darkpool",
  title: "Get dark pool activity",
  description:
    "Off-exchange (dark pool) activity of one instrument: totals with blocks and short-volume ratio, or sessions, prints or blocks (with a buy/sell proxy), newest first. Shares of volume are fractions.",
  scopes: ["darkpool:read"],
  routes: [{ method: "GET", path: "/api/darkpool" }],
  isShared: true,
  input: Input,
  output: OffExchange,

  tables: { kinds: { prints: offExchangePrintColumns, days: offExchangeDayColumns }, read: table },

  run(query, context): z.input<typeof OffExchange> {
    const { instrument, snapshot, view } = viewOf(query, context);
    return {
      ...requestedDayMember(query.asOf),
      ...instrumentAnswer(context, snapshot, query.detail),
      feeds: view.feeds,
      note: noteFor(instrument, view, context.market.printsAre),
      view: query.view,
      ...selectedPart(query, view, instrument.symbol, context.market.printsAre),
    };
  },
});

/**
 * Finds the instrument, snapshot and off-exchange records for a query.
 * @throws {Problem}
 */
function viewOf(query: Query, context: ToolContext) {
  rejectUnused(query);
  const { market } = context;
  const instrument = resolveInstrument(query.symbol, context);
  const snapshot = snapshotAt(instrument, query.asOf, context);
  const fromDate = dateOf(query.from);
  const from = fromDate === undefined ? query.from : `${fromDate}T00:00:00Z`;
  const view = offExchangeView(market.records(instrument.symbol), {
    at: snapshot.at,
    ...requestedInstantRange({ from, to: query.to }, snapshot.at, market),
    fromDate,
    toDate: dateOf(query.to),
    dayMs: market.dayMs,
  });
  return { instrument, snapshot, view };
}

const dateOf = (when: string | undefined): string | undefined =>
  when !== undefined && isIsoDate(when) ? when : undefined;

/**
 * Prints, blocks or days as a table.
 * @throws {Problem}
 */
function table(query: Query, context: ToolContext): TablePage {
  if (query.view === "summary") {
    throw new Problem("invalid_request", {
      detail: "view: a summary is no table.",
      next: "Ask for the view days, prints or blocks, or for JSON.",
    });
  }
  const { instrument, view } = viewOf(query, context);
  const { symbol } = instrument;
  if (query.view === "days") {
    const { items, nextCursor } = paginate(view.days(), daysRequest(query));
    const records = items.map(dayRecordOf(symbol, context.market.printsAre));
    return { ...tableOf(chosenColumns(offExchangeDayColumns, query.fields), records), nextCursor };
  }
  const { items, nextCursor } = paginate(matchingPrints(query, view), printsRequest(query));
  const records = items.map(printRecordOf(symbol));
  return { ...tableOf(chosenColumns(offExchangePrintColumns, query.fields), records), nextCursor };
}

const dayRecordOf = (symbol: string, printsAre: PrintsAre) => (totals: OffExchangeDaySummary) => ({
  symbol,
  session: totals.session,
  totals,
  printsAre,
});

const printRecordOf = (symbol: string) => (print: Print) => ({ symbol, print });

/**
 * Rejects input members that the requested view would ignore.
 * @throws {Problem} `invalid_request`
 */
function rejectUnused({ view, minShares, minNotionalUsd, cursor, fields }: Query): void {
  if (view === "summary") rejectFieldsQuery(fields, "Ask for the view days, prints or blocks.");
  const isFiltered = minShares !== undefined || minNotionalUsd !== undefined;
  if (isFiltered && view !== "prints" && view !== "blocks") {
    throw new Problem("invalid_request", {
      detail: `minShares, minNotionalUsd: the view ${view} adds up all prints.`,
      next: "Use the view prints or blocks, or leave the filters out.",
    });
  }
  if (cursor !== undefined && view === "summary") {
    throw new Problem("invalid_request", {
      detail: "cursor: a summary has one page.",
      next: "Leave it out.",
    });
  }
}

/** `blocks` if only block prints are stored; `undefined` if all prints are stored. */
type PrintsAre = "blocks" | undefined;

function selectedPart(query: Query, view: OffExchangeView, symbol: string, printsAre: PrintsAre) {
  if (query.view === "summary") {
    return { summary: summary(query, view, { symbol, printsAre }), nextCursor: null };
  }
  return query.view === "days"
    ? days(query, view, dayRecordOf(symbol, printsAre))
    : prints(query, view, printRecordOf(symbol));
}

function summary(
  { from, to, detail }: Query,
  view: OffExchangeView,
  { symbol, printsAre }: { readonly symbol: string; readonly printsAre: PrintsAre },
) {
  const isDefaultRange = from === undefined && to === undefined;
  const chosen = isDefaultRange ? view.days().slice(0, SUMMARY_SESSIONS) : view.days();
  const sessions = new Set(chosen.map(({ session }) => session));
  const largest = view.prints
    .filter(({ session, canceled }) => sessions.has(session) && !canceled)
    .sort((a, b) => b.price * b.sizeShares - a.price * a.sizeShares)
    .slice(0, LARGEST_PRINTS);
  return {
    sessions: chosen.length,
    firstSession: chosen.at(-1)?.session ?? null,
    lastSession: chosen[0]?.session ?? null,
    ...offExchangeTotals({ totals: summarizeOffExchangeDays(chosen), printsAre }, detail),
    atsShare: atsShareAnswer(view.week),
    largestPrints: largest.map((print) => printItem({ symbol, print }, detail)),
  };
}

const daysRequest = ({ limit, cursor }: Query): PageRequest<OffExchangeDaySummary> => ({
  list: "days",
  limit,
  cursor,
  keyOf: ({ session }) => session,
  order: "descending",
});

function days(query: Query, view: OffExchangeView, recordOf: ReturnType<typeof dayRecordOf>) {
  const { items, table, nextCursor } = createListPage(view.days(), {
    ...daysRequest(query),
    query,
    render: (day) => dayItem(recordOf(day), query.detail),
    columns: offExchangeDayColumns,
    recordOf,
  });
  return { ...(items && { days: items }), ...table, nextCursor };
}

const printsRequest = ({ view, limit, cursor }: Query): PageRequest<Print> => ({
  list: view,
  limit,
  cursor,
  keyOf: ({ id }) => id,
});

/** The prints or blocks that match a query, newest first. */
const matchingPrints = (
  { view, minShares = 0, minNotionalUsd = 0 }: Query,
  { prints: all }: OffExchangeView,
): readonly Print[] =>
  all
    .filter(
      (print) =>
        (view === "prints" || isBlockTrade(print)) &&
        print.sizeShares >= minShares &&
        print.price * print.sizeShares >= minNotionalUsd,
    )
    .reverse();

function prints(query: Query, view: OffExchangeView, recordOf: ReturnType<typeof printRecordOf>) {
  const { items, table, nextCursor } = createListPage(matchingPrints(query, view), {
    ...printsRequest(query),
    query,
    render: (print) => printItem(recordOf(print), query.detail),
    columns: offExchangePrintColumns,
    recordOf,
  });
  return { ...(items && { prints: items }), ...table, nextCursor };
}
