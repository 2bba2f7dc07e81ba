import { z } from "zod";
import type { Caller } from "../access/caller.ts";
import type { InstrumentSelector } from "../alerts/alert.ts";
import type { WatchlistView } from "../alerts/watchlists/watchlists.ts";
import { Label } from "../lib/label.ts";
import type { ToolContext } from "./tool.ts";

/** The name of a watchlist in tool input. */
export const WatchlistNameInput = Label.describe("Name of a watchlist.");

/** A watchlist as shown in answers. */
export const WatchlistAnswer = z.object({
  name: z.string(),
  symbols: z.array(z.string()),
  readOnly: z
    .boolean()
    .describe("true: of your person, or of a client of theirs, who alone change it."),
});

/** Renders a watchlist. */
export const watchlistAnswer = ({
  name,
  symbols,
  isOwn,
}: WatchlistView): z.input<typeof WatchlistAnswer> => ({
  name,
  symbols: [...symbols],
  readOnly: !isOwn,
});

/**
 * The selector of an alert that watches a watchlist.
 *
 * @throws {Problem} `not_found` if the caller has no such watchlist.
 */
export async function watchlistSelector(
  watchlist: string,
  { watchlists }: Pick<ToolContext, "watchlists">,
  caller: Caller,
): Promise<InstrumentSelector> {
  const { key, value } = await watchlists.find(caller, watchlist);
  return { by: "watchlist", key, name: value.name };
}
