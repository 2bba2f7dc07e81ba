import { createKeyringVault } from "../../keys/keyring-vault.ts";
import { EmailAddress } from "../../mail/email-address.ts";
import { type Email, emailLines } from "../../mail/email-schema.ts";
import { decryptEmail, queuedMails } from "../../mail/outbox.ts";
import { allowMail } from "../../mail/suppression.ts";
import { readAll } from "../../store/port/read-all.ts";
import { defineStoreCommand } from "../command.ts";

/** Lists the queued emails, or allows mail to a mailbox again. */
export const mailCommand = defineStoreCommand({
  summary: "Shows the messages that wait to be sent, the newest last.",
  notes: [
    "Without SMTP_URL nothing is sent: sign-in codes are read here, and it is the operator who",
    "passes them on. A message goes when it is sent or of no use any more. A mailbox whose owner",
    "stopped all mail gets no code at a new browser; when they ask you, allow it with --allow.",
  ],
  options: {
    allow: {
      value: "<address>",
      about: "allow mail to a mailbox that stopped all mail",
      schema: EmailAddress.optional(),
    },
  },

  async run({ allow }, { store, keyring, now }) {
    if (allow !== undefined) {
      const wasStopped = await allowMail(store.records, allow);
      const line = wasStopped ? `${allow} gets mail again.` : `${allow} had not stopped mail.`;
      return { isGood: true, lines: [line], result: { allowed: allow, wasStopped }, notes: [] };
    }
    const vault = createKeyringVault(await keyring());
    const waiting = (await readAll(store.records, queuedMails))
      .toSorted((a, b) => a.value.queuedAt - b.value.queuedAt)
      .map((stored) => ({
        ...decryptEmail(vault, stored),
        queuedAt: new Date(stored.value.queuedAt).toISOString(),
        secondsLeft: Math.ceil(((stored.expiresAt ?? now()) - now()) / 1000),
        failures: stored.value.failures,
      }));
    return {
      isGood: true,
      lines: waiting.length === 0 ? ["No message waits."] : waiting.flatMap(messageLines),
      result: { messages: waiting },
      notes: [],
    };
  },
});

interface Waiting extends Email {
  readonly queuedAt: string;
  readonly secondsLeft: number;
  readonly failures: number;
}

function messageLines(
  { queuedAt, secondsLeft, failures, ...email }: Waiting,
  at: number,
): readonly string[] {
  const minutes = Math.floor(secondsLeft / 60);
  const left = minutes > 0 ? `${minutes} min` : `${secondsLeft} s`;
  const tried = failures > 0 ? `, tried ${failures} times in vain` : "";
  return [
    ...(at === 0 ? [] : [""]),
    `--- ${queuedAt}, of use for ${left}${tried}`,
    ...emailLines(email).map((line) => `  ${line}`),
  ];
}
