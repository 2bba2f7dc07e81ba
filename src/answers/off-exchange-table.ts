import { BLOCK_SIZE_TEXT } from "../market/block-size.ts";
import { memberColumn } from "../tables/table.ts";
import { ratio } from "./rounding.ts";

/** A row about one instrument: the members of an answer, with the symbol. */
type RowOf<T> = T & { readonly symbol: string };

/** A print as answers have it. */
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

const ofPrint = memberColumn<RowOf<PrintMembers>>();

/** Columns of single prints and of blocks. */
export const printColumns = [
  ofPrint("symbol", "text"),
  ofPrint("id", "text"),
  ofPrint("session", "text"),
  ofPrint("tradedAt", "instant"),
  ofPrint("price", "number", "USD per share."),
  ofPrint("sizeShares", "number"),
  ofPrint("notionalUsd", "number"),
  ofPrint("block", "boolean", `At least ${BLOCK_SIZE_TEXT}.`),
  ofPrint("venue", "text", "Reporting facility, not the place of execution."),
  ofPrint("side", "number", "Proxy from 1 (buyer) to -1 (seller); empty: unknown.", ratio),
  ofPrint("sideMethod", "text"),
  ofPrint("conditions", "text"),
  ofPrint("canceled", "boolean"),
  ofPrint("reportingDelayMs", "number", "Empty when the source does not say."),
];

/** Totals of a session as answers have them; `null`, an empty cell, where not observed. */
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

const ofDay = memberColumn<RowOf<DayMembers>>();

/** Columns of totals by session. */
export const dayColumns = [
  ofDay("symbol", "text"),
  ofDay("session", "text"),
  ofDay("prints", "integer", "Empty, as in the other columns: not observed."),
  ofDay("shares", "number"),
  ofDay("notionalUsd", "number"),
  ofDay("vwap", "number", "USD per share.", ratio),
  ofDay("blocks", "integer"),
  ofDay("blockShares", "number"),
  ofDay("blockNotionalUsd", "number"),
  ofDay("canceledPrints", "integer", "Excluded from the other figures."),
  ofDay("shareOfVolume", "number", "Fraction of consolidated volume.", ratio),
  ofDay("shortVolumeRatio", "number", "Fraction of off-exchange volume marked short.", ratio),
];
