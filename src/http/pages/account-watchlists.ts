import { Router } from "express";
import { z } from "zod";
import { isPersonWithoutClient } from "../../alerts/alert.ts";
import { type StoredWatchlist, watchlistVersion } from "../../alerts/watchlists/watchlist.ts";
import { Ticker } from "../../answers/shared-members.ts";
import { Problem } from "../../lib/problem.ts";
import { partyAt } from "../../limits/address-key.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { type Html, html } from "../../markup/html.ts";
import type { ApiKey } from "../../principals/keys/api-keys.ts";
import { canonicalSymbols } from "../../tool/alert-input.ts";
import { creatorText, symbolList } from "./alerts-section.ts";
import { descriptionList, untrustedText } from "./elements.ts";
import { createForm, formAt, type Refused, readForm, refuseForm, submittedValue } from "./form.ts";
import { destructiveAction, showForm } from "./form-html.ts";
import { watchlistHref } from "./home/filter.ts";
import type { PageContext } from "./page-context.ts";
import { ACCOUNT_PATH } from "./return-to.ts";
import { mountSignedInForm, type ShowAccount, type SignedInVisit } from "./signed-in.ts";

const symbolsForm = createForm({
  symbols: {
    control: "lines",
    label: "Symbols",
    hint: "1 to 100, with spaces between. Alerts that watch the list follow.",
    subject: "The symbols",
    rows: 3,
    isRequired: true,
    isExact: true,
    schema: z
      .string()
      .transform((text) => text.split(/[\s,]+/).filter(Boolean))
      .pipe(z.array(Ticker).min(1).max(100)),
  },
});

/** Routes that change and delete the watchlists of a person. */
export function watchlistRoutes(context: PageContext, showAccount: ShowAccount): Router {
  const router = Router();
  const path = `${ACCOUNT_PATH}/watchlists/:id`;
  mountSignedInForm(router, context, path, (visit) => changeList(visit, context, showAccount));
  mountSignedInForm(router, context, `${path}/remove`, async ({ req, res, account }) => {
    await context.watchlists.removeForAccount(account.id, String(req.params.id));
    res.redirect(303, ACCOUNT_PATH);
  });
  return router;
}

async function changeList(
  visit: SignedInVisit,
  { watchlists, context, limits }: PageContext,
  showAccount: ShowAccount,
): Promise<void> {
  const { req, res, account } = visit;
  const key = String(req.params.id);
  const form = formAt(symbolsForm, key);
  const version = submittedValue(req, "version") ?? "";
  const refuse = async (text: string) => {
    const saved = (await watchlists.listForAccount(account.id)).find((list) => list.key === key);
    const isStale = saved !== undefined && watchlistVersion(saved.value) !== version;
    const note = isStale ? changedMeanwhile : undefined;
    return showAccount(visit, refuseForm(form, req, { symbols: text }, note));
  };
  const { data, refused } = readForm(form, req);
  if (refused !== undefined) return refuse(refused.errors[0]?.text ?? "");
  await requireAdmission(limits, "changes", partyAt(req.ip, account.id));
  try {
    const symbols = canonicalSymbols(data.symbols, context);
    await watchlists.changeForAccount(account.id, key, { symbols, version });
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    return refuse(`${problem.detail} ${problem.next}`);
  }
  res.redirect(303, `${ACCOUNT_PATH}#watchlists`);
}

const changedMeanwhile = html`<p class="note warning">The list was changed after you opened the form. Above is how it is saved now, here what you entered; saving it replaces that.</p>`;

/** Data for the watchlists section. */
export interface WatchlistsView {
  readonly formToken: string;
  /** Watchlists, sorted by name. */
  readonly watchlists: readonly StoredWatchlist[];
  readonly refused: Refused | undefined;
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

function listCard({ key, value }: StoredWatchlist, view: WatchlistsView): Html {
  const { formToken, keys, refused } = view;
  const { name, symbols, owner } = value;
  const action = `${ACCOUNT_PATH}/watchlists/${key}`;
  const form = formAt(symbolsForm, key);
  return html`<li class="card">
<h3>“${untrustedText(name)}”</h3>
${descriptionList([
  ["Symbols", symbolList(symbols)],
  ["Made by", creatorText(owner, keys)],
])}
<p><a href="${watchlistHref(key)}">See it on the market</a>${isPersonWithoutClient(owner) && html`, or <a href="/account/alerts/new?watchlist=${encodeURIComponent(name)}">make an alert of it</a>`}</p>
<details${refused?.form === form.id && html` open`}>
<summary>Change its symbols</summary>
${showForm(
  form,
  {
    action,
    formToken,
    hidden: { version: watchlistVersion(value) },
    values: { symbols: symbols.join(" ") },
    refused,
  },
  html`<button>Save</button>`,
)}
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
