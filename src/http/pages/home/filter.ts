import { z } from "zod";
import { Direction } from "../../../answers/common.ts";

import { AssetClass } from "../../../market/instrument.ts";
import type { FieldErrors } from "../elements.ts";

/** Most characters of what is searched for, as in `find_instruments`. */
export const MAX_SEARCH = 100;

/** Highest number of a page that is understood. */
const MAX_PAGE = 100_000;

/** An empty field of a form says nothing. */
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

/** Which instruments are shown, in the words of the address. */
export type Filter = z.output<typeof Filter>;

/** What the address says, and what of it is wrong. */
export interface Asked {
  /** Without what is wrong. */
  readonly filter: Filter;
  readonly errors: FieldErrors;
  /** As it was typed, to be shown again. */
  readonly search: string;
}

/** Reads the filter of an address. What it does not know is left alone: links carry marks of others. */
export function filterOf(query: URLSearchParams): Asked {
  const given: Record<string, string> = {};
  for (const name of Filter.keyof().options) given[name] = query.get(name) ?? "";
  const search = (given.q ?? "").slice(0, 2 * MAX_SEARCH);
  const { data, error } = Filter.safeParse(given);
  if (data !== undefined) return { filter: data, errors: [], search };
  const errors = error.issues.map(({ path: [name], message }) => ({
    // No field has the number of the page.
    id: name === "page" ? "market" : String(name),
    text: message,
  }));
  return { filter: {}, errors, search };
}

/** Address of the same list with another page. */
export function addressOf({ page, ...filter }: Filter): string {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(given as [string, string][]);
  if (page !== undefined && page > 1) query.set("page", String(page));
  return query.size === 0 ? "/" : `/?${query}`;
}
