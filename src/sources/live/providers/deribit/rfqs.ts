import { z } from "zod";
import { isPageLost, readCursor } from "../../cursor.ts";
import { ProviderFault } from "../../fault.ts";
import type { ParsedResponse, Series } from "../../provider.ts";
import type { ProviderResponse } from "../../provider-response.ts";
import { coinOf } from "../../provider-symbols.ts";
import { isFuture } from "../../publication-times.ts";
import { type Block, isFutureOn, Millis, printOf } from "./block.ts";
import { resultOf, rpcRequest } from "./json-rpc.ts";

/** Requests per page; 1,000 are documented, but more than 50 are refused. */
const PAGE_RFQS = 50;

/** Pause between requests once it has caught up, in milliseconds. */
const PAUSE_MS = 60_000;

/** Maximum delay of a trade's publication, in milliseconds. */
const LATE_MS = 60_000;

/** Responses are newest first: a pass reads pages back to what the pass before has read. */
const Cursor = z.object({
  /** Everything before is known, Unix milliseconds. */
  known: Millis,
  /** The pass in progress: the newest instant that it has read, and the token of its next page. */
  walk: z.object({ newest: Millis, continuation: z.string().max(100) }).optional(),
});
type Cursor = z.infer<typeof Cursor>;

const Leg = z.looseObject({ instrument_name: z.string().max(100), price: z.number() });

const Rfq = z.looseObject({
  id: z.int(),
  timestamp: Millis,
  /**
   * Multiplied by the ratio of a leg, the size of that leg in its own unit: USD for these futures.
   */
  amount: z.number(),
  legs: z.array(Leg.extend({ ratio: z.number() })),
  hedge: Leg.extend({ amount: z.number() }).nullish(),
});
type Rfq = z.infer<typeof Rfq>;

const Page = z.looseObject({
  result: z.looseObject({ block_rfqs: z.array(Rfq), continuation: z.string().max(100).nullish() }),
});

/** Series of the requests for quotes of a coin that became block trades. */
export function rfqSeries(symbol: string, historyFrom: number): Series {
  return {
    key: `${symbol} requests`,
    next(text, _now, failures) {
      const cursor = placeOf(text, failures) ?? { known: historyFrom };
      const request = rpcRequest("get_block_rfq_trades", {
        currency: coinOf(symbol),
        count: `${PAGE_RFQS}`,
        ...(cursor.walk && { continuation: cursor.walk.continuation }),
      });
      return { request, read: (answer) => read(answer, cursor, symbol) };
    },
  };
}

/** Position of the last request; a pass whose page token has expired starts again. */
function placeOf(text: string | undefined, failures: number | undefined): Cursor | undefined {
  const cursor = readCursor(text, Cursor);
  return cursor && isPageLost(failures) ? { known: cursor.known } : cursor;
}

function read(answer: ProviderResponse, cursor: Cursor, symbol: string): ParsedResponse {
  const { receivedAt } = answer;
  const { block_rfqs: rfqs, continuation } = resultOf(answer, Page).result;
  const prints = rfqs
    .filter(({ timestamp }) => timestamp >= cursor.known)
    .flatMap(blocksOf)
    .filter(({ instrument }) => isFutureOn(instrument, symbol))
    .map((block) => printOf(block, symbol, receivedAt));
  return {
    data: prints.filter((one) => "record" in one),
    rejected: prints.filter((one) => "reason" in one),
    ...goOn(rfqs, { continuation: continuation ?? undefined, cursor, receivedAt }),
  };
}

/** The next page, or the end of this pass. */
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
  const times = rfqs.map(({ timestamp }) => timestamp).filter((at) => !isFuture(at, receivedAt));
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

function blocksOf({ id, timestamp, amount, legs, hedge }: Rfq): readonly Block[] {
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
