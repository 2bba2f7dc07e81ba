import { createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { errors } from "oidc-provider";
import {
  rejectMetadata,
  requireArray,
  type UnvalidatedClientMetadata,
} from "./metadata-members.ts";

/**
 * Maximum remaining lifetime of a client assertion, in seconds. The assertion is stored until it
 * expires, to detect a replay.
 */
const MAX_ASSERTION_SECONDS = 3600;

/** Maximum number of keys in a client's key set. */
const MAX_KEYS = 20;

/**
 * Members of a key that are stored: its parameters and intended use (RFC 7517 section 4, RFC 7518
 * section 6).
 */
const storedMembers = ["kty", "kid", "use", "alg", "crv", "x", "y", "n", "e"];

/** Members of a private or symmetric key (RFC 7518 sections 6.2.2, 6.3.2 and 6.4). */
const secretMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];

/** Lengths of an RSA modulus, in bits. RFC 7518 section 3.3 sets the minimum; the maximum bounds
 *  the cost of verification. */
const RSA_BITS = { min: 2048, max: 4096 };

/** Maximum RSA exponent, which bounds the cost of verification. The usual exponent is 65537. */
const MAX_RSA_EXPONENT = 0xffffffffn;

function isUsable({ asymmetricKeyType: type, asymmetricKeyDetails = {} }: KeyObject): boolean {
  const { modulusLength = 0, publicExponent = 0n } = asymmetricKeyDetails;
  if (type === "ec" || type === "ed25519") return true;
  const isLong = modulusLength >= RSA_BITS.min && modulusLength <= RSA_BITS.max;
  return type === "rsa" && isLong && publicExponent <= MAX_RSA_EXPONENT;
}

function importKey(key: JsonWebKey): KeyObject | undefined {
  try {
    return createPublicKey({ key, format: "jwk" });
  } catch {
    return undefined;
  }
}

function publicKey(entry: unknown): JsonWebKey {
  if (typeof entry !== "object" || entry === null) rejectMetadata("jwks must contain keys");
  if (secretMembers.some((member) => Object.hasOwn(entry, member))) {
    rejectMetadata("jwks must not contain private or symmetric keys");
  }
  const members = Object.entries(entry).filter(([name]) => storedMembers.includes(name));
  const jwk: JsonWebKey = Object.fromEntries(members);
  const key = importKey(jwk);
  if (key === undefined || !isUsable(key)) {
    rejectMetadata(
      `jwks must contain EC, Ed25519 or RSA keys, RSA of ${RSA_BITS.min} to ${RSA_BITS.max} bits`,
    );
  }
  return jwk;
}

/**
 * The key set of a client (RFC 7591 section 2), checked to contain only public keys for
 * verification.
 *
 * @throws `invalid_client_metadata`
 */
export function publicKeySetOf({
  jwks,
}: UnvalidatedClientMetadata): { readonly keys: readonly JsonWebKey[] } | undefined {
  if (jwks === undefined) return undefined;
  if (typeof jwks !== "object" || jwks === null || !("keys" in jwks)) {
    rejectMetadata("jwks must be a JSON Web Key Set");
  }
  const keys = requireArray("jwks", jwks.keys, MAX_KEYS);
  if (keys.length === 0) rejectMetadata("jwks must contain at least one key");
  return { keys: keys.map(publicKey) };
}

/** Rejects a client assertion that expires too late (RFC 7523 section 3, item 4). @throws
 *  `invalid_client` */
export function checkAssertionExpiry(_ctx: unknown, { exp }: { readonly exp?: unknown }): void {
  if (Number(exp) <= Date.now() / 1000 + MAX_ASSERTION_SECONDS) return;
  throw new errors.InvalidClientAuth(`the assertion must expire within ${MAX_ASSERTION_SECONDS} s`);
}
