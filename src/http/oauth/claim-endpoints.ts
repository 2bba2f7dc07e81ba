import { type RequestHandler, Router } from "express";
import type { z } from "zod";
import { withCallerAddress } from "../../access/auditor.ts";
import { parseJson } from "../../lib/json.ts";
import { partyAt } from "../../limits/address-key.ts";
import { GuessGuard } from "../../limits/guess-guard.ts";
import type { Limits } from "../../limits/limits.ts";
import type { JsonAnswer } from "../../openapi/operation.ts";
import {
  claimAgent,
  claimOperations,
  MAX_CODE_CHARACTERS,
  MAX_ID_CHARACTERS,
  startClaim,
} from "../../openapi/operations/claims.ts";
import { agentClaimsKey, type ClaimService, claimLinks } from "../../principals/agents/claims.ts";
import { OAuthError } from "../errors.ts";
import { mountOperations } from "../mount.ts";
import { admitRequest } from "../rate-limits.ts";
import {
  type AgentClaimCaller,
  type ClaimAuthenticationOptions,
  createClaimAuthenticator,
  notEligibleError,
} from "./claim-authentication.ts";
import { toOAuthError } from "./oauth-errors.ts";
import { bodyBytes, createBodyParser } from "./oauth-request.ts";

/** Dependencies of the claim endpoints. */
interface ClaimRouterOptions extends ClaimAuthenticationOptions {
  readonly claims: ClaimService;
}

/** Maximum size of a body, in bytes. */
const MAX_BYTES = 4096;

/** What the bodies must be, for error messages. */
const BODIES = {
  claim_agent: `agent_id (at most ${MAX_ID_CHARACTERS} characters) and claim_code (at most ${MAX_CODE_CHARACTERS})`,
  start_claim: `agent_id (at most ${MAX_ID_CHARACTERS} characters) and, optionally, login_hint (an email address)`,
};

/** An operation of this router. */
type ClaimOperation = (typeof claimOperations)[number];

/** Value of `req.body` after authentication: the caller and the validated body. */
interface AuthenticatedRequest<O extends ClaimOperation> {
  readonly principal: AgentClaimCaller;
  readonly data: z.output<O["body"]["schema"]>;
}

/**
 * Creates the claim endpoints: POST /oauth/claim completes a claim, POST /oauth/claim/start gives
 * the agent a new code. Mount the router at the root and before any body parser. Protocol errors
 * have the body of RFC 6749 section 5.2.
 *
 * @throws {Problem} `method_not_allowed`, `unsupported_media_type`, `content_too_large`.
 */
export function claimRouter(options: ClaimRouterOptions): Router {
  const { claims, limits, baseUrl } = options;
  const authenticateClaim = createClaimAuthenticator(options);
  const router = Router();
  const read = (operation: ClaimOperation) => [
    noStore,
    ...createBodyParser("application/json", MAX_BYTES),
    authenticated(authenticateClaim, operation),
  ];
  const guard = new GuessGuard(limits);
  mountOperations(router, claimOperations, {
    claim_agent: [
      ...read(claimAgent),
      attemptLimits(limits, guard),
      complete(options, guard) as RequestHandler,
    ],
    start_claim: [
      ...read(startClaim),
      requireAgent,
      startLimits(limits),
      start(claims, baseUrl) as RequestHandler,
    ],
  });
  router.use(toOAuthError);
  return router;
}

const noStore: RequestHandler = (_req, res, next) => {
  res.set("cache-control", "no-store");
  next();
};

/**
 * Authenticates the caller before it validates the body, so that unauthenticated callers cannot
 * learn which bodies are valid.
 */
function authenticated(
  authenticateClaim: ReturnType<typeof createClaimAuthenticator>,
  { id, body }: ClaimOperation,
): RequestHandler {
  return async (req, _res, next) => {
    const principal = await authenticateClaim(req);
    const { data } = body.schema.safeParse(parseJson(bodyBytes(req).toString()));
    if (data === undefined) {
      const description = `The body must be a JSON object with the strings ${BODIES[id]}.`;
      throw new OAuthError("invalid_request", { status: 400, description });
    }
    checkEligible(principal, data.agent_id);
    req.body = { principal, data };
    next();
  };
}

/**
 * Checks that an agent acts only for itself, and does not complete its own claim with a token that
 * a person granted to it.
 */
function checkEligible(principal: AgentClaimCaller, agentId: string): void {
  if (principal.kind === "agent" && principal.agentId !== agentId) {
    throw notEligibleError("The token belongs to another agent.");
  }
  if (principal.kind === "person" && principal.through.clientId === agentId) {
    throw notEligibleError("The token was issued to the agent itself.");
  }
}

const requireAgent: RequestHandler = ({ body }, _res, next) => {
  if (body.principal.kind === "agent") return next();
  throw notEligibleError("Only the agent itself can get a claim code.");
};

/**
 * Limits claim attempts, by agent or person, so that wrong codes that others send from the same
 * address lock nobody out. A person's attempts count apart for each application, so that one
 * application cannot use up those of the others. An agent can try only its own code, which is no
 * guess. What the accounts of a network can guess together, `claims` bounds.
 */
function attemptLimits(limits: Limits, guard: GuessGuard): RequestHandler {
  return async ({ body: { principal }, ip }, res, next) => {
    const claimant = partyAt(ip, claimantKey(principal));
    if (principal.kind === "person") await guard.check(claimant);
    await admitRequest(limits, { res }, claimAgent.limit.name, claimant);
    next();
  };
}

const claimantKey = (principal: AgentClaimCaller): string =>
  principal.kind === "agent"
    ? agentClaimsKey(principal.agentId)
    : `${principal.accountId} ${principal.through.clientId}`;

/** Limits the number of new codes for an authenticated agent. */
function startLimits(limits: Limits): RequestHandler {
  return async ({ body, ip }, res, next) => {
    const caller = agentClaimsKey(body.data.agent_id);
    await admitRequest(limits, { res }, startClaim.limit.name, partyAt(ip, caller));
    next();
  };
}

function complete(
  { claims, baseUrl }: ClaimRouterOptions,
  guard: GuessGuard,
): RequestHandler<object, unknown, AuthenticatedRequest<typeof claimAgent>> {
  return async ({ body: { principal, data }, ip }, res) => {
    const claim = { agentId: data.agent_id, code: data.claim_code };
    const outcome = await withCallerAddress(ip, () =>
      principal.kind === "agent"
        ? claims.completeByAgent(claim)
        : claims.completeByPerson(claim, principal),
    );
    const isGuess = principal.kind === "person" && outcome.status === "invalid_claim_code";
    if (isGuess) await guard.record(partyAt(ip, claimantKey(principal)));
    res.json(claimedBody(outcome, { agentId: data.agent_id, claims, baseUrl }));
  };
}

/**
 * The response body for the outcome of a claim.
 *
 * @param agentId The agent that the caller specified.
 */
function claimedBody(
  outcome: Awaited<ReturnType<ClaimService["completeByPerson"]>>,
  {
    agentId,
    claims,
    baseUrl,
  }: Pick<ClaimRouterOptions, "claims" | "baseUrl"> & {
    readonly agentId: string;
  },
): JsonAnswer<typeof claimAgent> {
  const { page, start_url } = claimLinks(baseUrl, agentId);
  switch (outcome.status) {
    case "invalid_claim_code":
      throw new OAuthError(outcome.status, {
        status: 400,
        description: "The agent is unknown or claimed, or the code is wrong or has expired.",
        next: "The agent gets a new code at start_url, and shows it to the person for the page.",
        links: { page, start_url },
      });
    case "claim_not_confirmed":
      throw new OAuthError(outcome.status, {
        status: 409,
        description: "No person has confirmed the claim yet. An agent cannot claim itself.",
        next: `Show a person the page and the agent's own code, from the registration or a new one from start_url: they sign in and enter the code there, which completes the claim without another request here. Or POST start_url, let them open the verification_uri of its answer, and send here the code that they are shown there. ${claims.claimantsNote}`,
        links: { page, start_url },
      });
    case "claimed":
      return {
        agent_id: outcome.agentId,
        status: outcome.status,
        identity_type: outcome.identityType,
        subject: outcome.accountId,
        scope: outcome.scopes.join(" "),
        claimed_at: new Date(outcome.claimedAt).toISOString(),
        ...(outcome.through && { claimed_through: outcome.through.clientId }),
        ...(outcome.registrationToken && {
          registration_client_uri: `${baseUrl}/oauth/register/${outcome.agentId}`,
          registration_access_token: outcome.registrationToken,
        }),
      };
  }
}

function start(
  claims: ClaimService,
  baseUrl: string,
): RequestHandler<object, unknown, AuthenticatedRequest<typeof startClaim>> {
  return async ({ body: { data }, ip }, res) => {
    const { agent_id, login_hint } = data;
    const begun = await withCallerAddress(ip, () => claims.start(agent_id, login_hint));
    if (begun === undefined) {
      const description = `The agent is claimed, or lacks the grant client_credentials. A claimed agent continues with a new token from ${baseUrl}/oauth/token.`;
      throw new OAuthError("already_claimed", { status: 409, description });
    }
    const expires_at = new Date(begun.expiresAt).toISOString();
    const answer: JsonAnswer<typeof startClaim> = {
      agent_id,
      status: "pending_claim",
      claim: { code: begun.code, expires_at },
      verification_uri: `${baseUrl}/claim?attempt=${begun.attempt}`,
      who_can_claim: claims.claimantsNote,
      note: "This code ends the one before it.",
      expires_at,
    };
    res.json(answer);
  };
}
