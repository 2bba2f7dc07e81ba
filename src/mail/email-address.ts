import { z } from "zod";
import { fingerprint } from "../lib/fingerprint.ts";

/**
 * Maximum length of an address, in characters: a path has at most 256 (RFC 5321 section 4.5.3.1.3),
 * including the angle brackets.
 */
const MAX_LENGTH = 254;

/** Maximum length of the part before the `@`, in characters (RFC 5321 section 4.5.3.1.1). */
const MAX_LOCAL_LENGTH = 64;

/**
 * Printable ASCII, checked before the text is trimmed and lowercased, so that these steps cannot
 * turn other text into an address.
 */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

/**
 * Schema of a single email address, normalized: trimmed and in lower case. Unicode normalization is
 * not needed, because ASCII is always in NFC. Display names, lists and control characters are
 * rejected.
 *
 * A mail host may distinguish `A@` and `a@` (RFC 5321 section 2.4), but none in wide use does, and
 * two spellings would give one person two accounts. The account, the limits and the email all use
 * the normalized address, so that whoever receives the email owns the account.
 */
export const EmailAddress = z
  .string("must be an email address")
  .regex(PRINTABLE_ASCII, { error: "must be of printable ASCII characters", abort: true })
  .trim()
  .toLowerCase()
  .max(MAX_LENGTH, { error: `must have at most ${MAX_LENGTH} characters`, abort: true })
  .pipe(z.email("must be one email address such as name@host.example"))
  .refine((address) => address.indexOf("@") <= MAX_LOCAL_LENGTH, {
    error: `must have at most ${MAX_LOCAL_LENGTH} characters before the @`,
  });

/** Domains of one mail host that ignores dots in names. */
const DOTLESS_DOMAINS = ["gmail.com", "googlemail.com"];

/**
 * The mailbox that an address most likely belongs to: what follows a + in the name of a mailbox
 * usually makes no other mailbox (RFC 5233), and Gmail ignores dots and has two domains.
 *
 * @param email Normalized email address.
 */
export function mailboxOf(email: string): string {
  const at = email.lastIndexOf("@");
  const [name, domain] = [email.slice(0, at).replace(/(?<=.)\+.*$/, ""), email.slice(at + 1)];
  return DOTLESS_DOMAINS.includes(domain)
    ? `${name.replaceAll(".", "")}@gmail.com`
    : `${name}@${domain}`;
}

/**
 * Group of all records that are stored under an email address, in all collections.
 *
 * @param email Normalized email address.
 */
export const emailGroup = (email: string): string => `email:${fingerprint(email)}`;
