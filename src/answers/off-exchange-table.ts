import { BLOCK_SIZE_TEXT } from "../market/block-size.ts";
import { createMemberColumn } from "../tables/table.ts";
import { roundRatio } from "./rounding.ts";

/** A row about one instrument: members of an answer, plus the symbol. */
type RowOf<T> = T & { readonly symbol: string };

/** A print as shown in answers. */
interface PrintMembers {
  readonly id: string;
  readonly session: string;
  readonly tradedAt: string;
  readonly price: number;
  readonly sizeShares: number;
  readonly notionalUsd: number;
  readonly block: boolean;
  readonly venue: string;
  readonly side: number | null;
  readonly sideMethod: string | null;
  readonly conditions: string;
  readonly canceled: boolean;
  readonly reportingDelayMs: number | null;
}

const printColumn = createMemberColumn<RowOf<PrintMembers>>();

/** Columns of the tables of prints and of blocks. */
export const offExchangePrintColumns = [
  printColumn("symbol", "text"),
  printColumn("id", "text"),
  printColumn("session", "text"),
  printColumn("tradedAt", "instant"),
  printColumn("price", "number", "USD per share."),
  printColumn("sizeShares", "number"),
  printColumn("notionalUsd", "number"),
  printColumn("block", "boolean", `At least ${BLOCK_SIZE_TEXT}.`),
  printColumn("venue", "text", "Reporting facility, not the place of execution."),
  printColumn("side", "number", "Proxy from 1 (buyer) to -1 (seller); empty: unknown.", roundRatio),
  printColumn("sideMethod", "text"),
  printColumn("conditions", "text"),
  printColumn("canceled", "boolean"),
  printColumn("reportingDelayMs", "number", "Empty when the source does not say."),
];

/**
 * Totals of a session as shown in answers; a total without a feed is `null`, an empty cell.
 */
interface DayMembers {
  readonly session: string;
  readonly prints: number | null;
  readonly shares: number | null;
  readonly notionalUsd: number | null;
  readonly vwap: number | null;
  readonly blocks: number | null;
  readonly blockShares: number | null;
  readonly blockNotionalUsd: number | null;
  readonly canceledPrints: number | null;
  readonly shareOfVolume: number | null;
  readonly shortVolumeRatio: number | null;
}

const dayColumn = createMemberColumn<RowOf<DayMembers>>();

/** Columns of the table of totals by session. */
export const offExchangeDayColumns = [
  dayColumn("symbol", "text"),
  dayColumn("session", "text"),
  dayColumn("prints", "integer", "Empty, as in the other columns: no feed then."),
  dayColumn("shares", "number"),
  dayColumn("notionalUsd", "number"),
  dayColumn("vwap", "number", "USD per share.", roundRatio),
  dayColumn("blocks", "integer"),
  dayColumn("blockShares", "number"),
  dayColumn("blockNotionalUsd", "number"),
  dayColumn("canceledPrints", "integer", "Excluded from the other figures."),
  dayColumn("shareOfVolume", "number", "Fraction of consolidated volume.", roundRatio),
  dayColumn(
    "shortVolumeRatio",
    "number",
    "Fraction of off-exchange volume marked short.",
    roundRatio,
  ),
];
