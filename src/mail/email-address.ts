import { z } from "zod";
import { fingerprint } from "../lib/fingerprint.ts";

/** Most characters of an address: a path of 256 (RFC 5321 section 4.5.3.1.3) without its brackets. */
const MAX_LENGTH = 254;

/** Most characters before the `@` (RFC 5321 section 4.5.3.1.1). */
const MAX_LOCAL_LENGTH = 64;

/** Looked at before anything is trimmed or folded, so that no other text becomes an address. */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

/**
 * One email address, normalized: trimmed and in lower case; ASCII is in NFC as it is. No display
 * name, no list, no control characters.
 *
 * A host may tell `A@` from `a@` (RFC 5321 section 2.4), but none in wide use does, and two spellings
 * would give one person two accounts. The account, the limits and the message all go by the
 * normalized address, so that whoever reads the message is whoever the account belongs to.
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

/** Record group of everything stored under an address, across collections. @param email Normalized. */
export const emailGroup = (email: string): string => `email:${fingerprint(email)}`;
