import { z } from "zod";
import { EmailAddress } from "./email-address.ts";

/** Most characters of a subject: with its name it stays on one line (RFC 5322 section 2.1.1). */
const MAX_SUBJECT_LENGTH = 200;

const MAX_TEXT_LENGTH = 10_000;

/** What a person gets. No part of it can begin another header: the address is one address, and the
 *  subject one line of printable characters. */
export const Email = z.strictObject({
  /** Normalised address. */
  to: EmailAddress,
  subject: z
    .string()
    .max(MAX_SUBJECT_LENGTH)
    .regex(/^[^\p{C}\p{Zl}\p{Zp}]+$/u),
  /** Plain text. */
  text: z.string().max(MAX_TEXT_LENGTH),
});

/** What a person gets. */
export type Email = z.infer<typeof Email>;

/** A message for the terminal of the operator. */
export function emailText({ to, subject, text }: Email): string {
  return `To: ${to}\nSubject: ${subject}\n\n${text.trimEnd()}\n`;
}
