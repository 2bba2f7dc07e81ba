import type { RequestHandler, Response } from "express";
import { mayUse } from "../auth/authenticator.ts";
import type { Authenticate, Caller } from "../auth/caller.ts";
import type { Scope } from "../auth/scopes.ts";
import { addressKey } from "../limits/address-key.ts";
import type { Limits, QuotaName } from "../limits/limits.ts";
import { refusalOf } from "../limits/refusal.ts";
import { Problem } from "../problem.ts";
import { type Credential, challenge, credentialOf, type Refuse } from "./credential.ts";
import { limitBy } from "./limited.ts";

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

/** RFC 6750 section 3.1, for a credential that was looked at. */
const INVALID = "invalid_token";

/** Guards one of the two resources and says why it refused. */
export interface Gate {
  /** Lets only requests with a valid credential for the resource pass, and no caller too often;
   *  `callerOf` then finds them. */
  readonly enter: RequestHandler;
  /**
   * @throws {Problem} `insufficient_scope` with a challenge that names every scope needed.
   */
  requireScopes(caller: Caller, needed: readonly Scope[]): void;
}

/** What somebody without a credential does next. */
const wayIn = ({ anonymousScopes, baseUrl }: GateOptions): string =>
  anonymousScopes.length > 0
    ? `Register at ${baseUrl}/oauth/register, then get a token at ${baseUrl}/oauth/token.`
    : `Agents need a person here: ${baseUrl}/auth.md says what to do.`;

/** Creates the gate of one resource. */
export function createGate(options: GateOptions, path: ResourcePath): Gate {
  const { authenticate, baseUrl, anonymousScopes, limits } = options;
  const metadataUrl = `${baseUrl}/.well-known/oauth-protected-resource${path}`;
  const refuse: Refuse = (detail, error) =>
    new Problem("unauthenticated", {
      detail,
      next: wayIn(options),
      headers: {
        "WWW-Authenticate": challenge({
          ...(error && { error, error_description: detail }),
          ...(anonymousScopes.length > 0 && { scope: anonymousScopes.join(" ") }),
          resource_metadata: metadataUrl,
        }),
      },
    });

  const limit = limitCalls(limits);
  return {
    async enter(req, res, next) {
      const credential = credentialOf(req, { refuse, several });
      remember(res, await callerBy(credential, req.ip), () => authenticate(credential.text));
      await limit(req, res, next);
    },
    requireScopes(caller, needed) {
      const missing = needed.filter((scope) => !caller.scopes.has(scope));
      if (missing.length === 0) return;
      const detail = `This operation needs the scope ${missing.join(" ")}.`;
      throw new Problem("insufficient_scope", {
        detail,
        next: `Get a token with it at ${baseUrl}/oauth/token; ${baseUrl}/auth.md says how.`,
        headers: {
          "WWW-Authenticate": challenge({
            error: "insufficient_scope",
            error_description: detail,
            scope: needed.join(" "),
            resource_metadata: metadataUrl,
          }),
        },
      });
    },
  };

  async function callerBy({ way, text }: Credential, ip: string | undefined): Promise<Caller> {
    const caller = await authenticate(text);
    if (caller === undefined || (way === "key" && caller.kind !== "service")) {
      const failures = await limits.count("credential-address", addressKey(ip));
      throw (
        refusalOf([failures]) ?? refuse("The credential is unknown, expired or revoked.", INVALID)
      );
    }
    if (!mayUse(caller, `${baseUrl}${path}`)) {
      throw refuse(`The token was issued for ${caller.resource}.`, INVALID);
    }
    return caller;
  }
}

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
function isUnchanged({ kind, id, accountId, scopes }: Caller, now: Caller | undefined): boolean {
  const isSame = now?.kind === kind && now.id === id && now.accountId === accountId;
  return isSame && [...scopes].every((scope) => now.scopes.has(scope));
}

/** Limits the calls of each caller; an agent that nobody answers for has fewer. */
function limitCalls(limits: Limits): RequestHandler {
  const limit = (quota: QuotaName) =>
    limitBy(limits, quota, ({ res }) => callerKey(res as Response));
  const [known, anonymous] = [limit("calls"), limit("calls-anonymous")];
  return (req, res, next) => {
    const { kind, accountId } = callerOf(res);
    return (kind === "agent" && accountId === undefined ? anonymous : known)(req, res, next);
  };
}

function callerKey(res: Response): string {
  const { kind, id } = callerOf(res);
  return `${kind}:${id}`;
}
