import { z } from "zod";
import { Direction } from "../../../answers/common.ts";

import { AssetClass } from "../../../market/instrument.ts";
import type { FieldErrors } from "../elements.ts";

/** Maximum length of a search text, as in `find_instruments`. */
export const MAX_SEARCH = 100;

/** Maximum page number accepted. */
const MAX_PAGE = 100_000;

/** Treats an empty form field as absent. */
const orNothing = <S extends z.ZodType>(schema: S) =>
  z.preprocess((value) => (String(value).trim() === "" ? undefined : value), schema.optional());

const WRONG_PAGE = "A page has a whole number, from 1 on.";

const Filter = z.object({
  q: orNothing(z.string().trim().max(MAX_SEARCH, `Search for at most ${MAX_SEARCH} characters.`)),
  class: orNothing(z.enum(AssetClass.options, "Choose one of the classes.")),
  signal: orNothing(z.enum(Direction.options, "Choose one of the signals.")),
  sort: orNothing(z.enum(["symbol", "score"], "Choose one of the orders.")),
  page: orNothing(
    z
      .string()
      .regex(/^[1-9]\d*$/, WRONG_PAGE)
      .transform(Number)
      .refine((page) => page <= MAX_PAGE, WRONG_PAGE),
  ),
});

/** The filter of the instrument list, with the names of the query parameters. */
export type Filter = z.output<typeof Filter>;

/** A parsed query, and its errors. */
export interface ParsedFilter {
  /** Without the invalid members. */
  readonly filter: Filter;
  readonly errors: FieldErrors;
  /** As entered, to be shown again. */
  readonly search: string;
}

/** Parses the filter of a query. Unknown parameters are ignored: links carry tracking parameters. */
export function filterOf(query: URLSearchParams): ParsedFilter {
  const given: Record<string, string> = {};
  for (const name of Filter.keyof().options) given[name] = query.get(name) ?? "";
  const search = (given.q ?? "").slice(0, 2 * MAX_SEARCH);
  const { data, error } = Filter.safeParse(given);
  if (data !== undefined) return { filter: data, errors: [], search };
  const errors = error.issues.map(({ path: [name], message }) => ({
    // The page number has no form field.
    id: name === "page" ? "market" : String(name),
    text: message,
  }));
  return { filter: {}, errors, search };
}

/** URL of the same list with another page. */
export function addressOf({ page, ...filter }: Filter): string {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(given as [string, string][]);
  if (page !== undefined && page > 1) query.set("page", String(page));
  return query.size === 0 ? "/" : `/?${query}`;
}
