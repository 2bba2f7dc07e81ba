import { isAbsolute } from "node:path";
import { z } from "zod";
import { type ApiKeys, createApiKeys } from "../../auth/keys/api-keys.ts";
import { LastUse } from "../../auth/last-use.ts";
import { isScope, type Scope, scopeNames, scopes } from "../../auth/scopes.ts";
import { createDecisions, type Decisions } from "../../intake/decisions.ts";
import type { Mailbox } from "../../mail/outbox.ts";
import { createOutbox } from "../../mail/outbox.ts";
import { type AuditEntry, audited } from "../../store/audit/entry.ts";
import { createKeyringVault } from "../../store/keys/keyring-vault.ts";
import type { CommandContext } from "../command.ts";

/** Names of scopes separated by spaces; they stay text on their way to a server. */
export const ScopesArgument = z.string("name them").refine(
  (text) => {
    const names = scopeNames(text);
    return names.length > 0 && names.every(isScope);
  },
  `must be names, separated by spaces, of ${Object.keys(scopes).join(", ")}`,
);

/** What is in a `ScopesArgument`. */
export const scopesIn = (text: string): readonly Scope[] => scopeNames(text).filter(isScope);

/** What the operator has to know of a key that was just made. */
export const newKeyNotes: readonly string[] = [
  "The key is shown only now: keep it where secrets are kept. It is sent as the header x-api-key.",
];

/** The API keys of the store. */
export function apiKeysOf({ store, now }: CommandContext): ApiKeys {
  const { records, identity } = store;
  const clock = () => new Date(now());
  // No command uses a key, so that no use can fail to be noted.
  const lastUse = new LastUse({ records, now: clock, onError: () => {} });
  return createApiKeys({ records, mode: identity.mode, now: clock, audit: auditOf(now), lastUse });
}

/** What is decided about applications. @param mailbox Absent: nobody is told. */
export function decisionsOf(context: CommandContext, mailbox?: Mailbox): Decisions {
  const { records } = context.store;
  const options = { records, audit: auditOf(context.now), keys: apiKeysOf(context) };
  return createDecisions({ ...options, site: context.site, ...(mailbox && { mailbox }) });
}

/** Where messages wait until a server sends them. */
export async function mailboxOf({ keyring, now }: CommandContext): Promise<Mailbox> {
  const vault = createKeyringVault(await keyring());
  return createOutbox({ vault, now: () => new Date(now()) });
}

/** The operator has no network address. */
const auditOf = (now: CommandContext["now"]) => (entry: AuditEntry) => audited(entry, now());

/** An instant for people and programs: ISO 8601, or `null`. */
export function isoOrNull(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}

/** The id of an application, or a queue token that was given for it. */
export const ApplicationArgument = z.string("name an application");

/** What is said when there is no such application. What may be a token is not repeated. */
export const noApplication = (named: string): Error =>
  new Error(`There is no application ${named.startsWith("app_") ? named : "of this token"}.`);

/** What the operator has to know of queue tokens. */
export const queueTokenNotes: readonly string[] = [
  "<id> can be a queue token too. It says which application is meant, not who holds it: anybody can",
  "apply with anybody's address, and each token that was given for an application counts.",
];

/** The file of a command. A server would read a relative path from its own folder. */
export const FileArgument = z.string("name a file").refine(isAbsolute, "must be absolute");

/** Whether the operator has agreed in advance. */
export const YesArgument = z.boolean().default(false);

/** The option for `YesArgument`. */
export const yesOption = { about: "do it without asking" };
