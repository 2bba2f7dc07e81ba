import { z } from "zod";
import { estimatedSide, type OffExchangeDaySummary } from "../factors/off-exchange.ts";
import { BLOCK_SIZE_TEXT, isBlockTrade } from "../market/block-size.ts";
import type { Print } from "../market/records.ts";
import { columnOf, columnsOf, membersOf, membersSchema, namesOf } from "../tables/row.ts";
import { roundRatio, withoutFloatNoise } from "./rounding.ts";
import { type DetailLevel, InstantAnswer, isoInstant } from "./shared-members.ts";

/** An off-exchange print of an instrument. */
interface PrintRecord {
  readonly symbol: string;
  readonly print: Print;
}

const printColumn = columnOf<PrintRecord>();

/** What every print has, but only in JSON. */
const venueClass = printColumn(z.literal("off_exchange"), () => "off_exchange" as const);

/** The columns of prints and of blocks. */
const printRow = {
  symbol: printColumn(z.string(), ({ symbol }) => symbol),
  id: printColumn(z.string(), ({ print }) => print.id),
  session: printColumn(z.string(), ({ print }) => print.session),
  tradedAt: printColumn(InstantAnswer, ({ print }) => isoInstant(print.tradedAt)),
  price: printColumn(z.number(), ({ print }) => print.price, { description: "USD per share." }),
  sizeShares: printColumn(z.number(), ({ print }) => print.sizeShares),
  notionalUsd: printColumn(z.number(), ({ print }) =>
    withoutFloatNoise(print.price * print.sizeShares),
  ),
  block: printColumn(z.boolean(), ({ print }) => isBlockTrade(print), {
    description: `At least ${BLOCK_SIZE_TEXT}.`,
  }),
  venue: printColumn(z.string(), ({ print }) => print.venue, {
    description: "Reporting facility, not the place of execution.",
  }),
  side: printColumn(
    z.number().min(-1).max(1).nullable().describe("Proxy: 1 buyer, -1 seller, null unknown."),
    ({ print }) => estimatedSide(print),
    { about: "Proxy from 1 (buyer) to -1 (seller); empty: unknown.", round: roundRatio },
  ),
  sideMethod: printColumn(z.literal("graded_quote_rule").nullable(), ({ print }) =>
    estimatedSide(print) === null ? null : "graded_quote_rule",
  ),
  conditions: printColumn(z.string(), ({ print }) => print.conditions),
  canceled: printColumn(z.boolean(), ({ print }) => print.canceled),
  reportingDelayMs: printColumn(
    z.number().nullable(),
    ({ print: { availableAt, tradedAt } }) =>
      availableAt > tradedAt ? availableAt - tradedAt : null,
    { description: "null when the source does not say." },
  ),
};

/** Columns of the tables of prints and of blocks. */
export const offExchangePrintColumns = columnsOf(printRow);

/** The members of a print in an answer. */
const PRINT = {
  full: [
    "id",
    "session",
    "tradedAt",
    "price",
    "sizeShares",
    "notionalUsd",
    "block",
    "venueClass",
    "venue",
    "side",
    "sideMethod",
    "conditions",
    "canceled",
    "reportingDelayMs",
  ],
  brief: ["tradedAt", "price", "sizeShares", "block", "side", "canceled"],
} as const;

const printMembers = { ...printRow, venueClass };

/** A print in an answer. */
export const PrintItem = membersSchema(printMembers, PRINT);

/** Renders a print. */
export const printItem = (record: PrintRecord, detail: DetailLevel): z.input<typeof PrintItem> =>
  membersOf(printMembers, PRINT[detail], record, detail);

/** Totals of one session, or of several. */
interface TotalsRecord {
  readonly totals: Omit<OffExchangeDaySummary, "session">;
  /**
   * `blocks` if only block prints are stored, so that sums over all prints are unknown;
   * `undefined` if all prints are stored.
   */
  readonly printsAre: "blocks" | undefined;
}

/** Totals of one session of an instrument. */
interface DayRecord extends TotalsRecord {
  readonly symbol: string;
  readonly session: string;
}

type PrintTotals = NonNullable<TotalsRecord["totals"]["prints"]>;

/** A figure of all prints; `null` if not all are stored, or without a feed. */
const ofAllPrints =
  (figure: (prints: PrintTotals, volume: number | null) => number | null) =>
  ({ totals: { prints, volume }, printsAre }: TotalsRecord): number | null =>
    prints === null || printsAre === "blocks" ? null : figure(prints, volume);

/** A figure of the stored prints; `null` without a feed. */
const ofStoredPrints =
  (figure: (prints: PrintTotals) => number) =>
  ({ totals: { prints } }: TotalsRecord): number | null =>
    prints === null ? null : figure(prints);

const totalColumn = columnOf<TotalsRecord>();

const Total = z.number().nullable();
const Count = z.number().int().nullable();

/** The totals of one session, or of several. */
const totalsRow = {
  prints: totalColumn(
    Count.describe("null, as in the next five: no feed then."),
    ofAllPrints(({ prints }) => prints),
    { about: "Empty, as in the other columns: no feed then." },
  ),
  shares: totalColumn(
    Total,
    ofAllPrints(({ shares }) => shares),
    { display: { header: "Shares", format: "int" } },
  ),
  notionalUsd: totalColumn(
    Total,
    ofAllPrints(({ notionalUsd }) => withoutFloatNoise(notionalUsd)),
    { display: { header: "Value, USD", format: "int" } },
  ),
  vwap: totalColumn(
    Total,
    ofAllPrints(({ notionalUsd, shares }) => (shares > 0 ? notionalUsd / shares : null)),
    {
      description: "USD per share.",
      round: roundRatio,
      display: { header: "Average price, USD", decimals: 2 },
    },
  ),
  blocks: totalColumn(
    Count,
    ofStoredPrints(({ blocks }) => blocks),
    { display: { header: "Blocks", format: "int" } },
  ),
  blockShares: totalColumn(
    Total,
    ofStoredPrints(({ blockShares }) => blockShares),
  ),
  blockNotionalUsd: totalColumn(
    Total,
    ofStoredPrints(({ blockNotionalUsd }) => withoutFloatNoise(blockNotionalUsd)),
    { display: { header: "Value of blocks, USD", format: "int" } },
  ),
  canceledPrints: totalColumn(
    Count,
    ofStoredPrints(({ canceled }) => canceled),
    { description: "Excluded from the other figures." },
  ),
  shareOfVolume: totalColumn(
    Total.describe("Fraction of consolidated volume; null: unknown."),
    ofAllPrints(({ shares }, volume) => (volume ? shares / volume : null)),
    {
      about: "Fraction of consolidated volume.",
      round: roundRatio,
      display: { header: "Share of volume", format: "percent", decimals: 1 },
    },
  ),
  shortVolumeRatio: totalColumn(
    Total.describe(
      "Fraction of off-exchange volume marked short; of the newest session in a summary.",
    ),
    ({ totals }) => totals.shortVolumeRatio,
    {
      about: "Fraction of off-exchange volume marked short.",
      round: roundRatio,
      display: { header: "Marked short", format: "percent", decimals: 1 },
    },
  ),
};

const dayColumn = columnOf<DayRecord>();

/** The columns of totals by session. */
export const offExchangeDayRow = {
  symbol: dayColumn(z.string(), ({ symbol }) => symbol, { display: { header: "Symbol" } }),
  session: dayColumn(z.string(), ({ session }) => session, { display: { header: "Session" } }),
  ...totalsRow,
};

/** Columns of the table of totals by session. */
export const offExchangeDayColumns = columnsOf(offExchangeDayRow);

const TOTALS = namesOf(totalsRow);

/** Totals of a range in an answer. */
export const OffExchangeTotals = membersSchema(totalsRow, { full: TOTALS, brief: TOTALS });

/** Renders the totals of a range. */
export const offExchangeTotals = (record: TotalsRecord, detail: DetailLevel) =>
  membersOf(totalsRow, TOTALS, record, detail);

const DAY = ["session", ...TOTALS] as const;

/** Totals of one session in an answer. */
export const DayItem = membersSchema(offExchangeDayRow, { full: DAY, brief: DAY });

/** Renders the totals of one session. */
export const dayItem = (record: DayRecord, detail: DetailLevel) =>
  membersOf(offExchangeDayRow, DAY, record, detail);
