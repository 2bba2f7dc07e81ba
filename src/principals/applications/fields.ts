import { z } from "zod";
import {
  hasActiveContent,
  hasVisibleCharacter,
  Label,
  NO_ACTIVE_CONTENT_MESSAGE,
} from "../../lib/label.ts";
import { hasCombiningMarkRun, TOO_MANY_MARKS_MESSAGE } from "../../lib/mark-run.ts";
import { EmailAddress } from "../../mail/email-address.ts";
import { applicantFocuses } from "./intake-records.ts";

/** Maximum length of a message, in characters. */
const MAX_MESSAGE_CHARACTERS = 5000;

/** Matches characters that a message may not contain. Line breaks are allowed. */
const UNPRINTABLE = /[\p{Cs}\u202a-\u202e\u2066-\u2069]|(?!\n)\p{Cc}/u;

/** Matches text that people or programs would treat as a URL: a scheme, `www.`, or a host with a
 *  path. A bare host is allowed, since companies use it as a name. */
const ADDRESS = /:\/\/|\bwww\.|[\p{L}\p{N}]\.\p{L}{2,}\//iu;

/** Name of an applicant (a person or an organization). URLs are rejected. */
const ApplicantName = Label.refine((text) => !ADDRESS.test(text), "must not have a web address");

/** Text of 1 to 5,000 characters in NFC, trimmed, of which something is visible, without active
 *  content. */
const Message = z
  .string("must be a string")
  .refine((text) => !hasCombiningMarkRun(text), { error: TOO_MANY_MARKS_MESSAGE, abort: true })
  .transform((text) => text.normalize("NFC").replaceAll("\r\n", "\n").trim())
  .refine(hasVisibleCharacter, "must not be empty")
  .refine((text) => !UNPRINTABLE.test(text), "must have no control characters other than new line")
  .refine((text) => !hasActiveContent(text), NO_ACTIVE_CONTENT_MESSAGE)
  .refine(
    (text) => [...text].length <= MAX_MESSAGE_CHARACTERS,
    `must have at most ${MAX_MESSAGE_CHARACTERS} characters`,
  );

const Email = EmailAddress.meta({ format: "email" });

/**
 * Schema of an application for early access. Unknown members are ignored and not stored, here and
 * in `InquiryFields`, because the API contract does not specify how to handle them.
 */
export const ApplicationFields = z.object(
  {
    name: ApplicantName.describe(
      "A person or an organization: 1 to 100 characters on one line, with a letter or digit, without markup, scripts, web addresses and invisible characters.",
    ),
    email: Email,
    focus: z.enum(applicantFocuses, `must be one of ${applicantFocuses.join(", ")}`).optional(),
  },
  "must be a JSON object",
);

/** Schema of an inquiry, a message to the operator. */
export const InquiryFields = z.object(
  {
    email: Email,
    message: Message.describe(
      "1 to 5,000 characters, one of them visible, without markup and scripts.",
    ),
  },
  "must be a JSON object",
);
