import { randomUUID } from "node:crypto";
import { Router } from "express";
import { z } from "zod";
import { manageAlert } from "../../../../tools/manage-alert.ts";
import { registerAlert } from "../../../../tools/register-alert.ts";
import { isOwnedBy } from "../../../alerts/alert.ts";
import { alertVersion } from "../../../alerts/api/changes.ts";
import { OWN_MAILBOX } from "../../../alerts/channels/channels.ts";
import type { Caller } from "../../../auth/caller.ts";
import { fingerprint } from "../../../lib/fingerprint.ts";
import { Problem } from "../../../problem.ts";
import type { Call } from "../../../tool.ts";
import { onlyMethods } from "../../allowed-methods.ts";
import { parse, validate } from "../../api/parse.ts";
import { queryOf } from "../../request-context.ts";
import type { FieldErrors } from "../elements.ts";
import { facts } from "../elements.ts";
import { formReader, readForm, submittedValue } from "../form.ts";
import { type Html, html } from "../html.ts";
import type { PageContext } from "../page-context.ts";
import { createSignedIn, type Visit } from "../signed-in.ts";
import {
  AlertEntry,
  entryOf,
  instrumentsOf,
  issueErrors,
  newEntry,
  problemErrors,
  registrationInput,
  type Suggestion,
  symbolErrors,
  updateInput,
} from "./alert-entry.ts";
import { alertForm } from "./alert-form.ts";
import { alertPage, MAX_ATTEMPTS_SHOWN, MAX_EVENTS_SHOWN, secretPage } from "./alert-page.ts";

/** Maximum size of the form: a URL of 4,096 characters and 100 symbols, percent-encoded; in bytes. */
const MAX_FORM_BYTES = 24 * 1024;

/** Maximum number of its fields: it has up to 40 instruments to choose from. */
const MAX_FORM_FIELDS = 80;

const readAlertForm = formReader(MAX_FORM_BYTES, MAX_FORM_FIELDS);

const HOUR_MS = 3_600_000;

/** The actions that the buttons of an alert's page send. */
const ManageForm = z.object({
  action: z.enum([
    ...["pause", "resume", "snooze", "enable", "rotate_secret", "test"],
    "redeliver",
  ] as const),
  hours: z.coerce.number().int().min(1).max(168).optional(),
  eventId: z.string().max(100).optional(),
});

/** The message after each action. */
const DONE: Readonly<Record<z.output<typeof ManageForm>["action"], string>> = {
  pause: "Paused: no event is recorded or sent until you resume it.",
  resume: "It is on again.",
  snooze: "Snoozed: events until then are dropped.",
  enable: "The challenge is on its way.",
  rotate_secret: "",
  test: "A test is on its way.",
  redeliver: "What is to be sent again is on its way.",
};

/** Context of the pages of alerts. */
interface AlertVisit extends Visit {
  readonly options: PageContext;
}

/** Routes of the pages where a person makes, changes and follows their own alerts. They run the tools
 *  of agents, as the person. */
export function alertRoutes(options: PageContext): Router {
  const router = Router();
  const signedIn = createSignedIn(options);
  const get = (path: string, handle: (visit: AlertVisit) => Promise<void>) =>
    router.route(path).get(signedIn("openPage", (visit) => handle({ ...visit, options })));
  const post = (
    path: string,
    handle: (visit: AlertVisit) => Promise<void>,
    reader = readAlertForm,
  ) =>
    router
      .route(path)
      .post(
        ...reader,
        signedIn("requireOwnForm", (visit) => handle({ ...visit, options })),
      )
      .all(onlyMethods(["post"]));
  get("/account/alerts/new", showNewForm).all(onlyMethods(["get"]));
  post("/account/alerts", makeAlert);
  get("/account/alerts/:id/edit", showEditForm).all(onlyMethods(["get"]));
  post("/account/alerts/:id/manage", manage, readForm);
  get("/account/alerts/:id", showAlert)
    .post(
      ...readAlertForm,
      signedIn("requireOwnForm", (visit) => change({ ...visit, options })),
    )
    .all(onlyMethods(["get", "post"]));
  return router;
}

const idOf = ({ req }: AlertVisit): string => String(req.params.id);

const callOf = (caller: Caller, idempotencyKey?: string): Call => ({
  caller,
  scopes: caller.scopes,
  idempotencyKey,
});

/** Why a form was rejected, and the instruments that its names may mean. */
interface Refusal {
  readonly errors: FieldErrors;
  readonly suggestions: readonly Suggestion[];
  /** HTTP status; absent: 400. */
  readonly status?: number;
}

const NO_REFUSAL: Refusal = { errors: [], suggestions: [] };

async function showNewForm(visit: AlertVisit): Promise<void> {
  const query = queryOf(visit.req);
  const symbols = query.get("symbols") ?? "";
  const watchlist = query.get("watchlist") ?? "";
  const prefilled = watchlist === "" ? { symbols } : { watch: "watchlist" as const, watchlist };
  const { channels, ownMailbox } = await choicesFor(visit);
  const wanted = query.get("channel");
  const named = wanted === null ? channels[0] : channels.find(({ name }) => name === wanted);
  const channel = named?.name ?? (ownMailbox && OWN_MAILBOX);
  const sent = channel && { delivery: "channel" as const, channel };
  return showForm(visit, newEntry({ ...prefilled, ...sent }));
}

async function showForm(
  visit: AlertVisit,
  entry: AlertEntry,
  { errors, suggestions, status }: Refusal = NO_REFUSAL,
): Promise<void> {
  const { res, browser, options } = visit;
  const { show, context } = options;
  const { formToken } = browser;
  const choices = await choicesFor(visit);
  const view = { formToken, entry, errors, suggestions, ...choices, market: context.market };
  show(res, {
    heading: "Make an alert",
    place: "account",
    isSignedIn: true,
    errors,
    ...(status !== undefined && { status }),
    body: alertForm(view, randomUUID()),
  });
}

/** The values that a person can choose from in the form. */
async function choicesFor({ account, caller, options }: AlertVisit) {
  const [{ lists }, channels, hasNone] = await Promise.all([
    options.watchlists.overview(caller),
    options.channels.usable(account.id),
    options.channels.hasNone(account.id),
  ]);
  const ownMailbox = hasNone ? account.email : undefined;
  return { lists, channels, ownMailbox, isMailShownToOperator: options.isMailShownToOperator };
}

/** Adds the mailbox of a person without a channel, if they chose it. */
async function addChosenMailbox({ account, options }: AlertVisit, entry: AlertEntry) {
  const { id, email } = account;
  if (entry.delivery !== "channel" || entry.channel !== OWN_MAILBOX || email === undefined) return;
  await options.channels.addOwnMailbox(id, email);
}

/** Reads the form, and validates the input of the tool. */
function readEntry<S extends z.ZodType>(
  { req, options: { context } }: AlertVisit,
  schema: S,
  inputOf: (entry: AlertEntry, symbols: readonly string[]) => object,
): { readonly entry: AlertEntry; readonly input?: z.output<S>; readonly refused: Refusal } {
  const entry = AlertEntry.parse(req.body);
  const { symbols, suggestions } = instrumentsOf(entry, context);
  const isNamed = entry.watch === "symbols";
  const unknown = isNamed ? symbolErrors(symbols, context) : [];
  const { data, error } = validate(schema, inputOf(entry, symbols));
  const errors = [
    ...unknown,
    ...issueErrors(error?.issues ?? []).filter(({ id }) => unknown.every((one) => one.id !== id)),
  ];
  const refused = { errors, suggestions: isNamed ? suggestions : [] };
  return errors.length === 0 && data !== undefined
    ? { entry, input: data, refused }
    : { entry, refused };
}

async function makeAlert(visit: AlertVisit): Promise<void> {
  const { req, res, caller, options } = visit;
  const { entry, input, refused } = readEntry(visit, registerAlert.input, registrationInput);
  if (input === undefined) return showForm(visit, entry, refused);
  // The same form sent twice makes one alert; what was changed in between makes another.
  const request = JSON.stringify([submittedValue(req, "request"), input]);
  try {
    await addChosenMailbox(visit, entry);
    const call = callOf(caller, fingerprint(request));
    const { id, secret, nextSteps } = await registerAlert.run(input, options.context, call);
    if (secret === undefined) return res.redirect(303, `/account/alerts/${id}`);
    options.show(res, secretPage({ id, secret, nextSteps, heading: "Your alert is made" }));
  } catch (error) {
    return showForm(visit, entry, refusalOf(error));
  }
}

/**
 * The refusal of a form that caused a problem.
 *
 * @throws Other errors, and exceeded limits, which have a page of their own.
 */
function refusalOf(error: unknown): Refusal {
  if (!(error instanceof Problem) || error.code === "rate_limited") throw error;
  return { errors: problemErrors(error), suggestions: [], status: error.status };
}

/** @throws {Problem} `not_found` unless it is the person's own. */
async function ownAlert(visit: AlertVisit) {
  const { caller, options } = visit;
  const details = await options.alerts.find(caller, idOf(visit));
  if (isOwnedBy(details.alert.owner, caller)) return details;
  throw new Problem("not_found", {
    detail: "You made no alert of that id.",
    next: "Your account page lists your alerts.",
  });
}

async function showAlert(visit: AlertVisit): Promise<void> {
  const { req, res, browser, caller, options } = visit;
  const { alerts, show } = options;
  const id = idOf(visit);
  const query = queryOf(req);
  const details = await ownAlert(visit);
  const target = { caller, alertId: id };
  const cursor = query.get("cursor") ?? undefined;
  const [events, attempts] = await Promise.all([
    alerts.newestEvents(target, MAX_EVENTS_SHOWN),
    alerts.attempts(target, { cursor, limit: MAX_ATTEMPTS_SHOWN }),
  ]);
  const done = DONE[query.get("done") as keyof typeof DONE];
  show(res, alertPage({ formToken: browser.formToken, details, events, attempts, done }));
}

async function showEditForm(visit: AlertVisit): Promise<void> {
  const { alert, channel } = await ownAlert(visit);
  return showChange(visit, entryOf(alert, channel?.name), NO_REFUSAL);
}

/** @param note Text above the form. */
async function showChange(
  visit: AlertVisit,
  entry: AlertEntry,
  { errors, suggestions, status }: Refusal,
  note?: Html,
): Promise<void> {
  const { res, browser, options } = visit;
  const { alert } = await ownAlert(visit);
  const choices = await choicesFor(visit);
  const { formToken } = browser;
  const { market } = options.context;
  const changed = { id: idOf(visit), alert, version: alertVersion(alert) };
  const view = { formToken, entry, errors, suggestions, ...choices, market, changed };
  options.show(res, {
    heading: "Change the alert",
    place: "account",
    isSignedIn: true,
    errors,
    ...(status !== undefined && { status }),
    body: html`${note}${alertForm(view, "")}`,
  });
}

async function change(visit: AlertVisit): Promise<void> {
  const { req, res, caller, options } = visit;
  const id = idOf(visit);
  const { entry, input, refused } = readEntry(visit, manageAlert.input, (given, symbols) =>
    updateInput(id, given, symbols),
  );
  if (input === undefined) return showChange(visit, entry, refused);
  const version = submittedValue(req, "version") ?? "";
  try {
    await addChosenMailbox(visit, entry);
    await manageAlert.run(input, options.context, { ...callOf(caller), version });
    return res.redirect(303, `/account/alerts/${id}`);
  } catch (error) {
    const { alert, channel } = await ownAlert(visit);
    const isStale = alertVersion(alert) !== version;
    return showChange(
      visit,
      entry,
      refusalOf(error),
      isStale ? savedMeanwhile(entryOf(alert, channel?.name)) : undefined,
    );
  }
}

/** Labels of the fields of an entry. */
const LABELS = {
  symbols: "Instruments",
  watchlist: "Watchlist",
  kinds: "Conditions",
  scoreMove: "Score move, points",
  volatilityZ: "z of volatility",
  cooldownDays: "Quiet time, market days",
  reportSessions: "Sessions before a report",
  channel: "Channel",
  url: "Address",
  label: "Name",
  expiresAt: "End, UTC",
} as const;

/** The saved values, shown beside the form with the entered ones. */
function savedMeanwhile(saved: AlertEntry): Html {
  const entries = Object.entries(LABELS).map(([name, label]) => {
    const value = saved[name as keyof typeof LABELS];
    return [label, String(value).replaceAll(",", ", ") || "–"] as const;
  });
  return html`<section class="card" aria-labelledby="saved"><h2 id="saved">Saved meanwhile</h2>
<p>The alert was changed after you opened the form. This is how it is saved now; the form below has what you entered, and saving it replaces this.</p>
${facts(entries)}
</section>`;
}

async function manage(visit: AlertVisit): Promise<void> {
  const { req, res, caller, options } = visit;
  const id = idOf(visit);
  const { action, hours = 24, eventId } = parse(ManageForm, req.body);
  const until = new Date(options.now().getTime() + hours * HOUR_MS).toISOString();
  const input = parse(manageAlert.input, {
    id,
    action,
    ...(action === "snooze" && { snoozedUntil: until }),
    ...(action === "redeliver" &&
      (eventId === undefined ? { since: "1970-01-01T00:00:00Z" } : { eventId })),
  });
  const answer = await manageAlert.run(input, options.context, callOf(caller));
  const { secret, nextSteps = [] } = answer as { secret?: string; nextSteps?: readonly string[] };
  if (secret === undefined) return res.redirect(303, `/account/alerts/${id}?done=${action}`);
  options.show(res, secretPage({ id, secret, nextSteps, heading: "Your new signing secret" }));
}
