import { ofEmail } from "../auth/accounts/email.ts";
import type { Auditor } from "../auth/auditor.ts";
import type { ApiKeys } from "../auth/keys/api-keys.ts";
import type { Scope } from "../auth/scopes.ts";
import type { Mailbox } from "../mail/mail.ts";
import { remove, replace } from "../store/operations.ts";
import type { Operation, Records, Stored } from "../store/records.ts";
import type { Application } from "./intake.ts";
import { APPLICATION_KEPT_MS, applications, type KeptApplication, ofApplication } from "./kept.ts";
import { seats } from "./seats.ts";

/** What the operator decides with. */
export interface DecisionsOptions {
  readonly records: Records;
  readonly audit: Auditor;
  readonly keys: Pick<ApiKeys, "created">;
  /** Absent: nobody is told. */
  readonly mailbox?: Mailbox;
}

/** What came of a decision. */
export interface Decision {
  readonly application: Application;
  /** Whether it was decided now; when it had been before, nothing has changed. */
  readonly isNew: boolean;
  /** The API key that was made with it; it is in no other answer ever again. */
  readonly key: string | undefined;
}

/** What the operator does with applications. */
export interface Decisions {
  /**
   * Lets an applicant in, also one who was rejected, and tells them by mail.
   *
   * @param keyScopes Makes an API key with these. Absent: none.
   * @returns `undefined` when there is no such application.
   */
  accept(id: string, keyScopes?: readonly Scope[]): Promise<Decision | undefined>;

  /** Turns an applicant down, also one who was accepted; what they have got already, they keep.
   *  @returns `undefined` when there is no such application. */
  reject(id: string): Promise<Decision | undefined>;
}

const ID = /^app_[0-9A-Za-z]{16}$/;

/** An answer to an application is of interest for this long, in milliseconds. */
const MAIL_USEFUL_MS = 7 * 86_400_000;

/** Creates what the operator decides by. */
export function createDecisions(options: DecisionsOptions): Decisions {
  const { mailbox } = options;
  return {
    accept: (id, keyScopes) =>
      decide(options, { id, state: "accepted" }, (application) => {
        const made = keyScopes && keyOf(application, keyScopes, options);
        const mail = mailbox?.queued(acceptance(application)) ?? [];
        return { key: made?.key, steps: [...(made?.steps ?? []), ...mail] };
      }),
    reject: (id) =>
      decide(options, { id, state: "rejected" }, () => ({ key: undefined, steps: [] })),
  };
}

interface Consequence {
  readonly key: string | undefined;
  readonly steps: readonly Operation[];
}

async function decide(
  { records, audit }: DecisionsOptions,
  { id, state }: Pick<Application, "id" | "state">,
  consequenceOf: (application: Application) => Consequence,
): Promise<Decision | undefined> {
  if (!ID.test(id)) return undefined;
  for (;;) {
    const [stored] = await records.list(applications, { group: ofApplication(id), limit: 1 });
    if (stored === undefined) return undefined;
    if (stored.value.state === state) {
      return { application: stored.value, isNew: false, key: undefined };
    }
    const { key, steps } = consequenceOf(stored.value);
    const entry = { action: `application.${state}`, actor: "operator", target: id };
    if (await records.commit([...decided(stored, state), ...steps, ...audit(entry)])) {
      return { application: { ...stored.value, state }, isNew: true, key };
    }
  }
}

/** Whoever was answered needs no seat in the queue any more. */
function decided(
  stored: Stored<KeptApplication>,
  state: Application["state"],
): readonly Operation[] {
  const { seat, ...application } = stored.value;
  const value = { ...application, state, seat: undefined };
  const ttlMs = state === "accepted" ? null : APPLICATION_KEPT_MS;
  const left = seat === undefined ? [] : [remove(seats, seat)];
  return [replace(applications, stored, { value, ttlMs }), ...left];
}

function keyOf(
  { name, email }: Application,
  scopes: readonly Scope[],
  { keys }: Pick<DecisionsOptions, "keys">,
) {
  return keys.created({ name, scopes, by: "operator", groups: [ofEmail(email)] });
}

/** Nothing that the applicant wrote is in it: whose address it is has not been proven. */
function acceptance({ email }: Application) {
  return {
    to: email,
    subject: "Your application was accepted",
    text: [
      "Somebody applied for early access to the signal service with this e-mail address,",
      "and the application was accepted. You can now sign in with this address.",
      "",
      "If that was not you, you need not do anything.",
    ].join("\n"),
    usefulMs: MAIL_USEFUL_MS,
  };
}
