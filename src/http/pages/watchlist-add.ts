import { type Router, Router as router } from "express";
import { z } from "zod";
import { manageWatchlist } from "../../../tools/manage-watchlist.ts";
import { Problem } from "../../lib/problem.ts";
import { html } from "../../markup/html.ts";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { validateInput } from "../api/parse.ts";
import { queryOf } from "../request-context.ts";
import {
  type InstrumentSuggestion,
  instrumentFields,
  matchInstrumentNames,
  showInstruments,
  symbolErrors,
} from "./alerts/instruments-field.ts";
import type { FieldErrors } from "./elements.ts";
import { createForm, issueErrors, type Refused, refuseWith } from "./form.ts";
import { showForm } from "./form-html.ts";
import { watchlistHref } from "./home/filter.ts";
import type { PageContext } from "./page-context.ts";
import { createServeSignedIn, type SignedInVisit } from "./signed-in.ts";

/** Maximum number of fields in the form, which can suggest up to 40 instruments. */
const MAX_FORM_FIELDS = 80;

const addForm = createForm(
  {
    ...instrumentFields,
    /** Name of an existing watchlist; empty for a new one. */
    list: { control: "select", label: "List", schema: z.string().catch("") },
    name: {
      control: "input",
      label: "Name of the list",
      subject: "The name",
      type: "text",
      autocomplete: "off",
      maxLength: 100,
      schema: z.string().catch(""),
    },
  },
  { maxFields: MAX_FORM_FIELDS },
);

/** A form that was refused, with the instruments suggested for the entered names. */
interface Refusal {
  readonly refused: Refused;
  readonly suggestions: readonly InstrumentSuggestion[];
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
        return showAddPage(visit, options, { symbols, symbol: [], list: "", name: "" });
      }),
    )
    .all(rejectOtherMethods(["get"]));
  routes
    .route("/account/watchlists")
    .post(
      ...addForm.reader,
      signedIn("requireOwnForm", (visit) => add(visit, options)),
    )
    .all(rejectOtherMethods(["post"]));
  return routes;
}

async function showAddPage(
  { res, browser: { formToken }, caller }: SignedInVisit,
  { show, watchlists }: PageContext,
  entry: z.output<(typeof addForm)["schema"]>,
  { refused, suggestions }: Partial<Refusal> = {},
): Promise<void> {
  const { lists } = await watchlists.overview(caller);
  const own = lists.filter(({ isOwn }) => isOwn).map(({ name }) => [name, name] as const);
  const hasList = own.length > 0;
  const list = entry.list || (entry.name === "" ? own[0]?.[0] : "");
  show(res, {
    heading: "Add to a watchlist",
    place: "account",
    isSignedIn: true,
    errors: refused?.errors,
    body: html`<div class="card list-form">${showForm(
      addForm,
      {
        action: "/account/watchlists",
        formToken,
        values: { ...entry, list },
        refused,
        vary: {
          list: { options: [...own, ["", "A new list"]] },
          name: { label: hasList ? "Name of the new list" : "Name of the list" },
        },
      },
      (field) => html`${showInstruments(field, suggestions ?? [])}
${hasList && field("list")}
<div class="new-name">${field("name")}</div>
<p class="buttons"><button>Add</button> <a class="second" href="/account#watchlists">Cancel</a></p>`,
    )}</div>
<p class="quiet">The market can show a list alone, and an alert can watch one.</p>`,
  });
}

async function add(visit: SignedInVisit, options: PageContext): Promise<void> {
  const { req, res, caller } = visit;
  const { context, watchlists } = options;
  const entry = addForm.schema.parse(req.body);
  const { symbols, suggestions } = matchInstrumentNames(entry, context);
  const watchlist = entry.list || entry.name;
  const refuse = (errors: FieldErrors) =>
    showAddPage(visit, options, entry, { refused: refuseWith(addForm, req, errors), suggestions });
  const unknown = symbolErrors(symbols, context);
  const input = { action: "add", watchlist, symbols };
  const { data, error } = validateInput(manageWatchlist.input, input);
  if (data === undefined || unknown.length > 0) {
    const issues = (error?.issues ?? []).map((issue) => ({
      ...issue,
      path: [issue.path[0] === "symbols" ? "symbols" : "name"],
    }));
    const all = [...unknown, ...issueErrors(addForm, issues)];
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
