import { decodeJwt, errors, jwtVerify } from "jose";
import { z } from "zod";
import { EmailAddress } from "../../mail/email-address.ts";
import type { TrustedIssuer } from "./trusted-issuers.ts";

/** Why an assertion is refused, in the words of auth.md, each with the reason for the caller. */
export const refusals = {
  invalid_request:
    "the assertion must be a JWT of type oauth-id-jag+jwt with iss, sub, aud, client_id, jti, iat and exp, good for at most ten minutes",
  issuer_not_enabled: "the issuer of the assertion is not trusted by this server",
  issuer_unreachable: "the keys of the issuer cannot be fetched just now",
  invalid_signature: "the assertion is not signed with a key of its issuer",
  invalid_audience: "the aud of the assertion must be the issuer of this server and nothing else",
  invalid_client_id: "the client_id of the assertion does not allow its use here",
  expired: "the assertion has expired",
  login_required: "the person must have signed in at the issuer within the last hour",
  replay_detected: "the assertion was used before",
} as const;

/** The name of a refusal. */
export type Refusal = keyof typeof refusals;

/** How far two clocks may differ, in seconds. */
export const SKEW_SECONDS = 60;

/** Longest life of an assertion, in seconds: twice what auth.md suggests. */
const MAX_LIFE_SECONDS = 600;

/** Signatures that are verified with a public key; neither `none` nor an HMAC. */
const ALGORITHMS = ["ES256", "ES384", "ES512", "PS256", "RS256", "EdDSA", "Ed25519"];

/** At most 255 printable ASCII characters (OpenID Connect Core section 2). */
const Identifier = z.string().regex(/^[\x20-\x7e]{1,255}$/);

const ClaimSet = z.object({
  iss: z.string(),
  sub: Identifier,
  client_id: z.string(),
  jti: Identifier,
  exp: z.number(),
  iat: z.number(),
  auth_time: z.number().optional(),
  scope: z.string().optional(),
  resource: z.union([z.string().transform((one) => [one]), z.array(z.string())]).optional(),
  email: EmailAddress.optional().catch(undefined),
});

/** The claims of an identity assertion; instants are seconds since the epoch. */
export type ClaimSet = z.output<typeof ClaimSet>;

const isForOne = (aud: unknown): boolean => !Array.isArray(aud) || aud.length === 1;

const isForger: ReadonlySet<string> = new Set([
  "ERR_JOSE_ALG_NOT_ALLOWED",
  "ERR_JOSE_NOT_SUPPORTED",
  "ERR_JWKS_MULTIPLE_MATCHING_KEYS",
  "ERR_JWKS_NO_MATCHING_KEY",
  "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
]);

const isMalformed: ReadonlySet<string> = new Set([
  "ERR_JWS_INVALID",
  "ERR_JWT_CLAIM_VALIDATION_FAILED",
  "ERR_JWT_INVALID",
]);

/** What is not about the assertion is about the keys that were to be fetched. */
function refusalFor(error: unknown): Refusal {
  if (!(error instanceof errors.JOSEError)) return "issuer_unreachable";
  if (error instanceof errors.JWTExpired) return "expired";
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === "aud") {
    return "invalid_audience";
  }
  if (isForger.has(error.code)) return "invalid_signature";
  return isMalformed.has(error.code) ? "invalid_request" : "issuer_unreachable";
}

/** Who an assertion says it is from; nothing of it has been verified. */
export function issuerNamedBy(assertion: string): string | undefined {
  try {
    return decodeJwt(assertion).iss;
  } catch {
    return undefined;
  }
}

/**
 * The claims of an assertion that an issuer has signed for this server and that is good now, by the
 * rules of draft-ietf-oauth-identity-assertion-authz-grant.
 */
export async function signedClaims(
  assertion: string,
  { issuer, keys }: TrustedIssuer,
  { audience, now }: { readonly audience: string; readonly now: Date },
): Promise<ClaimSet | Refusal> {
  try {
    const { payload } = await jwtVerify(assertion, keys, {
      typ: "oauth-id-jag+jwt",
      algorithms: ALGORITHMS,
      issuer,
      audience,
      clockTolerance: SKEW_SECONDS,
      maxTokenAge: MAX_LIFE_SECONDS,
      currentDate: now,
    });
    if (!isForOne(payload.aud)) return "invalid_audience";
    const { data } = ClaimSet.safeParse(payload);
    return data !== undefined && data.exp - data.iat <= MAX_LIFE_SECONDS ? data : "invalid_request";
  } catch (error) {
    return refusalFor(error);
  }
}
