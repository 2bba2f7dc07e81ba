import { z } from "zod";
import { Direction } from "../../../answers/common.ts";
import { AssetClass } from "../../../market/instrument.ts";
import type { FieldErrors } from "../elements.ts";

/** Maximum length of a search text, in characters, as in `find_instruments`. */
export const MAX_SEARCH = 100;

/** Maximum page number accepted. */
const MAX_PAGE = 100_000;

/** Sort orders of the list; their labels name what comes first. A minus reverses an order. */
export const SORTS = {
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
} as const;
export type Sort = keyof typeof SORTS;

/** Maximum number of instruments in a comparison. */
export const MAX_COMPARED = 5;

/** Treats an empty form field as absent. */
const optionalField = <S extends z.ZodType>(schema: S) =>
  z.preprocess((value) => (String(value).trim() === "" ? undefined : value), schema.optional());

const INVALID_PAGE = "A page has a whole number, from 1 on.";

const Filter = z.object({
  q: optionalField(
    z.string().trim().max(MAX_SEARCH, `Search for at most ${MAX_SEARCH} characters.`),
  ),
  class: optionalField(z.enum(AssetClass.options, "Choose one of the classes.")),
  /** A sector, or the name of a class that has none. */
  sector: optionalField(z.string().trim().max(MAX_SEARCH, "Choose one of the sectors.")),
  signal: optionalField(z.enum(Direction.options, "Choose one of the signals.")),
  /** `full`: every factor that the class can have has a value. */
  coverage: optionalField(z.enum(["full"], "Choose one of the coverages.")),
  sort: optionalField(z.enum(Object.keys(SORTS) as Sort[], "Choose one of the orders.")),
  compare: optionalField(
    z
      .string()
      .trim()
      .max(200)
      .refine(
        (text) => text.split(",").length <= MAX_COMPARED,
        `Compare at most ${MAX_COMPARED} instruments.`,
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

/** The filter of the instrument list, with the names of the query parameters. */
export type Filter = z.output<typeof Filter>;

/** A parsed query with its errors. */
export interface ParsedFilter {
  /** The valid members. */
  readonly filter: Filter;
  readonly errors: FieldErrors;
  /** The entered search text, to be shown again. */
  readonly search: string;
}

/** Parses the filter of a query. Unknown parameters are ignored, since links may carry tracking
 *  parameters. */
export function filterOf(query: URLSearchParams): ParsedFilter {
  const given: Record<string, string> = {};
  for (const name of Filter.keyof().options) given[name] = query.getAll(name).join(",");
  const search = (given.q ?? "").slice(0, 2 * MAX_SEARCH);
  const { data, error } = Filter.safeParse(given);
  if (data !== undefined) return { filter: data, errors: [], search };
  const errors = error.issues.map(({ path: [name], message }) => ({
    // These have no form field.
    id: name === "page" || name === "compare" ? "market" : String(name),
    text: message,
  }));
  return { filter: {}, errors, search };
}

/**
 * URL of the market page, filtered to the instruments of a watchlist. @param key Key of the list.
 */
export const listAddress = (key: string): string => `/?list=${key}#market`;

/** URL of the list with a filter and page. */
export function addressOf({ page, ...filter }: Filter): string {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(given as [string, string][]);
  if (page !== undefined && page > 1) query.set("page", String(page));
  return query.size === 0 ? "/" : `/?${query}`;
}
