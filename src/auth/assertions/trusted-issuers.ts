import { readFile } from "node:fs/promises";
import { createRemoteJWKSet, type JWTVerifyGetKey } from "jose";
import { z } from "zod";
import { isHttpsOrLoopback } from "../../outbound/loopback.ts";

/** An identity provider whose assertions are accepted. */
export interface TrustedIssuer {
  /** Display name. */
  readonly name: string;
  /** Issuer identifier (`iss`), compared character for character (RFC 8414 section 2). */
  readonly issuer: string;
  /** Finds the public key that matches a JWS header. */
  readonly keys: JWTVerifyGetKey;
}

/**
 * Options for fetching an issuer's keys, in milliseconds: time out after 3 s, cache for ten
 * minutes, and fetch again for an unknown key at most every 30 s.
 */
const JWKS_OPTIONS = { timeoutDuration: 3000, cacheMaxAge: 600_000, cooldownDuration: 30_000 };

/**
 * Whether a URL uses https, or http on a loopback address. Plain http would let an attacker on the
 * network path replace the keys.
 */
function isSecureUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && isHttpsOrLoopback(url);
}

const Address = z
  .string("is not a string")
  .refine(isSecureUrl, "is not an https address; http is for the machine itself only");

const Entry = z.strictObject({
  name: z.string("is not a string").min(1, "is empty").max(100, "is longer than 100 characters"),
  issuer: Address.refine((text) => !/[?#]/.test(text), "has a query or a fragment"),
  jwks_uri: Address,
});

const Entries = z
  .array(Entry, "is not an array of {name, issuer, jwks_uri}")
  .refine(
    (entries) => new Set(entries.map(({ issuer }) => issuer)).size === entries.length,
    "names an issuer twice",
  );

function locationOf([index, member]: readonly PropertyKey[]): string {
  if (index === undefined) return "";
  const entry = `entry ${Number(index) + 1}`;
  return member === undefined ? `${entry} ` : `${entry}, ${String(member)} `;
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? "it is not JSON" : "it cannot be read";
    throw new Error(`TRUSTED_ISSUERS: ${file}: ${reason}.`, { cause });
  }
}

/**
 * Reads the trusted issuers from the file named by `TRUSTED_ISSUERS`: a JSON array of
 * `{name, issuer, jwks_uri}`. Their keys are fetched at first use.
 *
 * @throws {Error} With one line per fault, each with its location and the allowed values.
 */
export async function readTrustedIssuers(file: string): Promise<readonly TrustedIssuer[]> {
  const { data, error } = Entries.safeParse(await readJson(file));
  if (error !== undefined) {
    const faults = error.issues.map(({ path, message }) => `${locationOf(path)}${message}`);
    throw new Error(faults.map((fault) => `TRUSTED_ISSUERS: ${file}: ${fault}.`).join("\n"));
  }
  return data.map(({ name, issuer, jwks_uri }) => ({
    name,
    issuer,
    keys: createRemoteJWKSet(new URL(jwks_uri), JWKS_OPTIONS),
  }));
}
