import { z } from "zod";
import { BLOCK_SIZE_TEXT } from "../../../market/block-size.ts";
import { ProviderFault } from "../fault.ts";
import { type PrintPageRequest, printSeries, type RawPrint } from "../prints.ts";
import type { PolledProvider, ProviderRequest } from "../provider.ts";
import { parseJsonBody } from "../provider-response.ts";
import { dottedSymbol } from "../provider-symbols.ts";

/** Number of trades per page; the maximum of 50,000 would take 15 MB. */
const PAGE_TRADES = 20_000;

/** Exchange number of trades reported to a FINRA facility. */
const OFF_EXCHANGE = 4;

/** Names of FINRA facilities by number. */
const FACILITIES: Readonly<Record<number, string>> = {
  201: "FINRA-NYSE-TRF",
  202: "FINRA-NASDAQ-TRF-CARTERET",
  203: "FINRA-NASDAQ-TRF-CHICAGO",
};

/** Condition number of a regular sale. */
const REGULAR = 0;

/**
 * Correction indicators of valid trades: never corrected, or already containing the corrected
 * figures. All others mean that the trade was canceled or wrong, or that the entry is a notice
 * about another trade.
 */
const STANDING: ReadonlySet<number> = new Set([0, 1]);

const NS_PER_MS = 1e6;

/**
 * Unix nanoseconds up to the year 9999; as a JavaScript number they are exact to less than 1 µs.
 */
const Nanoseconds = z
  .number()
  .min(0)
  .max(253_402_300_799_999 * NS_PER_MS);

const Trade = z.looseObject({
  conditions: z.array(z.number()).max(20).nullish(),
  correction: z.number().nullish(),
  exchange: z.number(),
  id: z.string().max(40),
  participant_timestamp: Nanoseconds,
  sip_timestamp: Nanoseconds,
  price: z.number(),
  size: z.number(),
  trf_id: z.number().nullish(),
});

const Page = z.looseObject({
  /** `DELAYED` if the plan delays trades by 15 minutes. */
  status: z.enum(["OK", "DELAYED"]),
  results: z.array(Trade).nullish(),
  next_url: z.string().nullish(),
});

/** The data vendor Massive: off-exchange block trades in US stocks and funds, without quotes. */
export const massive: PolledProvider = {
  id: "massive",
  name: "Massive",
  terms: `Massive terms of service, paid plan: for your own use, not to be passed on; off-exchange prints of regular trading from ${BLOCK_SIZE_TEXT} on, without quotes.`,
  isForOwnUse: true,
  origin: "https://api.massive.com",
  feeds: ["prints"],
  classes: ["stock", "etf"],
  needs: ["MASSIVE_API_KEY"],
  kind: "polled",
  // Paid plans have no limit; the vendor asks for fewer than 100 requests a second.
  budget: { requests: 20, perMs: 1_000 },
  series: ({ instruments, historyFrom, settings: { MASSIVE_API_KEY: key = "" } }) =>
    instruments.map(({ symbol }) =>
      printSeries({ key: symbol, symbol, historyFrom }, (place) => ({
        request: requestOf(dottedSymbol(symbol), place, key),
        read(answer) {
          const { results, next_url: next } = parseJsonBody(answer, Page);
          const trades = (results ?? []).filter(isOffExchange);
          const prints = trades.map((trade) => printOf(trade, place.session));
          return { prints, next: next ? pageBehind(next, dottedSymbol(symbol)) : undefined };
        },
      })),
    ),
};

function requestOf(symbol: string, place: PrintPageRequest, key: string): ProviderRequest {
  const { opensAt, closesAt, page } = place;
  const query = new URLSearchParams(
    page === undefined
      ? {
          "timestamp.gte": nanoseconds(opensAt),
          "timestamp.lt": nanoseconds(closesAt),
          order: "asc",
          sort: "timestamp",
          limit: String(PAGE_TRADES),
        }
      : page,
  );
  return { path: `${pathOf(symbol)}?${query}`, headers: { authorization: `Bearer ${key}` } };
}

const pathOf = (symbol: string): string => `/v3/trades/${symbol}`;

const nanoseconds = (at: number): string => `${at}000000`;

/**
 * Query of the next page from its URL. Since the API key is sent with the request, the path is
 * checked, and the origin of the URL is never used.
 */
function pageBehind(next: string, symbol: string): string {
  const url = URL.parse(next);
  if (url?.pathname === pathOf(symbol) && url.search.length > 1) return url.search.slice(1);
  throw new ProviderFault("malformed", "next_url does not lead to trades of the same symbol");
}

/**
 * Whether a trade was reported to a FINRA facility: exchange 4 means this only if the trade has a
 * facility number.
 */
const isOffExchange = ({ exchange, trf_id: facility }: z.infer<typeof Trade>): boolean =>
  exchange === OFF_EXCHANGE && !!facility;

function printOf(trade: z.infer<typeof Trade>, session: string): RawPrint {
  const tradedAt = milliseconds(trade.participant_timestamp);
  const facility = trade.trf_id ?? 0;
  return {
    // Ids are unique within a symbol, a day and a facility.
    id: `${session}/${facility}/${trade.id}`,
    tradedAt,
    availableAt: Math.max(tradedAt, milliseconds(trade.sip_timestamp)),
    price: trade.price,
    sizeShares: trade.size,
    venue: FACILITIES[facility] ?? "FINRA-TRF",
    conditions: (trade.conditions ?? []).filter((code) => code !== REGULAR).join(","),
    bid: null,
    ask: null,
    canceled: !STANDING.has(trade.correction ?? 0),
    signable: false,
  };
}

const milliseconds = (nanosecond: number): number => Math.floor(nanosecond / NS_PER_MS);
