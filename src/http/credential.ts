import type { IncomingMessage } from "node:http";
import { queryOf } from "./request-context.ts";
/**
 * Creates the error for a missing or invalid credential.
 *
 * @param error Code of RFC 6750 section 3.1; absent if no credential was sent.
 */
export type Refuse = (detail: string, error?: "invalid_token") => Error;

/** How an endpoint reports bad credentials. */
interface Refusals {
  readonly refuse: Refuse;
  /** For more than one credential (RFC 6750 section 2). */
  readonly several: (detail: string) => Error;
}

/** The credential that a caller sent. */
export interface Credential {
  /** `x-api-key` accepts API keys only. */
  readonly way: "bearer" | "key";
  readonly text: string;
}

/** Credentials of RFC 6750 section 2.1. */
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** Query parameters that carry credentials: RFC 6750 section 2.3, and common custom names. */
const inAddress = ["access_token", "api_key", "x-api-key"];

/** Matches any of those names, or a percent escape that could hide one. */
const MAY_NAME_ONE = /token|key|%/;

/**
 * The single credential of a request: a token or an API key in `Authorization`, or an API key in
 * `x-api-key`.
 *
 * @throws The endpoint's own error.
 */
export function credentialOf(req: IncomingMessage, { refuse, several }: Refusals): Credential {
  if (isInAddress(req)) {
    throw refuse("A credential in the address is refused: it would end up in logs. Use a header.");
  }
  const authorization = valuesOf(req, "authorization");
  const keys = valuesOf(req, "x-api-key");
  if (authorization.length + keys.length > 1) {
    throw several("There is more than one credential in the headers Authorization and x-api-key.");
  }
  const [header] = authorization;
  const [key] = keys;
  if (header !== undefined) return { way: "bearer", text: tokenIn(header, refuse) };
  return { way: "key", text: keyIn(key, refuse) };
}

/** Parses the query only if it may contain such a name, in any encoding. */
function isInAddress(req: IncomingMessage & { readonly originalUrl?: string }): boolean {
  if (!MAY_NAME_ONE.test(req.originalUrl ?? req.url ?? "")) return false;
  const query = queryOf(req);
  return inAddress.some((name) => query.has(name));
}

/** All values of a field; `headers` keeps only the first of some fields. */
function valuesOf({ rawHeaders }: IncomingMessage, name: string): readonly string[] {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [field = "", value = ""] = [rawHeaders[at], rawHeaders[at + 1]];
    if (field.length === name.length && field.toLowerCase() === name) values.push(value);
  }
  return values;
}

/** A WWW-Authenticate value (RFC 6750 section 3); no parameter contains quotes or backslashes. */
export function challenge(parameters: Readonly<Record<string, string>>): string {
  const list = Object.entries(parameters).map(([name, value]) => `${name}="${value}"`);
  return `Bearer ${list.join(", ")}`;
}

function keyIn(key: string | undefined, refuse: Refuse): string {
  if (key === undefined) throw refuse("The header Authorization or x-api-key is missing.");
  if (key === "") throw refuse("The header x-api-key is empty.");
  return key;
}

function tokenIn(header: string, refuse: Refuse): string {
  const [, token] = BEARER.exec(header) ?? [];
  if (token === undefined) throw refuse("The header must read Authorization: Bearer <token>.");
  return token;
}
