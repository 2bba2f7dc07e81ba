import type { Auditor } from "../../access/auditor.ts";
import { allScopes, type Scope } from "../../access/scopes.ts";
import type { SignUpMode } from "../../access/sign-up-mode.ts";
import type { Outbox } from "../../mail/outbox.ts";
import { replace, requireUnchanged } from "../../store/port/operations.ts";
import type { Operation, Records, Stored } from "../../store/port/records.ts";
import { writesOf } from "../../store/transact.ts";
import { accounts } from "../accounts/accounts.ts";
import { claimantsNote, operatorsNote } from "../accounts/sign-up.ts";
import { type ClientRecord, clients, isAudited, unclaimedScopes } from "./agent.ts";
import { newClaimCode, type PresentedClaimCode } from "./claim-code.ts";
import {
  agentClaims,
  type Claimer,
  type ClaimRecord,
  type ClaimStart,
  type ClaimState,
  claimConfirmationOperation,
  claimStateOf,
  claimStateOfAttempt,
  createClaim,
  type IssuedClaimCode,
  isUnclaimed,
  mayClaimAgent,
  openClaimOf,
  usableClaimCodeOf,
} from "./claim-records.ts";
import {
  type ClaimCompletionDependencies,
  type ClaimOutcome,
  commitClaimDecision,
  completeClaimByAgent,
  completeClaimByPerson,
  findClaimByCode,
  rejectedAttemptOperations,
} from "./complete-claim.ts";

/**
 * The URLs for claiming an agent: the claim endpoint, the endpoint for a new code, and the page
 * where a person enters the code.
 *
 * @param baseUrl Public origin, without a trailing slash.
 */
export const claimLinks = (baseUrl: string, agentId: string) => ({
  url: `${baseUrl}/oauth/claim`,
  start_url: `${baseUrl}/oauth/claim/start`,
  page: `${baseUrl}/claim?agent=${encodeURIComponent(agentId)}`,
});

/** An agent as shown on the claim page. The name is untrusted. */
export interface ClaimableAgent {
  readonly agentId: string;
  readonly name: string | undefined;
  readonly registeredAt: number;
  /** Scopes of the agent before the claim. */
  readonly scopesNow: readonly Scope[];
  /** Scopes that the agent can have after the claim. */
  readonly scopesAfter: readonly Scope[];
}

/** Dependencies of `ClaimService`. */
interface ClaimServiceOptions {
  readonly records: Records;
  readonly audit: Auditor;
  readonly now: () => Date;
  /** Outbox for the notices to owners of new agents; absent when no email is sent. */
  readonly mailbox?: Outbox;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  /** The scopes of an agent without an owner. */
  readonly anonymousScopes: readonly Scope[];
  /** Who can create an account. */
  readonly signUp: SignUpMode;
  /** Secret from which codes are derived, 32 bytes; the same in every process. */
  readonly codeKey: Uint8Array;
}

/**
 * The claim ceremony in both directions: the person enters the code that the agent received, or the
 * agent sends the code that the person was shown. A claim is one commit, so a code creates at most
 * one owner, and five wrong attempts invalidate a code even when they are concurrent.
 *
 * @throws {Problem} Every method: `store_unavailable` when the store is unavailable.
 */
export class ClaimService {
  readonly #context: ClaimCompletionDependencies;
  readonly #codeKey: Uint8Array;
  /** `claimantsNote` of this instance. */
  readonly claimantsNote: string;
  /** `operatorsNote` of this instance. */
  readonly operatorsNote: string;

  constructor({ codeKey, signUp, ...context }: ClaimServiceOptions) {
    this.#context = { mailbox: undefined, ...context };
    this.claimantsNote = claimantsNote(signUp, context.baseUrl);
    this.operatorsNote = operatorsNote(signUp);
    this.#codeKey = codeKey;
  }

  /**
   * The start of an agent's first claim, and the operations that store it in the commit that
   * registers the agent.
   */
  initialClaim(agentId: string): {
    readonly start: ClaimStart;
    readonly steps: readonly Operation[];
  } {
    return createClaim(agentId, this.#codeSource());
  }

  /**
   * Starts a new claim.
   * @returns `undefined` when the agent was deleted, is already claimed, or is not claimable.
   */
  start(agentId: string, loginHint?: string): Promise<ClaimStart | undefined> {
    return commitClaimDecision(this.#context.records, async () =>
      this.#started(await claimStateOf(this.#context.records, agentId), loginHint),
    );
  }

  /**
   * Returns the agent's latest code: an agent that asks again must not invalidate a code that a
   * person is about to enter. If nobody can use that code anymore, starts a new claim and returns
   * its code.
   *
   * @param admit Called before a new claim is started. If it throws, no claim is started and
   * `giveCode` throws the same error.
   * @returns `undefined` in the same cases as `start`.
   */
  giveCode(agentId: string, admit: () => Promise<void>): Promise<IssuedClaimCode | undefined> {
    return commitClaimDecision(this.#context.records, async () => {
      const state = await claimStateOf(this.#context.records, agentId);
      const answer = openClaimOf(state) && usableClaimCodeOf(state.claim, this.#codeSource());
      if (answer !== undefined) return { answer, steps: [] };
      await admit();
      return this.#started(state, state.claim?.value.loginHint);
    });
  }

  /** The new claim, and the operations that replace the previous claim with the new claim. */
  #started({ client, claim: previous }: ClaimState, loginHint?: string) {
    if (client === undefined || !isUnclaimed(client)) return { answer: undefined, steps: [] };
    const { key: agentId } = client;
    const { start, steps } = createClaim(agentId, { ...this.#codeSource(), loginHint, previous });
    const entry = { action: "claim.started", actor: agentId, target: agentId };
    const recorded = isAudited(client.value.agent) ? writesOf(this.#context.audit, entry) : [];
    return { answer: start, steps: [requireUnchanged(clients, client), ...steps, ...recorded] };
  }

  #codeSource() {
    return { codeKey: this.#codeKey, now: this.#context.now() };
  }

  /**
   * Completes a claim on behalf of a person or their application, with the code that the agent
   * received.
   */
  completeByPerson(presented: PresentedClaimCode, claimer: Claimer): Promise<ClaimOutcome> {
    return completeClaimByPerson(this.#context, presented, claimer);
  }

  /**
   * Completes a claim on behalf of the agent, with the code that a person was shown on the page.
   */
  completeByAgent(presented: PresentedClaimCode): Promise<ClaimOutcome> {
    return completeClaimByAgent(this.#context, presented);
  }

  /**
   * Finds the agent that a code belongs to, so that the person can review the agent before
   * confirming. Only a wrong code counts as an attempt.
   */
  preview(presented: PresentedClaimCode, accountId: string): Promise<ClaimableAgent | undefined> {
    const { agentId } = presented;
    return commitClaimDecision(this.#context.records, async () => {
      const { state, match } = await findClaimByCode(this.#context, presented, accountId);
      if (match !== undefined) {
        const steps = previewSteps(this.#context, match.claim, accountId);
        return { answer: this.#claimable(match.client), steps };
      }
      const refused = { state, which: "given", agentId, actor: accountId } as const;
      return { answer: undefined, steps: rejectedAttemptOperations(this.#context, refused) };
    });
  }

  /**
   * Finds the agent behind the URL of the claim page; returns `wrong_account` if the agent gave the
   * email address of another person.
   */
  async findByAttempt(
    attempt: string,
    accountId: string,
  ): Promise<ClaimableAgent | "wrong_account" | undefined> {
    const { records } = this.#context;
    const open = openClaimOf(await claimStateOfAttempt(records, attempt));
    if (open === undefined) return undefined;
    const account = await records.get(accounts, accountId);
    return mayClaimAgent(account?.value, open) ? this.#claimable(open.client) : "wrong_account";
  }

  /**
   * Stores the person's approval.
   * @returns The code for the agent, or `undefined` when the claim is no longer open.
   */
  confirm(attempt: string, claimer: Claimer): Promise<{ readonly code: string } | undefined> {
    const { records, audit } = this.#context;
    const { accountId: actor } = claimer;
    return commitClaimDecision(records, async () => {
      const open = openClaimOf(await claimStateOfAttempt(records, attempt));
      const account = await records.get(accounts, actor);
      if (open === undefined || account === undefined || !mayClaimAgent(account.value, open)) {
        return { answer: undefined, steps: [] };
      }
      const code = newClaimCode();
      const entry = { action: "claim.confirmed", actor, target: open.client.key };
      const confirmed = claimConfirmationOperation(open.claim, { code, claimer });
      return {
        answer: { code },
        steps: [requireUnchanged(accounts, account), confirmed, ...writesOf(audit, entry)],
      };
    });
  }

  #claimable({ key, value }: Stored<ClientRecord>): ClaimableAgent {
    return {
      agentId: key,
      name: value.metadata.client_name,
      registeredAt: value.agent.registeredAt,
      scopesNow: unclaimedScopes(value, this.#context.anonymousScopes),
      scopesAfter: allScopes,
    };
  }
}

/**
 * The operations of a preview with the correct code. They write as much as the operations of a
 * wrong code, so that a correct guess does not get a faster response than concurrent wrong guesses.
 */
function previewSteps(
  { audit }: ClaimCompletionDependencies,
  claim: Stored<ClaimRecord>,
  actor: string,
): readonly Operation[] {
  const entry = { action: "claim.previewed", actor, target: claim.key };
  return [replace(agentClaims, claim, { value: claim.value }), ...writesOf(audit, entry)];
}
