import { randomBytes } from "node:crypto";
import { fingerprint } from "../../lib/fingerprint.ts";
import { EmailAddress, emailGroup } from "../../mail/email-address.ts";
import { insert } from "../../store/port/operations.ts";
import { collection, type Records, type Stored } from "../../store/port/records.ts";
import { accountRecordsGroup } from "../agents/agent.ts";
import type { Auditor } from "../auditor.ts";
import type { LastUse } from "../last-use.ts";
import {
  applicationsOf,
  type ConnectedApplication,
  removeApplication,
} from "./connected-applications.ts";
import { grantEviction } from "./grants.ts";
import { agentsOf, type OwnAgent, removeAgent } from "./own-agents.ts";

/** Random bytes of an account id. */
const ID_BYTES = 16;

/** Most characters of a label: an address has no more. */
const MAX_LABEL_LENGTH = 254;

/** Control characters, lone surrogates, and characters that are invisible or change the direction of
 *  text. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]+/gu;

/** A person who can sign in, or for whom a trusted identity provider vouched. */
export interface Account {
  /** `acc_` and random characters. */
  readonly id: string;
  /** Normalized email address; absent for a person known by an identity provider alone. */
  readonly email: string | undefined;
  /** Shown on pages: the address, or the name that the identity provider gave. */
  readonly label: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** A person at an identity provider (OpenID Connect Core 1.0 section 5.7: only the issuer and the
 *  subject together identify one). */
interface SubjectIdentifier {
  readonly issuer: string;
  readonly subject: string;
}

/** A person as an identity provider describes them. */
export interface UpstreamSubject extends SubjectIdentifier {
  /** For people to recognize the account; never used to find one. */
  readonly label: string;
}

/** Stored form of an account. */
export interface AccountRecord {
  readonly email?: string;
  readonly label: string;
  readonly createdAt: number;
}

/** Accounts by id. They never change; comparing the revision tells whether one is still there. */
export const accounts = collection<AccountRecord>("accounts");

/** Account ids by the hashed address, or issuer and subject, of the person. */
const accountNames = collection<{ readonly accountId: string }>("account-names");

/** Key of an address in `accountNames`. @param email Normalized. */
const nameOfEmail = (email: string): string => fingerprint(`email:${email}`);

/** Key of a person at an identity provider in `accountNames`. */
const nameOfSubject = ({ issuer, subject }: SubjectIdentifier): string =>
  fingerprint(`subject:${JSON.stringify([issuer, subject])}`);

/** What `Accounts` work with. */
interface AccountsOptions {
  readonly records: Records;
  readonly now: () => Date;
  readonly audit: Auditor;
  readonly lastUse: LastUse;
}

/**
 * The accounts of people. One name leads to one account however many requests create it at once: the
 * account, its name and the audit row are one commit.
 */
export class Accounts {
  readonly #options: AccountsOptions;

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  async find(accountId: string): Promise<Account | undefined> {
    return accountOf(await this.#options.records.get(accounts, accountId));
  }

  /** The account of an address, created when there is none. @param email Normalized. */
  findOrCreateByEmail(email: string): Promise<Account> {
    return this.#findOrCreate(nameOfEmail(email), { email, label: email });
  }

  /** Whether there is an account of an address. @param email Normalized. */
  hasEmail(email: string): Promise<boolean> {
    return this.#has(nameOfEmail(email));
  }

  /** The account of a person at an identity provider, created when there is none. It is never joined
   *  to another account because the addresses are equal. */
  findOrCreateBySubject(subject: UpstreamSubject): Promise<Account> {
    return this.#findOrCreate(nameOfSubject(subject), { label: labelOf(subject.label) });
  }

  /** Whether there is an account of a person at an identity provider. */
  hasSubject(subject: SubjectIdentifier): Promise<boolean> {
    return this.#has(nameOfSubject(subject));
  }

  /** The agents that a person owns, the first claimed first. */
  agentsOf(accountId: string): Promise<readonly OwnAgent[]> {
    const { records, lastUse } = this.#options;
    return agentsOf(records, accountId, lastUse);
  }

  /** Deletes an agent with everything that was issued to it. @returns Whether it was theirs. */
  removeAgent(accountId: string, agentId: string): Promise<boolean> {
    const { records, audit } = this.#options;
    return removeAgent(records, { accountId, agentId, audit });
  }

  /** The applications that a person has authorized, the first one first. */
  applicationsOf(accountId: string): Promise<readonly ConnectedApplication[]> {
    return applicationsOf(this.#options.records, accountId);
  }

  /** Whether a person can authorize one more application, or this one again. */
  async hasRoomFor(accountId: string, clientId: string): Promise<boolean> {
    return (await grantEviction(this.#options.records, { accountId, clientId })) !== undefined;
  }

  /** Revokes the grant of an application, and its tokens. @returns Whether it was theirs. */
  removeApplication(accountId: string, grantId: string): Promise<boolean> {
    const { records, audit } = this.#options;
    return removeApplication(records, { accountId, grantId, audit });
  }

  async #has(name: string): Promise<boolean> {
    return (await this.#options.records.get(accountNames, name)) !== undefined;
  }

  async #findOrCreate(name: string, profile: Profile): Promise<Account> {
    for (;;) {
      const known = await this.#options.records.get(accountNames, name);
      const account = known && (await this.find(known.value.accountId));
      const found = account ?? (known ? undefined : await this.#create(name, profile));
      if (found !== undefined) return found;
    }
  }

  /** @returns `undefined` when another request was faster. */
  async #create(name: string, profile: Profile): Promise<Account | undefined> {
    const { records, now, audit } = this.#options;
    const id = `acc_${randomBytes(ID_BYTES).toString("base64url")}`;
    const value = { ...profile, createdAt: now().getTime() };
    const groups = [accountRecordsGroup(id), ...addressGroups(profile.label)];
    const isCreated = await records.commit([
      insert(accountNames, { key: name, value: { accountId: id }, groups }),
      insert(accounts, { key: id, value, groups }),
      ...audit({ action: "account.created", actor: id, target: id }),
    ]);
    return isCreated ? { id, email: undefined, ...value } : undefined;
  }
}

/** What is known of a person when the account is created. */
interface Profile {
  readonly email?: string;
  readonly label: string;
}

/** A request to forget an address covers every account that shows it. */
function addressGroups(label: string): readonly string[] {
  const { data } = EmailAddress.safeParse(label);
  return data === undefined ? [] : [emailGroup(data)];
}

function accountOf(stored: Stored<AccountRecord> | undefined): Account | undefined {
  return stored && { id: stored.key, email: undefined, ...stored.value };
}

/** The name that an identity provider gave, on one printable line. */
function labelOf(text: string): string {
  return text.normalize("NFC").replace(UNPRINTABLE, " ").trim().slice(0, MAX_LABEL_LENGTH);
}
