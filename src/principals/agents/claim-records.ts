import { randomBytes } from "node:crypto";
import type { Scope } from "../../access/scopes.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import { emailGroup } from "../../mail/email-address.ts";
import { collection, type RecordReader, type Stored } from "../../store/port/records.ts";
import type { Transaction } from "../../store/transact.ts";
import type { AccountRecord } from "../accounts/accounts.ts";
import {
  type ActingApplication,
  accountRecordsGroup,
  type ClientRecord,
  clientGroup,
  clients,
  usesClientCredentials,
} from "./agent.ts";
import {
  CLAIM_CODE_LIFETIME_MS,
  derivedClaimCode,
  hasNoAttemptsLeft,
  isValidClaimCode,
  type StoredClaimCode,
  toStoredClaimCode,
} from "./claim-code.ts";

/**
 * Length of an attempt id, which identifies a claim in the URL of the claim page, in random bytes;
 * the id must not be guessable.
 */
const ATTEMPT_BYTES = 32;

/** Length of the seed of a code, in random bytes. */
const SEED_BYTES = 16;

/**
 * Minimum remaining lifetime of a code that is returned to its agent again, in milliseconds: the
 * time that a person needs to sign in and enter the code.
 */
const REPEATABLE_MS = 2 * 60_000;

/** The data that a person needs to claim an agent; returned to the agent once. */
export interface ClaimStart {
  /** Code for POST /oauth/claim or the claim page; 8 characters of Crockford base32. */
  readonly code: string;
  /**
   * Attempt id, which identifies the claim in the URL of the claim page; a secret that the agent
   * and the person share.
   */
  readonly attempt: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** The person who completes a claim, or an application acting for them. */
export interface Claimer {
  readonly accountId: string;
  /**
   * Scopes that the claim adds: the scopes of the claiming token, or the scopes selected on the
   * page.
   */
  readonly scopes: readonly Scope[];
  /**
   * The agent's scopes that the page showed; the agent keeps only these. Absent when no page was
   * shown: then the agent keeps all its scopes.
   */
  readonly shown?: readonly Scope[];
  /**
   * The application that claims the agent with the person's token; absent when the person claims it
   * on the page.
   */
  readonly through?: ActingApplication;
}

/** A pending claim; an agent has at most one. */
export interface ClaimRecord {
  readonly codes: {
    /** The code that the agent received, with which a person completes the claim. */
    readonly given: StoredClaimCode;
    /** The code that a person was shown, with which the agent completes the claim. */
    readonly shown?: StoredClaimCode;
  };
  /** Seed from which the `given` code is derived. Absent in records of earlier versions. */
  readonly seed?: string;
  /** Email address of the only person who may claim the agent; absent if the agent gave none. */
  readonly loginHint?: string;
  /** The person who was shown a code, with the scopes they approved. */
  readonly confirmed?: Claimer;
}

/** Claims by agent id. A claim completed by the agent is stored until it expires, so that the agent
 *  can repeat the request if it missed the response. */
export const agentClaims = collection<ClaimRecord>("claims", { ttlMs: CLAIM_CODE_LIFETIME_MS });

/** An agent and its claim; each is `undefined` if it does not exist. */
export interface ClaimState {
  readonly client: Stored<ClientRecord> | undefined;
  readonly claim: Stored<ClaimRecord> | undefined;
}

/** An unclaimed agent and its pending claim. */
export interface OpenClaim {
  readonly client: Stored<ClientRecord>;
  readonly claim: Stored<ClaimRecord>;
}

/**
 * Reads an agent and its claim, the claim first: if the claim is completed between the two reads,
 * the agent already has its owner. In the opposite order, neither the claim nor the owner would be
 * seen.
 */
export async function claimStateOf(records: RecordReader, agentId: string): Promise<ClaimState> {
  const claim = await records.get(agentClaims, agentId);
  const client = await records.get(clients, agentId);
  return { client, claim };
}

/** Reads the agent and the claim that belong to the attempt id in the URL of the claim page. */
export async function claimStateOfAttempt(
  records: RecordReader,
  attempt: string,
): Promise<ClaimState> {
  const [claim] = await records.list(agentClaims, { group: attemptGroup(attempt), limit: 1 });
  const client = claim && (await records.get(clients, claim.key));
  return { client, claim };
}

/** Whether a client is claimable and has no owner. */
export function isUnclaimed({ value }: Stored<ClientRecord>): boolean {
  return value.agent.owner === undefined && usesClientCredentials(value);
}

/** The claim and its agent, if the claim can still be completed. */
export function openClaimOf({ client, claim }: ClaimState): OpenClaim | undefined {
  if (client === undefined || claim === undefined || !isUnclaimed(client)) return undefined;
  return { client, claim };
}

/**
 * Whether a person may claim an agent: the agent gave this person's email address, or no address.
 * An address given at registration takes precedence over an address given later.
 */
export function mayClaimAgent(
  account: AccountRecord | undefined,
  { client, claim }: OpenClaim,
): boolean {
  const hint = client.value.agent.loginHint ?? claim.value.loginHint;
  return account !== undefined && (hint === undefined || hint === account.email);
}

/** Input of `createClaim`. */
interface NewClaim {
  /** Key from which codes are derived. */
  readonly codeKey: Uint8Array;
  readonly now: Date;
  readonly loginHint?: string | undefined;
  /** The previous claim, which the new claim replaces together with its codes. */
  readonly previous?: Stored<ClaimRecord> | undefined;
}

/** Creates a claim, and stores it. */
export function createClaim(
  tx: Transaction,
  agentId: string,
  { codeKey: key, now, loginHint, previous }: NewClaim,
): ClaimStart {
  const seed = randomBytes(SEED_BYTES).toString("base64url");
  const code = derivedClaimCode({ key, seed, agentId });
  const attempt = randomBytes(ATTEMPT_BYTES).toString("base64url");
  const value = {
    codes: { given: toStoredClaimCode({ agentId, code }) },
    seed,
    ...(loginHint && { loginHint }),
  };
  const groups = [
    clientGroup(agentId),
    attemptGroup(attempt),
    ...(loginHint ? [emailGroup(loginHint)] : []),
  ];
  if (previous === undefined) tx.insert(agentClaims, { key: agentId, value, groups });
  else tx.update(agentClaims, previous, { value, groups, ttlMs: CLAIM_CODE_LIFETIME_MS });
  return { code, attempt, expiresAt: now.getTime() + CLAIM_CODE_LIFETIME_MS };
}

/** A code for the agent to pass to a person, and its expiry in milliseconds since the epoch. */
export type IssuedClaimCode = Pick<ClaimStart, "code" | "expiresAt">;

/**
 * The code of a pending claim.
 * @returns `undefined` when there is no code, or when the code is about to expire, has no attempts
 * left, or was derived from another key.
 */
export function usableClaimCodeOf(
  claim: Stored<ClaimRecord> | undefined,
  { codeKey: key, now }: Pick<NewClaim, "codeKey" | "now">,
): IssuedClaimCode | undefined {
  const { codes, seed } = claim?.value ?? {};
  if (claim === undefined || seed === undefined) return undefined;
  const { key: agentId, expiresAt = Infinity } = claim;
  const code = derivedClaimCode({ key, seed, agentId });
  const isUsable = isValidClaimCode(codes?.given, { agentId, code });
  return isUsable && expiresAt - now.getTime() >= REPEATABLE_MS ? { code, expiresAt } : undefined;
}

/**
 * Stores a person's approval and the code that the person is shown. From then on, the claim is also
 * deleted with the person's account.
 */
export function confirmClaim(
  tx: Transaction,
  claim: Stored<ClaimRecord>,
  { code, claimer }: { readonly code: string; readonly claimer: Claimer },
): void {
  const shown = toStoredClaimCode({ agentId: claim.key, code });
  const codes = { ...claim.value.codes, shown };
  const account = accountRecordsGroup(claimer.accountId);
  const groups = [...new Set([...claim.groups, account])];
  tx.update(agentClaims, claim, {
    value: { ...claim.value, codes, confirmed: claimer },
    groups,
  });
}

/** Counts a failed attempt against the code, if it has attempts left. */
export function countFailedAttempt(
  tx: Transaction,
  { claim }: ClaimState,
  which: keyof ClaimRecord["codes"],
): void {
  const stored = claim?.value.codes[which];
  if (claim === undefined || stored === undefined || hasNoAttemptsLeft(stored)) return;
  const codes = { ...claim.value.codes, [which]: { ...stored, tries: stored.tries + 1 } };
  tx.update(agentClaims, claim, { value: { ...claim.value, codes } });
}

/** Stores a completed claim again, after all records of its agent were deleted. */
export function restoreClaim(tx: Transaction, { key, value, groups }: Stored<ClaimRecord>): void {
  tx.put(agentClaims, { key, value, groups });
}

function attemptGroup(attempt: string): string {
  return `claim-attempt:${fingerprint(attempt)}`;
}
