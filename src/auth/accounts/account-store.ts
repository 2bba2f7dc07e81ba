import { randomBytes } from "node:crypto";
import { EmailAddress, ofEmail } from "../../mail/email-address.ts";
import { insert } from "../../store/port/operations.ts";
import type { Records, Stored } from "../../store/port/records.ts";
import { belongingTo } from "../agents/agent.ts";
import type { Auditor } from "../auditor.ts";
import type { LastUse } from "../last-use.ts";
import {
  type AccountRecord,
  accountNames,
  accounts,
  nameOfEmail,
  nameOfSubject,
} from "./account-records.ts";
import type { Account, Accounts } from "./accounts.ts";
import { createConnectedApplications } from "./connected-applications.ts";
import { createOwnAgents } from "./own-agents.ts";

/** Random bytes of an account id. */
const ID_BYTES = 16;

/** Most characters of a label: an address has no more. */
const MAX_LABEL_LENGTH = 254;

/** Control characters, halves of surrogate pairs, what is invisible or changes the direction of
 *  text (reliability section 5). */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]+/gu;

/** What accounts are kept with. */
export interface AccountsOptions {
  readonly records: Records;
  readonly now: () => Date;
  readonly audit: Auditor;
  readonly lastUse: Pick<LastUse, "of">;
}

/** Creates the accounts. Whatever is known of a person names one account, however many come at once;
 *  the account, its names and the audit row are one commit. */
export function createAccounts(options: AccountsOptions): Accounts {
  const { records } = options;
  const find = async (accountId: string) => accountOf(await records.get(accounts, accountId));
  const has = async (name: string) => (await records.get(accountNames, name)) !== undefined;

  const named = async (name: string, made: Made): Promise<Account> => {
    for (;;) {
      const known = await records.get(accountNames, name);
      const account = known && (await find(known.value.accountId));
      const found = account ?? (known ? undefined : await make(name, made, options));
      if (found !== undefined) return found;
    }
  };
  return {
    find,
    ofEmail: (email) => named(nameOfEmail(email), { email, label: email }),
    hasEmail: (email) => has(nameOfEmail(email)),
    ofSubject: (subject) => named(nameOfSubject(subject), { label: labelOf(subject.label) }),
    hasSubject: (subject) => has(nameOfSubject(subject)),
    ...createOwnAgents(options),
    ...createConnectedApplications(options),
  };
}

type Made = Pick<AccountRecord, "email" | "label">;

/** @returns `undefined` when somebody else was faster. */
async function make(
  name: string,
  made: Made,
  { records, now, audit }: AccountsOptions,
): Promise<Account | undefined> {
  const id = `acc_${randomBytes(ID_BYTES).toString("base64url")}`;
  const value = { ...made, createdAt: now().getTime() };
  const groups = [belongingTo(id), ...addressGroups(made.label)];
  const isMade = await records.commit([
    insert(accountNames, { key: name, value: { accountId: id }, groups }),
    insert(accounts, { key: id, value, groups }),
    ...audit({ action: "account.created", actor: id, target: id }),
  ]);
  return isMade ? { id, email: undefined, ...value } : undefined;
}

/** Whoever asks to be forgotten by an address means every account that shows it. */
function addressGroups(label: string): readonly string[] {
  const { data } = EmailAddress.safeParse(label);
  return data === undefined ? [] : [ofEmail(data)];
}

function accountOf(stored: Stored<AccountRecord> | undefined): Account | undefined {
  return stored && { id: stored.key, email: undefined, ...stored.value };
}

/** What an identity provider said, on one line that can be shown. */
function labelOf(text: string): string {
  return text.normalize("NFC").replace(UNPRINTABLE, " ").trim().slice(0, MAX_LABEL_LENGTH);
}
