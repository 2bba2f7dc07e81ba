import type { IncomingMessage, ServerResponse } from "node:http";
import { errors, type Provider } from "oidc-provider";
import { isScope, parseScopeNames } from "../../access/scopes.ts";
import type { BrowserSession } from "../../principals/accounts/browser-sessions.ts";
import { applyConsentDecision } from "./consent.ts";
import { UNAPPROVED_OFFLINE_ACCESS_REASON, UNAPPROVED_REDIRECT_REASON } from "./end-user.ts";
import { hasMetadataDocument } from "./metadata-documents.ts";
import { redirectOrigin } from "./redirect-uris.ts";
import { withRequestState } from "./request-state.ts";

/** A client as shown on the consent page. No member is verified. */
export interface RequestingClient {
  readonly clientId: string;
  readonly name: string | undefined;
  /** URL that the response is sent to. */
  readonly redirectUri: string;
  /** Host of the client's metadata document; `undefined` for registered clients. */
  readonly documentHost: string | undefined;
}

/** The part of an authorization request that a person handles on pages. */
export interface Interaction {
  readonly uid: string;
  readonly prompt: "login" | "consent";
  readonly client: RequestingClient;
  /** The account of oidc-provider's session; `undefined` if no account is signed in there. */
  readonly accountId: string | undefined;
  /** Requested scopes that the person has not yet decided on. */
  readonly scopes: readonly string[];
  /** OpenID Connect scopes of the request; a person who consents grants all of them. */
  readonly personalScopes: readonly string[];
  /**
   * Whether the person has authorized the client before, so that this request only changes the
   * grant.
   */
  readonly isKnown: boolean;
  /**
   * Whether the person has approved responses to the origin of the redirect URI for this client.
   */
  readonly isRedirectApproved: boolean;
  /** Whether the client requests offline access (`offline_access`, or refresh tokens). */
  readonly requestsOfflineAccess: boolean;
  /**
   * The earliest time of a sign-in that is valid for this request (`prompt=login`, `max_age`), in
   * milliseconds since the epoch; 0 for any.
   */
  readonly minSignedInAt: number;
}

/**
 * The interactions of the authorization server. `signIn`, `consent` and `deny` store the person's
 * action and return the URL where the browser continues; `undefined` when the request has ended, or
 * when its grant was changed or revoked concurrently.
 */
export interface Interactions {
  /**
   * @returns `undefined` when the request is unknown, has ended, was denied, or belongs to another
   * browser.
   */
  find(req: IncomingMessage, res: ServerResponse): Promise<Interaction | undefined>;
  signIn(
    req: IncomingMessage,
    res: ServerResponse,
    session: BrowserSession,
  ): Promise<string | undefined>;
  /**
   * @param scopes The scopes of `Interaction.scopes` that the person allows; the other scopes are
   * denied.
   */
  consent(
    req: IncomingMessage,
    res: ServerResponse,
    scopes: readonly string[],
  ): Promise<string | undefined>;
  deny(req: IncomingMessage, res: ServerResponse): Promise<string | undefined>;
}

type Details = Awaited<ReturnType<Provider["interactionDetails"]>>;

/**
 * Reasons for a consent prompt that asks about all requested scopes, including scopes that the
 * person has already decided on.
 */
const fullPromptReasons = [
  "consent_prompt",
  "native_client_prompt",
  UNAPPROVED_REDIRECT_REASON,
  UNAPPROVED_OFFLINE_ACCESS_REASON,
];

/** Creates the interactions. @param provider Returns the current authorization server. */
export function createInteractions(provider: () => Provider): Interactions {
  return {
    find: (req, res) =>
      unlessEnded(async () =>
        interactionOf(provider(), await provider().interactionDetails(req, res)),
      ),
    signIn: (req, res, { accountId, signedInAt }) =>
      unlessEnded(async () => {
        const details = await provider().interactionDetails(req, res);
        if (details.session !== undefined && details.session.accountId !== accountId) {
          // `endStaleSessions` (end-user.ts) ends the previous person's session in oidc-provider
          // when the request continues.
          details.session = undefined;
          await details.persist();
        }
        const login = { accountId, ts: Math.floor(signedInAt / 1000) };
        return provider().interactionResult(
          req,
          res,
          { login },
          { mergeWithLastSubmission: false },
        );
      }),
    consent: (req, res, allowed) =>
      unlessEnded(async () => {
        const details = await provider().interactionDetails(req, res);
        const grantId = await withRequestState(() => storeDecision(provider(), details, allowed));
        return provider().interactionResult(req, res, { consent: { grantId } });
      }),
    deny: (req, res) =>
      unlessEnded(() => {
        const result = {
          error: "access_denied",
          error_description: "the person denied the request",
        };
        return provider().interactionResult(req, res, result, { mergeWithLastSubmission: false });
      }),
  };
}

/**
 * Runs an action on an interaction.
 * @returns `undefined` when oidc-provider rejects the action: the interaction does not exist, its
 * client cannot be loaded, or a record that it depends on has changed.
 */
async function unlessEnded<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof errors.OIDCProviderError) return undefined;
    throw error;
  }
}

/**
 * The client of a request.
 * @throws `invalid_redirect_uri` when the client was deleted, or has removed the redirect URI.
 */
async function clientOf({ Client }: Provider, { params }: Details) {
  const client = await Client.find(String(params.client_id));
  if (client?.redirectUriAllowed(String(params.redirect_uri)) === true) return client;
  throw new errors.InvalidRedirectUri();
}

async function interactionOf(
  provider: Provider,
  details: Details,
): Promise<Interaction | undefined> {
  const { uid, prompt, params, result } = details;
  const client = await clientOf(provider, details);
  // A denial is final, even if the application has not received it yet.
  if (result?.error !== undefined) return undefined;
  const { clientId, clientName: name } = client;
  const personalScopes = parseScopeNames(String(params.scope ?? "")).filter(
    (scope) => !isScope(scope),
  );
  return {
    uid,
    prompt: prompt.name === "login" ? "login" : "consent",
    client: {
      clientId,
      name,
      redirectUri: String(params.redirect_uri),
      documentHost: hasMetadataDocument(clientId) ? new URL(clientId).host : undefined,
    },
    accountId: details.session?.accountId,
    scopes: openScopes(details),
    personalScopes,
    isKnown: details.grantId !== undefined,
    isRedirectApproved: !prompt.reasons.includes(UNAPPROVED_REDIRECT_REASON),
    requestsOfflineAccess: showsOfflineAccess(details),
    minSignedInAt: minSignInTime(details),
  };
}

/**
 * Whether the page mentions offline access. This is fixed when the prompt starts, regardless of
 * later changes in the client's registration.
 */
const showsOfflineAccess = ({ prompt }: Details): boolean => prompt.details.isLasting === true;

/** The scopes that the person must decide on. */
function openScopes({ prompt, params }: Details): readonly string[] {
  const requested = parseScopeNames(String(params.scope ?? "")).filter(isScope);
  if (prompt.reasons.some((reason) => fullPromptReasons.includes(reason))) return requested;
  const missing = Object.values(prompt.details.missingResourceScopes ?? {}).flat();
  return requested.filter((scope) => missing.includes(scope));
}

/**
 * The earliest time of a valid sign-in, in milliseconds since the epoch (OpenID Connect Core
 * section 3.1.2.1): `prompt=login` requires a sign-in after the request; `max_age` requires a
 * sign-in at most that many seconds before the request.
 */
function minSignInTime({ prompt, params, iat }: Details): number {
  if (prompt.reasons.includes("login_prompt")) return iat * 1000;
  const maxAge = Number(params.max_age);
  return Number.isFinite(maxAge) ? (iat - maxAge) * 1000 : 0;
}

/**
 * Stores a decision.
 * @returns The grant id.
 * @throws `invalid_grant` when the grant was changed or revoked concurrently;
 * `invalid_redirect_uri` in the same cases as `clientOf`.
 */
async function storeDecision(
  provider: Provider,
  details: Details,
  allowed: readonly string[],
): Promise<string> {
  const { Grant } = provider;
  const { grantId, session, params } = details;
  const { clientId } = await clientOf(provider, details);
  const known = grantId === undefined ? undefined : await Grant.find(grantId);
  const grant = known ?? new Grant({ accountId: session?.accountId, clientId });
  applyConsentDecision(grant, {
    resources: [params.resource].flat().map(String),
    requested: parseScopeNames(String(params.scope ?? "")),
    shown: openScopes(details),
    allowed,
    redirectOrigin: redirectOrigin(String(params.redirect_uri)),
    isLasting: showsOfflineAccess(details),
  });
  // Every decision restarts the full lifetime of the grant.
  delete grant.exp;
  return grant.save();
}
