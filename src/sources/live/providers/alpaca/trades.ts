import { z } from "zod";
import { printSeries, type RawPrint } from "../../prints.ts";
import type { ProviderOptions, ProviderSeries } from "../../provider.ts";
import { parseJsonBody } from "../../provider-response.ts";
import { dottedSymbol } from "../../provider-symbols.ts";
import { createStockRequest, refusedSymbol } from "./stock-request.ts";

/** Delay of trades on the free plan, in milliseconds. */
const PUBLIC_AFTER_MS = 15 * 60_000;

/** Exchange code of trades reported to a FINRA facility. */
const OFF_EXCHANGE = "D";

/** Sale condition of a regular sale: tapes A and B use a blank, tape C an at sign. */
const REGULAR: ReadonlySet<string> = new Set(["", " ", "@"]);

/**
 * Values of `u` (update) that void a trade. A `corrected` trade replaces an `incorrect` one and is
 * valid.
 */
const VOID: ReadonlySet<string> = new Set(["canceled", "incorrect"]);

const Trade = z.looseObject({
  /** RFC 3339 timestamp with nanoseconds. */
  t: z.iso.datetime(),
  x: z.string(),
  p: z.number(),
  s: z.number(),
  c: z.array(z.string().max(20)).max(20).nullish(),
  i: z.union([z.number(), z.string().max(40)]),
  u: z.string().max(20).nullish(),
});

const Page = z.looseObject({
  trades: z.record(z.string(), z.array(Trade)).nullable(),
  next_page_token: z.string().nullable(),
});

/** Series of the off-exchange blocks of one symbol. */
export function tradeSeries(
  symbol: string,
  { historyFrom, settings }: ProviderOptions,
): ProviderSeries {
  const spelled = dottedSymbol(symbol);
  return printSeries({ key: `trades ${symbol}`, symbol, historyFrom }, (place) => ({
    request: createStockRequest(
      "trades",
      {
        symbols: spelled,
        start: new Date(place.opensAt).toISOString(),
        // Alpaca includes both `start` and `end`.
        end: new Date(place.closesAt - 1).toISOString(),
        sort: "asc",
        page_token: place.page,
      },
      settings,
    ),
    read(answer) {
      if (refusedSymbol(answer, [spelled]) !== undefined) return { prints: [], isUnknown: true };
      const { trades, next_page_token: next } = parseJsonBody(answer, Page);
      const prints = (trades?.[spelled] ?? []).filter(({ x }) => x === OFF_EXCHANGE).map(printOf);
      return { prints, next: next ?? undefined };
    },
  }));
}

function printOf({ t, p, s, c, i, u }: z.infer<typeof Trade>): RawPrint {
  const tradedAt = Date.parse(t);
  return {
    // Trade ids are unique within a day and a facility.
    id: `${t}/${i}`,
    tradedAt,
    availableAt: tradedAt + PUBLIC_AFTER_MS,
    price: p,
    sizeShares: s,
    venue: "FINRA",
    conditions: (c ?? []).filter((code) => !REGULAR.has(code)).join(","),
    bid: null,
    ask: null,
    canceled: VOID.has(u ?? ""),
    signable: false,
  };
}
