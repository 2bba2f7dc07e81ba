import { z } from "zod";
import { DirectionAnswer } from "../../../answers/shared-members.ts";
import { AssetClass } from "../../../market/instrument.ts";
import type { FieldErrors } from "../elements.ts";

/** Maximum length of a search text, in characters, as in `find_instruments`. */
export const MAX_SEARCH_LENGTH = 100;

/** Maximum page number accepted. */
const MAX_PAGE = 100_000;

/**
 * Sort orders of the list with their labels, which say what comes first. A minus sign reverses an
 * order.
 */
export const MARKET_SORTS = {
  symbol: "Symbol",
  score: "Score",
  "-score": "Score, lowest first",
  change: "Change",
  "-change": "Change, falls first",
  strength: "Strongest (smoothed)",
  since: "Newest signal",
  "-since": "Oldest signal",
  coverage: "Coverage",
  confidence: "Confidence",
  steadiness: "Steadiness",
  "-steadiness": "Steadiness, lowest first",
} as const;
export type MarketSort = keyof typeof MARKET_SORTS;

/** Maximum number of instruments in a comparison. */
export const MAX_COMPARED_INSTRUMENTS = 5;

/** Treats an empty form field as absent. */
const optionalField = <S extends z.ZodType>(schema: S) =>
  z.preprocess((value) => (String(value).trim() === "" ? undefined : value), schema.optional());

const INVALID_PAGE = "A page has a whole number, from 1 on.";

const MarketFilter = z.object({
  q: optionalField(
    z.string().trim().max(MAX_SEARCH_LENGTH, `Search for at most ${MAX_SEARCH_LENGTH} characters.`),
  ),
  class: optionalField(z.enum(AssetClass.options, "Choose one of the classes.")),
  /** A sector, or the name of an asset class that has no sectors. */
  sector: optionalField(z.string().trim().max(MAX_SEARCH_LENGTH, "Choose one of the sectors.")),
  signal: optionalField(z.enum(DirectionAnswer.options, "Choose one of the signals.")),
  /** `full` selects instruments for which every factor of their asset class has a value. */
  coverage: optionalField(z.enum(["full"], "Choose one of the coverages.")),
  sort: optionalField(
    z.enum(Object.keys(MARKET_SORTS) as MarketSort[], "Choose one of the orders."),
  ),
  compare: optionalField(
    z
      .string()
      .trim()
      .max(200)
      .refine(
        (text) => text.split(",").length <= MAX_COMPARED_INSTRUMENTS,
        `Compare at most ${MAX_COMPARED_INSTRUMENTS} instruments.`,
      ),
  ),
  list: optionalField(z.string().regex(/^[\w-]{43}$/, "Choose one of your watchlists.")),
  page: optionalField(
    z
      .string()
      .regex(/^[1-9]\d*$/, INVALID_PAGE)
      .transform(Number)
      .refine((page) => page <= MAX_PAGE, INVALID_PAGE),
  ),
});

/** The filter of the instrument list. Its members are named like the query parameters. */
export type MarketFilter = z.output<typeof MarketFilter>;

/** A parsed query with its validation errors. */
export interface ParsedFilter {
  /** The query parameters that are valid. */
  readonly filter: MarketFilter;
  readonly errors: FieldErrors;
  /** The entered search text, which is shown again. */
  readonly search: string;
}

/**
 * Parses the filter from a query. Unknown parameters are ignored, because links may carry tracking
 * parameters.
 */
export function parseFilter(query: URLSearchParams): ParsedFilter {
  const given: Record<string, string> = {};
  for (const name of MarketFilter.keyof().options) given[name] = query.getAll(name).join(",");
  const search = (given.q ?? "").slice(0, 2 * MAX_SEARCH_LENGTH);
  const { data, error } = MarketFilter.safeParse(given);
  if (data !== undefined) return { filter: data, errors: [], search };
  const errors = error.issues.map(({ path: [name], message }) => ({
    // `page` and `compare` have no form field.
    id: name === "page" || name === "compare" ? "market" : String(name),
    text: message,
  }));
  return { filter: {}, errors, search };
}

/**
 * URL of the market page, filtered to the instruments of a watchlist.
 *
 * @param key Key of the watchlist.
 */
export const watchlistHref = (key: string): string => `/?list=${key}#market`;

/** URL of the list with a filter and page. */
export function filterHref({ page, ...filter }: MarketFilter): string {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(given as [string, string][]);
  if (page !== undefined && page > 1) query.set("page", String(page));
  return query.size === 0 ? "/" : `/?${query}`;
}
