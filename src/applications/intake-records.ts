import { fingerprint } from "../lib/fingerprint.ts";
import { readAll } from "../store/port/read-all.ts";
import { collection, type Records } from "../store/port/records.ts";

/** Kinds of applicants. */
export const focuses = ["retail", "quant", "fund", "general"] as const;

/** One of `focuses`. */
type Focus = (typeof focuses)[number];

/** A validated and normalized application for early access. */
export interface ApplicationRequest {
  readonly name: string;
  readonly email: string;
  readonly focus: Focus | undefined;
}

/** A stored application. */
export interface Application extends ApplicationRequest {
  /** `app_` and random characters. */
  readonly id: string;
  readonly state: "waiting" | "accepted" | "rejected";
  /** Milliseconds since the epoch. */
  readonly registeredAt: number;
}

const DAY_MS = 86_400_000;

/** Retention of applications that are not accepted, in milliseconds: as long as their audit rows.
 *  Accepted ones are stored permanently, since they allow a person to sign in. */
export const APPLICATION_RETENTION_MS = 400 * DAY_MS;

/** Retention of inquiries, in milliseconds. */
export const INQUIRY_RETENTION_MS = 180 * DAY_MS;

/** A stored application with its slot in the queue. */
export interface StoredApplication extends Application {
  /** Key of the slot; `undefined` once the application is decided. */
  readonly seat: string | undefined;
}

/** Applications by email address, one per address. */
export const applications = collection<StoredApplication>("applications");

/** Record group of an application. */
export const applicationGroup = (id: string): string => `application:${id}`;

/** A stored inquiry. */
export interface Inquiry {
  /** `inq_` and random characters. */
  readonly reference: string;
  readonly email: string;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/** Inquiries by reference. */
export const inquiries = collection<Inquiry>("inquiries");

/** Queue tokens by their hash. */
export const queueTokens = collection<{ readonly applicationId: string }>("queue-tokens");

/** The id of the application that a queue token was issued for. */
export async function applicationOfToken(
  records: Records,
  queueToken: string,
): Promise<string | undefined> {
  return (await records.get(queueTokens, fingerprint(queueToken)))?.value.applicationId;
}

/** All applications, oldest first. */
export async function readApplications(records: Records): Promise<readonly Application[]> {
  const found = await readAll(records, applications);
  return found.map(({ value }) => value).toSorted((a, b) => a.registeredAt - b.registeredAt);
}

/** All inquiries, oldest first. */
export async function readInquiries(records: Records): Promise<readonly Inquiry[]> {
  return (await readAll(records, inquiries)).map(({ value }) => value);
}
