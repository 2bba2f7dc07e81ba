import { collection } from "../../store/port/records.ts";
import { fingerprint } from "../secrets.ts";
import type { Account, Subject } from "./accounts.ts";

/** An account as it is kept. */
export interface AccountRecord extends Pick<Account, "label" | "createdAt"> {
  readonly email?: string;
}

/** Accounts by id. They never change; a check of the revision tells whether one is still there. */
export const accounts = collection<AccountRecord>("accounts");

/** Accounts by what each person is known by; one record for each name, whoever comes first. */
export const accountNames = collection<{ readonly accountId: string }>("account-names");

/** Key of an address in `accountNames`. @param email Normalised. */
export const nameOfEmail = (email: string): string => fingerprint(`email:${email}`);

/** Key of a person at an identity provider in `accountNames` (OpenID Connect Core 1.0 section 5.7:
 *  only the issuer and the subject together name one). */
export const nameOfSubject = ({ issuer, subject }: Pick<Subject, "issuer" | "subject">): string =>
  fingerprint(`subject:${JSON.stringify([issuer, subject])}`);
