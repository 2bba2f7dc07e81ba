import { Router } from "express";
import { z } from "zod";
import { callerAddress } from "../../access/auditor.ts";
import { watchlistVersion } from "../../alerts/watchlists/watchlist.ts";
import { Ticker } from "../../answers/common.ts";
import {
  hasActiveContent,
  hasVisibleCharacter,
  NO_ACTIVE_CONTENT_MESSAGE,
} from "../../lib/label.ts";
import { Problem } from "../../lib/problem.ts";
import { partyAt } from "../../limits/address-key.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { MAX_API_KEYS_PER_ACCOUNT } from "../../principals/keys/api-keys.ts";
import { canonicalSymbols } from "../../tool/alert-input.ts";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { validateInput } from "../api/parse.ts";
import type { FieldErrors } from "./elements.ts";
import { formReader, RequiredScopes, submittedValue, validateForm } from "./form.ts";
import { MAX_KEY_NAME_LENGTH, newKeyPage } from "./keys-section.ts";
import type { PageContext } from "./page-context.ts";
import { ACCOUNT_PATH } from "./return-to.ts";
import { showAccount } from "./show-account.ts";
import { createServeSignedIn, type SignedInVisit } from "./signed-in.ts";
import { symbolsField } from "./watchlists-section.ts";

/** Matches control characters, lone surrogates, invisible characters and bidirectional controls. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;

const KeyForm = z.object({
  name: z
    .string("Give the key a name.")
    .normalize()
    .trim()
    .refine(hasVisibleCharacter, "Give the key a name.")
    .max(MAX_KEY_NAME_LENGTH, `The name has at most ${MAX_KEY_NAME_LENGTH} characters.`)
    .refine((name) => !UNPRINTABLE.test(name), "The name has characters that cannot be shown.")
    .refine((name) => !hasActiveContent(name), `The name ${NO_ACTIVE_CONTENT_MESSAGE}.`),
  scope: RequiredScopes,
});

const ListedSymbols = z.object({ symbols: z.array(Ticker).min(1).max(100) });

/**
 * Error for a new key beyond the limit. The page hides the form at the limit, but a window opened
 * earlier may still show it.
 */
const KEY_LIMIT_REACHED: FieldErrors = [
  {
    id: "keys",
    text: `You have ${MAX_API_KEYS_PER_ACCOUNT} keys already. Revoke one to create another.`,
  },
];

/**
 * Routes of the account page, where a person reviews and revokes the keys, agents and applications
 * that act on their behalf.
 */
export function accountRoutes(options: PageContext): Router {
  const { accounts, keys, alerts, watchlists, limits } = options;
  const router = Router();
  const signedIn = createServeSignedIn(options);
  const mountRemoval = (path: string, end: (accountId: string, id: string) => Promise<boolean>) => {
    const handle = signedIn("requireOwnForm", async ({ req, res, account }) => {
      await end(account.id, String(req.params.id));
      res.redirect(303, ACCOUNT_PATH);
    });
    router
      .route(path)
      .post(...formReader, handle)
      .all(rejectOtherMethods(["post"]));
  };
  router
    .route(ACCOUNT_PATH)
    .get(signedIn("openPage", (visit) => showAccount(visit, options)))
    .all(rejectOtherMethods(["get"]));
  router
    .route("/account/keys")
    .post(
      ...formReader,
      signedIn("requireOwnForm", (visit) => createKey(visit, options)),
    )
    .all(rejectOtherMethods(["post"]));
  mountRemoval("/account/keys/:id/revoke", async (accountId, id) => {
    await requireAdmission(limits, "changes", partyAt(callerAddress(), accountId));
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
      ...formReader,
      signedIn("requireOwnForm", (visit) => changeWatchlist(visit, options)),
    )
    .all(rejectOtherMethods(["post"]));
  return router;
}

async function changeWatchlist(visit: SignedInVisit, options: PageContext): Promise<void> {
  const { req, res, account } = visit;
  const { watchlists, context, limits } = options;
  const key = String(req.params.id);
  const id = symbolsField(key);
  const entered = submittedValue(req, id) ?? "";
  const refuse = async (text: string) => {
    const saved = (await watchlists.listForAccount(account.id)).find((list) => list.key === key);
    const isStale = saved !== undefined && watchlistVersion(saved.value) !== version;
    const refused = { key, entered, isStale };
    return showAccount(visit, options, { errors: [{ id, text }], refused });
  };
  const version = submittedValue(req, "version") ?? "";
  const words = entered.split(/[\s,]+/).filter(Boolean);
  const { data, error } = validateInput(ListedSymbols, { symbols: words });
  if (data === undefined) return refuse(`The symbols: ${error.issues[0]?.message}`);
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

async function createKey(visit: SignedInVisit, options: PageContext): Promise<void> {
  const { req, res, account } = visit;
  const { data, errors } = validateForm(KeyForm, req);
  if (errors !== undefined) {
    return showAccount(visit, options, { errors, keyName: submittedValue(req, "name") });
  }
  const { name, scope } = data;
  await requireAdmission(options.limits, "changes", partyAt(req.ip, account.id));
  const made = await options.keys.createFor(account.id, { name, scopes: scope });
  if (made === undefined) return showAccount(visit, options, { errors: KEY_LIMIT_REACHED });
  options.show(res, newKeyPage({ name, key: made.key }));
}
