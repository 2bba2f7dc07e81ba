import { createHmac, randomBytes } from "node:crypto";
import { fingerprint } from "../../lib/fingerprint.ts";
import { isEqualConstantTime } from "../secrets.ts";

/** Crockford's base32, which has no letters that can be confused with digits or other letters. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Length of a code in characters; 40 bits. */
const CODE_LENGTH = 8;

/** Wrong attempts after which a code is invalid. */
const MAX_ATTEMPTS = 5;

/** Lifetime of a code, in milliseconds. */
export const CLAIM_CODE_MS = 10 * 60_000;

/** A claim code as it is stored. */
export interface StoredCode {
  /** Hash of the agent's id and the code. */
  readonly hash: string;
  /** Number of wrong attempts. */
  readonly tries: number;
}

/** A code presented for an agent. */
export interface PresentedCode {
  readonly agentId: string;
  readonly code: string;
}

/** Generates a code. */
export function newClaimCode(): string {
  return codeOf(randomBytes(CODE_LENGTH));
}

/** What a code is derived from. */
export interface CodeSource {
  /** Secret of the service that is not in the store, 32 bytes. */
  readonly key: Uint8Array;
  /** Stored beside the hash of the code; reveals nothing without the key. */
  readonly seed: string;
  readonly agentId: string;
}

/** Derives a code (HMAC-SHA256), so that the service can repeat it to the agent without storing it. */
export function derivedClaimCode({ key, seed, agentId }: CodeSource): string {
  return codeOf(createHmac("sha256", key).update(`${seed} ${agentId}`).digest());
}

/** The code of random bytes. 32 divides 256, so every character is equally likely. */
function codeOf(bytes: Uint8Array): string {
  const characters = Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]);
  return characters.slice(0, CODE_LENGTH).join("");
}

/** The stored form of a new code. */
export function storedCode(code: PresentedCode): StoredCode {
  return { hash: hashOf(code), tries: 0 };
}

/**
 * Whether a presented code matches the stored one, and attempts are left. Takes the same time for
 * any stored code, or none.
 *
 * Codes are accepted in either case, with spaces and hyphens, with O for 0, and with I or L for 1.
 */
export function isValidClaimCode(
  stored: StoredCode | undefined,
  presented: PresentedCode,
): boolean {
  const isEqual = isEqualConstantTime(stored?.hash ?? DUMMY_HASH, hashOf(presented));
  return isEqual && stored !== undefined && !hasNoAttemptsLeft(stored);
}

/** Whether a code has no attempts left. */
export function hasNoAttemptsLeft({ tries }: StoredCode): boolean {
  return tries >= MAX_ATTEMPTS;
}

/** Compared when no code is stored. No agent has an empty id. */
const DUMMY_HASH = hashOf({ agentId: "", code: "" });

function hashOf({ agentId, code }: PresentedCode): string {
  return fingerprint(`${agentId} ${normalized(code)}`);
}

function normalized(code: string): string {
  return code.toUpperCase().replaceAll(/[\s-]/g, "").replaceAll("O", "0").replaceAll(/[IL]/g, "1");
}
