import type { IncomingMessage, ServerResponse } from "node:http";
import type { Request, RequestHandler, Response } from "express";
import { claimLinks } from "../auth/agents/claims.ts";
import { mayUse } from "../auth/authenticator.ts";
import type { Authenticate, Caller } from "../auth/caller.ts";
import type { Scope } from "../auth/scopes.ts";
import { addressKey } from "../limits/address-key.ts";
import type { Limits, Remaining } from "../limits/limits.ts";
import { Problem } from "../problem.ts";
import { type Credential, challenge, credentialOf, type Refuse } from "./credential.ts";
import { admit } from "./rate-limits.ts";

/** What the gate needs to know about the service. */
export interface GateOptions {
  readonly authenticate: Authenticate;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  /** What an agent can get by itself, and so is told to ask for (RFC 6750 section 3). */
  readonly anonymousScopes: readonly Scope[];
  /** `credential-address` counts wrong credentials, `calls` what a caller does, `calls-anonymous` what
   *  an agent does that nobody answers for. */
  readonly limits: Limits;
}

/** One of the two resources: "" is the base address, "/mcp" the MCP endpoint. */
export type ResourcePath = "" | "/mcp";

/** What somebody is told whose credential opens nothing. */
const NOT_GOOD = "The credential is unknown, expired or revoked.";

/** RFC 6750 section 3.1, for a credential that was looked at. */
const INVALID = "invalid_token";

/** Guards one of the two resources and says why it refused. */
export interface Gate {
  /** Lets only requests with a valid credential for the resource pass, and no caller too often;
   *  `callerOf` then finds them. */
  readonly enter: RequestHandler;
  /** Who makes a request, counting nothing; `undefined` when that is not plain, and `enter` has to
   *  say why. */
  recognise(req: IncomingMessage): Promise<Caller | undefined>;
  /** Counts a call and says what is left. @throws {Problem} `rate_limited`. */
  count(res: ServerResponse, caller: Caller): Promise<void>;
  /** Counts what a request asks for beside its first call. @throws {Problem} `rate_limited`. */
  countFurther(res: ServerResponse, caller: Caller, calls: number): Promise<void>;
  /** Lets only those go on whose credential is good at this moment as well: a body may have taken its
   *  time. */
  readonly stillIn: RequestHandler;
  /**
   * @throws {Problem} `insufficient_scope` with a challenge that names every scope needed.
   */
  requireScopes(caller: Caller, needed: readonly Scope[]): void;
}

/** What somebody does next who has no credential, or one that is good for nothing. */
const wayIn = ({ anonymousScopes, baseUrl }: GateOptions): string =>
  anonymousScopes.length > 0
    ? `Register at ${baseUrl}/oauth/register, then get a token at ${baseUrl}/oauth/token.`
    : `Agents need a person here: ${baseUrl}/auth.md says what to do.`;

/** What a caller does next whose token was issued for the other resource. */
const wayToResource = ({ kind, resource }: Caller, { baseUrl }: GateOptions): string =>
  kind === "agent"
    ? `Get a token at ${baseUrl}/oauth/token without the parameter resource: it is good here and at ${resource}.`
    : `Send the person to ${baseUrl}/oauth/authorize again, without the parameter resource: the token is then good here and at ${resource}.`;

/** What a caller does next whose credential lacks scopes. */
function wayToScopes(
  { kind, id, accountId }: Caller,
  missing: readonly Scope[],
  { anonymousScopes, baseUrl }: GateOptions,
): string {
  const scope = missing.join(" ");
  if (kind === "service")
    return `Use an API key that has it: a person makes one at ${baseUrl}/account.`;
  if (kind === "user") {
    return `Send the person to ${baseUrl}/oauth/authorize again with ${scope} in the parameter scope.`;
  }
  const getToken = `get a token at ${baseUrl}/oauth/token that has ${scope}`;
  if (accountId !== undefined) {
    return `If the token asked for less than the agent may have, ${getToken}. Otherwise the person who claimed the agent did not allow it: they can end the claim at ${baseUrl}/account and claim it again.`;
  }
  if (missing.every((name) => anonymousScopes.includes(name))) {
    return `If the token asked for less than was registered, ${getToken}. Otherwise register for it at ${baseUrl}/oauth/register.`;
  }
  const { page, start_url } = claimLinks(baseUrl, id);
  return `A person must claim this agent first: let them enter its claim code at ${page}. The registration gave the code, POST ${start_url} gives a new one. Then ${getToken}.`;
}

/** Where the resource says how to come in (RFC 9728). */
const metadataUrlOf = ({ baseUrl }: GateOptions, path: ResourcePath): string =>
  `${baseUrl}/.well-known/oauth-protected-resource${path}`;

function refusalsAt(
  options: GateOptions,
  resource_metadata: string,
): (...[detail, error, next]: [...Parameters<Refuse>, next?: string]) => Problem {
  const scope = options.anonymousScopes.join(" ");
  return (detail, error, next = wayIn(options)) =>
    new Problem("unauthenticated", {
      detail,
      next,
      headers: {
        "WWW-Authenticate": challenge({
          ...(error && { error, error_description: detail }),
          ...(scope !== "" && { scope }),
          resource_metadata,
        }),
      },
    });
}

/** Requests whose credential turned out to be nobody's: it is not looked up once more to say so. */
const ofNobody = new WeakSet<IncomingMessage>();

/** Creates the gate of one resource. */
export function createGate(options: GateOptions, path: ResourcePath): Gate {
  const { authenticate, baseUrl, limits } = options;
  const metadataUrl = metadataUrlOf(options, path);
  const refuse = refusalsAt(options, metadataUrl);
  const isGoodHere = (caller: Caller) => mayUse(caller, `${baseUrl}${path}`);
  const count = async (res: ServerResponse, caller: Caller) =>
    admit(res, [await countCall(limits, caller)]);

  return {
    async enter(req, res, next) {
      const credential = presentedIn(req, refuse);
      if (credential instanceof Problem) {
        // Who has none is a visitor.
        admit(res, [await limits.count("visits", addressKey(req.ip))]);
        throw credential;
      }
      remember(res, await callerBy(credential, { req, res }), () => authenticate(credential.text));
      await count(res, callerOf(res));
      next();
    },
    stillIn: requireStillIn(refuse),
    async recognise(req) {
      const credential = presentedIn(req, refuse);
      if (credential instanceof Problem) return undefined;
      const caller = await authenticate(credential.text);
      if (caller === undefined) ofNobody.add(req);
      return isHolder(caller, credential) && isGoodHere(caller) ? caller : undefined;
    },
    count,
    countFurther: furtherCounted(limits),
    requireScopes: scopesRequired(options, metadataUrl),
  };

  async function callerBy(
    credential: Credential,
    { req, res }: { readonly req: Request; readonly res: Response },
  ): Promise<Caller> {
    const caller = ofNobody.has(req) ? undefined : await authenticate(credential.text);
    if (!isHolder(caller, credential)) {
      admit(res, [await limits.count("credential-address", addressKey(req.ip))]);
      throw refuse(NOT_GOOD, INVALID);
    }
    if (isGoodHere(caller)) return caller;
    await count(res, caller);
    const detail = `The token was issued for ${caller.resource}.`;
    throw refuse(detail, INVALID, wayToResource(caller, options));
  }
}

const furtherCounted =
  (limits: Limits): Gate["countFurther"] =>
  async (res, caller, calls) => {
    if (calls === 0) return;
    const counted = await Promise.all(
      Array.from({ length: calls }, () => countCall(limits, caller)),
    );
    for (const name of ["RateLimit", "RateLimit-Policy"]) res.removeHeader(name);
    admit(res, counted.slice(-1));
  };

function requireStillIn(refuse: Refuse): RequestHandler {
  return async (_req, res, next) => {
    if (!(await isStillIn(res))) throw refuse(NOT_GOOD, INVALID);
    next();
  };
}

function scopesRequired(options: GateOptions, resource_metadata: string): Gate["requireScopes"] {
  return (caller, needed) => {
    const missing = needed.filter((scope) => !caller.scopes.has(scope));
    if (missing.length === 0) return;
    const detail = `This operation needs the scope ${missing.join(" ")}.`;
    throw new Problem("insufficient_scope", {
      detail,
      next: wayToScopes(caller, missing, options),
      headers: {
        "WWW-Authenticate": challenge({
          error: "insufficient_scope",
          error_description: detail,
          scope: needed.join(" "),
          resource_metadata,
        }),
      },
    });
  };
}

/** The credential of a request, or its refusal. */
function presentedIn(req: IncomingMessage, refuse: Refuse): Credential | Problem {
  try {
    return credentialOf(req, { refuse, several });
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** Whether there is somebody behind a credential who may send it in its header. */
const isHolder = (caller: Caller | undefined, { way }: Credential): caller is Caller =>
  caller !== undefined && (way === "bearer" || caller.kind === "service");

const several = (detail: string) =>
  new Problem("invalid_request", { detail, next: "Send one credential." });

/** The caller that the gate let in. */
export const callerOf = (res: Response): Caller => res.locals.caller;

/** Whether the credential of a request that the gate let in is good at this moment as well. */
export const isStillIn = (res: Response): Promise<boolean> => res.locals.isStillIn();

/** @param again Looks the credential up once more. */
function remember(res: Response, caller: Caller, again: () => Promise<Caller | undefined>): void {
  res.locals.caller = caller;
  res.locals.isStillIn = async () => isUnchanged(caller, await again());
}

/** Whether the caller behind a credential is still who it was, with the rights that it had. */
export function isUnchanged(
  { kind, id, accountId, scopes }: Caller,
  now: Caller | undefined,
): boolean {
  const isSame = now?.kind === kind && now.id === id && now.accountId === accountId;
  return isSame && [...scopes].every((scope) => now.scopes.has(scope));
}

/** Counts a call; an agent that nobody answers for has fewer. */
function countCall(limits: Limits, { kind, id, accountId }: Caller): Promise<Remaining> {
  const isStranger = kind === "agent" && accountId === undefined;
  return limits.count(isStranger ? "calls-anonymous" : "calls", `${kind}:${id}`);
}
