import type { Mailbox } from "../../mail/outbox.ts";
import { replace, unchanged } from "../../store/port/operations.ts";
import type { Operation, Records, Stored } from "../../store/port/records.ts";
import { accounts } from "../accounts/accounts.ts";
import { type AuditorOptions, createAuditor } from "../auditor.ts";
import { allScopes, type Scope } from "../scopes.ts";
import { type ClientRecord, clients, heldUnclaimed } from "./agent.ts";
import { newClaimCode } from "./claim-code.ts";
import {
  begunClaim,
  type ClaimRecord,
  claims,
  confirmedClaim,
  isAwaited,
  isUnclaimed,
  openClaim,
  standingBehind,
} from "./claim-records.ts";
import type { ClaimableAgent, Claims } from "./claims.ts";
import {
  type ClaimContext,
  completeByAgent,
  completeByPerson,
  foundBy,
  refusal,
  settled,
} from "./complete-claim.ts";

/** What claims are made with. */
export interface ClaimsOptions extends AuditorOptions {
  readonly records: Records;
  /** Tells owners of their new agents; absent: nobody is told. */
  readonly mailbox?: Mailbox;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  /** What an agent may hold that nobody answers for. */
  readonly anonymousScopes: readonly Scope[];
}

/**
 * Creates the claim ceremony. Everything that a claim changes is one commit, so that one code makes
 * one owner, and five wrong tries end a code however many come at once. A look with the right code is
 * no try.
 *
 * Every method rejects with the problem `store_unavailable` when the store cannot answer.
 */
export function createClaims(options: ClaimsOptions): Claims {
  const { records, now, mailbox, baseUrl, anonymousScopes } = options;
  const context = {
    records,
    now,
    mailbox,
    baseUrl,
    anonymousScopes,
    audit: createAuditor(options),
  };
  const shown = (client: Stored<ClientRecord>) => claimable(client, anonymousScopes);

  return {
    begun: (agentId) => begunClaim(agentId, { now: now() }),
    begin: (agentId, loginHint) => begin(context, agentId, loginHint),
    completeByPerson: (claim, claimer) => completeByPerson(context, claim, claimer),
    completeByAgent: (claim) => completeByAgent(context, claim),
    preview: (claim, actor) =>
      settled(records, async () => {
        const { standing, match } = await foundBy(context, claim, actor);
        if (match !== undefined) {
          return { answer: shown(match.client), steps: looked(context, match.claim, actor) };
        }
        const refused = { standing, which: "given", agentId: claim.agentId, actor } as const;
        return { answer: undefined, steps: refusal(context, refused) };
      }),
    async attempted(attempt, accountId) {
      const open = openClaim(await standingBehind(records, attempt));
      if (open === undefined) return undefined;
      const account = await records.get(accounts, accountId);
      return isAwaited(account?.value, open) ? shown(open.client) : "wrong_account";
    },
    confirm: (attempt, claimer) => confirm(context, attempt, claimer),
  };
}

/** The steps of a look with the right code. It writes as much as a wrong try does, so that of many
 *  guesses at once the right one has no better chance to come before the fifth wrong one. */
function looked(
  { audit }: ClaimContext,
  claim: Stored<ClaimRecord>,
  actor: string,
): readonly Operation[] {
  const entry = { action: "claim.previewed", actor, target: claim.key };
  return [replace(claims, claim, { value: claim.value }), ...audit(entry)];
}

function begin(
  { records, audit, now }: ClaimContext,
  agentId: string,
  loginHint: string | undefined,
): ReturnType<Claims["begin"]> {
  return settled(records, async () => {
    const client = await records.get(clients, agentId);
    if (client === undefined || !isUnclaimed(client)) return { answer: undefined, steps: [] };
    const { start, steps } = begunClaim(agentId, { now: now(), loginHint });
    const entry = { action: "claim.started", actor: agentId, target: agentId };
    return { answer: start, steps: [unchanged(clients, client), ...steps, ...audit(entry)] };
  });
}

function confirm(
  { records, audit }: ClaimContext,
  attempt: string,
  claimer: Parameters<Claims["confirm"]>[1],
): ReturnType<Claims["confirm"]> {
  const { accountId: actor } = claimer;
  return settled(records, async () => {
    const open = openClaim(await standingBehind(records, attempt));
    const account = await records.get(accounts, actor);
    if (open === undefined || account === undefined || !isAwaited(account.value, open)) {
      return { answer: undefined, steps: [] };
    }
    const code = newClaimCode();
    const entry = { action: "claim.confirmed", actor, target: open.client.key };
    const word = confirmedClaim(open.claim, { code, claimer });
    return { answer: { code }, steps: [unchanged(accounts, account), word, ...audit(entry)] };
  });
}

/** An agent as a person sees it before they answer for it. */
function claimable(
  { key, value }: Stored<ClientRecord>,
  anonymousScopes: readonly Scope[],
): ClaimableAgent {
  const { metadata, agent } = value;
  return {
    agentId: key,
    name: metadata.client_name,
    registeredAt: agent.registeredAt,
    scopesNow: heldUnclaimed(value, anonymousScopes),
    scopesAfter: allScopes,
  };
}
