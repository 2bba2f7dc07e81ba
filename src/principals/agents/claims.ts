import type { Auditor } from "../../access/auditor.ts";
import { allScopes, type Scope } from "../../access/scopes.ts";
import type { SignUpMode } from "../../access/sign-up-mode.ts";
import type { Outbox } from "../../mail/outbox.ts";
import type { Records, Stored } from "../../store/port/records.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import { accounts } from "../accounts/accounts.ts";
import { claimantsNote, operatorsNote } from "../accounts/sign-up.ts";
import { type ClientRecord, isAudited, unclaimedScopes } from "./agent.ts";
import { newClaimCode, type PresentedClaimCode } from "./claim-code.ts";
import {
  agentClaims,
  type Claimer,
  type ClaimRecord,
  type ClaimStart,
  type ClaimState,
  claimStateOf,
  claimStateOfAttempt,
  confirmClaim,
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
  completeClaimByAgent,
  completeClaimByPerson,
  findClaimByCode,
  recordRejectedAttempt,
} from "./complete-claim.ts";

/** Key under which the limit `claims` counts what an agent does for its own claim. */
export const agentClaimsKey = (agentId: string): string => `agent:${agentId}`;

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
 * agent sends the code that the person was shown. A claim is one transaction, so a code creates at
 * most one owner, and five wrong attempts invalidate a code even when they are concurrent.
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

  /** Starts an agent's first claim, in the transaction that registers the agent. */
  begin(tx: Transaction, agentId: string): ClaimStart {
    return createClaim(tx, agentId, this.#codeSource());
  }

  /**
   * Starts a new claim.
   * @returns `undefined` when the agent was deleted, is already claimed, or is not claimable.
   */
  start(agentId: string, loginHint?: string): Promise<ClaimStart | undefined> {
    return transact(this.#context.records, async (tx) =>
      this.#restart(tx, await claimStateOf(tx, agentId), loginHint),
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
  async giveCode(
    agentId: string,
    admit: () => Promise<void>,
  ): Promise<IssuedClaimCode | undefined> {
    const { records } = this.#context;
    const usableIn = (state: ClaimState) =>
      openClaimOf(state) && usableClaimCodeOf(state.claim, this.#codeSource());
    const usable = usableIn(await claimStateOf(records, agentId));
    if (usable !== undefined) return usable;
    await admit();
    return transact(records, async (tx) => {
      const state = await claimStateOf(tx, agentId);
      return usableIn(state) ?? this.#restart(tx, state, state.claim?.value.loginHint);
    });
  }

  /** Replaces the previous claim of an agent with a new claim. */
  #restart(
    tx: Transaction,
    { client, claim: previous }: ClaimState,
    loginHint?: string,
  ): ClaimStart | undefined {
    if (client === undefined || !isUnclaimed(client)) return undefined;
    const { key: agentId } = client;
    if (isAudited(client.value.agent)) {
      this.#context.audit(tx, { action: "claim.started", actor: agentId, target: agentId });
    }
    return createClaim(tx, agentId, { ...this.#codeSource(), loginHint, previous });
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
    return transact(this.#context.records, async (tx) => {
      const { state, match } = await findClaimByCode(tx, presented, accountId);
      if (match !== undefined) {
        recordPreview(tx, this.#context, match.claim, accountId);
        return this.#claimable(match.client);
      }
      const refused = { state, which: "given", agentId, actor: accountId } as const;
      recordRejectedAttempt(tx, this.#context, refused);
      return undefined;
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
    return transact(records, async (tx) => {
      const open = openClaimOf(await claimStateOfAttempt(tx, attempt));
      const account = await tx.get(accounts, actor);
      if (open === undefined || account === undefined || !mayClaimAgent(account.value, open)) {
        return undefined;
      }
      const code = newClaimCode();
      confirmClaim(tx, open.claim, { code, claimer });
      audit(tx, { action: "claim.confirmed", actor, target: open.client.key });
      return { code };
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
 * Records a preview with the correct code. It writes as much as a wrong code does, so that a
 * correct guess does not get a faster response than concurrent wrong guesses.
 */
function recordPreview(
  tx: Transaction,
  { audit }: ClaimCompletionDependencies,
  claim: Stored<ClaimRecord>,
  actor: string,
): void {
  tx.update(agentClaims, claim, { value: claim.value });
  audit(tx, { action: "claim.previewed", actor, target: claim.key });
}
