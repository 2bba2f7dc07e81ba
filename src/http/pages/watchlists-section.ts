import type { StoredWatchlist } from "../../alerts/watchlists/watchlist.ts";
import type { ApiKey } from "../../auth/keys/api-keys.ts";
import { creatorText, symbolList } from "./alerts-section.ts";
import { destructiveAction, facts, form, textArea, untrustedText } from "./elements.ts";
import { type Html, html } from "./html.ts";

/** What the watchlists section shows. */
export interface WatchlistsView {
  readonly formToken: string;
  /** By name. */
  readonly watchlists: readonly StoredWatchlist[];
  /** Keys of the person, to name those that made lists. */
  readonly keys: readonly ApiKey[];
}

/** The watchlists of a person and of all that acts for them. */
export function watchlistsSection(view: WatchlistsView): Html {
  const { watchlists } = view;
  if (watchlists.length === 0) return empty;
  return html`<ul class="cards">${watchlists.map((list) => listCard(list, view))}</ul>`;
}

const empty = html`<div class="empty"><p>Named lists of symbols appear here, which your agents, your applications and programs with your keys make with <code>manage_watchlist</code>. You can change and delete any of them.</p></div>`;

/** Name of the field with the symbols of a list. */
export const symbolsField = (key: string): string => `symbols-${key}`;

function listCard({ key, value }: StoredWatchlist, { formToken, keys }: WatchlistsView): Html {
  const { name, symbols, owner } = value;
  const action = `/account/watchlists/${key}`;
  const edited = textArea({
    id: symbolsField(key),
    label: "Symbols",
    hint: "1 to 100, with spaces between. Alerts that watch the list follow.",
    value: symbols.join(" "),
    attributes: html`rows="3" required autocomplete="off" spellcheck="false"`,
  });
  return html`<li class="card">
<h3>“${untrustedText(name)}”</h3>
${facts([
  ["Symbols", symbolList(symbols)],
  ["Made by", creatorText(owner, keys)],
])}
<details>
<summary>Change its symbols</summary>
${form({ action, formToken }, html`${edited}<button>Save</button>`)}
</details>
${destructiveAction({
  action: `${action}/remove`,
  formToken,
  summary: "Delete this list",
  consequence: "A list that alerts watch cannot be deleted. This cannot be undone.",
  button: "Delete list for good",
})}
</li>`;
}
