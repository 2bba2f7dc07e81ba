import { z } from "zod";
import { alertScopes } from "../src/access/scopes.ts";
import { CursorInput } from "../src/answers/shared-members.ts";
import { Problem } from "../src/lib/problem.ts";
import { AlertFields, canonicalSymbols } from "../src/tool/alert-input.ts";
import { readablePage } from "../src/tool/pagination.ts";
import { defineTool } from "../src/tool/tool.ts";
import { WatchlistAnswer, WatchlistNameInput, watchlistAnswer } from "../src/tool/watchlist.ts";

const Input = z.strictObject({
  action: z
    .enum(["list", "set", "add", "remove", "delete"])
    .default("list")
    .describe("set makes or replaces a list; add and remove change its symbols."),
  watchlist: WatchlistNameInput.optional(),
  symbols: AlertFields.symbols.optional().describe("For set, add and remove."),
  cursor: CursorInput.optional(),
});

/** The tool that manages named lists of instruments. */
export const manageWatchlist = defineTool({
  name: "manage_watchlist",
  title: "Manage watchlist",
  description:
    'Named lists of symbols, for the parameter watchlist of get_signal and of alerts: an alert follows later changes. {"action": "set", "watchlist": "chips", "symbols": [...]}',
  scopes: alertScopes,
  routes: [
    { method: "GET", path: "/api/watchlists", with: { action: "list" } },
    { method: "POST", path: "/api/watchlists", with: { action: "set" } },
    { method: "PATCH", path: "/api/watchlists/{watchlist}" },
    { method: "DELETE", path: "/api/watchlists/{watchlist}", with: { action: "delete" } },
  ],
  effect: { isDestructive: true },
  input: Input,
  output: z.object({
    watchlists: z.array(WatchlistAnswer).describe("All by name, or the one that was changed."),
    others: z.number().int().optional().describe("Lists of your person that other clients made."),
    nextCursor: z.string().nullable().optional().describe("Of a list; null on the last page."),
  }),

  async run({ action, watchlist: name, symbols, cursor }, context, { caller }) {
    const { watchlists } = context;
    if (action === "list") {
      if (name !== undefined || symbols !== undefined) refuse("list takes cursor alone.");
      const { lists, others } = await watchlists.overview(caller);
      const { items, nextCursor } = readablePage(lists, {
        list: "watchlists",
        limit: lists.length,
        cursor,
        keyOf: ({ key }) => key,
        render: watchlistAnswer,
      });
      return { watchlists: items, others, nextCursor };
    }
    if (cursor !== undefined) refuse(`${action} takes no cursor.`);
    if (action === "delete") {
      if (name === undefined || symbols !== undefined) refuse("delete takes watchlist alone.");
      await watchlists.remove(caller, name);
      return { watchlists: [] };
    }
    if (name === undefined || symbols === undefined)
      refuse(`${action} needs watchlist and symbols.`);
    const edit = { name, change: action, symbols: canonicalSymbols(symbols, context) };
    return { watchlists: [watchlistAnswer(await watchlists.save(caller, edit))] };
  },
});

function refuse(detail: string): never {
  throw new Problem("invalid_request", {
    detail: `action: ${detail}`,
    next: "Correct the input and send the request again.",
  });
}
