import { z } from "zod";
import { EmailAddress } from "./email-address.ts";

/**
 * Maximum length of a subject, in characters. Together with the field name it fits on one line (RFC
 * 5322 section 2.1.1).
 */
const MAX_SUBJECT_LENGTH = 200;

/** Maximum length of the text of an email, in characters. */
const MAX_TEXT_LENGTH = 10_000;

/** Schema of an email to one person. No member can inject a header field: `to` is one address, and
 *  `subject` is one line of printable characters. */
export const Email = z.strictObject({
  /** Normalized address of the recipient. */
  to: EmailAddress,
  subject: z
    .string()
    .max(MAX_SUBJECT_LENGTH)
    .regex(/^[^\p{C}\p{Zl}\p{Zp}]+$/u),
  /** Text of the email, as plain text. */
  text: z.string().max(MAX_TEXT_LENGTH),
  /** URL that unsubscribes the recipient with a single POST request (RFC 8058). */
  unsubscribeUrl: z.url().optional(),
});

/** An email to one person. */
export type Email = z.infer<typeof Email>;

/** The lines of an email, for the operator's terminal. */
export function emailLines({ to, subject, text }: Email): readonly string[] {
  return [`To: ${to}`, `Subject: ${subject}`, "", ...text.trimEnd().split("\n")];
}
