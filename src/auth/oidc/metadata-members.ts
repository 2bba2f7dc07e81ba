import { errors } from "oidc-provider";
import {
  hasActiveContent,
  hasDeceptiveCharacter,
  hasVisibleCharacter,
  NO_ACTIVE_CONTENT_MESSAGE,
  NOT_VISIBLE_MESSAGE,
} from "../../lib/label.ts";
import { hasCombiningMarkRun, TOO_MANY_MARKS_MESSAGE } from "../../lib/mark-run.ts";

/** Client metadata (RFC 7591 section 2), unvalidated. */
export type UnvalidatedClientMetadata = Readonly<Record<string, unknown>>;

/** Maximum length of a name or label, in characters. */
const MAX_TEXT_CHARACTERS = 100;

/** Maximum length of a URL, in UTF-16 units; common servers and browsers accept this length. */
const MAX_URI_LENGTH = 2000;

/**
 * Maximum length of an email address, in characters (RFC 5321 section 4.5.3.1.3, without the angle
 * brackets).
 */
const MAX_CONTACT_LENGTH = 254;

/** Maximum number of entries of an array member, such as `redirect_uris`. */
const MAX_ENTRIES = 10;

/** Maximum nesting depth of a request body; a key set in a registration needs five levels. */
const MAX_DEPTH = 8;

/**
 * Whether a JSON value is at most `depth` levels deep and has no member named `__proto__`, which
 * would replace the prototype when oidc-provider copies members by assignment.
 */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (depth === 0) return false;
  return Object.entries(value).every(
    ([name, inner]) => name !== "__proto__" && isPlain(inner, depth - 1),
  );
}

/**
 * Checks the body of a registration or update as a whole, before its members. A software statement
 * is rejected, since this server trusts no issuer of software statements (RFC 7591 section 2.3); if
 * it were ignored, the client would believe that it was accepted.
 *
 * @throws `invalid_client_metadata` or `unapproved_software_statement`.
 */
export function checkRegistrationBody(body: UnvalidatedClientMetadata): void {
  if (!isPlain(body, MAX_DEPTH)) {
    rejectMetadata(`the body must be at most ${MAX_DEPTH} levels deep, without __proto__`);
  }
  if (body.software_statement !== undefined) {
    throw new errors.UnapprovedSoftwareStatement("no signer of software statements is trusted");
  }
}

/** Rejects a registration. @throws `invalid_redirect_uri` when the description starts with
 *  `redirect_uris`, else `invalid_client_metadata` (RFC 7591 section 3.2.2). */
export function rejectMetadata(description: string): never {
  throw new errors.InvalidClientMetadata(description);
}

/**
 * Validates a name or label: Unicode normalization form C, with at least one visible character
 * and without active content.
 * @throws `invalid_client_metadata`
 */
export function requirePlainText(
  member: string,
  value: unknown,
  most = MAX_TEXT_CHARACTERS,
): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "string") rejectMetadata(`${member} must be a string`);
  if (hasCombiningMarkRun(value)) rejectMetadata(`${member} ${TOO_MANY_MARKS_MESSAGE}`);

  const text = value.normalize("NFC");
  if ([...text].length > most) {
    rejectMetadata(`${member} must not be longer than ${most} characters`);
  }
  if (hasDeceptiveCharacter(text)) {
    rejectMetadata(`${member} must not contain control or invisible characters`);
  }
  if (!hasVisibleCharacter(text)) rejectMetadata(`${member} ${NOT_VISIBLE_MESSAGE}`);
  if (hasActiveContent(text)) rejectMetadata(`${member} ${NO_ACTIVE_CONTENT_MESSAGE}`);
  return text;
}

/**
 * Validates a member that must be an array.
 * @returns The entries; empty if the member is absent.
 * @throws `invalid_client_metadata`
 */
export function requireArray(
  member: string,
  value: unknown,
  most = MAX_ENTRIES,
): readonly unknown[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) rejectMetadata(`${member} must be an array`);
  if (value.length > most) rejectMetadata(`${member} must have at most ${most} entries`);
  return value;
}

/**
 * Validates an absolute URL. A URL with user information is rejected, since the user information
 * could be mistaken for the host.
 * @throws `invalid_client_metadata`
 */
export function requireAbsoluteUrl(member: string, value: unknown): URL {
  if (typeof value !== "string" || value.length > MAX_URI_LENGTH) {
    rejectMetadata(`${member} must be strings of at most ${MAX_URI_LENGTH} characters`);
  }
  const url = hasDeceptiveCharacter(value) ? null : URL.parse(value);
  if (url === null || url.username !== "" || url.password !== "") {
    rejectMetadata(`${member} must only contain valid uris without user information`);
  }
  return url;
}

/**
 * Validates the informational members, which this server only stores and returns.
 * @throws `invalid_client_metadata`
 */
export function checkInformationalMembers(metadata: UnvalidatedClientMetadata): void {
  for (const member of ["client_uri", "logo_uri", "policy_uri", "tos_uri", "jwks_uri"]) {
    if (metadata[member] === undefined) continue;

    const { protocol } = requireAbsoluteUrl(member, metadata[member]);
    if (member === "jwks_uri" && protocol !== "https:")
      rejectMetadata(`${member} must be an https uri`);
  }
  for (const contact of requireArray("contacts", metadata.contacts)) {
    requirePlainText("contacts", contact, MAX_CONTACT_LENGTH);
  }
}
