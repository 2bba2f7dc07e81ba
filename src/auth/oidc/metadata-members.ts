import { errors } from "oidc-provider";
import { hasMarkup, NO_MARKUP } from "../../lib/label.ts";

/** Client metadata (RFC 7591 section 2) as a stranger sent it: no type can be relied on. */
export type Metadata = Readonly<Record<string, unknown>>;

/** Longest name or label, in characters. */
const MAX_TEXT_CHARACTERS = 100;

/** Longest address, in UTF-16 units; what common servers and browsers accept. */
const MAX_URI_LENGTH = 2000;

/** Longest email address, in characters (RFC 5321 section 4.5.3.1.3, without the brackets). */
const MAX_CONTACT_LENGTH = 254;

/** Most entries in a member that is a list, such as `redirect_uris`. */
const MAX_ENTRIES = 10;

/** Deepest nesting of a body: a key set in a registration needs five levels. */
const MAX_DEPTH = 8;

/** Control characters, lone surrogates, line separators, bidirectional controls, and what cannot be
 *  seen save for the joiners and variants that scripts and emoji need: each can make a name read as
 *  something else on a page or in a log, or hide text in it. */
const DECEPTIVE =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}[\p{Default_Ignorable_Code_Point}--[\u200c\u200d\ufe0e\ufe0f]]]/v;

/** Whether everything in a body is at most `depth` levels deep, and nothing is named `__proto__`:
 *  oidc-provider copies members by assignment, which would take that one for the prototype. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (depth === 0) return false;
  return Object.entries(value).every(
    ([name, inner]) => name !== "__proto__" && isPlain(inner, depth - 1),
  );
}

/**
 * Checks a whole registration or update before any member of it is looked at. The interface names no
 * software statement and this server trusts no signer of one (RFC 7591 section 2.3), so that one
 * is refused; to leave it out would let a client believe that what it states was heard.
 *
 * @throws `invalid_client_metadata` or `unapproved_software_statement`.
 */
export function checkBody(body: Metadata): void {
  if (!isPlain(body, MAX_DEPTH)) {
    refuse(`the body must be at most ${MAX_DEPTH} levels deep, without __proto__`);
  }
  if (body.software_statement !== undefined) {
    throw new errors.UnapprovedSoftwareStatement("no signer of software statements is trusted");
  }
}

/** Ends a registration. @throws `invalid_redirect_uri` when the description starts with
 *  `redirect_uris`, else `invalid_client_metadata` (RFC 7591 section 3.2.2). */
export function refuse(description: string): never {
  throw new errors.InvalidClientMetadata(description);
}

/** A name or label, in Unicode normal form C and without markup. @throws `invalid_client_metadata` */
export function plainText(
  member: string,
  value: unknown,
  most = MAX_TEXT_CHARACTERS,
): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "string") refuse(`${member} must be a string`);

  const text = value.normalize("NFC");
  if ([...text].length > most) {
    refuse(`${member} must not be longer than ${most} characters`);
  }
  if (DECEPTIVE.test(text)) {
    refuse(`${member} must not contain control or bidirectional formatting characters`);
  }
  if (hasMarkup(text)) refuse(`${member} ${NO_MARKUP}`);
  return text;
}

/** The entries of a member that is an array. @throws `invalid_client_metadata` */
export function list(member: string, value: unknown, most = MAX_ENTRIES): readonly unknown[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) refuse(`${member} must be an array`);
  if (value.length > most) refuse(`${member} must have at most ${most} entries`);
  return value;
}

/** An absolute address; a user name in front of the host could be taken for the host.
 *  @throws `invalid_client_metadata` */
export function address(member: string, value: unknown): URL {
  if (typeof value !== "string" || value.length > MAX_URI_LENGTH) {
    refuse(`${member} must be strings of at most ${MAX_URI_LENGTH} characters`);
  }
  const url = DECEPTIVE.test(value) ? null : URL.parse(value);
  if (url === null || url.username !== "" || url.password !== "") {
    refuse(`${member} must only contain valid uris without user information`);
  }
  return url;
}

/** Checks the members that only inform. @throws `invalid_client_metadata` */
export function checkInformation(metadata: Metadata): void {
  for (const member of ["client_uri", "logo_uri", "policy_uri", "tos_uri", "jwks_uri"]) {
    if (metadata[member] === undefined) continue;

    const { protocol } = address(member, metadata[member]);
    if (member === "jwks_uri" && protocol !== "https:") refuse(`${member} must be an https uri`);
  }
  for (const contact of list("contacts", metadata.contacts)) {
    plainText("contacts", contact, MAX_CONTACT_LENGTH);
  }
}
