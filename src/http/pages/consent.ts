import { type Request, type Response, Router } from "express";
import { isScope } from "../../access/scopes.ts";
import type { Interaction, Interactions, RequestingClient } from "../../auth/oidc/interactions.ts";
import { partyAt } from "../../limits/address-key.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { type Html, html } from "../../markup/html.ts";
import type { Browser, BrowserSession } from "../../principals/accounts/browser-sessions.ts";
import { MAX_GRANTS_PER_PERSON } from "../../principals/accounts/grants.ts";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { descriptionList, untrustedHost, untrustedText, unverifiedName } from "./elements.ts";
import { createForm, type Refused, readForm, refuseForm, submittedValue } from "./form.ts";
import { showForm } from "./form-html.ts";
import type { PageAnswer } from "./page-answer.ts";
import type { PageContext } from "./page-context.ts";
import { mayResultFromForm, redirectPage } from "./redirect-page.ts";
import { withReturnPath } from "./return-to.ts";
import { scopeOptions, scopesField } from "./scopes-field.ts";

type UidRequest = Request<{ uid: string }>;

const consentForm = createForm({ scope: scopesField });

const NO_SCOPE_SELECTED = "Select at least one permission, or refuse.";

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
    .post(...consentForm.reader, (req: UidRequest, res: Response) =>
      handleDecision(req, res, options),
    )
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

  const decision = submittedValue(req, "decision");
  if (decision === "deny") return denyRequest(visit, options);
  const { data } = readForm(consentForm, req);
  const scopes = visit.interaction.scopes.filter(isScope);
  const allowed = scopes.filter((name) => data?.scope.includes(name));
  const isChosen = allowed.length > 0 || scopes.length === 0;
  if (decision !== "allow" || !isChosen) {
    return showConsent(visit, options, refuseForm(consentForm, req, { scope: NO_SCOPE_SELECTED }));
  }
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
  visit: Visit,
  { show, accounts }: PageContext,
  refused?: Refused,
): Promise<void> {
  const { res, session } = visit;
  const person = (await accounts.find(session.accountId))?.label ?? "a removed account";
  show(res, consentPage(visit, person, refused));
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

/** Matches loopback hosts (RFC 8252 section 7.3), including `localhost`. */
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** The redirect target as text that a person can understand and approve. */
function destination(redirectUri: string): Html {
  const { protocol, host: site, hostname } = new URL(redirectUri);
  if (!/^https?:$/.test(protocol)) {
    return html`a program on your device, as <strong>${untrustedText(protocol)}</strong>`;
  }
  const isLocal = LOOPBACK.test(hostname);
  const host = html`<strong>${untrustedHost(isLocal ? hostname : site)}</strong>`;
  return isLocal ? html`a program on this computer, at ${host}` : host;
}

function application({ name, clientId, documentHost, redirectUri }: RequestingClient): Html {
  return descriptionList([
    ["Application", unverifiedName(name)],
    documentHost === undefined
      ? ["Its id", html`<code>${untrustedText(clientId)}</code>`]
      : ["Described at", html`<strong>${untrustedHost(documentHost)}</strong>`],
    ["You are sent back to", destination(redirectUri)],
  ]);
}

const identityOnly = html`<p>It requests no access, only your identity.</p>`;

const identity = html`<li>It learns who you are: an id that stands for you, never your email address. <code>openid</code></li>`;

/**
 * List item for the permission to claim agents. Every token with API access also grants this
 * permission (POST /oauth/claim).
 */
const claiming = html`<li>For five minutes after you signed in, it can claim agents in your name. You give them no more than you allow here, and they end when its access ends.</li>`;

/**
 * The permissions that consent includes in addition to the selected scopes, with the same names as
 * on the account page.
 */
function impliedPermissions(
  { personalScopes, requestsOfflineAccess }: Interaction,
  isAccess: boolean,
): Html | undefined {
  const isIdentity = personalScopes.includes("openid");
  if (!isIdentity && !requestsOfflineAccess && !isAccess) return undefined;
  const name = personalScopes.includes("offline_access") && html` <code>offline_access</code>`;
  const lasting = html`<li>What you allow lasts until you end it or it runs out, also while you are away.${name}</li>`;
  return html`<ul class="scopes">${isIdentity && identity}${requestsOfflineAccess && lasting}${isAccess && claiming}</ul>`;
}

/**
 * The page where a person decides what an application may do on their behalf.
 *
 * @param person Label of the signed-in person.
 */
function consentPage(
  { interaction, formToken }: Visit,
  person: string,
  refused: Refused | undefined,
): PageAnswer {
  const { uid, client } = interaction;
  const scopes = interaction.scopes.filter(isScope);
  const isAccess = scopes.length > 0;
  return {
    heading: "Let this application act for you?",
    errors: refused?.errors,
    isSignedIn: true,
    body: html`<p class="lead">You are signed in as <strong>${untrustedText(person)}</strong>.</p>
<div class="card">
${application(client)}
</div>
<p class="note">Only allow what you started yourself. Anybody can register an application under any name; the address you are sent back to tells you more.</p>
<div class="card">
${showForm(
  consentForm,
  {
    action: `/oauth/interaction/${uid}`,
    formToken,
    values: { scope: scopes },
    refused,
    vary: { scope: { label: "Access it asks for", options: scopeOptions(scopes) } },
  },
  (field) => html`${isAccess ? field("scope") : identityOnly}
${impliedPermissions(interaction, isAccess)}
<div class="buttons">
<button name="decision" value="allow">${isAccess ? "Allow selected access" : "Allow"}</button>
<button class="second" name="decision" value="deny">Refuse</button>
</div>`,
)}
</div>
<p>You can end it at any time on <a href="/account">your account page</a>.</p>`,
  };
}

/**
 * The page shown after a person denied access to an application whose redirect URI they have never
 * approved. It does not redirect; the person returns to the application only by a click (RFC 9700
 * section 4.11.2).
 *
 * @param onward URL that reports the denial to the application.
 */
function accessDeniedPage({ redirectUri }: RequestingClient, onward: string): PageAnswer {
  return {
    heading: "You refused",
    isSignedIn: true,
    body: html`<p class="lead">The application cannot act for you. It does not know yet that you refused.</p>
<p><a href="${onward}">Tell it</a>, which takes you to ${destination(redirectUri)}; or close this page.</p>`,
  };
}

/** The page for a person who has authorized the maximum number of applications. */
function tooManyApplicationsPage(): PageAnswer {
  return {
    status: 409,
    heading: "No more applications can act for you",
    isSignedIn: true,
    body: html`<p class="lead">You have let ${MAX_GRANTS_PER_PERSON} applications act for you, which is the maximum.</p>
<p><a href="/account#applications">End the access of one that you no longer use</a>. Then load this page again, or start again from the application.</p>`,
  };
}
