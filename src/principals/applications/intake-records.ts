import { DAY_MS } from "../../lib/day.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import { emailGroup } from "../../mail/email-address.ts";
import { readAll } from "../../store/port/read-all.ts";
import { collection, type Records } from "../../store/port/records.ts";

/** Kinds of applicants from which an applicant can choose. */
export const applicantFocuses = ["retail", "quant", "fund", "general"] as const;

/** A validated and normalized application for early access. */
export interface ApplicationRequest {
  readonly name: string;
  readonly email: string;
  readonly focus: (typeof applicantFocuses)[number] | undefined;
}

/** What an applicant wrote, when, and from where. */
export interface Submission extends Pick<ApplicationRequest, "name" | "focus"> {
  /** Milliseconds since the epoch. */
  readonly registeredAt: number;
  /** Hash of the network that it came from; absent if unknown, as before version 2.0.0. */
  readonly network?: string;
}

/** A submission under the address of an application that is not the one to decide on. */
export interface OtherSubmission extends Submission {
  /** Whether the operator rejected it; otherwise it came while the application waited. */
  readonly wasRejected: boolean;
}

/** A stored application. */
export interface Application extends ApplicationRequest, Submission {
  /** Id of the application: `app_` and 16 random characters. */
  readonly id: string;
  readonly state: "waiting" | "accepted" | "rejected";
  /**
   * The last other submission under this address of each of the last four networks that sent one,
   * oldest first; absent: none.
   */
  readonly others?: readonly OtherSubmission[];
}

/**
 * Retention of applications that are not accepted, in milliseconds; the same as for audit rows.
 * Accepted applications are stored permanently, because they allow a person to sign in.
 */
export const APPLICATION_RETENTION_MS = 400 * DAY_MS;

/** Retention of inquiries, in milliseconds. */
export const INQUIRY_RETENTION_MS = 180 * DAY_MS;

/** A stored application with its slot in the queue. */
export interface StoredApplication extends Application {
  /** Key of the slot in the queue; `undefined` once the application is decided. */
  readonly seat: string | undefined;
}

/** Applications by email address, at most one per address. */
export const applications = collection<StoredApplication>("applications", {
  groups: ({ email, id }) => [emailGroup(email), applicationGroup(id)],
  ttlMs: APPLICATION_RETENTION_MS,
});

/** Record group of an application. */
export const applicationGroup = (id: string): string => `application:${id}`;

/** A stored inquiry. */
export interface Inquiry {
  /** Reference of the inquiry: `inq_` and 16 random characters. */
  readonly reference: string;
  readonly email: string;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/** Inquiries by reference. */
export const inquiries = collection<Inquiry>("inquiries", {
  groups: ({ email }) => [emailGroup(email)],
  ttlMs: INQUIRY_RETENTION_MS,
});

/** Queue tokens by the hash of the token. */
export const queueTokens = collection<{ readonly applicationId: string }>("queue-tokens");

/** Finds the id of the application for which a queue token was issued. */
export async function applicationOfQueueToken(
  records: Records,
  queueToken: string,
): Promise<string | undefined> {
  return (await records.get(queueTokens, fingerprint(queueToken)))?.value.applicationId;
}

/** Reads all applications, oldest first. */
export async function readApplications(records: Records): Promise<readonly Application[]> {
  const found = await readAll(records, applications);
  return found.map(({ value }) => value).toSorted((a, b) => a.registeredAt - b.registeredAt);
}

/** Reads all inquiries, oldest first. */
export async function readInquiries(records: Records): Promise<readonly Inquiry[]> {
  return (await readAll(records, inquiries)).map(({ value }) => value);
}
