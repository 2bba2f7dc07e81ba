import { decodeJwt, errors, jwtVerify } from "jose";
import { z } from "zod";
import { EmailAddress } from "../../mail/email-address.ts";
import type { TrustedIssuer } from "./trusted-issuers.ts";

/**
 * Error codes for rejected assertions, as auth.md defines them, each with its description for the
 * caller.
 */
export const assertionErrors = {
  invalid_request:
    "the assertion must be a JWT of type oauth-id-jag+jwt with iss, sub, aud, client_id, jti, iat and exp, valid for at most ten minutes",
  issuer_not_enabled: "the issuer of the assertion is not trusted by this server",
  issuer_unreachable: "the keys of the issuer cannot be fetched at the moment",
  invalid_signature: "the assertion is not signed with a key of its issuer",
  invalid_audience: "the aud of the assertion must be the issuer of this server and nothing else",
  invalid_client_id: "the client_id of the assertion does not allow its use here",
  expired: "the assertion has expired",
  login_required: "the person must have signed in at the issuer within the last hour",
  replay_detected: "the assertion was used before",
} as const;

/** The error code of a rejected assertion. */
export type AssertionErrorCode = keyof typeof assertionErrors;

/** Allowed clock difference, in seconds. */
export const CLOCK_SKEW_SECONDS = 60;

/** Maximum lifetime of an assertion, in seconds: twice the lifetime that auth.md suggests. */
const MAX_LIFETIME_SECONDS = 600;

/** Accepted signature algorithms: only asymmetric ones, so neither `none` nor HMAC. */
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

/** The claims of an identity assertion; times are in seconds since the epoch. */
export type ClaimSet = z.output<typeof ClaimSet>;

const isSingleAudience = (aud: unknown): boolean => !Array.isArray(aud) || aud.length === 1;

const invalidSignatureCodes: ReadonlySet<string> = new Set([
  "ERR_JOSE_ALG_NOT_ALLOWED",
  "ERR_JOSE_NOT_SUPPORTED",
  "ERR_JWKS_MULTIPLE_MATCHING_KEYS",
  "ERR_JWKS_NO_MATCHING_KEY",
  "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
]);

const malformedCodes: ReadonlySet<string> = new Set([
  "ERR_JWS_INVALID",
  "ERR_JWT_CLAIM_VALIDATION_FAILED",
  "ERR_JWT_INVALID",
]);

/**
 * Maps an error of jose to the error code of auth.md. Any error that is not about the assertion
 * itself comes from fetching the keys.
 */
function errorCodeFor(error: unknown): AssertionErrorCode {
  if (!(error instanceof errors.JOSEError)) return "issuer_unreachable";
  if (error instanceof errors.JWTExpired) return "expired";
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === "aud") {
    return "invalid_audience";
  }
  if (invalidSignatureCodes.has(error.code)) return "invalid_signature";
  return malformedCodes.has(error.code) ? "invalid_request" : "issuer_unreachable";
}

/**
 * The `iss` claim of an assertion whose signature is not yet verified; `undefined` if the assertion
 * cannot be decoded.
 */
export function unverifiedIssuer(assertion: string): string | undefined {
  try {
    return decodeJwt(assertion).iss;
  } catch {
    return undefined;
  }
}

/**
 * Verifies the signature, audience and lifetime of an assertion as
 * draft-ietf-oauth-identity-assertion-authz-grant requires.
 * @returns The claims, or the error code.
 */
export async function verifyClaims(
  assertion: string,
  { issuer, keys }: TrustedIssuer,
  { audience, now }: { readonly audience: string; readonly now: Date },
): Promise<ClaimSet | AssertionErrorCode> {
  try {
    const { payload } = await jwtVerify(assertion, keys, {
      typ: "oauth-id-jag+jwt",
      algorithms: ALGORITHMS,
      issuer,
      audience,
      clockTolerance: CLOCK_SKEW_SECONDS,
      maxTokenAge: MAX_LIFETIME_SECONDS,
      currentDate: now,
    });
    if (!isSingleAudience(payload.aud)) return "invalid_audience";
    const { data } = ClaimSet.safeParse(payload);
    return data !== undefined && data.exp - data.iat <= MAX_LIFETIME_SECONDS
      ? data
      : "invalid_request";
  } catch (error) {
    return errorCodeFor(error);
  }
}
