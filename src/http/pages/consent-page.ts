import type { Scope } from "../../access/scopes.ts";
import type { RequestingClient } from "../../auth/oidc/interactions.ts";
import { type Html, html } from "../../markup/html.ts";
import { MAX_GRANTS_PER_PERSON } from "../../principals/accounts/grants.ts";
import {
  descriptionList,
  type FieldErrors,
  form,
  scopeFieldset,
  untrustedHost,
  untrustedText,
  unverifiedName,
} from "./elements.ts";
import type { PageAnswer } from "./page-answer.ts";

/** Data for the consent page. */
export interface ConsentView {
  readonly formToken: string;
  readonly uid: string;
  readonly client: RequestingClient;
  /** Scopes to decide on; empty if the application only requests the person's identity. */
  readonly scopes: readonly Scope[];
  /** Names of the scopes that every consent includes. */
  readonly personal: readonly string[];
  /** Whether the application requests offline access. */
  readonly requestsOfflineAccess: boolean;
  /** Label of the signed-in person. */
  readonly person: string;
  readonly errors?: FieldErrors;
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

const accessChoice = ({ scopes, errors = [] }: ConsentView): Html =>
  scopeFieldset({
    legend: "Access it asks for",
    offered: scopes,
    chosen: new Set(errors.length > 0 ? [] : scopes),
    errors,
  });

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
function impliedPermissions({
  scopes,
  personal,
  requestsOfflineAccess,
}: ConsentView): Html | undefined {
  const isIdentity = personal.includes("openid");
  const isAccess = scopes.length > 0;
  if (!isIdentity && !requestsOfflineAccess && !isAccess) return undefined;
  const name = personal.includes("offline_access") && html` <code>offline_access</code>`;
  const lasting = html`<li>What you allow lasts until you end it or it runs out, also while you are away.${name}</li>`;
  return html`<ul class="scopes">${isIdentity && identity}${requestsOfflineAccess && lasting}${isAccess && claiming}</ul>`;
}

/** The page where a person decides what an application may do on their behalf. */
export function consentPage(view: ConsentView): PageAnswer {
  const { formToken, uid, client, scopes, person, errors = [] } = view;
  return {
    heading: "Let this application act for you?",
    errors,
    isSignedIn: true,
    body: html`<p class="lead">You are signed in as <strong>${untrustedText(person)}</strong>.</p>
<div class="card">
${application(client)}
</div>
<p class="note">Only allow what you started yourself. Anybody can register an application under any name; the address you are sent back to tells you more.</p>
<div class="card">
${form(
  { action: `/oauth/interaction/${uid}`, formToken },
  html`${scopes.length > 0 ? accessChoice(view) : identityOnly}
${impliedPermissions(view)}
<div class="buttons">
<button name="decision" value="allow">${scopes.length > 0 ? "Allow selected access" : "Allow"}</button>
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
export function accessDeniedPage({ redirectUri }: RequestingClient, onward: string): PageAnswer {
  return {
    heading: "You refused",
    isSignedIn: true,
    body: html`<p class="lead">The application cannot act for you. It does not know yet that you refused.</p>
<p><a href="${onward}">Tell it</a>, which takes you to ${destination(redirectUri)}; or close this page.</p>`,
  };
}

/** The page for a person who has authorized the maximum number of applications. */
export function tooManyApplicationsPage(): PageAnswer {
  return {
    status: 409,
    heading: "No more applications can act for you",
    isSignedIn: true,
    body: html`<p class="lead">You have let ${MAX_GRANTS_PER_PERSON} applications act for you, which is the maximum.</p>
<p><a href="/account#applications">End the access of one that you no longer use</a>. Then load this page again, or start again from the application.</p>`,
  };
}
