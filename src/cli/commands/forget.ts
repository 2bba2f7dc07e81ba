import { EmailAddress } from "../../mail/email-address.ts";
import { queuedMails } from "../../mail/outbox.ts";
import { accounts } from "../../principals/accounts/accounts.ts";
import { browserSessionRecords } from "../../principals/accounts/browser-sessions.ts";
import { countEmail, type DeletedCounts, forgetEmail } from "../../principals/accounts/forget.ts";
import { grants } from "../../principals/accounts/grants.ts";
import { applications, inquiries } from "../../principals/applications/intake-records.ts";
import { apiKeys } from "../../principals/keys/api-keys.ts";
import { ConfirmationNeeded, defineStoreCommand } from "../command.ts";
import { countLines } from "../format.ts";
import { yesOption } from "./shared.ts";

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
  operands: { email: EmailAddress },
  options: { yes: yesOption },

  async run({ email, yes }, { store, now }) {
    const options = { records: store.records, now: () => new Date(now()), counted };
    if (!yes) refuseKnown(email, await countEmail(options, email));
    const removed = await forgetEmail(options, email);
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

/** @throws {ConfirmationNeeded} If anything is kept of the person, since it cannot be undone. */
function refuseKnown(email: string, kept: DeletedCounts): void {
  const found = Object.entries(kept).filter(([, count]) => count > 0);
  if (found.length === 0) return;
  const counts = found.map(([name, count]) => `${name}: ${count}`).join(", ");
  throw new ConfirmationNeeded(`This removes for good what is kept of ${email} (${counts}).`);
}
