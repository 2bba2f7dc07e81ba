import { randomUUID } from "node:crypto";
import { type Request, Router } from "express";
import { z } from "zod";
import { manageAlert } from "../../../../tools/manage-alert.ts";
import { registerAlert } from "../../../../tools/register-alert.ts";
import type { Caller } from "../../../access/caller.ts";
import { isOwnedBy } from "../../../alerts/alert.ts";
import { alertVersion } from "../../../alerts/api/changes.ts";
import { OWN_MAILBOX_CHANNEL_NAME } from "../../../alerts/channels/channels.ts";
import { fingerprint } from "../../../lib/fingerprint.ts";
import { Problem } from "../../../lib/problem.ts";
import { type Html, html } from "../../../markup/html.ts";
import { lowCoverageText } from "../../../tool/signal-alert.ts";
import type { ToolCall } from "../../../tool/tool.ts";
import { rejectOtherMethods } from "../../allowed-methods.ts";
import { parseInput, validateInput } from "../../api/parse.ts";
import { queryOf } from "../../request-context.ts";
import { descriptionList } from "../elements.ts";
import { formReader, type Refused, refuseWith, submittedValue } from "../form.ts";
import type { PageContext } from "../page-context.ts";
import { createServeSignedIn, type SignedInVisit } from "../signed-in.ts";
import {
  alertEntryOf,
  alertRegistrationInput,
  alertUpdateInput,
  fieldErrorsOfIssues,
  fieldErrorsOfProblem,
  newAlertEntry,
} from "./alert-entry.ts";
import { type AlertEntry, alertForm, showAlertForm } from "./alert-form.ts";
import {
  alertPage,
  MAX_ATTEMPTS_SHOWN,
  MAX_EVENTS_SHOWN,
  snoozeForm,
  webhookSecretPage,
} from "./alert-page.ts";
import {
  type InstrumentSuggestion,
  matchInstrumentNames,
  symbolErrors,
} from "./instruments-field.ts";

const HOUR_MS = 3_600_000;

/** Schema of the forms behind the action buttons on an alert's page. */
const ManageForm = z.object({
  action: z.enum([
    ...["pause", "resume", "snooze", "enable", "rotate_secret", "test"],
    "redeliver",
  ] as const),
  hours: snoozeForm.fields.hours.schema,
  eventId: z.string().max(100).optional(),
});

/** Confirmation message after each action. */
const DONE: Readonly<Record<z.output<typeof ManageForm>["action"], string>> = {
  pause: "Paused: no event is recorded or sent until you resume it.",
  resume: "It is on again.",
  snooze: "Snoozed: events until then are dropped.",
  enable: "The challenge is on its way.",
  rotate_secret: "",
  test: "A test is on its way.",
  redeliver: "What is to be sent again is on its way.",
};

/** A person's request for a page about alerts. */
interface AlertVisit extends SignedInVisit {
  readonly options: PageContext;
}

/**
 * Routes of the pages where a person creates, changes and monitors their own alerts. They run the
 * same tools that agents call, with the person as the caller.
 */
export function alertRoutes(options: PageContext): Router {
  const router = Router();
  const signedIn = createServeSignedIn(options);
  const get = (path: string, handle: (visit: AlertVisit) => Promise<void>) =>
    router.route(path).get(signedIn("openPage", (visit) => handle({ ...visit, options })));
  const post = (
    path: string,
    handle: (visit: AlertVisit) => Promise<void>,
    reader = alertForm.reader,
  ) =>
    router
      .route(path)
      .post(
        ...reader,
        signedIn("requireOwnForm", (visit) => handle({ ...visit, options })),
      )
      .all(rejectOtherMethods(["post"]));
  get("/account/alerts/new", showNewForm).all(rejectOtherMethods(["get"]));
  post("/account/alerts", makeAlert);
  get("/account/alerts/:id/edit", showEditForm).all(rejectOtherMethods(["get"]));
  post("/account/alerts/:id/manage", manage, formReader);
  get("/account/alerts/:id", showAlert)
    .post(
      ...alertForm.reader,
      signedIn("requireOwnForm", (visit) => change({ ...visit, options })),
    )
    .all(rejectOtherMethods(["get", "post"]));
  return router;
}

const idOf = ({ req }: AlertVisit): string => String(req.params.id);

const callOf = (caller: Caller, idempotencyKey?: string): ToolCall => ({
  caller,
  scopes: caller.scopes,
  idempotencyKey,
});

/** A form that was refused, with the instruments suggested for the entered names. */
interface Refusal {
  readonly refused: Refused | undefined;
  readonly suggestions: readonly InstrumentSuggestion[];
  /** HTTP status; default: 400. */
  readonly status?: number;
}

const NO_REFUSAL: Refusal = { refused: undefined, suggestions: [] };

async function showNewForm(visit: AlertVisit): Promise<void> {
  const query = queryOf(visit.req);
  const symbols = query.get("symbols") ?? "";
  const watchlist = query.get("watchlist") ?? "";
  const prefilled = watchlist === "" ? { symbols } : { watch: "watchlist" as const, watchlist };
  const { channels, ownMailbox } = await choicesFor(visit);
  const wanted = query.get("channel");
  const named = wanted === null ? channels[0] : channels.find(({ name }) => name === wanted);
  const channel = named?.name ?? (ownMailbox && OWN_MAILBOX_CHANNEL_NAME);
  const sent = channel && { delivery: "channel" as const, channel };
  return showForm(visit, newAlertEntry({ ...prefilled, ...sent }));
}

async function showForm(
  visit: AlertVisit,
  entry: AlertEntry,
  { refused, suggestions, status }: Refusal = NO_REFUSAL,
): Promise<void> {
  const { res, browser, options } = visit;
  const { show, context } = options;
  const { formToken } = browser;
  const choices = await choicesFor(visit);
  const view = { formToken, entry, refused, suggestions, ...choices, market: context.market };
  show(res, {
    heading: "Make an alert",
    place: "account",
    isSignedIn: true,
    errors: refused?.errors,
    ...(status !== undefined && { status }),
    body: showAlertForm(view, randomUUID()),
  });
}

/** The watchlists and channels that the form offers to the person. */
async function choicesFor({ account, caller, options }: AlertVisit) {
  const [{ lists }, channels, hasNone] = await Promise.all([
    options.watchlists.overview(caller),
    options.channels.usable(account.id),
    options.channels.hasNone(account.id),
  ]);
  const ownMailbox = hasNone ? account.email : undefined;
  return { lists, channels, ownMailbox, isMailShownToOperator: options.isMailShownToOperator };
}

/**
 * Creates a channel for the mailbox of a person without a channel, if they selected that mailbox.
 */
async function addChosenMailbox({ account, options }: AlertVisit, entry: AlertEntry) {
  const { id, email } = account;
  if (
    entry.delivery !== "channel" ||
    entry.channel !== OWN_MAILBOX_CHANNEL_NAME ||
    email === undefined
  )
    return;
  await options.channels.addOwnMailbox(id, email);
}

/** What a person sent: the entry, and either the tool input built from it or why it is refused. */
type ReadEntry<S extends z.ZodType> = { readonly entry: AlertEntry } & (
  | { readonly input: z.output<S>; readonly refusal?: undefined }
  | { readonly input?: undefined; readonly refusal: Refusal }
);

/** Reads the form, and validates the tool input built from it. */
function readEntry<S extends z.ZodType>(
  { req, options: { context } }: AlertVisit,
  schema: S,
  inputOf: (entry: AlertEntry, symbols: readonly string[]) => object,
): ReadEntry<S> {
  const entry = alertForm.schema.parse(req.body);
  const { symbols, suggestions } = matchInstrumentNames(entry, context);
  const isNamed = entry.watch === "symbols";
  const unknown = isNamed ? symbolErrors(symbols, context) : [];
  const { data, error } = validateInput(schema, inputOf(entry, symbols));
  const errors = [
    ...unknown,
    ...fieldErrorsOfIssues(error?.issues ?? []).filter(({ id }) =>
      unknown.every((one) => one.id !== id),
    ),
  ];
  if (errors.length === 0 && data !== undefined) return { entry, input: data };
  const refused = refuseWith(alertForm, req, errors);
  return { entry, refusal: { refused, suggestions: isNamed ? suggestions : [] } };
}

async function makeAlert(visit: AlertVisit): Promise<void> {
  const { req, res, caller, options } = visit;
  const { entry, input, refusal } = readEntry(visit, registerAlert.input, alertRegistrationInput);
  if (refusal !== undefined) return showForm(visit, entry, refusal);
  // The idempotency key includes the input: submitting the same form twice creates one alert;
  // submitting it again with changes creates another.
  const request = JSON.stringify([submittedValue(req, "request"), input]);
  try {
    await addChosenMailbox(visit, entry);
    const call = callOf(caller, fingerprint(request));
    const { id, secret, nextSteps } = await registerAlert.run(input, options.context, call);
    if (secret === undefined) return res.redirect(303, `/account/alerts/${id}`);
    options.show(res, webhookSecretPage({ id, secret, nextSteps, heading: "Your alert is made" }));
  } catch (error) {
    return showForm(visit, entry, refusalOf(req, error));
  }
}

/**
 * Converts a problem that a form caused to form errors.
 *
 * @throws Errors that are not problems, and exceeded rate limits, which have their own error page.
 */
function refusalOf(req: Request, error: unknown, note?: Html): Refusal {
  if (!(error instanceof Problem) || error.code === "rate_limited") throw error;
  const refused = refuseWith(alertForm, req, fieldErrorsOfProblem(error), note);
  return { refused, suggestions: [], status: error.status };
}

/**
 * Finds an alert of the person.
 *
 * @throws {Problem} `not_found` unless the person owns the alert.
 */
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
  const { context } = options;
  const [events, attempts, watched] = await Promise.all([
    alerts.newestEvents(target, MAX_EVENTS_SHOWN),
    alerts.attempts(target, { cursor, limit: MAX_ATTEMPTS_SHOWN }),
    context.watchlists.resolve(details.alert.watched),
  ]);
  const lowCoverage = lowCoverageText({ ...details.alert, watched }, context);
  const done = DONE[query.get("done") as keyof typeof DONE];
  show(
    res,
    alertPage({ formToken: browser.formToken, details, events, attempts, lowCoverage, done }),
  );
}

async function showEditForm(visit: AlertVisit): Promise<void> {
  return showChange(visit, alertEntryOf(await ownAlert(visit)), NO_REFUSAL);
}

/** Shows the form that changes an alert. */
async function showChange(
  visit: AlertVisit,
  entry: AlertEntry,
  { refused, suggestions, status }: Refusal,
): Promise<void> {
  const { res, browser, options } = visit;
  const { alert } = await ownAlert(visit);
  const choices = await choicesFor(visit);
  const { formToken } = browser;
  const { market } = options.context;
  const changed = { id: idOf(visit), alert, version: alertVersion(alert) };
  const view = { formToken, entry, refused, suggestions, ...choices, market, changed };
  options.show(res, {
    heading: "Change the alert",
    place: "account",
    isSignedIn: true,
    errors: refused?.errors,
    ...(status !== undefined && { status }),
    body: showAlertForm(view, ""),
  });
}

async function change(visit: AlertVisit): Promise<void> {
  const { req, res, caller, options } = visit;
  const id = idOf(visit);
  const { entry, input, refusal } = readEntry(visit, manageAlert.input, (given, symbols) =>
    alertUpdateInput(id, given, symbols),
  );
  if (refusal !== undefined) return showChange(visit, entry, refusal);
  const version = submittedValue(req, "version") ?? "";
  try {
    await addChosenMailbox(visit, entry);
    await manageAlert.run(input, options.context, { ...callOf(caller), version });
    return res.redirect(303, `/account/alerts/${id}`);
  } catch (error) {
    const current = await ownAlert(visit);
    const isStale = alertVersion(current.alert) !== version;
    const note = isStale ? savedMeanwhile(alertEntryOf(current)) : undefined;
    return showChange(visit, entry, refusalOf(req, error, note));
  }
}

/** Labels of the form fields, by member of an entry. */
const LABELS = {
  symbols: "Instruments",
  watchlist: "Watchlist",
  signal: "Signal after the event",
  kinds: "Conditions",
  scoreMove: "Score move, points",
  volatilityZ: "z of volatility",
  cooldownDays: "Quiet time, market days",
  reportSessions: "Sessions before a report",
  steadinessLevel: "Level of steadiness",
  channel: "Channel",
  url: "Address",
  label: "Name",
  expiresAt: "End, UTC",
} as const;

/** Lists the currently saved values, which are shown next to the form with the entered values. */
function savedMeanwhile(saved: AlertEntry): Html {
  const entries = Object.entries(LABELS).map(([name, label]) => {
    const value = saved[name as keyof typeof LABELS];
    return [label, String(value).replaceAll(",", ", ") || "–"] as const;
  });
  return html`<section class="card" aria-labelledby="saved"><h2 id="saved">Saved meanwhile</h2>
<p>The alert was changed after you opened the form. This is how it is saved now; the form below has what you entered, and saving it replaces this.</p>
${descriptionList(entries)}
</section>`;
}

async function manage(visit: AlertVisit): Promise<void> {
  const { req, res, caller, options } = visit;
  const id = idOf(visit);
  const { action, hours = 24, eventId } = parseInput(ManageForm, req.body);
  const until = new Date(options.now().getTime() + hours * HOUR_MS).toISOString();
  const input = parseInput(manageAlert.input, {
    id,
    action,
    ...(action === "snooze" && { snoozedUntil: until }),
    ...(action === "redeliver" &&
      (eventId === undefined ? { since: "1970-01-01T00:00:00Z" } : { eventId })),
  });
  const answer = await manageAlert.run(input, options.context, callOf(caller));
  const { secret, nextSteps = [] } = answer as { secret?: string; nextSteps?: readonly string[] };
  if (secret === undefined) return res.redirect(303, `/account/alerts/${id}?done=${action}`);
  options.show(
    res,
    webhookSecretPage({ id, secret, nextSteps, heading: "Your new signing secret" }),
  );
}
