import type { Auditor } from "../../access/auditor.ts";
import type { Scope } from "../../access/scopes.ts";
import type { Outbox } from "../../mail/outbox.ts";
import { incrementVersion, readVersion } from "../../store/optimistic-lock.ts";
import { requireUnchanged } from "../../store/port/operations.ts";
import type { Operation, Records, Stored } from "../../store/port/records.ts";
import { writesOf } from "../../store/transact.ts";
import { type AccountRecord, accounts } from "../accounts/accounts.ts";
import { scopesOfGrant } from "../accounts/grants.ts";
import {
  accountRecordsGroup,
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
  claimRestorationOperation,
  claimStateOf,
  failedAttemptOperations,
  mayClaimAgent,
  type OpenClaim,
  openClaimOf,
} from "./claim-records.ts";
import {
  type ClaimingAccess,
  claimCompletionOperations,
  claimedAgentEvictionOperations,
  claimNoticeOperations,
  ownershipAfterClaim,
  readClaimingAccess,
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

/** An answer, and the operations that must be committed with it. */
interface Decision<T> {
  readonly answer: T;
  readonly steps: readonly Operation[];
}

/** The claim that a correct code belongs to, and the account of the person who may complete it. */
interface Match extends OpenClaim {
  readonly account: Stored<AccountRecord>;
}

/** Result of looking up a code that a person entered. */
export interface ClaimCodeLookup {
  readonly state: ClaimState;
  /**
   * The claim that has this code; `undefined` when the code is wrong, or this person may not
   * complete the claim.
   */
  readonly match: Match | undefined;
}

/** Repeats a decision until its commit no longer conflicts with a concurrent change. */
export async function commitClaimDecision<T>(
  records: Records,
  decide: () => Promise<Decision<T>>,
): Promise<T> {
  for (;;) {
    const { answer, steps } = await decide();
    if (await records.commit(steps)) return answer;
  }
}

/**
 * Finds the claim of a code that a person entered. Does the same reads and hashing in every case,
 * so that the response time reveals nothing.
 */
export async function findClaimByCode(
  { records }: ClaimCompletionDependencies,
  presented: PresentedClaimCode,
  accountId: string,
): Promise<ClaimCodeLookup> {
  const [state, account] = await Promise.all([
    claimStateOf(records, presented.agentId),
    records.get(accounts, accountId),
  ]);
  const isRight = isValidClaimCode(state.claim?.value.codes.given, presented);
  const open = openClaimOf(state);
  const isMatch = isRight && open !== undefined && mayClaimAgent(account?.value, open);
  const match = isMatch && account !== undefined ? { ...open, account } : undefined;
  return { state, match };
}

/**
 * The operations of a rejected attempt. An attempt by a person writes an audit row even if the
 * agent is unknown, so that the response time reveals nothing. Attempts by the agent itself are
 * audited only if its actions are audited (`isAudited`).
 */
export function rejectedAttemptOperations(
  { audit }: ClaimCompletionDependencies,
  { state, which, agentId, actor }: RejectedAttempt,
): readonly Operation[] {
  const entry = { action: "claim.refused", actor, target: agentId };
  const agent = state.client?.value.agent;
  const isOwn = agent !== undefined && actor === agentId;
  return [
    ...failedAttemptOperations(state, which),
    ...(isOwn && !isAudited(agent) ? [] : writesOf(audit, entry)),
  ];
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
  return commitClaimDecision(context.records, async () => {
    const [{ state, match }, access] = await Promise.all([
      findClaimByCode(context, presented, actor),
      through && readClaimingAccess(context.records, through),
    ]);
    const owner = state.client?.value.agent.owner;
    if (state.client !== undefined && owner?.accountId === actor) {
      return { answer: claimedOutcome(state.client, owner), steps: [] };
    }
    if (match !== undefined && (through === undefined || access !== undefined)) {
      const registrationToken = through && newRegistrationToken();
      return completion(context, match, { claimer, access, registrationToken });
    }
    const { agentId } = presented;
    const steps = rejectedAttemptOperations(context, { state, which: "given", agentId, actor });
    return { answer: { status: "invalid_claim_code" }, steps };
  });
}

/** Completes a claim on behalf of the agent, with the code that a person was shown. */
export function completeClaimByAgent(
  context: ClaimCompletionDependencies,
  presented: PresentedClaimCode,
): Promise<ClaimOutcome> {
  const { agentId } = presented;
  return commitClaimDecision(context.records, async () => {
    const state = await claimStateOf(context.records, agentId);
    const { codes, confirmed } = state.claim?.value ?? {};
    const open = openClaimOf(state);
    if (open !== undefined && confirmed === undefined) {
      return { answer: { status: "claim_not_confirmed" }, steps: [] };
    }
    if (confirmed !== undefined && isValidClaimCode(codes?.shown, presented)) {
      const decision = await confirmedCompletion(context, state, confirmed);
      if (decision !== undefined) return decision;
    }
    const steps = rejectedAttemptOperations(context, {
      state,
      which: "shown",
      agentId,
      actor: agentId,
    });
    return { answer: { status: "invalid_claim_code" }, steps };
  });
}

/**
 * The decision on a correct code: the completed claim, or the same answer again if the agent missed
 * the first response.
 */
async function confirmedCompletion(
  context: ClaimCompletionDependencies,
  state: ClaimState,
  confirmed: Claimer,
): Promise<Decision<ClaimOutcome> | undefined> {
  const owner = state.client?.value.agent.owner;
  if (state.client !== undefined && owner?.accountId === confirmed.accountId) {
    return { answer: claimedOutcome(state.client, owner), steps: [] };
  }
  const account = await context.records.get(accounts, confirmed.accountId);
  const open = openClaimOf(state);
  if (account === undefined || open === undefined) return undefined;
  const { answer, steps } = await completion(
    context,
    { ...open, account },
    { claimer: confirmed, access: undefined, registrationToken: newRegistrationToken() },
  );
  return { answer, steps: [...steps, claimRestorationOperation(open.claim)] };
}

/** Input of `completion`. */
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
}

async function completion(
  { records, audit, now, mailbox, baseUrl, anonymousScopes }: ClaimCompletionDependencies,
  match: Match,
  { claimer, access, registrationToken }: CompletionInput,
): Promise<Decision<ClaimOutcome>> {
  const { client, account } = match;
  const accountId = account.key;
  const lock = { key: `claimed-agents ${accountId}`, groups: [accountRecordsGroup(accountId)] };
  const version = await readVersion(records, lock);
  const room = await claimedAgentEvictionOperations(records, {
    accountId,
    grantId: access?.grant.key,
  });
  const agentId = client.key;
  const given = { ...claimer, scopes: claimedScopes(claimer, access) };
  const owner = ownershipAfterClaim(given, unclaimedScopes(client.value, anonymousScopes), now());
  const outcome = claimedOutcome(client, owner);
  return {
    answer: registrationToken === undefined ? outcome : { ...outcome, registrationToken },
    steps: [
      requireUnchanged(accounts, account),
      incrementVersion(lock, version),
      ...room,
      ...claimCompletionOperations(match, { owner, access, registrationToken }),
      ...writesOf(audit, {
        action: "client.claimed",
        actor: account.key,
        target: agentId,
        detail: registrationAuditDetail(client.value.agent),
      }),
      ...claimNoticeOperations(
        { mailbox, baseUrl },
        { email: account.value.email, agentId, owner },
      ),
    ],
  };
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
