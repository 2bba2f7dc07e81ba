import type { Mailbox } from "../../mail/outbox.ts";
import { replace, unchanged } from "../../store/port/operations.ts";
import type { Operation, Records, Stored } from "../../store/port/records.ts";
import { accounts } from "../accounts/accounts.ts";
import type { Auditor } from "../auditor.ts";
import { allScopes, type Scope } from "../scopes.ts";
import { type ClientRecord, clients, isAudited, unclaimedScopes } from "./agent.ts";
import { newClaimCode, type PresentedCode } from "./claim-code.ts";
import {
  type Claimer,
  type ClaimRecord,
  type ClaimStart,
  claimStateOfAttempt,
  claims,
  confirmedClaim,
  isInvited,
  isUnclaimed,
  newClaim,
  openClaim,
} from "./claim-records.ts";
import {
  type ClaimContext,
  type ClaimOutcome,
  commitDecision,
  completeByAgent,
  completeByPerson,
  findByCode,
  refusal,
} from "./complete-claim.ts";

/**
 * Where an agent is claimed: the claim endpoint, the endpoint where the agent gets a new code, and the
 * page where a person enters the code.
 *
 * @param baseUrl Public origin, without a trailing slash.
 */
export const claimLinks = (baseUrl: string, agentId: string) => ({
  url: `${baseUrl}/oauth/claim`,
  start_url: `${baseUrl}/oauth/claim/start`,
  page: `${baseUrl}/claim?agent=${encodeURIComponent(agentId)}`,
});

/** An agent as the claim page shows it. Its name is untrusted. */
export interface ClaimableAgent {
  readonly agentId: string;
  readonly name: string | undefined;
  readonly registeredAt: number;
  /** What the agent may hold before and after the claim. */
  readonly scopesNow: readonly Scope[];
  readonly scopesAfter: readonly Scope[];
}

/** What `Claims` work with. */
interface ClaimsOptions {
  readonly records: Records;
  readonly audit: Auditor;
  readonly now: () => Date;
  /** Notifies owners of their new agents; absent: nobody is notified. */
  readonly mailbox?: Mailbox;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  /** The scopes of an agent that nobody has claimed. */
  readonly anonymousScopes: readonly Scope[];
}

/**
 * The claim ceremony, both ways: the person has the code that the agent was given, or the agent has the
 * code that the person was shown. Everything that a claim changes is one commit, so that one code makes
 * one owner, and five wrong tries end a code however many come at once.
 *
 * Every method rejects with the problem `store_unavailable` when the store cannot answer.
 */
export class Claims {
  readonly #context: ClaimContext;

  constructor({ records, audit, now, mailbox, baseUrl, anonymousScopes }: ClaimsOptions) {
    this.#context = { records, audit, now, mailbox, baseUrl, anonymousScopes };
  }

  /** The steps that begin a claim and end the one before, for the commit that registers an agent. */
  begun(agentId: string): { readonly start: ClaimStart; readonly steps: readonly Operation[] } {
    return newClaim(agentId, { now: this.#context.now() });
  }

  /** Begins a claim anew. @returns `undefined` when the agent is gone, claimed or not claimable. */
  begin(agentId: string, loginHint?: string): Promise<ClaimStart | undefined> {
    const { records, audit, now } = this.#context;
    return commitDecision(records, async () => {
      const client = await records.get(clients, agentId);
      if (client === undefined || !isUnclaimed(client)) return { answer: undefined, steps: [] };
      const { start, steps } = newClaim(agentId, { now: now(), loginHint });
      const entry = { action: "claim.started", actor: agentId, target: agentId };
      const recorded = isAudited(client.value.agent) ? audit(entry) : [];
      return { answer: start, steps: [unchanged(clients, client), ...steps, ...recorded] };
    });
  }

  /** A person, or an application that acts for them, gives the code that the agent was given. */
  completeByPerson(presented: PresentedCode, claimer: Claimer): Promise<ClaimOutcome> {
    return completeByPerson(this.#context, presented, claimer);
  }

  /** The agent gives the code that a person was shown on the page. */
  completeByAgent(presented: PresentedCode): Promise<ClaimOutcome> {
    return completeByAgent(this.#context, presented);
  }

  /** The agent behind a code, for the person to look at before they confirm. A wrong code counts as a
   *  try; the right one does not. */
  preview(presented: PresentedCode, accountId: string): Promise<ClaimableAgent | undefined> {
    const { agentId } = presented;
    return commitDecision(this.#context.records, async () => {
      const { state, match } = await findByCode(this.#context, presented, accountId);
      if (match !== undefined) {
        const steps = previewed(this.#context, match.claim, accountId);
        return { answer: this.#claimable(match.client), steps };
      }
      const refused = { state, which: "given", agentId, actor: accountId } as const;
      return { answer: undefined, steps: refusal(this.#context, refused) };
    });
  }

  /** The agent behind the address of the page. `wrong_account`: the agent named another person. */
  async attempted(
    attempt: string,
    accountId: string,
  ): Promise<ClaimableAgent | "wrong_account" | undefined> {
    const { records } = this.#context;
    const open = openClaim(await claimStateOfAttempt(records, attempt));
    if (open === undefined) return undefined;
    const account = await records.get(accounts, accountId);
    return isInvited(account?.value, open) ? this.#claimable(open.client) : "wrong_account";
  }

  /** The person agrees, and is shown a code for the agent. */
  confirm(attempt: string, claimer: Claimer): Promise<{ readonly code: string } | undefined> {
    const { records, audit } = this.#context;
    const { accountId: actor } = claimer;
    return commitDecision(records, async () => {
      const open = openClaim(await claimStateOfAttempt(records, attempt));
      const account = await records.get(accounts, actor);
      if (open === undefined || account === undefined || !isInvited(account.value, open)) {
        return { answer: undefined, steps: [] };
      }
      const code = newClaimCode();
      const entry = { action: "claim.confirmed", actor, target: open.client.key };
      const confirmed = confirmedClaim(open.claim, { code, claimer });
      return {
        answer: { code },
        steps: [unchanged(accounts, account), confirmed, ...audit(entry)],
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

/** The steps of a preview with the right code. It writes as much as a wrong try does, so that of many
 *  concurrent guesses the right one has no better chance to come before the fifth wrong one. */
function previewed(
  { audit }: ClaimContext,
  claim: Stored<ClaimRecord>,
  actor: string,
): readonly Operation[] {
  const entry = { action: "claim.previewed", actor, target: claim.key };
  return [replace(claims, claim, { value: claim.value }), ...audit(entry)];
}
