import { type Request, type Response, Router } from "express";
import { z } from "zod";
import { isScope } from "../../access/scopes.ts";
import type { Interaction, Interactions } from "../../auth/oidc/interactions.ts";
import { partyAt } from "../../limits/address-key.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { html } from "../../markup/html.ts";
import type { Browser, BrowserSession } from "../../principals/accounts/browser-sessions.ts";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { accessDeniedPage, consentPage, tooManyApplicationsPage } from "./consent-page.ts";
import { type FieldErrors, SCOPES_FIELD_ID } from "./elements.ts";
import { CheckboxValues, formReader, validateForm } from "./form.ts";
import type { PageAnswer } from "./page-answer.ts";
import type { PageContext } from "./page-context.ts";
import { mayResultFromForm, redirectPage } from "./redirect-page.ts";
import { withReturnPath } from "./return-to.ts";

type UidRequest = Request<{ uid: string }>;

const DecisionForm = z.object({ decision: z.enum(["allow", "deny"]), scope: CheckboxValues });

const NO_SCOPE_SELECTED: FieldErrors = [
  { id: SCOPES_FIELD_ID, text: "Select at least one permission, or refuse." },
];

const endedPage: PageAnswer = {
  status: 400,
  heading: "This request has ended",
  body: html`<p class="lead">It took too long, was already answered, started in another browser, or belonged to another person who was signed in here.</p>
<p>Go back to the application and start again from there.</p>`,
};

/** Routes of the pages where a person answers an authorization request (RFC 6749 section 4.1.1). */
export function interactionRoutes(options: PageContext): Router {
  const router = Router();
  router
    .route("/oauth/interaction/:uid")
    .get((req, res) => showInteraction(req, res, options))
    .post(...formReader, (req: UidRequest, res: Response) => handleDecision(req, res, options))
    .all(rejectOtherMethods(["get", "post"]));
  return router;
}

async function showInteraction(req: UidRequest, res: Response, options: PageContext) {
  const visit = await visitOf({ req, res }, await options.csrf.openPage(req, res), options);
  if (visit === undefined) return;
  if (visit.interaction.prompt === "consent") return showConsentIfAllowed(visit, options);
  continueRequest(visit, await options.interactions.signIn(req, res, visit.session), options);
}

async function handleDecision(req: UidRequest, res: Response, options: PageContext) {
  const { csrf, show, interactions } = options;
  const visit = await visitOf({ req, res }, await csrf.requireOwnForm(req), options);
  if (visit === undefined) return;
  if (visit.interaction.prompt !== "consent") return show(res, endedPage);

  const { data } = validateForm(DecisionForm, req);
  if (data?.decision === "deny") return denyRequest(visit, options);
  const scopes = visit.interaction.scopes.filter(isScope);
  const allowed = scopes.filter((name) => data?.scope.includes(name));
  const isChosen = allowed.length > 0 || scopes.length === 0;
  if (data === undefined || !isChosen) return showConsent(visit, options, NO_SCOPE_SELECTED);
  if (!(await canAuthorize(visit, options))) return show(res, tooManyApplicationsPage());
  await requireAdmission(options.limits, "changes", partyAt(visit.req.ip, visit.session.accountId));
  continueRequest(visit, await interactions.consent(req, res, allowed), options);
}

/**
 * Whether the person can authorize the application. The number of applications per person is
 * limited, but the consent for an application that is already authorized can always be changed.
 */
const canAuthorize = (
  { interaction: { client, isKnown }, session }: Visit,
  { accounts }: PageContext,
): Promise<boolean> | true => isKnown || accounts.canAuthorize(session.accountId, client.clientId);

async function showConsentIfAllowed(visit: Visit, options: PageContext): Promise<void> {
  if (await canAuthorize(visit, options)) return showConsent(visit, options);
  options.show(visit.res, tooManyApplicationsPage());
}

/**
 * Denies the authorization request. Redirects to the application immediately only if the person has
 * approved its redirect URI before.
 */
async function denyRequest(visit: Visit, options: PageContext): Promise<void> {
  const { req, res, interaction } = visit;
  const address = await options.interactions.deny(req, res);
  if (address === undefined || interaction.isRedirectApproved) {
    return continueRequest(visit, address, options);
  }
  options.show(res, accessDeniedPage(interaction.client, address));
}

/** A request to a page about an authorization request. */
interface PageRequest {
  readonly req: UidRequest;
  readonly res: Response;
}

/** A signed-in person with an authorization request to answer. */
interface Visit extends PageRequest {
  readonly interaction: Interaction;
  readonly session: BrowserSession;
  readonly formToken: string;
}

/**
 * Finds the authorization request and the person who may answer it.
 *
 * @returns `undefined` if the request cannot be answered in this browser or cannot be answered yet;
 * a response has then been sent.
 */
async function visitOf(
  call: PageRequest,
  { session, formToken }: Browser,
  { show, interactions }: PageContext,
): Promise<Visit | undefined> {
  const { req, res } = call;
  const interaction = await interactionOf(req, res, interactions);
  if (interaction === undefined || isOfOtherPerson(interaction, session)) {
    show(res, endedPage);
  } else if (session === undefined || session.signedInAt < interaction.minSignedInAt) {
    res.redirect(303, withReturnPath("/sign-in", req.path));
  } else {
    return { ...call, interaction, session, formToken };
  }
}

/**
 * Whether the authorization request was shown to one person and another person has signed in since.
 * A request that is waiting for a sign-in belongs to whoever signs in.
 */
function isOfOtherPerson(
  { prompt, accountId }: Interaction,
  session: BrowserSession | undefined,
): boolean {
  return prompt === "consent" && session !== undefined && session.accountId !== accountId;
}

async function showConsent(
  { res, interaction, session, formToken }: Visit,
  { show, accounts }: PageContext,
  errors: FieldErrors = [],
): Promise<void> {
  const { uid, client, scopes, personalScopes, requestsOfflineAccess } = interaction;
  const person = (await accounts.find(session.accountId))?.label ?? "a removed account";
  const requested = scopes.filter(isScope);
  show(
    res,
    consentPage({
      uid,
      client,
      scopes: requested,
      personal: personalScopes,
      requestsOfflineAccess,
      formToken,
      person,
      errors,
    }),
  );
}

/**
 * Continues the authorization request in the browser.
 *
 * @param address URL at which the request continues; `undefined` if the request has ended.
 */
function continueRequest(
  { req, res }: Visit,
  address: string | undefined,
  { show }: PageContext,
): void {
  if (address === undefined) show(res, endedPage);
  else if (mayResultFromForm(req)) show(res, redirectPage(address));
  else res.redirect(303, address);
}

/** The authorization request that a URL identifies, if it started in this browser. */
async function interactionOf(
  req: UidRequest,
  res: Response,
  interactions: Interactions,
): Promise<Interaction | undefined> {
  const interaction = await interactions.find(req, res);
  return interaction?.uid === req.params.uid ? interaction : undefined;
}
