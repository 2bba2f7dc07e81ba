import { z } from "zod";
import {
  closingInstantRange,
  mergeSessions,
  panelColumns,
  panelRows,
} from "../answers/export-table.ts";
import { InstantInput, isoInstant } from "../answers/shared-members.ts";
import { AssetClass } from "../market/instrument.ts";
import type { RecordList } from "../market/records.ts";
import type { PastSnapshot } from "../score/snapshot.ts";
import { type TablePage, tableOf } from "../tables/table.ts";
import { requestedInstantRange, requireComputedHistory } from "./lookup.ts";
import type { ToolContext } from "./tool.ts";

/** Default and maximum number of rows on a page; rendering this many takes some seconds. */
const MAX_ROWS = 50_000;

/** Minimum value of `limit`, in rows. */
const MIN_ROWS = 100;

/** A date, or an instant for simulated markets whose days are shorter than 24 hours. */
const Time = z.union([z.iso.date(), InstantInput]);

/** Query parameters that select a part of the panel. */
export const PanelQuery = z.strictObject({
  assetClass: AssetClass.meta({ examples: ["stock"] }),
  from: Time.optional().describe("First date or instant; default: the first session kept."),
  to: Time.optional().describe("Last date or instant; default: the last session."),
  format: z.enum(["csv", "parquet"]).default("csv"),
  limit: z.coerce
    .number()
    .int()
    .min(MIN_ROWS)
    .max(MAX_ROWS)
    .default(MAX_ROWS)
    .describe("Most rows of a page, which has whole sessions, at least one."),
  cursor: InstantInput.optional().describe("From the header Link of the page before."),
});

/** A panel query with its defaults applied. */
export type PanelQuery = z.output<typeof PanelQuery>;

/**
 * A page of the panel of an asset class: the final snapshots of whole sessions, ordered by date and
 * symbol.
 *
 * @param hasFactors Whether to include the factor columns.
 * @throws {Problem} `invalid_request` for a range that ends before it begins, `not_ready` while the
 * history is being recomputed after a start.
 */
export function panelPage(
  { assetClass, from, to, limit, cursor }: PanelQuery,
  context: ToolContext,
  hasFactors: boolean,
): TablePage {
  const { market, snapshots } = context;
  requireComputedHistory(context);
  const range = requestedInstantRange(closingInstantRange({ from, to }), market.now(), market);
  const start = cursor === undefined ? range.from : Date.parse(cursor) + 1;
  const instruments = market.instruments().filter((one) => one.assetClass === assetClass);
  const histories = instruments.map(({ symbol }) => snapshots.history(symbol, start, range.to));
  const begin = Math.min(...closesAt(histories, 0));
  const end = Math.max(...closesAt(histories, -1));
  // An instrument has at most one session a day.
  const days = Math.max(1, Math.floor(limit / instruments.length));
  const until = begin + days * market.dayMs - 1;
  const rows = panelRows(mergeSessions(histories, until), {
    sessionAt: market.sessionAt,
    barsOf: (symbol) => market.records(symbol).bars,
  });
  return {
    ...tableOf(panelColumns({ dayMs: market.dayMs, hasFactors }), rows),
    nextCursor: until < end ? isoInstant(until) : null,
  };
}

/** The first (0) or last (-1) close of each non-empty history, Unix milliseconds. */
const closesAt = (
  histories: readonly RecordList<PastSnapshot>[],
  position: 0 | -1,
): readonly number[] => histories.flatMap((history) => history.at(position)?.at ?? []);
