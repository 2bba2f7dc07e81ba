import { type Router, Router as router } from "express";
import { z } from "zod";
import { manageWatchlist } from "../../../tools/manage-watchlist.ts";
import type { WatchlistOverview } from "../../alerts/watchlists/watchlists.ts";
import { Problem } from "../../lib/problem.ts";
import { html } from "../../markup/html.ts";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { validateInput } from "../api/parse.ts";
import { queryOf } from "../request-context.ts";
import {
  type InstrumentSuggestion,
  matchEntryInstruments,
  symbolErrors,
} from "./alerts/alert-entry.ts";
import { instrumentsField } from "./alerts/instruments-field.ts";
import { type FieldErrors, field, form, select } from "./elements.ts";
import { CheckboxValues, createFormReader } from "./form.ts";
import { watchlistHref } from "./home/filter.ts";
import type { PageAnswer } from "./page-answer.ts";
import type { PageContext } from "./page-context.ts";
import { createServeSignedIn, type SignedInVisit } from "./signed-in.ts";

/** Maximum size of the form, in bytes: 100 symbols and a name fit. */
const MAX_FORM_BYTES = 8 * 1024;

/** Maximum number of fields in the form, which can suggest up to 40 instruments. */
const MAX_FORM_FIELDS = 80;

const Entry = z.object({
  symbols: z.string().catch(""),
  symbol: CheckboxValues.catch([]),
  /** Key of an existing watchlist; empty for a new one. */
  list: z.string().catch(""),
  name: z.string().catch(""),
});

/** Data for the form. */
interface FormView {
  readonly formToken: string;
  readonly entry: z.output<typeof Entry>;
  readonly errors: FieldErrors;
  readonly suggestions: readonly InstrumentSuggestion[];
  readonly lists: WatchlistOverview["lists"];
}

/**
 * Routes of the page where a person adds instruments to one of their watchlists, or creates a new
 * watchlist.
 */
export function watchlistAddRoutes(options: PageContext): Router {
  const signedIn = createServeSignedIn(options);
  const routes = router();
  routes
    .route("/account/watchlists/new")
    .get(
      signedIn("openPage", (visit) => {
        const symbols = queryOf(visit.req).get("symbols") ?? "";
        return showForm(visit, options, { symbols, symbol: [], list: "", name: "" });
      }),
    )
    .all(rejectOtherMethods(["get"]));
  routes
    .route("/account/watchlists")
    .post(
      ...createFormReader(MAX_FORM_BYTES, MAX_FORM_FIELDS),
      signedIn("requireOwnForm", (visit) => add(visit, options)),
    )
    .all(rejectOtherMethods(["post"]));
  return routes;
}

async function showForm(
  { res, browser, caller }: SignedInVisit,
  { show, watchlists }: PageContext,
  entry: FormView["entry"],
  { errors, suggestions }: Pick<FormView, "errors" | "suggestions"> = {
    errors: [],
    suggestions: [],
  },
): Promise<void> {
  const { lists } = await watchlists.overview(caller);
  const { formToken } = browser;
  show(res, addPage({ formToken, entry, errors, suggestions, lists }));
}

function addPage({ formToken, entry, errors, suggestions, lists }: FormView): PageAnswer {
  const own = lists.filter(({ isOwn }) => isOwn).map(({ name }) => [name, name] as const);
  const name = field({
    id: "name",
    label: own.length > 0 ? "Name of the new list" : "Name of the list",
    value: entry.name,
    errors,
    attributes: html`type="text" autocomplete="off" maxlength="100"`,
  });
  const list =
    own.length > 0 &&
    select({
      id: "list",
      label: "List",
      options: [...own, ["", "A new list"]],
      value: entry.list || (entry.name === "" ? own[0]?.[0] : ""),
      errors,
    });
  return {
    heading: "Add to a watchlist",
    place: "account",
    isSignedIn: true,
    errors,
    body: html`<div class="card list-form">${form(
      { action: "/account/watchlists", formToken },
      html`${instrumentsField({ entry, errors, suggestions })}
${list}
<div class="new-name">${name}</div>
<p class="buttons"><button>Add</button> <a class="second" href="/account#watchlists">Cancel</a></p>`,
    )}</div>
<p class="quiet">The market can show a list alone, and an alert can watch one.</p>`,
  };
}

async function add(visit: SignedInVisit, options: PageContext): Promise<void> {
  const { req, res, caller } = visit;
  const { context, watchlists } = options;
  const entry = Entry.parse(req.body);
  const { symbols, suggestions } = matchEntryInstruments(entry, context);
  const watchlist = entry.list || entry.name;
  const refuse = (errors: FieldErrors) => showForm(visit, options, entry, { errors, suggestions });
  const unknown = symbolErrors(symbols, context);
  const input = { action: "add", watchlist, symbols };
  const { data, error } = validateInput(manageWatchlist.input, input);
  if (data === undefined || unknown.length > 0) {
    const issues = (error?.issues ?? []).map(({ path, message }) =>
      path[0] === "symbols"
        ? { id: "symbols", text: `The instruments ${message}.` }
        : { id: "name", text: `The name ${message}.` },
    );
    const all = [...unknown, ...issues];
    return refuse(all.filter(({ id }, at) => all.findIndex((one) => one.id === id) === at));
  }
  try {
    const call = { caller, scopes: caller.scopes, idempotencyKey: undefined };
    await manageWatchlist.run(data, context, call);
    const { key } = await watchlists.find(caller, data.watchlist ?? "");
    res.redirect(303, watchlistHref(key));
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.code === "rate_limited") throw problem;
    return refuse([{ id: "symbols", text: `${problem.detail} ${problem.next}` }]);
  }
}
