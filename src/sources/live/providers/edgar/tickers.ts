import { z } from "zod";
import type { ProviderRequest } from "../../provider.ts";
import { type ProviderResponse, parseJsonBody } from "../../provider-response.ts";
import { checkSecAccess } from "./access.ts";

/** Origin of the list of tickers, which differs from the origin of the figures. */
const ORIGIN = "https://www.sec.gov";

/** Maximum size of the list of tickers in bytes; it has about one million bytes. */
const MAX_BYTES = 8 * 1024 * 1024;

/** How long the list of tickers is cached, in milliseconds: one list contains all companies. */
const KEEP_MS = 86_400_000;

const Tickers = z.record(
  z.string(),
  z.looseObject({ cik_str: z.int().positive(), ticker: z.string() }),
);

/** The request for the list of all tickers and their companies. */
export const tickersRequest = (headers: Readonly<Record<string, string>>): ProviderRequest => ({
  origin: ORIGIN,
  path: "/files/company_tickers.json",
  headers,
  accepts: [403],
  maxBytes: MAX_BYTES,
  keepMs: KEEP_MS,
});

/**
 * Central Index Key of the company with a ticker; `null` if the ticker is not listed.
 *
 * @throws {ProviderFault} If the answer is not the list.
 */
export function readCik(answer: ProviderResponse, symbol: string): number | null {
  checkSecAccess(answer);
  const entries = Object.values(parseJsonBody(answer, Tickers));
  const named = entries.find(({ ticker }) => ticker.toUpperCase().replace(/[./]/, "-") === symbol);
  return named?.cik_str ?? null;
}
