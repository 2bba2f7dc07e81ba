import type { Auditor } from "../../access/auditor.ts";
import type { Scope } from "../../access/scopes.ts";
import { DAY_MS } from "../../lib/day.ts";
import { emailGroup } from "../../mail/email-address.ts";
import type { Outbox } from "../../mail/outbox.ts";
import type { Records, Stored } from "../../store/port/records.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import type { ApiKeyService } from "../keys/api-keys.ts";
import { intakeSlots } from "./capacity.ts";
import {
  APPLICATION_RETENTION_MS,
  type Application,
  applicationGroup,
  applicationOfQueueToken,
  applications,
  type StoredApplication,
} from "./intake-records.ts";

/** Name and URL of the service. */
export interface ServiceIdentity {
  /** Display name of the service. */
  readonly name: string;
  /** Public origin without a trailing slash. */
  readonly baseUrl: string;
}

/** Dependencies of `createApplicationDecisionService`. */
interface ApplicationDecisionServiceOptions {
  readonly records: Records;
  readonly audit: Auditor;
  readonly keys: ApiKeyService;
  /** Queues the emails to applicants; absent when applicants are not notified. */
  readonly mailbox?: Outbox;
  /** The service that the email mentions; absent if unknown. */
  readonly site?: ServiceIdentity | undefined;
}

/** The result of a decision. */
export interface ApplicationDecision {
  readonly application: Application;
  /**
   * Whether the decision changed the application's status; `false` if the application had already
   * been decided this way.
   */
  readonly isNew: boolean;
  /**
   * The API key that was created with the decision; returned only once. `undefined` if none was
   * created.
   */
  readonly key: string | undefined;
}

/** The operator's decisions on applications for early access. */
export interface ApplicationDecisionService {
  /**
   * Accepts an application, even one that was rejected, and notifies the applicant by email.
   *
   * @param named The id of the application, or a queue token that was issued for it.
   * @param keyScopes Scopes of an API key to create; absent to create none.
   * @returns `undefined` if the application does not exist.
   */
  accept(named: string, keyScopes?: readonly Scope[]): Promise<ApplicationDecision | undefined>;

  /**
   * Rejects an application, even one that was accepted. The applicant keeps API keys that were
   * already issued.
   *
   * @param named As in `accept`: the id of the application, or a queue token.
   * @returns `undefined` if the application does not exist.
   */
  reject(named: string): Promise<ApplicationDecision | undefined>;
}

const ID = /^app_[0-9A-Za-z]{16}$/;

/** Lifetime of the notification email, in milliseconds. */
const MAIL_TTL_MS = 7 * DAY_MS;

/** Creates the operations with which the operator decides on applications. */
export function createApplicationDecisionService(
  options: ApplicationDecisionServiceOptions,
): ApplicationDecisionService {
  const { mailbox, site, keys } = options;
  return {
    accept: (named, scopes) =>
      decide(options, { named, state: "accepted" }, (tx, application) => {
        const { name, email } = application;
        mailbox?.queue(tx, acceptanceEmail(application, site));
        if (scopes === undefined) return undefined;
        return keys.add(tx, { name, scopes, actor: "operator", groups: [emailGroup(email)] }).key;
      }),
    reject: (named) => decide(options, { named, state: "rejected" }, () => undefined),
  };
}

/** @param alsoWrite Writes what follows from the decision. Returns the API key that it creates. */
async function decide(
  { records, audit }: ApplicationDecisionServiceOptions,
  { named, state }: { readonly named: string } & Pick<Application, "state">,
  alsoWrite: (tx: Transaction, application: Application) => string | undefined,
): Promise<ApplicationDecision | undefined> {
  const id = ID.test(named) ? named : await applicationOfQueueToken(records, named);
  if (id === undefined) return undefined;
  return transact(records, async (tx) => {
    const [stored] = await tx.list(applications, { group: applicationGroup(id), limit: 1 });
    if (stored === undefined) return undefined;
    if (stored.value.state === state) {
      return { application: stored.value, isNew: false, key: undefined };
    }
    const application = storeDecision(tx, stored, state);
    const key = alsoWrite(tx, application);
    audit(tx, { action: `application.${state}`, actor: "operator", target: id });
    return { application, isNew: true, key };
  });
}

/**
 * Stores a decision. A decided application releases its slot in the queue.
 * @returns The decided application.
 */
function storeDecision(
  tx: Transaction,
  stored: Stored<StoredApplication>,
  state: Application["state"],
): Application {
  const { seat, ...before } = stored.value;
  const application = { ...before, state };
  const ttlMs = state === "accepted" ? null : APPLICATION_RETENTION_MS;
  tx.update(applications, stored, { value: { ...application, seat: undefined }, ttlMs });
  if (seat !== undefined) tx.remove(intakeSlots, seat);
  return application;
}

/** The email to the applicant. It contains nothing that the applicant wrote, because the address
 *  has not been verified. */
function acceptanceEmail({ email }: Application, site: ServiceIdentity | undefined) {
  const service = site?.name ?? "the signal service";
  const where = site === undefined ? "." : `:\n\n${site.baseUrl}/sign-in`;
  return {
    to: email,
    subject: "Your application was accepted",
    text: [
      `Someone applied for early access to ${service}`,
      "with this email address, and the application was accepted. You can now sign in with",
      `this address${where}`,
      "",
      "If that was not you, you can ignore this email.",
    ].join("\n"),
    ttlMs: MAIL_TTL_MS,
  };
}
