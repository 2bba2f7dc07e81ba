import { z } from "zod";
import { CursorInput, common, InstantInput, SymbolInput } from "../src/answers/common.ts";
import {
  aggregates,
  atsShare,
  noteOn,
  OffExchange,
  printAnswer,
  View,
} from "../src/answers/darkpool.ts";
import { instantRange, resolve, snapshotAt } from "../src/answers/lookup.ts";
import { isBlock } from "../src/factors/off-exchange.ts";
import {
  type OffExchangeView,
  offExchangeView,
  summariseDays,
} from "../src/factors/off-exchange-view.ts";
import { cutPage } from "../src/lib/pagination.ts";
import { Problem } from "../src/problem.ts";
import { defineTool } from "../src/tool.ts";

/** Sessions of a summary when the caller gives no range. */
const SUMMARY_SESSIONS = 20;
/** Largest prints that a summary lists. */
const LARGEST_PRINTS = 5;

const Input = z.strictObject({
  symbol: SymbolInput,
  view: View.default("summary").describe(
    `summary: totals of the range or of the last ${SUMMARY_SESSIONS} sessions; prints: single trades; blocks: large ones; days: a row per session.`,
  ),
  from: InstantInput.optional().describe("Prints traded or sessions closed from then on."),
  to: InstantInput.optional().describe("The same, up to this instant."),
  minShares: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe("With prints or blocks: this size at least."),
  minNotionalUsd: z.number().positive().optional().describe("The same by value."),
  limit: z.number().int().min(1).max(500).default(20).describe("Most items of a page."),
  cursor: CursorInput.optional(),
  asOf: InstantInput.optional().describe("As known at the last snapshot by this instant."),
});

type Query = z.output<typeof Input>;

/** Off-exchange prints of one instrument and what they add up to. */
export const getDarkpool = defineTool({
  name: "get_darkpool",
  title: "Get dark pool activity",
  description:
    "Off-exchange (dark pool) activity of one instrument: totals with blocks and short-volume ratio, a row per session, or single prints and blocks with a buy/sell proxy.",
  scopes: ["darkpool:read"],
  routes: [{ method: "GET", path: "/api/darkpool" }],
  isShared: true,
  input: Input,
  output: OffExchange,

  run(query, context) {
    refuseUnused(query);
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
      note: noteOn(instrument, context.market.printsAre),
      view: query.view,
      ...part(query, view, context.market.printsAre),
    };
  },
});

/** @throws {Problem} `invalid_request` for what the view would ignore. */
function refuseUnused({ view, minShares, minNotionalUsd, cursor }: Query): void {
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

/** Which prints there are; `undefined`: all that the sources have. */
type PrintsAre = "blocks" | undefined;

function part(query: Query, view: OffExchangeView, printsAre: PrintsAre) {
  if (query.view === "summary") {
    return { summary: summary(query, view, printsAre), nextCursor: null };
  }
  return query.view === "days" ? days(query, view, printsAre) : prints(query, view);
}

function summary({ from, to }: Query, view: OffExchangeView, printsAre: PrintsAre) {
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
    ...aggregates(summariseDays(chosen), printsAre),
    atsShare: atsShare(view.week),
    largestPrints: largest.map(printAnswer),
  };
}

function days({ limit, cursor }: Query, view: OffExchangeView, printsAre: PrintsAre) {
  const { items, nextCursor } = cutPage(view.days(), {
    list: "days",
    limit,
    cursor,
    keyOf: ({ session }) => session,
    order: "descending",
  });
  return {
    days: items.map((day) => ({ session: day.session, ...aggregates(day, printsAre) })),
    nextCursor,
  };
}

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
  const { items, nextCursor } = cutPage(matching.reverse(), {
    list: view,
    limit,
    cursor,
    keyOf: ({ id }) => id,
  });
  return { prints: items.map(printAnswer), nextCursor };
}
