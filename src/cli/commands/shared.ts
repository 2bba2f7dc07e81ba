import { isAbsolute } from "node:path";
import { z } from "zod";
import type { Auditor } from "../../access/auditor.ts";
import { LastUseTracker } from "../../access/last-use.ts";
import { isScope, parseScopeNames, type Scope, scopeDescriptions } from "../../access/scopes.ts";
import { createKeyringVault } from "../../keys/keyring-vault.ts";
import { signingRefusal } from "../../log/fork-check.ts";
import { LastCheckpointFile } from "../../log/last-checkpoint-file.ts";
import { LogStore } from "../../log/log-store.ts";
import { createOutbox, type Outbox } from "../../mail/outbox.ts";
import {
  type ApplicationDecisionService,
  createApplicationDecisionService,
} from "../../principals/applications/decisions.ts";
import { ApiKeyService } from "../../principals/keys/api-keys.ts";
import { writeAuditEntry } from "../../store/audit-entry.ts";
import type { CommandContext } from "../command.ts";

/** Schema of scope names separated by spaces. The names are sent to the server as text. */
export const ScopesArgument = z.string("name them").refine(
  (text) => {
    const names = parseScopeNames(text);
    return names.length > 0 && names.every(isScope);
  },
  `must be names, separated by spaces, of ${Object.keys(scopeDescriptions).join(", ")}`,
);

/** The scopes of a `ScopesArgument`. */
export const parseScopes = (text: string): readonly Scope[] =>
  parseScopeNames(text).filter(isScope);

/** Notes printed with a new API key. */
export const newApiKeyNotes: readonly string[] = [
  "The key is shown only now: keep it where secrets are kept. It is sent as the header x-api-key.",
];

/** The API keys of the store. */
export function apiKeysOf({ store, now }: CommandContext): ApiKeyService {
  const { records, identity } = store;
  const clock = () => new Date(now());
  // Commands do not authenticate with keys, so no use is ever recorded here.
  const lastUse = new LastUseTracker({ records, now: clock, onError: () => {} });
  return new ApiKeyService({
    records,
    mode: identity.mode,
    now: clock,
    audit: auditOf(now),
    lastUse,
  });
}

/**
 * The operator's decisions on applications for access.
 * @param mailbox If absent, no email is sent.
 */
export function decisionsOf(context: CommandContext, mailbox?: Outbox): ApplicationDecisionService {
  const { records } = context.store;
  const options = { records, audit: auditOf(context.now), keys: apiKeysOf(context) };
  return createApplicationDecisionService({
    ...options,
    site: context.site,
    ...(mailbox && { mailbox }),
  });
}

/**
 * Why the log of signals is not signed, or will not be by the next server; `undefined` if it may
 * be.
 */
export async function logRefusalOf({
  store,
  folder,
  holder,
}: Pick<CommandContext, "store" | "folder" | "holder">): Promise<string | undefined> {
  const logs = new LogStore(store);
  const state = (await logs.state())?.value;
  // A replay starts a new log each time.
  if (state === undefined || store.identity.mode === "replay") return undefined;
  const isShared = store.engine === "postgres";
  const refusal = await signingRefusal(
    { store: logs, head: new LastCheckpointFile(folder), isShared },
    state,
  );
  return refusal ?? (isShared || holder === "server" ? logs.refusal() : undefined);
}

/** What the operator does about a log that is not signed. */
export const NEW_LOG_ADVICE =
  "Signing it would be a fork. If no copy of the store has the missing entries, market-signal admin log new starts a new log, whose first entry names the last checkpoint that the store has of the old one.";

/** What the operator must do about a log of signals that is not signed after a restore. */
export async function logNotesAfterRestore(context: CommandContext): Promise<readonly string[]> {
  const refusal = await logRefusalOf(context);
  if (refusal === undefined) return [];
  return [`The log of signals will not be signed: ${refusal}.`, NEW_LOG_ADVICE];
}

/** The outbox for emails; a running server sends the emails in the outbox. */
export async function outboxOf({ keyring, now }: CommandContext): Promise<Outbox> {
  const vault = createKeyringVault(await keyring());
  return createOutbox({ vault, now: () => new Date(now()) });
}

/** Audits actions of the operator, who has no network address. */
const auditOf =
  (now: CommandContext["now"]): Auditor =>
  (tx, entry) =>
    writeAuditEntry(tx, entry, now());

/**
 * Formats an instant for people and programs: ISO 8601, or `null` if it is `undefined`.
 * @param at Milliseconds since the epoch.
 */
export function isoOrNull(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}

/** Schema of the id of an application for access, or of a queue token that was issued for it. */
export const ApplicationArgument = z.string("name an application");

/**
 * The error for an unknown application for access. The message does not repeat the argument if it
 * could be a secret token.
 */
export const applicationNotFoundError = (named: string): Error =>
  new Error(`There is no application ${named.startsWith("app_") ? named : "of this token"}.`);

/** Notes about queue tokens for the help. */
export const queueTokenNotes: readonly string[] = [
  "<id> can be a queue token too. It says which application is meant, not who holds it: anybody can",
  "apply with anybody's address, and each token that was given for an application counts.",
];

/**
 * Schema of the file argument of a command. The path is absolute, because the server has another
 * working directory.
 */
export const FileArgument = z.string("name a file").refine(isAbsolute, "must be absolute");

/** The flag `--yes`: whether the operator has confirmed in advance. */
export const yesOption = { about: "do it without asking", schema: z.boolean().default(false) };

/** Schema of a whole number from `min` to `max`, entered as text. */
export const wholeNumberArgument = (min: number, max: number) => {
  const wrong = `is not a whole number from ${min} to ${max}`;
  const number = z.string().regex(/^\d+$/, wrong).transform(Number);
  return number.refine((value) => value >= min && value <= max, wrong);
};

/** Resolves when the operator interrupts the process. */
export const waitForInterrupt = () =>
  new Promise((resolve) => {
    process.once("SIGINT", resolve).once("SIGTERM", resolve);
  });
