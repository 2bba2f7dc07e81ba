import { z } from "zod";
import { ProviderFault } from "../../fault.ts";
import type { ProviderOptions, ProviderRequest } from "../../provider.ts";
import { type ProviderResponse, parseJsonBody, quoted } from "../../provider-response.ts";

/** Delay of the consolidated tape on the free plan, in milliseconds. */
const TAPE_DELAY_MS = 15 * 60_000;

/** Environment variables with the two parts of an API key. */
export const ALPACA_KEY_SETTINGS = ["APCA_API_KEY_ID", "APCA_API_SECRET_KEY"] as const;

const Refusal = z.looseObject({ message: z.string() });

/**
 * A request for stocks from the consolidated tape; the free feed of a single exchange lacks trades
 * of exchange code `D`.
 */
export function createStockRequest(
  list: "bars" | "trades",
  query: Readonly<Record<string, string | undefined>>,
  settings: ProviderOptions["settings"],
): ProviderRequest {
  const given = Object.entries(query).filter((entry): entry is [string, string] => !!entry[1]);
  const parameters = new URLSearchParams([...given, ["feed", "sip"], ["limit", "10000"]]);
  return {
    path: `/v2/stocks/${list}?${parameters}`,
    headers: {
      "APCA-API-KEY-ID": settings[ALPACA_KEY_SETTINGS[0]] ?? "",
      "APCA-API-SECRET-KEY": settings[ALPACA_KEY_SETTINGS[1]] ?? "",
    },
    accepts: [400, 403],
  };
}

/**
 * The symbol that caused the refusal of a request; `undefined` if the request was answered.
 *
 * @param requested Requested symbols, in Alpaca's spelling.
 * @throws {ProviderFault} For every other refusal. "Too recent" has status 403, as a wrong key has,
 * but means that one of the two clocks is wrong.
 */
export function refusedSymbol(
  answer: ProviderResponse,
  requested: readonly string[],
): string | undefined {
  if (answer.status === 200) return undefined;
  const { message } = parseJsonBody(answer, Refusal);
  if (answer.status === 403) {
    if (!/recent sip data/i.test(message)) throw new ProviderFault("refused", quoted(message));
    throw new ProviderFault("limited", quoted(message), TAPE_DELAY_MS);
  }
  const symbol = /invalid symbol: ([A-Z0-9.-]{1,20})/.exec(message)?.[1];
  if (symbol !== undefined && requested.includes(symbol)) return symbol;
  throw new ProviderFault("malformed", quoted(message));
}
