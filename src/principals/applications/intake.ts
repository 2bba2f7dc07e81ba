import { type Auditor, callerAddress } from "../../access/auditor.ts";
import { anonymousScopeCeiling, type Scope } from "../../access/scopes.ts";
import { randomBase62 } from "../../lib/base62.ts";
import { DAY_MS } from "../../lib/day.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import { networkOf } from "../../limits/address-key.ts";
import { emailGroup } from "../../mail/email-address.ts";
import type { Records, Stored } from "../../store/port/records.ts";
import type { StoreMode } from "../../store/port/store.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import type { ApiKeyService } from "../keys/api-keys.ts";
import { type IntakeSlotOptions, takeIntakeSlot } from "./capacity.ts";
import {
  APPLICATION_RETENTION_MS,
  type Application,
  type ApplicationRequest,
  applications,
  INQUIRY_RETENTION_MS,
  inquiries,
  type OtherSubmission,
  queueTokens,
  type StoredApplication,
  type Submission,
} from "./intake-records.ts";

/** The scopes and expiry of a queue token that is also an API key. */
export interface QueueTokenAccess {
  readonly scopes: readonly Scope[];
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Dependencies of `IntakeService`. */
interface IntakeServiceOptions extends IntakeSlotOptions {
  readonly records: Records;
  readonly now: () => Date;
  readonly audit: Auditor;
  readonly keys: ApiKeyService;
  /** Mode of the store. In the sandbox, the queue token of an application is also an API key. */
  readonly mode: StoreMode;
}

/** How long a queue token works as an API key in the sandbox, in milliseconds. */
const QUEUE_KEY_MS = 7 * DAY_MS;

/** Number of random characters in an id, with 95 bits of entropy. */
const ID_LENGTH = 16;
/** Number of random characters in a queue token, with 190 bits of entropy. */
const TOKEN_LENGTH = 32;

/** Receives and stores applications for early access, and inquiries. */
export class IntakeService {
  readonly #options: IntakeServiceOptions;

  constructor(options: IntakeServiceOptions) {
    this.#options = options;
  }

  /**
   * Stores an application. Each email address has one application, and anyone can apply with any
   * address: the first submission gets a place in the queue, so that no later one spoils it. The
   * operator sees others beside it, the last one of each of four networks, so that it is not taken
   * for that of the address's owner. Once it is rejected, the next submission takes its place under
   * a new id, so that nobody is barred, and a decision never meets another application than the one
   * that the operator saw.
   *
   * Every response contains a new token and the time of the request, so that it does not reveal an
   * earlier application. The queue token is returned only once. Every token that was issued
   * identifies the application to the operator until another one takes its place; a new token does
   * not invalidate earlier ones.
   *
   * @returns `key` is `undefined` if the token is not an API key.
   * @throws {Problem} `rate_limited` if too many applications are pending.
   */
  async apply(request: ApplicationRequest) {
    const { records, now, audit, hashAddress } = this.#options;
    const registeredAt = now().getTime();
    const { email } = request;
    const ip = callerAddress();
    const from = ip === undefined ? {} : { network: hashAddress(networkOf(ip)) };
    const submitted = { ...request, registeredAt, ...from };
    const token = await transact(records, async (tx) => {
      const kept = await tx.get(applications, email);
      const isOpen = kept !== undefined && kept.value.state !== "rejected";
      const id = isOpen
        ? keepBeside(tx, kept, submitted)
        : await storeApplication(tx, { ...submitted, rejected: kept?.value }, this.#options);
      const isNew = kept === undefined ? "application.received" : "application.reopened";
      const action = isOpen ? "application.repeated" : isNew;
      audit(tx, { action, actor: "anonymous", target: id });
      return storeQueueToken(tx, { id, email, registeredAt }, this.#options);
    });
    return { ...token, registeredAt };
  }

  /**
   * Stores an inquiry.
   *
   * @returns A reference for the sender.
   * @throws {Problem} `rate_limited` if too many inquiries are stored.
   */
  async contact({ email, message }: { readonly email: string; readonly message: string }) {
    const { records, now, audit } = this.#options;
    const receivedAt = now().getTime();
    const reference = `inq_${randomBase62(ID_LENGTH)}`;
    const placing = { groups: [emailGroup(email)], ttlMs: INQUIRY_RETENTION_MS };
    const value = { reference, email, message, receivedAt };
    const ip = callerAddress();
    await transact(records, async (tx) => {
      await takeIntakeSlot(tx, this.#options, { kind: "inquiry", ip, placing });
      tx.insert(inquiries, { key: reference, value });
      audit(tx, { action: "inquiry.received", actor: "anonymous", target: reference });
    });
    return { reference, receivedAt };
  }

  /**
   * Whether the operator has accepted an application from this email address.
   *
   * @param email Normalized email address.
   */
  async isAccepted(email: string): Promise<boolean> {
    const stored = await this.#options.records.get(applications, email);
    return stored?.value.state === "accepted";
  }
}

/** An application as it was submitted. */
type Submitted = ApplicationRequest & Submission;

/**
 * Gives an application a place in the queue.
 *
 * @param rejected The one that it replaces, which goes on among the others.
 * @returns The id of the application.
 */
async function storeApplication(
  tx: Transaction,
  { rejected, ...submitted }: Submitted & { readonly rejected: Application | undefined },
  options: IntakeServiceOptions,
): Promise<string> {
  const { email } = submitted;
  const id = `app_${randomBase62(ID_LENGTH)}`;
  const placing = { groups: [emailGroup(email)], ttlMs: APPLICATION_RETENTION_MS };
  const ip = callerAddress();
  const seat = await takeIntakeSlot(tx, options, { kind: "application", ip, placing });
  const others = rejected && { others: withOther(rejected, { ...rejected, wasRejected: true }) };
  const value = { ...submitted, ...others, id, state: "waiting", seat } as const;
  tx.put(applications, { key: email, value });
  return id;
}

/** Number of other submissions that are stored with an application. */
const MAX_OTHERS = 4;

/**
 * Stores a submission beside the application that waits under its address, unless that says the
 * same, or the other one of its network does.
 *
 * @returns The id of the application.
 */
function keepBeside(
  tx: Transaction,
  kept: Stored<StoredApplication>,
  submitted: Submitted,
): string {
  const { value } = kept;
  const isSame = ({ name, focus }: Submission) =>
    name === submitted.name && focus === submitted.focus;
  const isKnown =
    isSame(value) ||
    value.others?.some((other) => other.network === submitted.network && isSame(other));
  if (value.state === "waiting" && !isKnown) {
    const others = withOther(value, { ...submitted, wasRejected: false });
    tx.update(applications, kept, { value: { ...value, others } });
  }
  return value.id;
}

/**
 * The other submissions of an application with one more, which replaces that of its own network: a
 * stranger needs four networks to push out what a person sent.
 */
function withOther(
  { others = [] }: Application,
  { name, focus, registeredAt, network, wasRejected }: OtherSubmission,
): readonly OtherSubmission[] {
  const added = { name, focus, registeredAt, ...(network && { network }), wasRejected };
  const ofElsewhere = others.filter((other) => network === undefined || other.network !== network);
  return [...ofElsewhere, added].slice(-MAX_OTHERS);
}

/**
 * Creates a queue token. The API contract does not specify its purpose. Here the token identifies
 * the application to the operator, and in the sandbox it is also the test credential that the
 * contract mentions. The token does not prove control of the address, because anyone can apply with
 * any address.
 *
 * @returns The token, and its `key`, which is `undefined` if the token is not an API key.
 */
async function storeQueueToken(
  tx: Transaction,
  { id, email, registeredAt }: Pick<Application, "id" | "email" | "registeredAt">,
  options: IntakeServiceOptions,
): Promise<{ readonly queueToken: string; readonly key: QueueTokenAccess | undefined }> {
  const { mode, keys } = options;
  const expiresAt = registeredAt + QUEUE_KEY_MS;
  const key = mode === "sandbox" ? { scopes: anonymousScopeCeiling, expiresAt } : undefined;
  const placing = {
    groups: [emailGroup(email)],
    ttlMs: key ? QUEUE_KEY_MS : APPLICATION_RETENTION_MS,
  };
  const name = `Queue token of ${id}`;
  const queueToken = key
    ? keys.add(tx, { name, scopes: key.scopes, actor: "system", ...placing }).key
    : `queue_${randomBase62(TOKEN_LENGTH)}`;
  tx.insert(queueTokens, {
    key: fingerprint(queueToken),
    value: { applicationId: id },
    ...placing,
  });
  const ip = callerAddress();
  await takeIntakeSlot(tx, options, { kind: "queue-token", ip, placing });
  return { queueToken, key };
}
