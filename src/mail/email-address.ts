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

/** A mail host that has one mailbox for several spellings of an address. */
interface MailHost {
  /** Domains in which a name is one mailbox; the first stands for all. */
  readonly domains: readonly [string, ...string[]];
  /** Characters of a name that the host ignores. */
  readonly ignored?: RegExp;
}

/** Large hosts, by what they document. Names at domains of Outlook, for example, are distinct. */
const MAIL_HOSTS: readonly MailHost[] = [
  { domains: ["gmail.com", "googlemail.com"], ignored: /\./g },
  { domains: ["proton.me", "protonmail.com", "protonmail.ch", "pm.me"], ignored: /[._-]/g },
  { domains: ["icloud.com", "me.com", "mac.com"] },
  { domains: ["yandex.ru", "yandex.com", "yandex.by", "yandex.kz", "ya.ru"] },
];

/** Domains of Fastmail, at which `any@name.fastmail.com` is the mailbox `name@fastmail.com`. */
const SUBDOMAIN_OF_FASTMAIL = /^([^.]+)\.(fastmail\.(?:com|fm))$/;

/**
 * The mailbox that an address most likely belongs to: what follows a + in the name of a mailbox
 * usually makes no other mailbox (RFC 5233), nor do the spellings that large hosts treat as one.
 *
 * @param email Normalized email address.
 */
export function mailboxOf(email: string): string {
  const at = email.lastIndexOf("@");
  const name = email.slice(0, at).replace(/(?<=.)\+.*$/, "");
  const domain = email.slice(at + 1);
  const host = MAIL_HOSTS.find(({ domains }) => domains.includes(domain));
  if (host !== undefined) return `${withoutIgnored(name, host)}@${host.domains[0]}`;
  const [, user = name, fastmail = domain] = SUBDOMAIN_OF_FASTMAIL.exec(domain) ?? [];
  return `${user}@${fastmail}`;
}

/** A name of ignored characters alone stays, since it is no one's mailbox. */
const withoutIgnored = (name: string, { ignored }: MailHost): string =>
  ignored === undefined ? name : name.replace(ignored, "") || name;

/**
 * Group of all records that are stored under an email address, in all collections.
 *
 * @param email Normalized email address.
 */
export const emailGroup = (email: string): string => `email:${fingerprint(email)}`;
