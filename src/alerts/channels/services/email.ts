import { EmailAddress, mailboxOf } from "../../../mail/email-address.ts";
import type { OutgoingMail } from "../../../mail/outbox.ts";
import type { ChannelMessage } from "../message.ts";
import type { TargetKind } from "./service.ts";

/** A mailbox. */
export interface EmailTarget {
  readonly kind: "email";
  /** Normalized email address. */
  readonly to: string;
}

/** Mailboxes, which are sent emails through the outbox. */
export const email: TargetKind<EmailTarget> = {
  name: "Email",
  form: {
    about: "Any mailbox of yours. Each email has a link that ends them.",
    to: { label: "Address", type: "email", example: "name@host.example" },
  },
  parse(entered) {
    const { success, data, error } = EmailAddress.safeParse(entered.to);
    if (success) return { kind: "email", to: data };
    return { field: "to", fault: `The address ${error.issues[0]?.message}.` };
  },
  hint: ({ to }) => to,
  identity: ({ to }) => mailboxOf(to),
  chosenUrl: () => undefined,
};

/**
 * Maximum size of a message in bytes. It is below the maximum length of the text of an `Email`, to
 * leave room for the footer that is added to the message.
 */
export const MAX_EMAIL_BYTES = 8_000;

/**
 * How long an email may wait for the mail server, in milliseconds: about the time from the first to
 * the last attempt of a delivery.
 */
const TTL_MS = 76 * 3_600_000;

/**
 * Converts a message to an email.
 *
 * @param unsubscribeUrl Absent for a message that the recipient requested.
 */
export function emailOfMessage(
  { to }: EmailTarget,
  { title, lines, link }: ChannelMessage,
  unsubscribeUrl?: string,
): OutgoingMail {
  const footer =
    unsubscribeUrl === undefined
      ? []
      : [
          "",
          "-- ",
          "You get this because you made this address a channel of your alerts.",
          `Unsubscribe: ${unsubscribeUrl}`,
        ];
  return {
    to,
    subject: title,
    text: `${[title, "", ...lines, "", link, ...footer].join("\n")}\n`,
    ttlMs: TTL_MS,
    ...(unsubscribeUrl !== undefined && { unsubscribeUrl }),
  };
}
