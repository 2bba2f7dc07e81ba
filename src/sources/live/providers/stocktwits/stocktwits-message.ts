import { z } from "zod";
import { DAY_MS } from "../../../../lib/day.ts";
import { ProviderFault } from "../../fault.ts";
import { decodeEntities, messageText, pseudonym } from "../../message.ts";
import { type ProviderResponse, parseJsonBody } from "../../provider-response.ts";

/** Maximum number of messages in a response. */
export const STOCKTWITS_PAGE_SIZE = 30;

/** A message as Stocktwits returns it. */
const StocktwitsMessage = z.looseObject({
  id: z.int().positive(),
  body: z.string(),
  created_at: z.iso.datetime(),
  user: z.looseObject({
    id: z.int(),
    followers: z.int().nonnegative().nullish(),
    join_date: z.iso.date().nullish(),
  }),
  symbols: z.array(z.looseObject({ symbol: z.string() })).nullish(),
  entities: z
    .looseObject({ sentiment: z.looseObject({ basic: z.string().nullish() }).nullish() })
    .nullish(),
});
export type StocktwitsMessage = z.infer<typeof StocktwitsMessage>;

const Answered = z.looseObject({
  response: z.looseObject({ status: z.int() }).optional(),
  messages: z
    .array(StocktwitsMessage)
    .max(10 * STOCKTWITS_PAGE_SIZE)
    .optional(),
});

/**
 * The messages of a response, newest first.
 *
 * @throws {ProviderFault} If the response is not a stream; some errors have HTTP status 200 and the
 * real status in the body.
 */
export function messagesOf(answer: ProviderResponse): readonly StocktwitsMessage[] {
  const { response, messages } = parseJsonBody(answer, Answered);
  const status = response?.status ?? 200;
  if (status === 429) throw new ProviderFault("limited", "the answer says 429");
  if (status === 401 || status === 403) throw new ProviderFault("refused", `it says ${status}`);
  if (messages === undefined)
    throw new ProviderFault("malformed", `no messages; it says ${status}`);
  return messages;
}

/** The message as stored, without its author's name. */
export function mentionOf({ id, body, created_at, user, symbols, entities }: StocktwitsMessage) {
  const at = Date.parse(created_at);
  const stance = entities?.sentiment?.basic?.toLowerCase();
  const joined = Date.parse(user.join_date ?? "");
  return {
    id: `stocktwits-${id}`,
    at,
    text: messageText(decodeEntities(body)),
    author: pseudonym("stocktwits", String(user.id)),
    followers: user.followers ?? null,
    accountAgeDays: Number.isNaN(joined) ? null : Math.max(0, Math.floor((at - joined) / DAY_MS)),
    symbolCount: Math.max(1, new Set(symbols?.map((named) => named.symbol)).size),
    stance: stance === "bullish" || stance === "bearish" ? stance : null,
  } as const;
}
