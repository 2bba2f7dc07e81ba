import type { Auditor } from "../../access/auditor.ts";
import type { Scope } from "../../access/scopes.ts";
import type { Outbox } from "../../mail/outbox.ts";
import type { Records, Stored } from "../../store/port/records.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import { type AccountRecord, accounts } from "../accounts/accounts.ts";
import { scopesOfGrant } from "../accounts/grants.ts";
import {
  type ClientRecord,
  type IdentityType,
  isAudited,
  type Ownership,
  registrationAuditDetail,
  unclaimedScopes,
} from "./agent.ts";
import { isValidClaimCode, type PresentedClaimCode } from "./claim-code.ts";
import {
  type Claimer,
  type ClaimRecord,
  type ClaimState,
  claimStateOf,
  countFailedAttempt,
  mayClaimAgent,
  type OpenClaim,
  openClaimOf,
  restoreClaim,
} from "./claim-records.ts";
import {
  type ClaimingAccess,
  evictClaimedAgents,
  notifyOwner,
  ownershipAfterClaim,
  readClaimingAccess,
  transferOwnership,
} from "./ownership-transfer.ts";
import { newRegistrationToken } from "./registration-access-token.ts";

/** Outcome for an agent that was claimed. */
interface ClaimedOutcome extends Ownership {
  readonly status: "claimed";
  readonly agentId: string;
  readonly identityType: IdentityType;
  /**
   * The new registration access token (RFC 7592), returned once to the party that completed the
   * claim over the API. It replaces the previous token.
   */
  readonly registrationToken?: string;
}

/** Outcome of an attempt to complete a claim. */
export type ClaimOutcome =
  | ClaimedOutcome
  /**
   * The agent is unknown or belongs to another person, the code is wrong or expired or has no
   * attempts left, the agent gave the email address of another person, or the application's access
   * has ended.
   */
  | { readonly status: "invalid_claim_code" }
  /** No person has approved the claim yet. Only the agent itself gets this outcome. */
  | { readonly status: "claim_not_confirmed" };

/** Dependencies of the functions that complete a claim. */
export interface ClaimCompletionDependencies {
  readonly records: Records;
  readonly audit: Auditor;
  readonly now: () => Date;
  /** Outbox for the notices to owners of new agents; `undefined` when no email is sent. */
  readonly mailbox: Outbox | undefined;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  /** The scopes of an agent without an owner. */
  readonly anonymousScopes: readonly Scope[];
}

/** The claim that a correct code belongs to, and the account of the person who may complete it. */
interface Match extends OpenClaim {
  readonly account: Stored<AccountRecord>;
}

/** Result of looking up a code that a person entered. */
interface ClaimCodeLookup {
  readonly state: ClaimState;
  /**
   * The claim that has this code; `undefined` when the code is wrong, or this person may not
   * complete the claim.
   */
  readonly match: Match | undefined;
}

/**
 * Finds the claim of a code that a person entered. Does the same reads and hashing in every case,
 * so that the response time reveals nothing.
 */
export async function findClaimByCode(
  tx: Transaction,
  presented: PresentedClaimCode,
  accountId: string,
): Promise<ClaimCodeLookup> {
  const [state, account] = await Promise.all([
    claimStateOf(tx, presented.agentId),
    tx.get(accounts, accountId),
  ]);
  const isRight = isValidClaimCode(state.claim?.value.codes.given, presented);
  const open = openClaimOf(state);
  const isMatch = isRight && open !== undefined && mayClaimAgent(account?.value, open);
  const match = isMatch && account !== undefined ? { ...open, account } : undefined;
  return { state, match };
}

/**
 * Records a rejected attempt. An attempt by a person writes an audit row even if the
 * agent is unknown, so that the response time reveals nothing. Attempts by the agent itself are
 * audited only if its actions are audited (`isAudited`).
 */
export function recordRejectedAttempt(
  tx: Transaction,
  { audit }: ClaimCompletionDependencies,
  { state, which, agentId, actor }: RejectedAttempt,
): void {
  const agent = state.client?.value.agent;
  const isOwn = agent !== undefined && actor === agentId;
  countFailedAttempt(tx, state, which);
  if (!isOwn || isAudited(agent)) {
    audit(tx, { action: "claim.refused", actor, target: agentId });
  }
}

interface RejectedAttempt {
  readonly state: ClaimState;
  readonly which: keyof ClaimRecord["codes"];
  readonly agentId: string;
  /** Id of the account or agent that sent the code. */
  readonly actor: string;
}

/**
 * Completes a claim on behalf of a person or their application, with the code that the agent
 * received. For a person who already owns the agent, the call succeeds even with a wrong code.
 */
export function completeClaimByPerson(
  context: ClaimCompletionDependencies,
  presented: PresentedClaimCode,
  claimer: Claimer,
): Promise<ClaimOutcome> {
  const { accountId: actor, through } = claimer;
  const { agentId } = presented;
  const now = context.now();
  return transact(context.records, async (tx) => {
    const [{ state, match }, access] = await Promise.all([
      findClaimByCode(tx, presented, actor),
      through && readClaimingAccess(tx, through),
    ]);
    const owner = state.client?.value.agent.owner;
    if (state.client !== undefined && owner?.accountId === actor) {
      return claimedOutcome(state.client, owner);
    }
    if (match !== undefined && (through === undefined || access !== undefined)) {
      const registrationToken = through && newRegistrationToken();
      return complete(tx, context, match, { claimer, access, registrationToken, now });
    }
    recordRejectedAttempt(tx, context, { state, which: "given", agentId, actor });
    return { status: "invalid_claim_code" };
  });
}

/** Completes a claim on behalf of the agent, with the code that a person was shown. */
export function completeClaimByAgent(
  context: ClaimCompletionDependencies,
  presented: PresentedClaimCode,
): Promise<ClaimOutcome> {
  const { agentId } = presented;
  const now = context.now();
  return transact(context.records, async (tx) => {
    const state = await claimStateOf(tx, agentId);
    const { codes, confirmed } = state.claim?.value ?? {};
    const open = openClaimOf(state);
    if (open !== undefined && confirmed === undefined) return { status: "claim_not_confirmed" };
    if (confirmed !== undefined && isValidClaimCode(codes?.shown, presented)) {
      const outcome = await completeConfirmed(tx, context, state, { claimer: confirmed, now });
      if (outcome !== undefined) return outcome;
    }
    recordRejectedAttempt(tx, context, { state, which: "shown", agentId, actor: agentId });
    return { status: "invalid_claim_code" };
  });
}

/**
 * Completes a claim with a correct code, or gives the same answer again if the agent missed the
 * first response.
 */
async function completeConfirmed(
  tx: Transaction,
  context: ClaimCompletionDependencies,
  state: ClaimState,
  { claimer, now }: Pick<CompletionInput, "claimer" | "now">,
): Promise<ClaimOutcome | undefined> {
  const owner = state.client?.value.agent.owner;
  if (state.client !== undefined && owner?.accountId === claimer.accountId) {
    return claimedOutcome(state.client, owner);
  }
  const account = await tx.get(accounts, claimer.accountId);
  const open = openClaimOf(state);
  if (account === undefined || open === undefined) return undefined;
  const input = { claimer, access: undefined, registrationToken: newRegistrationToken(), now };
  const outcome = await complete(tx, context, { ...open, account }, input);
  restoreClaim(tx, open.claim);
  return outcome;
}

/** Input of `complete`. */
interface CompletionInput {
  readonly claimer: Claimer;
  readonly access: ClaimingAccess | undefined;
  /**
   * The new registration access token, or `undefined` for none. RFC 7592 does not say who manages a
   * registration. Here, the party that completes the claim over the API manages it: the agent
   * itself, or the person's application. A person on the page gets no token and manages the agent
   * on the account page.
   */
  readonly registrationToken: string | undefined;
  readonly now: Date;
}

async function complete(
  tx: Transaction,
  { audit, mailbox, baseUrl, anonymousScopes }: ClaimCompletionDependencies,
  match: Match,
  { claimer, access, registrationToken, now }: CompletionInput,
): Promise<ClaimOutcome> {
  const { client, account } = match;
  const agentId = client.key;
  await evictClaimedAgents(tx, { accountId: account.key, grantId: access?.grant.key });
  const given = { ...claimer, scopes: claimedScopes(claimer, access) };
  const owner = ownershipAfterClaim(given, unclaimedScopes(client.value, anonymousScopes), now);
  transferOwnership(tx, match, { owner, access, registrationToken });
  audit(tx, {
    action: "client.claimed",
    actor: account.key,
    target: agentId,
    detail: registrationAuditDetail(client.value.agent),
  });
  notifyOwner(tx, { mailbox, baseUrl }, { email: account.value.email, agentId, owner });
  const outcome = claimedOutcome(client, owner);
  return registrationToken === undefined ? outcome : { ...outcome, registrationToken };
}

/**
 * The scopes that a claim adds. An application adds only the scopes that the person still allows,
 * since the person may have removed some after the application's token was authenticated.
 */
function claimedScopes({ scopes }: Claimer, access: ClaimingAccess | undefined): readonly Scope[] {
  if (access === undefined) return scopes;
  const allowed = scopesOfGrant(access.grant.value);
  return scopes.filter((name) => allowed.includes(name));
}

function claimedOutcome({ key, value }: Stored<ClientRecord>, owner: Ownership): ClaimedOutcome {
  return { status: "claimed", agentId: key, identityType: value.agent.identityType, ...owner };
}
