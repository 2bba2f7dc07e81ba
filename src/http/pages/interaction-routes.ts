import { type Request, type Response, Router } from "express";
import { z } from "zod";
import type { Accounts } from "../../auth/accounts/accounts.ts";
import type { Browser, Session } from "../../auth/accounts/browser-sessions.ts";
import { MAX_GRANTS } from "../../auth/accounts/grants.ts";
import type { Interaction, Interactions } from "../../auth/oidc/interactions.ts";
import { isScope } from "../../auth/scopes.ts";
import { onlyMethods } from "../allowed-methods.ts";
import { consentPage, refusedPage, tooManyApplicationsPage } from "./consent-page.ts";
import { type FieldErrors, SCOPES_ID } from "./elements.ts";
import { Checkboxes, type CsrfGuard, readForm, validateForm } from "./form.ts";
import { html } from "./html.ts";
import type { PageAnswer, ShowPage } from "./page-answer.ts";
import { mayFollowForm, redirectPage } from "./redirect-page.ts";
import { withReturn } from "./return-to.ts";
import type { Throttle } from "./throttle.ts";

/** Dependencies of the pages of an authorization request. */
export interface InteractionRoutesOptions {
  readonly csrf: CsrfGuard;
  readonly show: ShowPage;
  readonly accounts: Accounts;
  readonly interactions: Interactions;
  readonly throttle: Throttle;
}

type UidRequest = Request<{ uid: string }>;

const DecisionForm = z.object({ decision: z.enum(["allow", "deny"]), scope: Checkboxes });

const NOTHING_CHOSEN: FieldErrors = [
  { id: SCOPES_ID, text: "Choose at least one thing that it may do, or refuse." },
];

const overPage: PageAnswer = {
  status: 400,
  heading: "This request is over",
  body: html`<p class="lead">It took too long, was answered already, began in another browser, or belonged to another person who was signed in here.</p>
<p>Go back to the application and start again from there.</p>`,
};

/** The pages where a person answers an authorization request (RFC 6749 section 4.1.1). */
export function interactionRoutes(options: InteractionRoutesOptions): Router {
  const router = Router();
  router
    .route("/oauth/interaction/:uid")
    .get((req, res) => look(req, res, options))
    .post(...readForm, (req: UidRequest, res: Response) => decide(req, res, options))
    .all(onlyMethods(["get", "post"]));
  return router;
}

async function look(req: UidRequest, res: Response, options: InteractionRoutesOptions) {
  const visit = await visitOf({ req, res }, await options.csrf.openPage(req, res), options);
  if (visit === undefined) return;
  if (visit.interaction.prompt === "consent") return askWithin(visit, options);
  goOn(visit, await options.interactions.signIn(req, res, visit.session), options);
}

async function decide(req: UidRequest, res: Response, options: InteractionRoutesOptions) {
  const { csrf, show, interactions } = options;
  const visit = await visitOf({ req, res }, await csrf.requireOwnForm(req), options);
  if (visit === undefined) return;
  if (visit.interaction.prompt !== "consent") return show(res, overPage);

  const { data } = validateForm(DecisionForm, req);
  if (data?.decision === "deny") return refuse(visit, options);
  const scopes = visit.interaction.scopes.filter(isScope);
  const allowed = scopes.filter((name) => data?.scope.includes(name));
  const isChosen = allowed.length > 0 || scopes.length === 0;
  if (data === undefined || !isChosen) return ask(visit, options, NOTHING_CHOSEN);
  if (!(await hasRoom(visit, options))) return show(res, tooManyApplicationsPage(MAX_GRANTS));
  await options.throttle({ consent: visit.session.accountId });
  goOn(visit, await interactions.consent(req, res, allowed), options);
}

/**
 * Whether the person can authorize the application: there is a maximum, but an existing consent can
 * always change.
 */
const hasRoom = (
  { interaction: { client, isKnown }, session }: Visit,
  { accounts }: InteractionRoutesOptions,
): Promise<boolean> | true => isKnown || accounts.canAuthorize(session.accountId, client.clientId);

async function askWithin(visit: Visit, options: InteractionRoutesOptions): Promise<void> {
  if (await hasRoom(visit, options)) return ask(visit, options);
  options.show(visit.res, tooManyApplicationsPage(MAX_GRANTS));
}

/** Redirects to the application immediately only if the person has approved its redirect URI before. */
async function refuse(visit: Visit, options: InteractionRoutesOptions): Promise<void> {
  const { req, res, interaction } = visit;
  const address = await options.interactions.deny(req, res);
  if (address === undefined || interaction.isRedirectApproved) {
    return goOn(visit, address, options);
  }
  options.show(res, refusedPage(interaction.client, address));
}

/** A browser at the URL of an authorization request. */
interface Call {
  readonly req: UidRequest;
  readonly res: Response;
}

/** A person with an authorization request to answer. */
interface Visit extends Call {
  readonly interaction: Interaction;
  readonly session: Session;
  readonly formToken: string;
}

/**
 * @returns `undefined` if the request cannot be answered here, or not yet; a response has then been
 *   sent.
 */
async function visitOf(
  call: Call,
  { session, formToken }: Browser,
  { show, interactions }: InteractionRoutesOptions,
): Promise<Visit | undefined> {
  const { req, res } = call;
  const interaction = await interactionOf(req, res, interactions);
  if (interaction === undefined || isOfOther(interaction, session)) {
    show(res, overPage);
  } else if (session === undefined || session.signedInAt < interaction.minSignedInAt) {
    res.redirect(303, withReturn("/sign-in", req.path));
  } else {
    return { ...call, interaction, session, formToken };
  }
}

/**
 * Whether the request was shown to one person and another has signed in since. A request that waits for
 * a sign-in belongs to whoever signs in.
 */
function isOfOther({ prompt, accountId }: Interaction, session: Session | undefined): boolean {
  return prompt === "consent" && session !== undefined && session.accountId !== accountId;
}

async function ask(
  { res, interaction, session, formToken }: Visit,
  { show, accounts }: InteractionRoutesOptions,
  errors: FieldErrors = [],
): Promise<void> {
  const { uid, client, scopes, personalScopes, requestsOfflineAccess } = interaction;
  const person = (await accounts.find(session.accountId))?.label ?? "a removed account";
  const asked = scopes.filter(isScope);
  show(
    res,
    consentPage({
      uid,
      client,
      asked,
      personal: personalScopes,
      isLasting: requestsOfflineAccess,
      formToken,
      person,
      errors,
    }),
  );
}

/**
 * Continues the authorization request in the browser.
 *
 * @param address `undefined` if the request has expired.
 */
function goOn(
  { req, res }: Visit,
  address: string | undefined,
  { show }: InteractionRoutesOptions,
): void {
  if (address === undefined) show(res, overPage);
  else if (mayFollowForm(req)) show(res, redirectPage(address));
  else res.redirect(303, address);
}

/** The authorization request of a URL, if it began in this browser. */
async function interactionOf(
  req: UidRequest,
  res: Response,
  interactions: Interactions,
): Promise<Interaction | undefined> {
  const interaction = await interactions.find(req, res);
  return interaction?.uid === req.params.uid ? interaction : undefined;
}
