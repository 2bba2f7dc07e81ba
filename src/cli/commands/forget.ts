import { z } from "zod";
import { applications, inquiries } from "../../applications/intake-records.ts";
import { accounts } from "../../auth/accounts/accounts.ts";
import { browserSessionRecords } from "../../auth/accounts/browser-sessions.ts";
import { forgetEmail } from "../../auth/accounts/forget.ts";
import { grants } from "../../auth/accounts/grants.ts";
import { apiKeys } from "../../auth/keys/api-keys.ts";
import { EmailAddress } from "../../mail/email-address.ts";
import { queuedMails } from "../../mail/outbox.ts";
import { defineStoreCommand } from "../command.ts";
import { countLines } from "../format.ts";

/** Collections whose deleted records are counted in the output. */
const counted = {
  accounts,
  sessions: browserSessionRecords,
  grants,
  keys: apiKeys,
  applications,
  inquiries,
  messages: queuedMails,
};

/** Deletes the data of a person. */
export const forgetCommand = defineStoreCommand({
  summary: "Removes everything that is kept of a person with an email address.",
  notes: [
    "Their account with its sessions, keys and tokens, the agents that they answer for, what they",
    "sent, and messages to them. The audit keeps ids, never the address.",
  ],
  operand: "<email>",
  options: {},
  args: z.strictObject({ email: EmailAddress }),

  async run({ email }, { store, now }) {
    const clock = () => new Date(now());
    const removed = await forgetEmail({ records: store.records, now: clock, counted }, email);
    const isKnown = Object.values(removed).some((count) => count > 0);
    return {
      isGood: true,
      lines: isKnown
        ? [`Removed what was kept of ${email}:`, ...countLines(removed)]
        : [`Nothing is kept of ${email}.`],
      result: { isKnown, removed },
      notes: isKnown ? ["Backups and exports that were made before still have it."] : [],
    };
  },
});
