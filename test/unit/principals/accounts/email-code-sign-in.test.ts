import { randomBytes } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SignUpMode } from "../../../../src/access/sign-up-mode.ts";
import { createVault } from "../../../../src/keys/vault.ts";
import { fingerprint } from "../../../../src/lib/fingerprint.ts";
import type { Email } from "../../../../src/mail/email-schema.ts";
import {
  createOutbox,
  decryptEmail,
  MAIL_TOPIC,
  queuedMails,
} from "../../../../src/mail/outbox.ts";
import {
  EmailCodeSignIn,
  signInCodes,
} from "../../../../src/principals/accounts/email-code-sign-in.ts";
import { announce, put } from "../../../../src/store/port/operations.ts";
import type { Operation, Records } from "../../../../src/store/port/records.ts";
import { auditOf, peopleOf } from "../../../support/account-parts.ts";
import { dumpStore, embedded, openStore, START, slowRecords } from "../../../support/stores.ts";

const ADA = "ada@people.example";
const BROWSER = "the secret of a browser";
const ANYONE = { isForNew: true, isForOwner: false };
const MINUTE = 60_000;

interface Choice {
  readonly signUp?: SignUpMode;
  readonly accepted?: readonly string[];
  readonly through?: (records: Records) => Records;
}

async function begin(choice: Choice = {}) {
  const { signUp = "open", accepted = [], through = (records: Records) => records } = choice;
  const store = await openStore(embedded);
  const records = through(store.records);
  const { accounts, now, audit } = peopleOf(store, records);
  const vault = createVault(randomBytes(32));
  const signIn = new EmailCodeSignIn({
    hashAddress: String,
    ...{ records, accounts, audit, signUp, serviceName: "Market Signal and Verification Service" },
    mailbox: createOutbox({ vault, now }),
    isAccepted: async (email) => accepted.includes(email),
  });
  const letters = async (): Promise<readonly Email[]> =>
    (await store.records.list(queuedMails, { limit: 100 })).map((mail) =>
      decryptEmail(vault, mail),
    );
  const lastCode = async (): Promise<string> => codeIn((await letters()).at(-1));
  return { store, signIn, accounts, letters, lastCode };
}

const codeIn = (letter: Email | undefined): string =>
  /^Your code: (\d{8})$/m.exec(letter?.text ?? "")?.[1] ?? expect.fail("no code was sent");

const another = (code: string): string => String((Number(code) + 1) % 1e8).padStart(8, "0");

describe("sign-in by email code", () => {
  it("signs in the person who enters the code in the browser that requested it", async () => {
    const { signIn, accounts, letters, lastCode } = await begin();
    expect(await signIn.pending(BROWSER)).toBeUndefined();
    await signIn.sendCode(BROWSER, ADA, ANYONE);
    expect(await signIn.pending(BROWSER)).toEqual({ email: ADA });
    expect(await letters()).toMatchObject([
      { to: ADA, subject: "Your code for Market Signal and Verification Service" },
    ]);
    const id = await signIn.complete(BROWSER, await lastCode());
    expect(id).toBe((await accounts.findOrCreateByEmail(ADA)).id);
    expect(await signIn.pending(BROWSER)).toBeUndefined();
  });

  it("sends a plain-text email with instructions and without a link", async () => {
    const { signIn, letters } = await begin();
    await signIn.sendCode(BROWSER, ADA, ANYONE);
    const [letter] = await letters();
    expect(letter?.text).toMatch(
      /sign in to Market Signal and Verification Service.*10 minutes.*ignore this email/s,
    );
    expect(letter?.text).not.toMatch(/https?:|www\.|<|>/);
    expect(letter?.subject).not.toMatch(/\d/);
    const lengths = letter?.text.split("\n").map((line) => line.length) ?? [];
    expect(Math.max(...lengths)).toBeLessThan(100);
  });

  it("accepts a code that is typed with spaces", async () => {
    const { signIn, lastCode } = await begin();
    await signIn.sendCode(BROWSER, ADA, ANYONE);
    const code = await lastCode();
    const typed = ` ${code.slice(0, 4)} ${code.slice(4)}\n`;
    expect(await signIn.complete(BROWSER, typed)).toBeDefined();
  });

  it("refuses the code in another browser", async () => {
    const { signIn, lastCode } = await begin();
    await signIn.sendCode(BROWSER, ADA, ANYONE);
    const code = await lastCode();
    await signIn.sendCode("another browser", "eve@people.example", ANYONE);
    expect(await signIn.complete("another browser", code)).toBeUndefined();
    expect(await signIn.complete("a third browser", code)).toBeUndefined();
    expect(await signIn.complete(BROWSER, code)).toBeDefined();
  });

  it("expires a code after ten minutes or after its use", async () => {
    const { store, signIn, lastCode } = await begin();
    await signIn.sendCode(BROWSER, ADA, ANYONE);
    const first = await lastCode();
    store.clock.now += 10 * MINUTE;
    expect(await signIn.complete(BROWSER, first)).toBeUndefined();
    await signIn.sendCode(BROWSER, ADA, ANYONE);
    const second = await lastCode();
    expect(await signIn.complete(BROWSER, second)).toBeDefined();
    expect(await signIn.complete(BROWSER, second)).toBeUndefined();
  });

  it("allows five wrong codes, and then rejects even the correct code", async () => {
    const { store, signIn, lastCode } = await begin();
    await signIn.sendCode(BROWSER, ADA, ANYONE);
    const code = await lastCode();
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expect(await signIn.complete(BROWSER, another(code))).toBeUndefined();
    }
    expect(await signIn.complete(BROWSER, code)).toBeUndefined();
    const burnt = { action: "sign_in.code_burnt", actor: "anonymous", target: "sign-in" };
    expect(await auditOf(store)).toEqual([burnt]);
  });

  it("counts concurrent wrong attempts", async () => {
    const { signIn, lastCode } = await begin({ through: slowRecords });
    await signIn.sendCode(BROWSER, ADA, ANYONE);
    const code = await lastCode();
    const wrong = Array.from({ length: 5 }, () => signIn.complete(BROWSER, another(code)));
    expect(await Promise.all(wrong)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(await signIn.complete(BROWSER, code)).toBeUndefined();
  });

  it("lets a person try again after a wrong code", async () => {
    const { signIn, lastCode } = await begin();
    await signIn.sendCode(BROWSER, ADA, ANYONE);
    const code = await lastCode();
    for (let attempt = 0; attempt < 4; attempt += 1) await signIn.complete(BROWSER, "");
    expect(await signIn.complete(BROWSER, code)).toBeDefined();
  });

  it("accepts a code only once when it is sent in 100 concurrent requests", async () => {
    const { signIn, lastCode } = await begin({ through: slowRecords });
    await signIn.sendCode(BROWSER, ADA, ANYONE);
    const code = await lastCode();
    const all = Array.from({ length: 100 }, () => signIn.complete(BROWSER, code));
    const ids = (await Promise.all(all)).filter((id) => id !== undefined);
    expect(ids).toHaveLength(1);
  });

  it("replaces the previous code with a new code, which has its own five attempts", async () => {
    const { signIn, lastCode } = await begin();
    await signIn.sendCode(BROWSER, ADA, ANYONE);
    const first = await lastCode();
    for (let attempt = 0; attempt < 4; attempt += 1) await signIn.complete(BROWSER, "");
    await signIn.sendCode(BROWSER, "bob@people.example", ANYONE);
    const second = await lastCode();
    expect(await signIn.pending(BROWSER)).toEqual({ email: "bob@people.example" });
    expect(await signIn.complete(BROWSER, first)).toBeUndefined();
    expect(await signIn.complete(BROWSER, second)).toBeDefined();
  });

  it("stores no data from which a code could be derived", async () => {
    const { store, signIn, lastCode } = await begin();
    await signIn.sendCode(BROWSER, ADA, ANYONE);
    const code = await lastCode();
    const kept = JSON.stringify(await dumpStore(store.store));
    expect(kept).not.toContain(code);
    expect(kept).not.toContain(BROWSER);
  });

  it("accepts a stored code only from its own browser, even if the store is manipulated", async () => {
    const { store, signIn, lastCode } = await begin();
    await signIn.sendCode(BROWSER, ADA, ANYONE);
    const [kept] = await store.records.list(signInCodes, { limit: 1 });
    if (kept === undefined) expect.fail();
    await store.records.commit([
      put(signInCodes, { key: fingerprint("another browser"), value: kept.value }),
      put(signInCodes, { key: kept.key, value: { ...kept.value, email: "eve@people.example" } }),
    ]);
    expect(await signIn.complete("another browser", await lastCode())).toBeUndefined();
    expect(await signIn.complete(BROWSER, await lastCode())).toBeUndefined();
  });

  it.each<[SignUpMode, string, boolean]>([
    ["open", "new@people.example", true],
    ["applications", "new@people.example", false],
    ["applications", "accepted@people.example", true],
    ["applications", "known@people.example", true],
    ["closed", "new@people.example", false],
    ["closed", "accepted@people.example", false],
    ["closed", "known@people.example", true],
  ])("with SIGN_UP=%s permits the address %s to sign in: %j", async (signUp, email, isWelcome) => {
    const accepted = ["accepted@people.example"];
    const { signIn, accounts, letters } = await begin({ signUp, accepted });
    await accounts.findOrCreateByEmail("known@people.example");
    await signIn.sendCode(BROWSER, email, ANYONE);
    expect(await signIn.pending(BROWSER)).toEqual({ email });
    expect((await letters()).map(({ to }) => to)).toEqual(isWelcome ? [email] : []);
    const code = isWelcome ? codeIn((await letters())[0]) : "";
    expect((await signIn.complete(BROWSER, code)) !== undefined).toBe(isWelcome);
  });

  it("sends a code that is not for a new account only to an address that has one", async () => {
    const { signIn, accounts, letters } = await begin();
    await accounts.findOrCreateByEmail("known@people.example");
    await signIn.sendCode(BROWSER, "new@people.example", { isForNew: false, isForOwner: true });
    await signIn.sendCode(BROWSER, "known@people.example", { isForNew: false, isForOwner: true });
    expect((await letters()).map(({ to }) => to)).toEqual(["known@people.example"]);
  });

  it("does the same amount of work whether or not the address may sign in", async () => {
    const commits: (readonly Operation[])[] = [];
    const reads: string[] = [];
    const through = (records: Records): Records => ({
      ...records,
      get(from, key) {
        reads.push(from.name);
        return records.get(from, key);
      },
      commit(operations) {
        commits.push(operations);
        return records.commit(operations);
      },
    });
    const { signIn, accounts } = await begin({ signUp: "closed", through });
    await accounts.findOrCreateByEmail("ann@people.example");
    commits.length = 0;
    reads.length = 0;
    await signIn.sendCode(BROWSER, "ann@people.example", ANYONE);
    const readsOfOne = reads.splice(0);
    await signIn.sendCode(BROWSER, "eve@people.example", ANYONE);
    expect(reads).toEqual(readsOfOne);
    const [one, other] = commits.map((steps) =>
      steps.map((step) => [step.kind, "collection" in step && step.collection, size(step)]),
    );
    expect(other).toEqual(one);
  });

  it("sends the email after a random delay, so that response times do not reveal whether an email is being sent", async () => {
    const { store, signIn } = await begin();
    const woken: string[] = [];
    onTestFinished(store.records.onAnnounce(MAIL_TOPIC, (text) => void woken.push(text)));
    for (let time = 0; time < 20; time += 1) await signIn.sendCode(`browser ${time}`, ADA, ANYONE);
    const waits = (await store.records.list(queuedMails, { limit: 100 })).map(
      ({ dueAt = 0 }) => dueAt - START,
    );
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(300);
    expect(Math.max(...waits)).toBeLessThan(2_000);
    expect(new Set(waits).size).toBeGreaterThan(10);
    await store.records.commit([announce(MAIL_TOPIC, "the only one")]);
    await expect.poll(() => woken).toEqual(["the only one"]);
  });

  it("accepts no code for an address that may not sign in, not even the generated code", async () => {
    const { signIn } = await begin({ signUp: "closed" });
    for (const code of ["", "none", "undefined", "00000000"]) {
      await signIn.sendCode(BROWSER, ADA, ANYONE);
      expect(await signIn.complete(BROWSER, code)).toBeUndefined();
    }
  });
});

/** Returns the number of characters that a step writes as JSON. */
const size = (step: Operation): number => ("value" in step ? JSON.stringify(step.value).length : 0);
