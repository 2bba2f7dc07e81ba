import type { Auditor } from "../auth/auditor.ts";
import type { ApiKeys } from "../auth/keys/api-keys.ts";
import type { Scope } from "../auth/scopes.ts";
import { ofEmail } from "../mail/email-address.ts";
import type { Mailbox } from "../mail/outbox.ts";
import { remove, replace } from "../store/port/operations.ts";
import type { Operation, Records, Stored } from "../store/port/records.ts";
import { slots } from "./capacity.ts";
import type { Application } from "./intake-records.ts";
import {
  APPLICATION_KEPT_MS,
  applicationOfToken,
  applications,
  type KeptApplication,
  ofApplication,
} from "./intake-records.ts";

/** Where people find the service. */
export interface Site {
  /** Human name of the service. */
  readonly name: string;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
}

/** What the operator decides with. */
export interface DecisionsOptions {
  readonly records: Records;
  readonly audit: Auditor;
  readonly keys: Pick<ApiKeys, "created">;
  /** Absent: nobody is told. */
  readonly mailbox?: Mailbox;
  /** What the message names; absent where it is not known. */
  readonly site?: Site | undefined;
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
   * @param named Its id, or a queue token that was given for it.
   * @param keyScopes Makes an API key with these. Absent: none.
   * @returns `undefined` when there is no such application.
   */
  accept(named: string, keyScopes?: readonly Scope[]): Promise<Decision | undefined>;

  /**
   * Turns an applicant down, also one who was accepted; what they have got already, they keep.
   *
   * @param named As in `accept`.
   * @returns `undefined` when there is no such application.
   */
  reject(named: string): Promise<Decision | undefined>;
}

const ID = /^app_[0-9A-Za-z]{16}$/;

/** An answer to an application is of interest for this long, in milliseconds. */
const MAIL_USEFUL_MS = 7 * 86_400_000;

/** Creates what the operator decides by. */
export function createDecisions(options: DecisionsOptions): Decisions {
  const { mailbox, site } = options;
  return {
    accept: (named, keyScopes) =>
      decide(options, { named, state: "accepted" }, (application) => {
        const made = keyScopes && keyOf(application, keyScopes, options);
        const mail = mailbox?.queued(acceptance(application, site)) ?? [];
        return { key: made?.key, steps: [...(made?.steps ?? []), ...mail] };
      }),
    reject: (named) =>
      decide(options, { named, state: "rejected" }, () => ({ key: undefined, steps: [] })),
  };
}

interface Consequence {
  readonly key: string | undefined;
  readonly steps: readonly Operation[];
}

async function decide(
  { records, audit }: DecisionsOptions,
  { named, state }: { readonly named: string } & Pick<Application, "state">,
  consequenceOf: (application: Application) => Consequence,
): Promise<Decision | undefined> {
  const id = ID.test(named) ? named : await applicationOfToken(records, named);
  if (id === undefined) return undefined;
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
  const left = seat === undefined ? [] : [remove(slots, seat)];
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
function acceptance({ email }: Application, site: Site | undefined) {
  const service = site?.name ?? "the signal service";
  const where = site === undefined ? "." : `:\n\n${site.baseUrl}/sign-in`;
  return {
    to: email,
    subject: "Your application was accepted",
    text: [
      `Somebody applied for early access to ${service}`,
      "with this e-mail address, and the application was accepted. You can now sign in with",
      `this address${where}`,
      "",
      "If that was not you, you need not do anything.",
    ].join("\n"),
    usefulMs: MAIL_USEFUL_MS,
  };
}
