import { z } from "zod";
import { BLOCK_SIZE_TEXT, MIN_BLOCK_SIZE } from "../../../market/block-size.ts";
import { newYorkDate } from "../../../market/new-york.ts";
import { ProviderFault } from "../fault.ts";
import { type PrintPage, type PrintPageRequest, printSeries, type RawPrint } from "../prints.ts";
import type { PolledProvider, ProviderRequest } from "../provider.ts";
import { type ProviderResponse, parseJsonBody, quoted } from "../provider-response.ts";
import { dottedSymbol } from "../provider-symbols.ts";

/** Maximum number of prints per page. */
const PAGE_PRINTS = 500;

/**
 * Error code for a day before the plan's history; the status is 403, the same as for a wrong key.
 */
const TOO_OLD = "historic_data_access_missing";

/**
 * Sale condition codes of prices that were set by the quotes at execution. All other codes,
 * including future ones, count as prices from another source: an average, an earlier price, a
 * derivative, another time.
 */
const QUOTED: ReadonlySet<string> = new Set(["odd_lot_execution", "intermarket_sweep"]);
const REGULAR_SETTLEMENT: ReadonlySet<string> = new Set(["regular", "regular_settlement"]);

const Code = z.string().max(80).nullish();
const Quote = z.union([z.string().max(40), z.number()]).nullish();

const PrintRow = z.looseObject({
  size: z.number(),
  price: z.union([z.string().max(40), z.number()]),
  executed_at: z.iso.datetime({ offset: true }),
  created_at: z.iso.datetime({ offset: true }).nullish(),
  nbbo_bid: Quote,
  nbbo_ask: Quote,
  market_center: z.string().max(8).nullish(),
  canceled: z.boolean(),
  sale_cond_codes: Code,
  ext_hour_sold_codes: Code,
  trade_code: Code,
  trade_settlement: Code,
  tracking_id: z.number(),
});
type PrintRow = z.infer<typeof PrintRow>;

const Page = z.looseObject({ data: z.array(PrintRow) });
const Refusal = z.looseObject({ code: z.string().optional(), message: z.string() });

/** Off-exchange blocks of US stocks and funds, with the quotes at execution. */
export const unusualWhales: PolledProvider = {
  id: "unusual-whales",
  name: "Unusual Whales",
  terms: `Unusual Whales API terms, paid plan: for your own use, not to be passed on; off-exchange prints of regular trading from ${BLOCK_SIZE_TEXT} on.`,
  isForOwnUse: true,
  origin: "https://api.unusualwhales.com",
  feeds: ["prints"],
  classes: ["stock", "etf"],
  needs: ["UNUSUAL_WHALES_API_KEY"],
  kind: "polled",
  // Plans usually allow 120 requests a minute; a stricter plan answers 429.
  budget: { requests: 100, perMs: 60_000 },
  series: ({ instruments, historyFrom, settings }) =>
    instruments.flatMap(({ symbol }) =>
      // A block qualifies by shares or by value, but all filters of a request apply together, so
      // the response is filtered here.
      [`min_premium=${MIN_BLOCK_SIZE.notionalUsd}`, `min_size=${MIN_BLOCK_SIZE.shares}`].map(
        (filter) =>
          printSeries({ key: `${symbol} ${filter}`, symbol, historyFrom }, (place) => ({
            request: requestOf(dottedSymbol(symbol), filter, place, settings),
            read: (answer) => readPage(answer, place),
          })),
      ),
    ),
};

function requestOf(
  symbol: string,
  filter: string,
  { session, closesAt, page }: PrintPageRequest,
  settings: Readonly<Record<string, string>>,
): ProviderRequest {
  const olderThan = page ?? new Date(closesAt).toISOString();
  const query = `date=${session}&older_than=${olderThan}&limit=${PAGE_PRINTS}&${filter}`;
  return {
    path: `/api/darkpool/${symbol}?${query}`,
    headers: {
      authorization: `Bearer ${settings.UNUSUAL_WHALES_API_KEY}`,
      accept: "application/json",
    },
    accepts: [403],
  };
}

function readPage(answer: ProviderResponse, place: PrintPageRequest): PrintPage {
  if (answer.status === 403) return { prints: [], availableFrom: historyBegin(answer, place) };
  const { data } = parseJsonBody(answer, Page);
  const prints = data
    .map((row) => printOf(row, place.session))
    .filter(({ tradedAt }) => tradedAt >= place.opensAt && tradedAt < place.closesAt);
  return { prints, next: pageBehind(data, place) };
}

/**
 * Reads the first available day from the refusal of a day that is too old for the plan.
 *
 * @throws {ProviderFault} `refused` for any other refusal.
 */
function historyBegin(answer: ProviderResponse, { session }: PrintPageRequest): string {
  const { code, message } = parseJsonBody(answer, Refusal);
  const date = /\d{4}-\d{2}-\d{2}/.exec(message)?.[0];
  const today = newYorkDate(answer.receivedAt);
  if (code === TOO_OLD && date !== undefined && date > session && date <= today) return date;
  throw new ProviderFault("refused", quoted(message));
}

/**
 * Upper time bound of the next page. Pages go back in time by whole seconds, so the oldest second
 * of a page is requested again, unless that second alone fills the page.
 */
function pageBehind(rows: readonly PrintRow[], { page, opensAt, closesAt }: PrintPageRequest) {
  const oldest = Math.min(...rows.map(({ executed_at: at }) => Date.parse(at)));
  if (rows.length < PAGE_PRINTS || oldest < opensAt) return undefined;
  const before = page === undefined ? closesAt : Date.parse(page);
  const again = oldest + 1_000;
  return new Date(again < before ? again : oldest).toISOString();
}

function printOf(row: PrintRow, session: string): RawPrint {
  const tradedAt = Date.parse(row.executed_at);
  const { sale_cond_codes: sale, ext_hour_sold_codes: hours, trade_code: trade } = row;
  const settlement = REGULAR_SETTLEMENT.has(row.trade_settlement ?? "regular")
    ? null
    : row.trade_settlement;
  const conditions = [sale, hours, trade, settlement].filter((code) => code != null);
  return {
    id: `${session}/${row.tracking_id}`,
    tradedAt,
    availableAt: Math.max(tradedAt, Date.parse(row.created_at ?? row.executed_at)),
    price: Number(row.price),
    sizeShares: row.size,
    venue: row.market_center ? `FINRA-${row.market_center}` : "FINRA-TRF",
    conditions: conditions.join(","),
    bid: quoteOf(row.nbbo_bid),
    ask: quoteOf(row.nbbo_ask),
    canceled: row.canceled,
    signable: conditions.every((code) => QUOTED.has(code)),
  };
}

/** Parses a quote; `null` if it is missing, which the provider may also report as 0. */
function quoteOf(quote: string | number | null | undefined): number | null {
  const price = Number(quote ?? 0);
  return price > 0 && Number.isFinite(price) ? price : null;
}
