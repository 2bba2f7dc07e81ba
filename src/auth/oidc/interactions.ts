import type { IncomingMessage, ServerResponse } from "node:http";
import { errors, type Provider } from "oidc-provider";
import type { Session } from "../accounts/browser-sessions.ts";
import { isScope, scopeNames } from "../scopes.ts";
import { applyDecision } from "./consent.ts";
import { UNAPPROVED_OFFLINE_ACCESS, UNAPPROVED_REDIRECT } from "./end-user.ts";
import { hasMetadataDocument } from "./metadata-documents.ts";
import { redirectOrigin } from "./redirect-uris.ts";
import { withRequestState } from "./request-state.ts";

/** A client as the consent page shows it. None of it was verified. */
export interface RequestingClient {
  readonly clientId: string;
  readonly name: string | undefined;
  /** Where the answer goes. */
  readonly redirectUri: string;
  /** The host that a client metadata document was fetched from; absent for registered clients. */
  readonly documentHost: string | undefined;
}

/** A person's part of an authorization request. */
export interface Interaction {
  readonly uid: string;
  readonly prompt: "login" | "consent";
  readonly client: RequestingClient;
  /** Whom oidc-provider asks: the account of its session; `undefined` while it knows nobody. */
  readonly accountId: string | undefined;
  /** Names of the scopes that the client asks for and the person has not yet decided on. */
  readonly scopes: readonly string[];
  /** Names of the scopes of OpenID Connect that the client asks for, which go with every consent. */
  readonly personal: readonly string[];
  /** Whether the person has authorized the client before, and is asked for a change. */
  readonly isKnown: boolean;
  /** Whether the person let this client's answers go to this origin before. */
  readonly isRedirectApproved: boolean;
  /** Whether the client may go on without the person (`offline_access`, or refresh tokens). */
  readonly isLasting: boolean;
  /** A sign-in before this instant does not count for this request (`prompt=login`, `max_age`);
   *  milliseconds since the epoch, 0 when any counts. */
  readonly signedInSince: number;
}

/** The part of an authorization request that pages handle. Each of the last three methods
 *  records what a person did and returns the address where the browser continues; `undefined`
 *  when the request is over, or when the grant was changed or ended meanwhile. */
export interface Interactions {
  /** `undefined`: unknown, over or refused, or begun in another browser. */
  find(req: IncomingMessage, res: ServerResponse): Promise<Interaction | undefined>;
  signIn(req: IncomingMessage, res: ServerResponse, session: Session): Promise<string | undefined>;
  /** @param scopes Those of `Interaction.scopes` that the person allows; the others are refused. */
  consent(
    req: IncomingMessage,
    res: ServerResponse,
    scopes: readonly string[],
  ): Promise<string | undefined>;
  deny(req: IncomingMessage, res: ServerResponse): Promise<string | undefined>;
}

type Details = Awaited<ReturnType<Provider["interactionDetails"]>>;

/** Reasons of the consent prompt for which every scope is asked again. */
const afresh = [
  "consent_prompt",
  "native_client_prompt",
  UNAPPROVED_REDIRECT,
  UNAPPROVED_OFFLINE_ACCESS,
];

/** @param provider Gives the authorization server of the moment. */
export function createInteractions(provider: () => Provider): Interactions {
  return {
    find: (req, res) =>
      unlessOver(async () =>
        interactionOf(provider(), await provider().interactionDetails(req, res)),
      ),
    signIn: (req, res, { accountId, signedInAt }) =>
      unlessOver(async () => {
        const details = await provider().interactionDetails(req, res);
        if (details.session !== undefined && details.session.accountId !== accountId) {
          // The library's session of the person before ends when the request goes on (people.ts).
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
      unlessOver(async () => {
        const details = await provider().interactionDetails(req, res);
        const grantId = await withRequestState(() => decide(provider(), details, allowed));
        return provider().interactionResult(req, res, { consent: { grantId } });
      }),
    deny: (req, res) =>
      unlessOver(() => {
        const result = { error: "access_denied", error_description: "the person said no" };
        return provider().interactionResult(req, res, result, { mergeWithLastSubmission: false });
      }),
  };
}

/** A refusal of oidc-provider means that the request is over: there is no such interaction, its
 *  client cannot be loaded any more, or what it depends on has changed. */
async function unlessOver<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof errors.OIDCProviderError) return undefined;
    throw error;
  }
}

/** The client of a request. @throws `invalid_redirect_uri` when it is gone, or has given up the
 *  redirect URI. */
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
  // A refusal is final, also while the application has not been told.
  if (result?.error !== undefined) return undefined;
  const { clientId, clientName: name } = client;
  const personal = scopeNames(String(params.scope ?? "")).filter((scope) => !isScope(scope));
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
    personal,
    isKnown: details.grantId !== undefined,
    isRedirectApproved: !prompt.reasons.includes(UNAPPROVED_REDIRECT),
    isLasting: isLastingIn(details),
    signedInSince: signedInSince(details),
  };
}

/** Whether the page says that the access lasts: as it was when the person was prompted, whatever the
 *  client has made of its registration since. */
const isLastingIn = ({ prompt }: Details): boolean => prompt.details.isLasting === true;

/** The scopes to be decided on. */
function openScopes({ prompt, params }: Details): readonly string[] {
  const asked = scopeNames(String(params.scope ?? "")).filter(isScope);
  if (prompt.reasons.some((reason) => afresh.includes(reason))) return asked;
  const missing = Object.values(prompt.details.missingResourceScopes ?? {}).flat();
  return asked.filter((scope) => missing.includes(scope));
}

/** OpenID Connect Core section 3.1.2.1: `prompt=login` wants a sign-in for this request, `max_age` one
 *  of at most so many seconds ago. */
function signedInSince({ prompt, params, iat }: Details): number {
  if (prompt.reasons.includes("login_prompt")) return iat * 1000;
  const maxAge = Number(params.max_age);
  return Number.isFinite(maxAge) ? (iat - maxAge) * 1000 : 0;
}

/** Records what a person decided. @returns Id of the grant. @throws `invalid_grant` when the
 *  grant was changed or ended meanwhile; `invalid_redirect_uri` as `clientOf` does. */
async function decide(
  provider: Provider,
  details: Details,
  allowed: readonly string[],
): Promise<string> {
  const { Grant } = provider;
  const { grantId, session, params } = details;
  const { clientId } = await clientOf(provider, details);
  const known = grantId === undefined ? undefined : await Grant.find(grantId);
  const grant = known ?? new Grant({ accountId: session?.accountId, clientId });
  applyDecision(grant, {
    resources: [params.resource].flat().map(String),
    asked: scopeNames(String(params.scope ?? "")),
    open: openScopes(details),
    allowed,
    redirectOrigin: redirectOrigin(String(params.redirect_uri)),
    isLasting: isLastingIn(details),
  });
  // A decision is good for as long as a first one.
  delete grant.exp;
  return grant.save();
}
