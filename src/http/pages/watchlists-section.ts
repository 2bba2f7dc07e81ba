import { isPersonWithoutClient } from "../../alerts/alert.ts";
import { type StoredWatchlist, watchlistVersion } from "../../alerts/watchlists/watchlist.ts";
import { type Html, html } from "../../markup/html.ts";
import type { ApiKey } from "../../principals/keys/api-keys.ts";
import { creatorText, symbolList } from "./alerts-section.ts";
import {
  descriptionList,
  destructiveAction,
  type FieldErrors,
  form,
  textArea,
  untrustedText,
} from "./elements.ts";
import { watchlistHref } from "./home/filter.ts";

/** A watchlist whose change was rejected, with the entered values. */
interface RefusedList {
  readonly key: string;
  readonly entered: string;
  /** Whether the list was changed after the form was opened. */
  readonly isStale: boolean;
}

/** Data for the watchlists section. */
export interface WatchlistsView {
  readonly formToken: string;
  /** Watchlists, sorted by name. */
  readonly watchlists: readonly StoredWatchlist[];
  /** The watchlist whose change was rejected, if any. */
  readonly refused?: RefusedList | undefined;
  /** Errors of the forms of the page. */
  readonly errors?: FieldErrors;
  /** API keys of the person; the section shows the names of the keys that created watchlists. */
  readonly keys: readonly ApiKey[];
}

/** Renders the watchlists of a person and of all clients that act for them. */
export function watchlistsSection(view: WatchlistsView): Html {
  const { watchlists } = view;
  const make = html`<p class="buttons"><a class="second" href="/account/watchlists/new">Make a list</a></p>`;
  if (watchlists.length === 0) return html`<div class="empty">${empty}${make}</div>`;
  return html`${make}<ul class="cards">${watchlists.map((list) => listCard(list, view))}</ul>`;
}

const empty = html`<p>Named lists of symbols appear here, which your agents, your applications and programs with your keys make with <code>manage_watchlist</code>. You can change and delete any of them.</p>`;

/** Name of the form field with the symbols of a watchlist. */
export const symbolsField = (key: string): string => `symbols-${key}`;

function listCard({ key, value }: StoredWatchlist, view: WatchlistsView): Html {
  const { formToken, keys, errors = [] } = view;
  const { name, symbols, owner } = value;
  const refused = view.refused?.key === key ? view.refused : undefined;
  const hidden = { version: watchlistVersion(value) };
  const action = `/account/watchlists/${key}`;
  const edited = textArea({
    id: symbolsField(key),
    label: "Symbols",
    hint: "1 to 100, with spaces between. Alerts that watch the list follow.",
    value: refused?.entered ?? symbols.join(" "),
    errors,
    attributes: html`rows="3" required autocomplete="off" spellcheck="false"`,
  });
  return html`<li class="card">
<h3>“${untrustedText(name)}”</h3>
${descriptionList([
  ["Symbols", symbolList(symbols)],
  ["Made by", creatorText(owner, keys)],
])}
<p><a href="${watchlistHref(key)}">See it on the market</a>${isPersonWithoutClient(owner) && html`, or <a href="/account/alerts/new?watchlist=${encodeURIComponent(name)}">make an alert of it</a>`}</p>
<details${refused && html` open`}>
<summary>Change its symbols</summary>
${refused?.isStale && html`<p class="note warning">The list was changed after you opened the form. Above is how it is saved now, here what you entered; saving it replaces that.</p>`}
${form({ action, formToken, hidden }, html`${edited}<button>Save</button>`)}
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
