import type { RequestingClient } from "../../auth/oidc/interactions.ts";
import type { Scope } from "../../auth/scopes.ts";
import {
  errorSummary,
  type FieldErrors,
  facts,
  form,
  scopeChoice,
  untrustedHost,
  untrustedText,
  unverifiedName,
} from "./elements.ts";
import { type Html, html } from "./html.ts";
import type { PageAnswer } from "./page-answer.ts";

/** What the consent page shows. */
export interface ConsentView {
  readonly formToken: string;
  readonly uid: string;
  readonly client: RequestingClient;
  /** Scopes to decide on; empty if the application only asks for the person's identity. */
  readonly asked: readonly Scope[];
  /** Names of the scopes that every consent includes. */
  readonly personal: readonly string[];
  /** Whether the application may act while the person is away. */
  readonly isLasting: boolean;
  /** Label of the signed-in person. */
  readonly person: string;
  readonly errors?: FieldErrors;
}

/** Loopback hosts (RFC 8252 section 7.3), and `localhost`. */
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** The redirect target in words, which is what a person can judge and approves. */
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
  return facts([
    ["Application", unverifiedName(name)],
    documentHost === undefined
      ? ["Its id", html`<code>${untrustedText(clientId)}</code>`]
      : ["Described at", html`<strong>${untrustedHost(documentHost)}</strong>`],
    ["You are sent back to", destination(redirectUri)],
  ]);
}

const onlyKnown = html`<p>It asks for no access, only to know you again.</p>`;

const accessChoice = ({ asked, errors = [] }: ConsentView): Html =>
  scopeChoice({
    legend: "Access it asks for",
    offered: asked,
    chosen: new Set(errors.length > 0 ? [] : asked),
    errors,
  });

const identity = html`<li>It learns who you are: an id that stands for you, never your email address. <code>openid</code></li>`;

/** What a token enables beyond API calls (POST /oauth/claim). */
const claiming = html`<li>For five minutes after you signed in, it can claim agents in your name. You give them no more than you allow here, and they end when its access ends.</li>`;

/** What a person grants in addition to the selected scopes, named as on the account page. */
function alongside({ asked, personal, isLasting }: ConsentView): Html | undefined {
  const isIdentity = personal.includes("openid");
  const isAccess = asked.length > 0;
  if (!isIdentity && !isLasting && !isAccess) return undefined;
  const name = personal.includes("offline_access") && html` <code>offline_access</code>`;
  const lasting = html`<li>What you allow lasts until you end it or it runs out, also while you are away.${name}</li>`;
  return html`<ul class="scopes">${isIdentity && identity}${isLasting && lasting}${isAccess && claiming}</ul>`;
}

/** Page where a person decides what an application may do on their behalf. */
export function consentPage(view: ConsentView): PageAnswer {
  const { formToken, uid, client, asked, person, errors = [] } = view;
  return {
    status: errors.length > 0 ? 400 : 200,
    heading: "Let this application act for you?",
    hasErrors: errors.length > 0,
    isSignedIn: true,
    body: html`${errorSummary(errors)}
<p class="lead">You are signed in as <strong>${untrustedText(person)}</strong>.</p>
<div class="card">
${application(client)}
</div>
<p class="note">Only allow what you started yourself. Anybody can register an application under any name; the address you are sent back to tells you more.</p>
<div class="card">
${form(
  { action: `/oauth/interaction/${uid}`, formToken },
  html`${asked.length > 0 ? accessChoice(view) : onlyKnown}
${alongside(view)}
<div class="buttons">
<button name="decision" value="allow">${asked.length > 0 ? "Allow what is ticked" : "Allow"}</button>
<button class="second" name="decision" value="deny">Refuse</button>
</div>`,
)}
</div>
<p>You can end it at any time on <a href="/account">your account page</a>.</p>`,
  };
}

/**
 * Page after a person refused an application whose redirect URI they have never approved. Only a click
 * of their own leads there (RFC 9700 section 4.11.2).
 *
 * @param onward URL that reports the refusal to the application.
 */
export function refusedPage({ redirectUri }: RequestingClient, onward: string): PageAnswer {
  return {
    heading: "You refused",
    isSignedIn: true,
    body: html`<p class="lead">The application cannot act for you. It does not know yet that you refused.</p>
<p><a href="${onward}">Tell it</a>, which takes you to ${destination(redirectUri)}; or close this page.</p>`,
  };
}

/** Page for a person who has reached the maximum number of applications. */
export function tooManyApplicationsPage(most: number): PageAnswer {
  return {
    status: 409,
    heading: "No more applications can act for you",
    isSignedIn: true,
    body: html`<p class="lead">You have let ${most} applications act for you, which is as many as there may be.</p>
<p><a href="/account#applications">End the access of one that you no longer use</a>. Then load this page again, or start again from the application.</p>`,
  };
}
