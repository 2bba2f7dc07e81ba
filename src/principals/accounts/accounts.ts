import { randomBytes } from "node:crypto";
import { type Auditor, callerAddress } from "../../access/auditor.ts";
import type { LastUseTracker } from "../../access/last-use.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import { Problem } from "../../lib/problem.ts";
import { networkOf } from "../../limits/address-key.ts";
import { EmailAddress, emailGroup } from "../../mail/email-address.ts";
import { collection, type Records, type Stored } from "../../store/port/records.ts";
import { findSetAside } from "../../store/set-aside.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import { accountRecordsGroup } from "../agents/agent.ts";
import {
  type ConnectedApplication,
  connectedApplicationsOf,
  removeConnectedApplication,
} from "./connected-applications.ts";
import { grantRoom } from "./grants.ts";
import { listOwnedAgents, type OwnedAgent, removeOwnedAgent } from "./owned-agents.ts";

/** Length of the random part of an account id, in bytes. */
const ID_BYTES = 16;

/** Maximum length of a label, in UTF-16 units: the maximum length of an email address. */
const MAX_LABEL_LENGTH = 254;

/**
 * Length to which a name is cut before normalization, in UTF-16 units. NFC joins at most four units
 * into one; the time for normalization is quadratic in the number of combining marks.
 */
const MAX_NORMALIZED = 4 * MAX_LABEL_LENGTH;

/**
 * Control and format characters, lone surrogates, and line and paragraph separators, which are
 * invisible or change the direction of text.
 */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]+/gu;

/** A person who can sign in, or whom a trusted identity provider has identified. */
export interface Account {
  /** `acc_` and random characters. */
  readonly id: string;
  /** Normalized email address; absent for a person who signs in only with an identity provider. */
  readonly email: string | undefined;
  /** Display name on pages: the email address, or the name from the identity provider. */
  readonly label: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/**
 * A person at an identity provider, identified by issuer and subject together (OpenID Connect Core
 * 1.0 section 5.7).
 */
interface SubjectIdentifier {
  readonly issuer: string;
  readonly subject: string;
}

/** A person as described by an identity provider. */
export interface UpstreamSubject extends SubjectIdentifier {
  /** Display name; never used to find the account. */
  readonly label: string;
}

/** An account as it is stored. */
export interface AccountRecord {
  readonly email?: string;
  readonly label: string;
  readonly createdAt: number;
  /** Hash of the network in which the account was created; absent in older records. */
  readonly network?: string;
}

/**
 * Accounts by id. A record never changes, so a revision check fails only if the account was
 * deleted.
 */
export const accounts = collection<AccountRecord>("accounts");

/** Account ids by identity: the hash of an email address, or of issuer and subject. */
const accountIdentities = collection<{ readonly accountId: string }>("account-names");

/** Key of an email address in `accountIdentities`. @param email Normalized. */
const emailIdentityKey = (email: string): string => fingerprint(`email:${email}`);

/** Key of a person at an identity provider in `accountIdentities`. */
const subjectIdentityKey = ({ issuer, subject }: SubjectIdentifier): string =>
  fingerprint(`subject:${JSON.stringify([issuer, subject])}`);

/** Dependencies of `AccountService`. */
interface AccountServiceOptions {
  readonly records: Records;
  readonly now: () => Date;
  readonly audit: Auditor;
  readonly lastUse: LastUseTracker;
  /** Hashes a network, because the store contains no addresses in plain text. */
  readonly hashAddress: (address: string) => string;
}

/**
 * The accounts of people. The account, its identity and the audit row are written in one commit, so
 * concurrent requests for the same identity create only one account.
 */
export class AccountService {
  readonly #options: AccountServiceOptions;

  constructor(options: AccountServiceOptions) {
    this.#options = options;
  }

  async find(accountId: string): Promise<Account | undefined> {
    const stored = await this.#options.records.get(accounts, accountId);
    return stored && accountOf(stored);
  }

  /** Finds the account of an email address, or creates it. @param email Normalized. */
  findOrCreateByEmail(email: string): Promise<Account> {
    return this.#findOrCreate(emailIdentityKey(email), { email, label: email });
  }

  /** Whether an email address has an account. @param email Normalized. */
  hasEmail(email: string): Promise<boolean> {
    return this.#has(emailIdentityKey(email));
  }

  /** Finds the account of a person at an identity provider, or creates it. Accounts with equal
   *  email addresses are never merged. */
  findOrCreateBySubject(subject: UpstreamSubject): Promise<Account> {
    return this.#findOrCreate(subjectIdentityKey(subject), { label: labelOf(subject.label) });
  }

  /** Whether a person at an identity provider has an account. */
  hasSubject(subject: SubjectIdentifier): Promise<boolean> {
    return this.#has(subjectIdentityKey(subject));
  }

  /** The agents that a person owns, the one owned longest first. */
  agentsOf(accountId: string): Promise<readonly OwnedAgent[]> {
    const { records, lastUse } = this.#options;
    return listOwnedAgents(records, accountId, lastUse);
  }

  /** Deletes an agent and everything issued to it. @returns `false` if the person does not own
   *  it. */
  removeAgent(accountId: string, agentId: string): Promise<boolean> {
    const { records, audit } = this.#options;
    return removeOwnedAgent(records, { accountId, agentId, audit });
  }

  /** The applications that a person has authorized, oldest first. */
  applicationsOf(accountId: string): Promise<readonly ConnectedApplication[]> {
    return connectedApplicationsOf(this.#options.records, accountId);
  }

  /** Whether a person can authorize this application without exceeding `MAX_GRANTS_PER_PERSON`. */
  async canAuthorize(accountId: string, clientId: string): Promise<boolean> {
    return (await grantRoom(this.#options.records, { accountId, clientId })).isThere;
  }

  /**
   * Revokes an application's grant and its tokens.
   * @returns `false` if the grant belongs to another person.
   */
  removeApplication(accountId: string, grantId: string): Promise<boolean> {
    const { records, audit } = this.#options;
    return removeConnectedApplication(records, { accountId, grantId, audit });
  }

  async #has(name: string): Promise<boolean> {
    return (await this.#options.records.get(accountIdentities, name)) !== undefined;
  }

  #findOrCreate(
    name: string,
    profile: { readonly email?: string; readonly label: string },
  ): Promise<Account> {
    const { records, now, audit, hashAddress } = this.#options;
    const id = `acc_${randomBytes(ID_BYTES).toString("base64url")}`;
    const network = hashAddress(networkOf(callerAddress()));
    const value = { ...profile, createdAt: now().getTime(), network };
    return transact(records, async (tx) => {
      const known = await tx.get(accountIdentities, name);
      const account = known && (await tx.get(accounts, known.value.accountId));
      if (account !== undefined) return accountOf(account);
      if (known !== undefined) await refuseDisabled(tx, known.value.accountId);
      const groups = [accountRecordsGroup(id), ...emailGroupsOf(profile.label)];
      tx.put(accountIdentities, { key: name, value: { accountId: id }, groups });
      tx.insert(accounts, { key: id, value, groups });
      audit(tx, { action: "account.created", actor: id, target: id });
      return accountOf({ key: id, value });
    });
  }
}

/** Groups through which `forgetEmail` finds an account whose label is an email address. */
function emailGroupsOf(label: string): readonly string[] {
  const { data } = EmailAddress.safeParse(label);
  return data === undefined ? [] : [emailGroup(data)];
}

/** @throws {Problem} `unauthenticated` if the operator has disabled the account. */
async function refuseDisabled(tx: Transaction, accountId: string): Promise<void> {
  if ((await findSetAside(tx, accounts, accountId)) === undefined) return;
  throw new Problem("unauthenticated", {
    detail: "The operator of this service has disabled this account.",
    next: "Ask the operator: POST /api/contact takes a message.",
  });
}

const accountOf = ({
  key,
  value: { email, label, createdAt },
}: Pick<Stored<AccountRecord>, "key" | "value">): Account => ({ id: key, email, label, createdAt });

/**
 * The name from the identity provider as one printable line of at most `MAX_LABEL_LENGTH`
 * characters.
 */
function labelOf(text: string): string {
  const bounded = text.slice(0, MAX_NORMALIZED);
  return bounded.normalize("NFC").replace(UNPRINTABLE, " ").trim().slice(0, MAX_LABEL_LENGTH);
}
