import { z } from "zod";
import type { ProviderRequest } from "../../provider.ts";
import { type ProviderResponse, parseJsonBody } from "../../provider-response.ts";
import { checkAccess } from "./access.ts";

/** Origin of the list of tickers; figures have another one. */
const ORIGIN = "https://www.sec.gov";

/** Largest list in bytes; it has about one million. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Lifetime of the cached list, in milliseconds: every company needs the same one. */
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
 * Central Index Key of the company that a ticker names, `null` when it names none.
 *
 * @throws {ProviderFault} When the answer is not the list.
 */
export function readCik(answer: ProviderResponse, symbol: string): number | null {
  checkAccess(answer);
  const entries = Object.values(parseJsonBody(answer, Tickers));
  const named = entries.find(({ ticker }) => ticker.toUpperCase().replace(/[./]/, "-") === symbol);
  return named?.cik_str ?? null;
}
