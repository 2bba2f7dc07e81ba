import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { withCallerAddress } from "../../access/auditor.ts";
import type { Caller } from "../../access/caller.ts";
import type { Scope } from "../../access/scopes.ts";
import { Problem } from "../../lib/problem.ts";
import { partyAt } from "../../limits/address-key.ts";
import type { Limits } from "../../limits/limits.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import type { IssuedClaimCode } from "../../principals/agents/claim-records.ts";
import { agentClaimsKey, type ClaimService, claimLinks } from "../../principals/agents/claims.ts";
import type { Tool } from "../../tool/tool.ts";

/** Dependencies of `createClaimRequest`. */
export interface ClaimRequestOptions {
  readonly claims: Pick<ClaimService, "giveCode" | "claimantsNote" | "operatorsNote">;
  /**
   * Quotas: `claim-start` counts new codes, per agent and per network that contains the agent's
   * address.
   */
  readonly limits: Limits;
  /** Public origin without a trailing slash. */
  readonly baseUrl: string;
}

/** A tool call by an unclaimed agent that lacks a required scope. */
interface LackingCall {
  readonly tool: Pick<Tool, "name" | "scopes">;
  readonly caller: Caller;
  /** Network address of the agent. */
  readonly ip: string | undefined;
  readonly request: Pick<ServerContext["mcpReq"], "envelope" | "inputResponses">;
}

/** Answers a tool call of an agent that a person must claim first. */
export type RequestClaim = (call: LackingCall) => Promise<CallToolResult | InputRequiredResult>;

/** Key of the elicitation in `inputRequests`. */
const ELICITATION = "claim";

/**
 * Creates the function that answers a tool call of an agent that a person must claim first. It
 * answers with a tool result instead of a challenge (HTTP 403): a challenge would end in the
 * client, which cannot get the scopes by itself, but a tool result reaches the model, which can ask
 * the person. If the client can open a page for the person (MCP 2026-07-28, elicitation in URL
 * mode), it is asked to do so first. Clients of earlier revisions are not asked, because they
 * declare that capability once per session, and this endpoint has no sessions.
 *
 * @throws {Problem} `rate_limited` after too many codes; `unauthenticated` if the agent has been
 * claimed in the meantime; `store_unavailable`.
 */
export function createClaimRequest({ claims, limits, baseUrl }: ClaimRequestOptions): RequestClaim {
  const countNewCode = (agentId: string, ip: string | undefined): Promise<void> =>
    requireAdmission(limits, "claims", partyAt(ip, agentClaimsKey(agentId)));
  return async ({ tool, caller, ip, request }) => {
    const { id: agentId } = caller;
    const code = await withCallerAddress(ip, () =>
      claims.giveCode(agentId, () => countNewCode(agentId, ip)),
    );
    if (code === undefined) throw claimedMeanwhile(baseUrl);
    const { page } = claimLinks(baseUrl, agentId);
    const missing = tool.scopes.filter((scope) => !caller.scopes.has(scope));
    const { claimantsNote, operatorsNote } = claims;
    const invitation = { tool, missing, page, claimantsNote, operatorsNote, ...code };
    const response = inputResponse(request.inputResponses, ELICITATION);
    if (response.kind === "missing" && canOpenPages(request)) return elicitation(invitation);
    const isDeclined = response.kind === "elicit" && response.action !== "accept";
    return claimRequired(invitation, { isDeclined, baseUrl });
  };
}

/** The data with which a person is asked to claim an agent. */
interface Invitation extends IssuedClaimCode {
  /** The tool that was called. */
  readonly tool: LackingCall["tool"];
  readonly missing: readonly Scope[];
  /** URL of the claim page. */
  readonly page: string;
  readonly claimantsNote: string;
  readonly operatorsNote: string;
}

/** Whether the client declared that it can open a page for the person. */
const canOpenPages = ({ envelope }: LackingCall["request"]): boolean => {
  const { [CLIENT_CAPABILITIES_META_KEY]: declared }: DeclaredCapabilities = envelope ?? {};
  return declared?.elicitation?.url !== undefined;
};

/** The client capabilities in a request's metadata, which the SDK leaves untyped. */
interface DeclaredCapabilities {
  readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities;
}

/**
 * Asks the client to open the claim page. The URL does not contain the code: the person must type
 * it, so that nobody claims an agent merely by following a link.
 */
function elicitation({
  missing,
  page,
  claimantsNote,
  code,
  expiresAt,
}: Invitation): InputRequiredResult {
  const message = `An agent asks to act for you (${missing.join(" ")}). Sign in on this page and enter the code ${code}, valid until ${instant(expiresAt)}. There you choose what it may do. ${claimantsNote}`;
  const open = inputRequired.elicitUrl({ message, url: page });
  return inputRequired({ inputRequests: { [ELICITATION]: open } });
}

/** The tool result that tells the model how a person can claim the agent. */
function claimRequired(
  {
    tool: { name, scopes },
    missing,
    page,
    claimantsNote,
    operatorsNote,
    code,
    expiresAt,
  }: Invitation,
  { isDeclined, baseUrl }: { readonly isDeclined: boolean; readonly baseUrl: string },
): CallToolResult {
  const expires = instant(expiresAt);
  const problem = new Problem("claim_required", {
    detail: `${name} needs ${missing.join(" ")}, which an agent has once a person has claimed it. Nobody has claimed this one yet.`,
    next: `${isDeclined ? "The person did not open the claim page: ask them before you go on. " : ""}Say to the person: "To let me do this, open ${page}, sign in and enter the code ${code} (valid until ${expires}). There you choose what I may do. ${claimantsNote}" When they have done it, the same call works: call ${name} again with the same arguments. Called earlier, it repeats the code; call again for a new code once this one has expired. Only a client that manages its tokens itself needs a new one, since the claim ends the earlier: POST ${baseUrl}/oauth/token with the same client_id and client_secret and without scope.${operatorsNote && ` To the operator: ${operatorsNote}`}`,
  });
  const { detail, next } = problem;
  const claim = { page, code, expiresAt: expires, scope: scopes.join(" ") };
  return {
    isError: true,
    structuredContent: { code: problem.code, detail, next, claim },
    content: [{ type: "text", text: problem.message }],
  };
}

const instant = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

const claimedMeanwhile = (baseUrl: string) =>
  new Problem("unauthenticated", {
    detail: "The agent was claimed meanwhile, which ended this token.",
    next: `Get a token at ${baseUrl}/oauth/token and call again.`,
  });
