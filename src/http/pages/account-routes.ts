import { type Request, type RequestHandler, type Response, Router } from "express";
import { z } from "zod";
import { accountGroup } from "../../alerts/alert.ts";
import { symbolsOf } from "../../answers/alert-input.ts";
import { Ticker } from "../../answers/common.ts";
import type { Account } from "../../auth/accounts/accounts.ts";
import type { Browser } from "../../auth/accounts/browser-sessions.ts";
import { KEYS_PER_ACCOUNT } from "../../auth/keys/api-keys.ts";
import { hasMarkup, NO_MARKUP } from "../../lib/label.ts";
import { onlyMethods } from "../allowed-methods.ts";
import { parse } from "../api/parse.ts";
import { accountPage } from "./account.ts";
import { type AlertsView, MAX_ALERTS_SHOWN } from "./alerts-section.ts";
import type { FieldErrors } from "./elements.ts";
import { type CsrfGuard, RequiredScopes, readForm, submittedValue, validateForm } from "./form.ts";
import { MAX_KEY_NAME, newKeyPage } from "./keys-section.ts";
import type { PageContext } from "./page-context.ts";
import { ACCOUNT_PATH, withReturn } from "./return-to.ts";
import { symbolsField } from "./watchlists-section.ts";

/** Control characters, lone surrogates, invisible characters and bidirectional controls. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;

const KeyForm = z.object({
  name: z
    .string("Give the key a name.")
    .normalize()
    .trim()
    .min(1, "Give the key a name.")
    .max(MAX_KEY_NAME, `The name has at most ${MAX_KEY_NAME} characters.`)
    .refine((name) => !UNPRINTABLE.test(name), "The name has characters that cannot be shown.")
    .refine((name) => !hasMarkup(name), `The name ${NO_MARKUP}.`),
  scope: RequiredScopes,
});

const ListedSymbols = z.object({ symbols: z.array(Ticker).min(1).max(100) });

/** The page hides the form at the limit, but another window may still show it. */
const KEY_LIMIT_REACHED: FieldErrors = [
  { id: "keys", text: `You have ${KEYS_PER_ACCOUNT} keys already. Revoke one to create another.` },
];

/** A signed-in person on the account page. */
interface Visit {
  readonly req: Request;
  readonly res: Response;
  readonly browser: Browser;
  readonly account: Account;
}

/** Routes of the page where a person reviews and revokes what acts on their behalf. */
export function accountRoutes(options: PageContext): Router {
  const { accounts, keys, alerts, watchlists, throttle } = options;
  const router = Router();
  const signedIn = (by: keyof CsrfGuard, handle: (visit: Visit) => Promise<void>) =>
    forSignedIn(options, by, handle);
  const mountRemoval = (path: string, end: (accountId: string, id: string) => Promise<boolean>) => {
    const handle = signedIn("requireOwnForm", async ({ req, res, account }) => {
      await end(account.id, String(req.params.id));
      res.redirect(303, ACCOUNT_PATH);
    });
    router
      .route(path)
      .post(...readForm, handle)
      .all(onlyMethods(["post"]));
  };
  router
    .route(ACCOUNT_PATH)
    .get(signedIn("openPage", (visit) => showAccount(visit, options)))
    .all(onlyMethods(["get"]));
  router
    .route("/account/keys")
    .post(
      ...readForm,
      signedIn("requireOwnForm", (visit) => createKey(visit, options)),
    )
    .all(onlyMethods(["post"]));
  mountRemoval("/account/keys/:id/revoke", async (accountId, id) => {
    await throttle({ "key-change": accountId });
    return keys.revoke(id, accountId, accountId);
  });
  mountRemoval("/account/agents/:id/remove", (accountId, id) =>
    accounts.removeAgent(accountId, id),
  );
  mountRemoval("/account/applications/:id/remove", (accountId, id) =>
    accounts.removeApplication(accountId, id),
  );
  mountRemoval("/account/alerts/:id/remove", (accountId, id) =>
    alerts.removeForAccount(accountId, id),
  );
  mountRemoval("/account/watchlists/:id/remove", (accountId, id) =>
    watchlists.removeForAccount(accountId, id),
  );
  router
    .route("/account/watchlists/:id")
    .post(
      ...readForm,
      signedIn("requireOwnForm", (visit) => changeWatchlist(visit, options)),
    )
    .all(onlyMethods(["post"]));
  return router;
}

function forSignedIn(
  { csrf, accounts }: PageContext,
  by: keyof CsrfGuard,
  handle: (visit: Visit) => Promise<void>,
): RequestHandler {
  return async (req, res) => {
    const browser = await csrf[by](req, res);
    const account = browser.session && (await accounts.find(browser.session.accountId));
    if (account === undefined) return res.redirect(303, withReturn("/sign-in", ACCOUNT_PATH));
    return handle({ req, res, browser, account });
  };
}

async function showAccount(
  { res, browser, account }: Visit,
  { show, accounts, keys, alerts, watchlists: lists }: PageContext,
  wrong: { readonly errors?: FieldErrors; readonly keyName?: string | undefined } = {},
): Promise<void> {
  const [agents, applications, ownKeys, answered, watchlists] = await Promise.all([
    accounts.agentsOf(account.id),
    accounts.applicationsOf(account.id),
    keys.list(account.id),
    loadAlerts(account.id, alerts),
    lists.listForAccount(account.id),
  ]);
  const { formToken } = browser;
  const acting = { account, agents, applications, keys: ownKeys };
  show(res, accountPage({ formToken, ...acting, watchlists, ...answered, ...wrong }));
}

async function loadAlerts(
  accountId: string,
  alerts: PageContext["alerts"],
): Promise<Pick<AlertsView, "alerts" | "moreAlerts">> {
  const all = await alerts.listForAccount(accountId);
  const shown = all.slice(0, MAX_ALERTS_SHOWN).map(async (seen) => {
    const isSent = seen.alert.way.by === "webhook";
    return { ...seen, lastSuccessAt: isSent ? await alerts.lastSuccess(seen.id) : undefined };
  });
  return { alerts: await Promise.all(shown), moreAlerts: all.length - shown.length };
}

/** @throws {Problem} `unknown_symbol`, `invalid_request` or `rate_limited`, which is shown as a page. */
async function changeWatchlist(
  { req, res, account }: Visit,
  { watchlists, context, throttle }: PageContext,
): Promise<void> {
  const key = String(req.params.id);
  const words = (submittedValue(req, symbolsField(key)) ?? "").split(/[\s,]+/).filter(Boolean);
  const { symbols } = parse(ListedSymbols, { symbols: words });
  await throttle({ "alert-change-account": accountGroup(account.id) });
  await watchlists.changeForAccount(account.id, key, symbolsOf(symbols, context));
  res.redirect(303, ACCOUNT_PATH);
}

async function createKey(visit: Visit, options: PageContext): Promise<void> {
  const { req, res, account } = visit;
  const { data, errors } = validateForm(KeyForm, req);
  if (errors !== undefined) {
    return showAccount(visit, options, { errors, keyName: submittedValue(req, "name") });
  }
  const { name, scope } = data;
  await options.throttle({ "key-change": account.id });
  const made = await options.keys.createFor(account.id, { name, scopes: scope });
  if (made === undefined) return showAccount(visit, options, { errors: KEY_LIMIT_REACHED });
  options.show(res, newKeyPage({ name, key: made.key }));
}
