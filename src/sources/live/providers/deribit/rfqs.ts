import { z } from "zod";
import { isPageTokenExpired, readCursor } from "../../cursor.ts";
import { ProviderFault } from "../../fault.ts";
import type { ParsedResponse, ProviderSeries } from "../../provider.ts";
import type { ProviderResponse } from "../../provider-response.ts";
import { coinTicker } from "../../provider-symbols.ts";
import { isLaterThanArrival } from "../../publication-times.ts";
import { type BlockTradeLeg, isFuturesContractOn, printOfBlockLeg, UnixMillis } from "./block.ts";
import { jsonRpcResult, rpcRequest } from "./json-rpc.ts";

/** Number of RFQs per page; the documented maximum is 1,000, but more than 50 are refused. */
const PAGE_RFQS = 50;

/** Pause after a complete pass over the RFQs, in milliseconds. */
const PAUSE_MS = 60_000;

/** Maximum delay of a trade's publication, in milliseconds. */
const LATE_MS = 60_000;

/**
 * Cursor of the RFQs. Pages are newest first, so each pass reads back to where the previous pass
 * began.
 */
const Cursor = z.object({
  /** Instant before which all RFQs have been read, Unix milliseconds. */
  known: UnixMillis,
  /** The pass in progress: the newest instant read so far, and the token of the next page. */
  walk: z.object({ newest: UnixMillis, continuation: z.string().max(100) }).optional(),
});
type Cursor = z.infer<typeof Cursor>;

const Leg = z.looseObject({ instrument_name: z.string().max(100), price: z.number() });

const Rfq = z.looseObject({
  id: z.int(),
  timestamp: UnixMillis,
  /**
   * Size of the RFQ; multiplied by the ratio of a leg, it is the size of that leg, in USD for these
   * futures.
   */
  amount: z.number(),
  legs: z.array(Leg.extend({ ratio: z.number() })),
  hedge: Leg.extend({ amount: z.number() }).nullish(),
});
type Rfq = z.infer<typeof Rfq>;

const Page = z.looseObject({
  result: z.looseObject({ block_rfqs: z.array(Rfq), continuation: z.string().max(100).nullish() }),
});

/** Series of the requests for quote (RFQs) of a coin that became block trades. */
export function rfqSeries(symbol: string, historyFrom: number): ProviderSeries {
  return {
    key: `${symbol} requests`,
    next(text, _now, failures) {
      const cursor = placeOf(text, failures) ?? { known: historyFrom };
      const request = rpcRequest("get_block_rfq_trades", {
        currency: coinTicker(symbol),
        count: `${PAGE_RFQS}`,
        ...(cursor.walk && { continuation: cursor.walk.continuation }),
      });
      return { request, read: (answer) => read(answer, cursor, symbol) };
    },
  };
}

/** Position from which to continue; a pass whose page token has expired starts again. */
function placeOf(text: string | undefined, failures: number | undefined): Cursor | undefined {
  const cursor = readCursor(text, Cursor);
  return cursor && isPageTokenExpired(failures) ? { known: cursor.known } : cursor;
}

function read(answer: ProviderResponse, cursor: Cursor, symbol: string): ParsedResponse {
  const { receivedAt } = answer;
  const { block_rfqs: rfqs, continuation } = jsonRpcResult(answer, Page).result;
  const prints = rfqs
    .filter(({ timestamp }) => timestamp >= cursor.known)
    .flatMap(blocksOf)
    .filter(({ instrument }) => isFuturesContractOn(instrument, symbol))
    .map((block) => printOfBlockLeg(block, symbol, receivedAt));
  return {
    data: prints.filter((one) => "record" in one),
    rejected: prints.filter((one) => "reason" in one),
    ...goOn(rfqs, { continuation: continuation ?? undefined, cursor, receivedAt }),
  };
}

/** The cursor for the next page or, at the end of the pass, for the next pass. */
function goOn(
  rfqs: readonly Rfq[],
  {
    continuation,
    cursor: { known, walk },
    receivedAt,
  }: {
    readonly continuation: string | undefined;
    readonly cursor: Cursor;
    readonly receivedAt: number;
  },
): Pick<ParsedResponse, "cursor" | "notBefore"> {
  const times = rfqs
    .map(({ timestamp }) => timestamp)
    .filter((at) => !isLaterThanArrival(at, receivedAt));
  const newest = Math.max(walk?.newest ?? known, ...times);
  const isBack = rfqs.length === 0 || rfqs.some(({ timestamp }) => timestamp < known);
  if (continuation !== undefined && !isBack) {
    if (continuation === walk?.continuation) {
      throw new ProviderFault("malformed", "result.continuation: it leads to itself");
    }
    return { cursor: cursorAt({ known, walk: { newest, continuation } }) };
  }
  const cursor = cursorAt({ known: Math.max(known, newest - LATE_MS) });
  return { cursor, notBefore: receivedAt + PAUSE_MS };
}

const cursorAt = (cursor: Cursor): string => JSON.stringify(cursor);

function blocksOf({ id, timestamp, amount, legs, hedge }: Rfq): readonly BlockTradeLeg[] {
  const common = { tradedAt: timestamp };
  const sides = legs.map(({ instrument_name: instrument, price, ratio }, index) => ({
    ...common,
    id: `rfq-${id}-${index}`,
    instrument,
    price,
    amountUsd: amount * ratio,
  }));
  if (!hedge) return sides;
  const { instrument_name: instrument, price, amount: amountUsd } = hedge;
  return [...sides, { ...common, id: `rfq-${id}-hedge`, instrument, price, amountUsd }];
}
