import { randomBytes } from "node:crypto";
import { fingerprint } from "../../lib/fingerprint.ts";
import { emailGroup } from "../../mail/email-address.ts";
import { put, replace } from "../../store/port/operations.ts";
import { collection, type Operation, type Records, type Stored } from "../../store/port/records.ts";
import type { AccountRecord } from "../accounts/accounts.ts";
import type { Scope } from "../scopes.ts";
import {
  type ActingApplication,
  accountRecordsGroup,
  type ClientRecord,
  clientGroup,
  clients,
  isClaimable,
} from "./agent.ts";
import {
  CLAIM_CODE_MS,
  isUsedUp,
  newClaimCode,
  type StoredCode,
  storedCode,
} from "./claim-code.ts";

/** Bytes of an attempt: nobody guesses it. */
const ATTEMPT_BYTES = 32;

/** What an agent needs so that a person can claim it; returned once. */
export interface ClaimStart {
  /** For the person to give at /oauth/claim or on the page; 8 characters of Crockford base32. */
  readonly code: string;
  /** Names this attempt in the address of the claim page; a secret of the agent and the person. */
  readonly attempt: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Who completes a claim. */
export interface Claimer {
  readonly accountId: string;
  /** What the agent gets beside what it had: the scopes of the claiming token or, on the page, the
   *  choice. */
  readonly scopes: readonly Scope[];
  /** What the page said that the agent has, of which it keeps no more; absent: no page was shown, and
   *  it keeps all that it has. */
  readonly shown?: readonly Scope[];
  /** The application that claims with the person's token; absent: the person does, on the page. */
  readonly through?: ActingApplication;
}

/** An open claim; an agent has at most one. */
export interface ClaimRecord {
  readonly codes: {
    /** The one that the agent was given, for a person to complete the claim. */
    readonly given: StoredCode;
    /** The one that a person was shown, for the agent to complete the claim. */
    readonly shown?: StoredCode;
  };
  /** The email address of the only person who may take part, when the agent named one. */
  readonly loginHint?: string;
  /** The person who was shown a code, and what they agreed to. */
  readonly confirmed?: Claimer;
}

/** Claims by agent id. A claim that an agent completed stays for its life, so that the agent can
 *  repeat the request when it missed the response. */
export const claims = collection<ClaimRecord>("claims");

/** An agent and its claim, as far as they are there. */
export interface ClaimState {
  readonly client: Stored<ClientRecord> | undefined;
  readonly claim: Stored<ClaimRecord> | undefined;
}

/** An unclaimed agent and its claim. */
export interface OpenClaim {
  readonly client: Stored<ClientRecord>;
  readonly claim: Stored<ClaimRecord>;
}

/** Reads an agent and its claim. The claim comes first: if it was completed meanwhile, the agent
 *  read after it has its owner. In the other order neither would show. */
export async function claimStateOf(records: Records, agentId: string): Promise<ClaimState> {
  const claim = await records.get(claims, agentId);
  const client = await records.get(clients, agentId);
  return { client, claim };
}

/** Reads the agent and the claim behind the address of a page. */
export async function claimStateOfAttempt(records: Records, attempt: string): Promise<ClaimState> {
  const [claim] = await records.list(claims, { group: attemptGroup(attempt), limit: 1 });
  const client = claim && (await records.get(clients, claim.key));
  return { client, claim };
}

/** Whether a client can be claimed and has no owner. */
export function isUnclaimed({ value }: Stored<ClientRecord>): boolean {
  return value.agent.owner === undefined && isClaimable(value);
}

/** The claim, as long as it can be completed. */
export function openClaim({ client, claim }: ClaimState): OpenClaim | undefined {
  if (client === undefined || claim === undefined || !isUnclaimed(client)) return undefined;
  return { client, claim };
}

/** Whether a person is the one whom the agent named, if it named one. The address of the
 *  registration takes precedence over a later one. */
export function isInvited(
  account: AccountRecord | undefined,
  { client, claim }: OpenClaim,
): boolean {
  const hint = client.value.agent.loginHint ?? claim.value.loginHint;
  return account !== undefined && (hint === undefined || hint === account.email);
}

/** A new claim, and the step that replaces the one before and its codes. */
export function newClaim(
  agentId: string,
  { now, loginHint }: { readonly now: Date; readonly loginHint?: string | undefined },
): { readonly start: ClaimStart; readonly steps: readonly Operation[] } {
  const code = newClaimCode();
  const attempt = randomBytes(ATTEMPT_BYTES).toString("base64url");
  const value = {
    codes: { given: storedCode({ agentId, code }) },
    ...(loginHint && { loginHint }),
  };
  const groups = [
    clientGroup(agentId),
    attemptGroup(attempt),
    ...(loginHint ? [emailGroup(loginHint)] : []),
  ];
  return {
    start: { code, attempt, expiresAt: now.getTime() + CLAIM_CODE_MS },
    steps: [put(claims, { key: agentId, value, groups, ttlMs: CLAIM_CODE_MS })],
  };
}

/** The step that records what a person agreed to, and the code that they are shown. The claim
 *  then ends with their account too. */
export function confirmedClaim(
  claim: Stored<ClaimRecord>,
  { code, claimer }: { readonly code: string; readonly claimer: Claimer },
): Operation {
  const shown = storedCode({ agentId: claim.key, code });
  const codes = { ...claim.value.codes, shown };
  const account = accountRecordsGroup(claimer.accountId);
  const groups = [...new Set([...claim.groups, account])];
  return replace(claims, claim, { value: { ...claim.value, codes, confirmed: claimer }, groups });
}

/** The steps that count a failed try; they conflict when another was counted meanwhile. */
export function failedAttempt(
  { claim }: ClaimState,
  which: keyof ClaimRecord["codes"],
): readonly Operation[] {
  const kept = claim?.value.codes[which];
  if (claim === undefined || kept === undefined || isUsedUp(kept)) return [];
  const codes = { ...claim.value.codes, [which]: { ...kept, tries: kept.tries + 1 } };
  return [replace(claims, claim, { value: { ...claim.value, codes } })];
}

/** The step that stores a completed claim again after everything of its agent was removed. */
export function restoredClaim({ key, value, groups }: Stored<ClaimRecord>): Operation {
  return put(claims, { key, value, groups, ttlMs: CLAIM_CODE_MS });
}

function attemptGroup(attempt: string): string {
  return `claim-attempt:${fingerprint(attempt)}`;
}
