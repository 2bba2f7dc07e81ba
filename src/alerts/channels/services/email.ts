import type { OutgoingMail } from "../../../mail/outbox.ts";
import type { ChannelTargets } from "../channel.ts";
import type { ChannelMessage } from "../message.ts";

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
  { to }: ChannelTargets["email"],
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
