import type { Request, RequestHandler, Response } from "express";
import { type Authenticate, type Caller, mayUse } from "../auth/bearer.ts";
import type { Scope } from "../auth/scopes.ts";
import { Problem } from "../problem.ts";
import { queryOf } from "./query.ts";

/** What the gate needs to know about the service. */
export interface GateOptions {
  readonly authenticate: Authenticate;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  /** What an agent can get by itself, and so is told to ask for (RFC 6750 section 3). */
  readonly anonymousScopes: readonly Scope[];
}

/** One of the two resources: "" is the base address, "/mcp" the MCP endpoint. */
export type ResourcePath = "" | "/mcp";

/** Credentials of RFC 6750 section 2.1. */
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** Guards one of the two resources and says why it refused. */
export interface Gate {
  /** Lets only requests with a valid token for the resource pass; `callerOf` then finds them. */
  readonly enter: RequestHandler;
  /**
   * @throws {Problem} `insufficient_scope` with a challenge that names every scope needed.
   */
  requireScopes(caller: Caller, needed: readonly Scope[]): void;
}

/** Creates the gate of one resource. */
export function createGate(options: GateOptions, path: ResourcePath): Gate {
  const { authenticate, baseUrl, anonymousScopes } = options;
  const metadataUrl = `${baseUrl}/.well-known/oauth-protected-resource${path}`;
  const refuse = (detail: string, error?: "invalid_token") =>
    new Problem("unauthenticated", {
      detail,
      next: `Register at ${baseUrl}/oauth/register, then get a token at ${baseUrl}/oauth/token.`,
      headers: {
        "WWW-Authenticate": challenge({
          ...(error && { error, error_description: detail }),
          ...(anonymousScopes.length > 0 && { scope: anonymousScopes.join(" ") }),
          resource_metadata: metadataUrl,
        }),
      },
    });

  return {
    async enter(req, res, next) {
      const caller = await callerBy(bearerToken(req, refuse));
      res.locals.caller = caller;
      next();
    },
    requireScopes(caller, needed) {
      const missing = needed.filter((scope) => !caller.scopes.has(scope));
      if (missing.length === 0) return;
      const detail = `This operation needs the scope ${missing.join(" ")}.`;
      throw new Problem("insufficient_scope", {
        detail,
        next: `Get a token with it at ${baseUrl}/oauth/token.`,
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

  async function callerBy(token: string): Promise<Caller> {
    const caller = await authenticate(token);
    if (caller === undefined) {
      throw refuse("The token is unknown, expired or revoked.", "invalid_token");
    }
    if (!mayUse(caller, `${baseUrl}${path}`)) {
      throw refuse(`The token was issued for ${caller.resource}.`, "invalid_token");
    }
    return caller;
  }
}

/** The caller that the gate let in. */
export const callerOf = (res: Response): Caller => res.locals.caller;

function bearerToken(req: Request, refuse: (detail: string) => Problem): string {
  if (queryOf(req).has("access_token")) {
    throw refuse("A token in the address is refused: it would end up in logs. Use the header.");
  }
  const [authorization, ...others] = req.headersDistinct.authorization ?? [];
  if (others.length > 0) {
    throw new Problem("invalid_request", {
      detail: "The header Authorization stands there more than once.",
      next: "Send one credential.",
    });
  }
  if (authorization === undefined) throw refuse("The header Authorization is missing.");
  const [, token] = BEARER.exec(authorization) ?? [];
  if (token === undefined) throw refuse('The header must read "Authorization: Bearer <token>".');
  return token;
}

/** A WWW-Authenticate value (RFC 6750 section 3); no parameter holds quotes or backslashes. */
function challenge(parameters: Readonly<Record<string, string>>): string {
  const list = Object.entries(parameters).map(([name, value]) => `${name}="${value}"`);
  return `Bearer ${list.join(", ")}`;
}
