import { createHmac, randomBytes } from "node:crypto";
import { isEqualConstantTime } from "../../access/secrets.ts";
import { fingerprint } from "../../lib/fingerprint.ts";

/**
 * Crockford's base32 alphabet, without the letters I, L, O and U, which are easily confused with
 * other characters.
 */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Length of a code in characters of 5 bits each, 40 bits in total. */
const CODE_LENGTH = 8;

/** Number of wrong attempts after which a code is invalid. */
const MAX_ATTEMPTS = 5;

/** Lifetime of a code, in milliseconds. */
export const CLAIM_CODE_LIFETIME_MS = 10 * 60_000;

/** A claim code as it is stored. */
export interface StoredClaimCode {
  /** Hash of the agent's id and the code. */
  readonly hash: string;
  /** Number of wrong attempts. */
  readonly tries: number;
}

/** A code together with the agent that it is presented for. */
export interface PresentedClaimCode {
  readonly agentId: string;
  readonly code: string;
}

/** Generates a code. */
export function newClaimCode(): string {
  return codeOf(randomBytes(CODE_LENGTH));
}

/** Inputs that a code is derived from. */
interface ClaimCodeSource {
  /** Secret of the service, 32 bytes; not stored in the database. */
  readonly key: Uint8Array;
  /** Random value stored next to the hash of the code; reveals nothing without the key. */
  readonly seed: string;
  readonly agentId: string;
}

/**
 * Derives a code from its source by HMAC-SHA256, so that the service can give the agent the same
 * code again without storing it.
 */
export function derivedClaimCode({ key, seed, agentId }: ClaimCodeSource): string {
  return codeOf(createHmac("sha256", key).update(`${seed} ${agentId}`).digest());
}

/**
 * Maps random bytes to the characters of a code. 32 divides 256, so every character is equally
 * likely.
 */
function codeOf(bytes: Uint8Array): string {
  const characters = Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]);
  return characters.slice(0, CODE_LENGTH).join("");
}

/** Hashes a new code for storage. */
export function toStoredClaimCode(code: PresentedClaimCode): StoredClaimCode {
  return { hash: hashOf(code), tries: 0 };
}

/**
 * Whether a presented code matches the stored code, which must have attempts left. Takes the same
 * time whether or not a code is stored.
 *
 * Codes are accepted in upper or lower case, with spaces and hyphens, with O for 0, and with I or L
 * for 1.
 */
export function isValidClaimCode(
  stored: StoredClaimCode | undefined,
  presented: PresentedClaimCode,
): boolean {
  const isEqual = isEqualConstantTime(stored?.hash ?? DUMMY_HASH, hashOf(presented));
  return isEqual && stored !== undefined && !hasNoAttemptsLeft(stored);
}

/** Whether a code has no attempts left. */
export function hasNoAttemptsLeft({ tries }: StoredClaimCode): boolean {
  return tries >= MAX_ATTEMPTS;
}

/**
 * Hash that is compared when no code is stored. It never matches, because no agent has an empty id.
 */
const DUMMY_HASH = hashOf({ agentId: "", code: "" });

function hashOf({ agentId, code }: PresentedClaimCode): string {
  return fingerprint(`${agentId} ${normalized(code)}`);
}

function normalized(code: string): string {
  return code.toUpperCase().replaceAll(/[\s-]/g, "").replaceAll("O", "0").replaceAll(/[IL]/g, "1");
}
