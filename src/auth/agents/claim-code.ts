import { randomBytes } from "node:crypto";
import { fingerprint } from "../../lib/fingerprint.ts";
import { isSameText } from "../secrets.ts";

/** Crockford's base32: no letter that is taken for a digit or for another letter. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** 40 bits. */
const CHARACTERS = 8;

/** Wrong tries that end a code. */
const MAX_TRIES = 5;

/** Life of a code in milliseconds. */
export const CLAIM_CODE_MS = 10 * 60_000;

/** Stored form of a claim code. */
export interface StoredCode {
  /** Of the agent's id and the code. */
  readonly hash: string;
  /** Wrong tries so far. */
  readonly tries: number;
}

/** A code that is presented for an agent. */
export interface PresentedCode {
  readonly agentId: string;
  readonly code: string;
}

/** A new code. 32 divides 256, so that every character is equally likely. */
export function newClaimCode(): string {
  return Array.from(randomBytes(CHARACTERS), (byte) => ALPHABET[byte % ALPHABET.length]).join("");
}

/** Stored form of a new code. */
export function storedCode(code: PresentedCode): StoredCode {
  return { hash: hashOf(code), tries: 0 };
}

/**
 * Where claim codes are checked: whether a presented code matches the stored one, which has tries
 * left. Takes the same time whatever is stored.
 *
 * People may type it in either case, with spaces and hyphens, and O for 0, I or L for 1.
 */
export function isValidClaimCode(kept: StoredCode | undefined, presented: PresentedCode): boolean {
  const isEqual = isSameText(kept?.hash ?? HASH_OF_NONE, hashOf(presented));
  return isEqual && kept !== undefined && !isUsedUp(kept);
}

/** Whether no try is left. */
export function isUsedUp({ tries }: StoredCode): boolean {
  return tries >= MAX_TRIES;
}

/** As long as every other; no agent has the empty id. */
const HASH_OF_NONE = hashOf({ agentId: "", code: "" });

function hashOf({ agentId, code }: PresentedCode): string {
  return fingerprint(`${agentId} ${normalized(code)}`);
}

function normalized(code: string): string {
  return code.toUpperCase().replaceAll(/[\s-]/g, "").replaceAll("O", "0").replaceAll(/[IL]/g, "1");
}
