import type { IncomingMessage } from "node:http";
import { queryOf } from "./request-context.ts";

/**
 * Creates the error for a missing or invalid credential.
 *
 * @param error Code of RFC 6750 section 3.1; absent if no credential was sent.
 */
export type CreateCredentialError = (detail: string, error?: "invalid_token") => Error;

/** Functions that create an endpoint's errors for bad credentials. */
interface CredentialErrors {
  readonly unauthenticated: CreateCredentialError;
  /** Creates the error for more than one credential (RFC 6750 section 2). */
  readonly multiple: (detail: string) => Error;
}

/** A credential that a caller sent. */
export interface Credential {
  /**
   * Header of the credential: `bearer` for `Authorization`, `key` for `x-api-key`, which accepts
   * API keys only.
   */
  readonly scheme: "bearer" | "key";
  readonly text: string;
}

/** Matches bearer credentials (RFC 6750 section 2.1). */
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/**
 * Query parameters that carry credentials: `access_token` (RFC 6750 section 2.3) and common custom
 * names.
 */
const credentialParameters = ["access_token", "api_key", "x-api-key"];

/**
 * Matches a URL that may contain one of the `credentialParameters`, or a percent escape that could
 * hide one.
 */
const MAY_HAVE_PARAMETER = /token|key|%/;

/**
 * Reads the credential of a request: a token or an API key in `Authorization`, or an API key in
 * `x-api-key`.
 *
 * @throws The `unauthenticated` error if the credential is missing, malformed or in the URL; the
 * `multiple` error if there is more than one.
 */
export function readCredential(
  req: IncomingMessage,
  { unauthenticated, multiple }: CredentialErrors,
): Credential {
  if (hasCredentialInUrl(req)) {
    throw unauthenticated(
      "A credential in the URL is rejected, because URLs are logged. Use a header.",
    );
  }
  const authorization = headerValues(req, "authorization");
  const keys = headerValues(req, "x-api-key");
  if (authorization.length + keys.length > 1) {
    throw multiple("The headers Authorization and x-api-key have more than one credential.");
  }
  const [header] = authorization;
  const [key] = keys;
  if (header !== undefined) return { scheme: "bearer", text: parseToken(header, unauthenticated) };
  return { scheme: "key", text: parseKey(key, unauthenticated) };
}

/**
 * Whether the query string contains a credential. The query is parsed only if the URL may contain
 * one of the parameter names, plain or percent-encoded.
 */
function hasCredentialInUrl(req: IncomingMessage & { readonly originalUrl?: string }): boolean {
  if (!MAY_HAVE_PARAMETER.test(req.originalUrl ?? req.url ?? "")) return false;
  const query = queryOf(req);
  return credentialParameters.some((name) => query.has(name));
}

/** All values of a header field; for some repeated fields, `headers` keeps only the first value. */
function headerValues({ rawHeaders }: IncomingMessage, name: string): readonly string[] {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const field = rawHeaders[at] ?? "";
    if (field.length === name.length && field.toLowerCase() === name) {
      values.push(rawHeaders[at + 1] ?? "");
    }
  }
  return values;
}

/** A WWW-Authenticate value (RFC 6750 section 3); no parameter contains quotes or backslashes. */
export function bearerChallenge(parameters: Readonly<Record<string, string>>): string {
  const list = Object.entries(parameters).map(([name, value]) => `${name}="${value}"`);
  return `Bearer ${list.join(", ")}`;
}

function parseKey(key: string | undefined, refuse: CreateCredentialError): string {
  if (key === undefined) throw refuse("The header Authorization or x-api-key is missing.");
  if (key === "") throw refuse("The header x-api-key is empty.");
  return key;
}

function parseToken(header: string, refuse: CreateCredentialError): string {
  const [, token] = BEARER.exec(header) ?? [];
  if (token === undefined) throw refuse("The header must read Authorization: Bearer <token>.");
  return token;
}
