import { describe, expect, it } from "vitest";
import { createAuditor, withCallerAddress } from "../../../../src/access/auditor.ts";
import { LastUseTracker } from "../../../../src/access/last-use.ts";
import { anonymousScopeCeiling } from "../../../../src/access/scopes.ts";
import { createVault } from "../../../../src/keys/vault.ts";
import { emailGroup } from "../../../../src/mail/email-address.ts";
import { createOutbox, decryptEmail, queuedMails } from "../../../../src/mail/outbox.ts";
import {
  intakeSlots,
  networkSlotsGroup,
} from "../../../../src/principals/applications/capacity.ts";
import { createApplicationDecisionService } from "../../../../src/principals/applications/decisions.ts";
import { IntakeService } from "../../../../src/principals/applications/intake.ts";
import {
  applicationOfQueueToken,
  readApplications,
  readInquiries,
} from "../../../../src/principals/applications/intake-records.ts";
import { ApiKeyService } from "../../../../src/principals/keys/api-keys.ts";
import type { AuditEntry } from "../../../../src/store/audit-entry.ts";
import { unsealedAudit } from "../../../../src/store/audit-entry.ts";
import { put, removeGroup } from "../../../../src/store/port/operations.ts";
import type { Records } from "../../../../src/store/port/records.ts";
import type { StoreMode } from "../../../../src/store/port/store.ts";
import { dumpStore, embedded, openStore } from "../../../support/stores.ts";

const DAY_MS = 86_400_000;
const ada = { name: "Ada", email: "ada@host.example", focus: "quant" } as const;
const vault = createVault(new Uint8Array(32));

async function open(mode: StoreMode = "sandbox") {
  const kept = await openStore(embedded);
  const { records, clock } = kept;
  const now = () => new Date(clock.now);
  const hashAddress = (address: string) => `hash of ${address}`;
  const audit = createAuditor({ hashAddress, now });
  const lastUse = new LastUseTracker({ records, now, onError: () => {} });
  const keys = new ApiKeyService({ records, mode, now, audit, lastUse });
  /** Creates an intake on the same store with some methods of the records replaced. */
  const again = (others: Partial<Records>) =>
    new IntakeService({ records: { ...records, ...others }, mode, now, audit, keys, hashAddress });
  const intake = again({});
  const mailbox = createOutbox({ vault, now });
  const decisions = createApplicationDecisionService({ records, audit, keys, mailbox });
  const audits = async () =>
    (await records.list(unsealedAudit, { limit: 1_000 })).map(
      ({ value }) => value.body as AuditEntry,
    );
  return { ...kept, keys, intake, again, decisions, audits };
}

/** Fills all slots of a kind. */
async function fill({ records }: Pick<Awaited<ReturnType<typeof open>>, "records">, kind: string) {
  for (let from = 0; from < 30_000; from += 1_000) {
    const steps = Array.from({ length: 1_000 }, (_, at) =>
      put(intakeSlots, { key: `${kind}:${from + at}`, value: true }),
    );
    await records.commit(steps);
  }
}

describe("the intake of applications for access and of inquiries", () => {
  it("stores an application and returns a queue token", async () => {
    const { intake, records, clock } = await open("files");
    const { queueToken, registeredAt } = await intake.apply(ada);
    expect(queueToken).toMatch(/^queue_[0-9A-Za-z]{32}$/);
    expect(registeredAt).toBe(clock.now);
    const [application, ...others] = await readApplications(records);
    expect(others).toEqual([]);
    expect(application).toMatchObject({ ...ada, state: "waiting", registeredAt });
    expect(application?.id).toMatch(/^app_\w{16}$/);
  });

  it("stores no token in plain text, and writes no address or name to the audit log", async () => {
    const { intake, store, audits } = await open("files");
    await intake.apply(ada);
    const { queueToken } = await withCallerAddress("192.0.2.7", () => intake.apply(ada));
    await intake.contact({ email: ada.email, message: "What does it cost?" });
    expect(JSON.stringify(await dumpStore(store))).not.toContain(queueToken.slice(6));
    const entries = await audits();
    expect(entries.map(({ action }) => action)).toEqual([
      "application.received",
      "application.repeated",
      "inquiry.received",
    ]);
    expect(entries[1]).toMatchObject({ actor: "anonymous", addressHash: "hash of 192.0.2.7" });
    expect(JSON.stringify(entries)).not.toMatch(/\b(ada|cost)\b/i);
  });

  it("returns a queue token that works in the sandbox as a one-week API key with the read scopes", async () => {
    const { intake, keys, clock } = await open();
    const { queueToken } = await intake.apply(ada);
    const key = await keys.find(queueToken);
    expect(key?.scopes).toEqual(anonymousScopeCeiling);
    expect(key?.scopes).not.toContain("alerts:write");
    expect(key?.accountId).toBeUndefined();
    clock.now += 7 * DAY_MS;
    expect(await keys.find(queueToken)).toBeUndefined();
  });

  it("returns no key on a real market", async () => {
    for (const mode of ["files", "replay", "live"] as const) {
      const { intake, keys } = await open(mode);
      const { queueToken } = await intake.apply(ada);
      expect(await keys.find(queueToken)).toBeUndefined();
      expect(await keys.list()).toEqual([]);
    }
  });

  it("stores only the first application of an email address, and responds to a repeated application in the same way", async () => {
    const { intake, records, keys, clock } = await open();
    const first = await intake.apply(ada);
    clock.now += DAY_MS;
    const other = { ...ada, name: "Somebody else", focus: undefined };
    const second = await intake.apply(other);
    expect(second.registeredAt).toBe(clock.now);
    expect(second.queueToken).not.toBe(first.queueToken);
    expect(await keys.find(first.queueToken)).toBeDefined();
    expect(await keys.find(second.queueToken)).toBeDefined();
    const [application, ...others] = await readApplications(records);
    expect(application).toMatchObject({ ...ada, registeredAt: first.registeredAt });
    expect(others).toEqual([]);
  });

  it.each<StoreMode>(["live", "sandbox"])(
    "makes every queue token refer to the first application with the same email address (%s)",
    async (mode) => {
      const { intake, records } = await open(mode);
      const tokens = [];
      for (let count = 0; count < 3; count += 1) tokens.push((await intake.apply(ada)).queueToken);
      const other = await intake.apply({ ...ada, email: "eve@host.example" });
      const [application, evesApplication] = await readApplications(records);
      const named = await Promise.all(
        tokens.map((token) => applicationOfQueueToken(records, token)),
      );
      expect(named).toEqual([application?.id, application?.id, application?.id]);
      expect(await applicationOfQueueToken(records, other.queueToken)).toBe(evesApplication?.id);
      expect(await applicationOfQueueToken(records, `${other.queueToken}x`)).toBeUndefined();
    },
  );

  it("stores one application when 100 arrive concurrently with one address, and returns a token to each", async () => {
    const { intake, records, keys, audits } = await open();
    const answers = await Promise.all(Array.from({ length: 100 }, () => intake.apply(ada)));
    expect(await readApplications(records)).toHaveLength(1);
    const found = await Promise.all(answers.map(({ queueToken }) => keys.find(queueToken)));
    expect(new Set(found.map((key) => key?.id)).size).toBe(100);
    const seatsTaken = await records.list(intakeSlots, { limit: 1_000 });
    expect(seatsTaken.filter(({ key }) => key.startsWith("application:"))).toHaveLength(1);
    const received = (await audits()).filter(({ action }) => action === "application.received");
    expect(received).toHaveLength(1);
  });

  it("creates a new application when the records of the address are deleted concurrently", async () => {
    const { intake, keys, records, again } = await open();
    await intake.apply(ada);
    const { queueToken } = await again({
      async commit(operations) {
        await records.commit([removeGroup(emailGroup(ada.email))]);
        return records.commit(operations);
      },
    }).apply(ada);
    expect(await readApplications(records)).toHaveLength(1);
    expect((await keys.list()).map(({ id }) => id)).toEqual([(await keys.find(queueToken))?.id]);
  });

  it("stores an inquiry and returns a reference number", async () => {
    const { intake, records, clock } = await open();
    const inquiry = { email: ada.email, message: "Two\nlines <3" };
    const { reference, receivedAt } = await intake.contact(inquiry);
    expect(reference).toMatch(/^inq_\w{16}$/);
    expect(receivedAt).toBe(clock.now);
    expect(await readInquiries(records)).toEqual([{ reference, receivedAt, ...inquiry }]);
  });

  it("deletes inquiries after 180 days, and unaccepted applications after 400 days", async () => {
    const { intake, decisions, records, clock } = await open();
    await intake.contact({ email: ada.email, message: "Hello" });
    await intake.apply(ada);
    await intake.apply({ ...ada, email: "eve@host.example" });
    const [, eve] = await readApplications(records);
    await decisions.accept(eve?.id ?? "");
    clock.now += 180 * DAY_MS;
    expect(await readInquiries(records)).toEqual([]);
    expect(await readApplications(records)).toHaveLength(2);
    clock.now += 220 * DAY_MS;
    expect((await readApplications(records)).map(({ email }) => email)).toEqual([
      "eve@host.example",
    ]);
    expect(await intake.isAccepted("eve@host.example")).toBe(true);
    expect(await records.list(intakeSlots, { limit: 10 })).toEqual([]);
  });

  it("deletes all data of an email address when the record group of the address is removed", async () => {
    const { intake, keys, decisions, records, store } = await open();
    const { queueToken } = await intake.apply(ada);
    await intake.contact({ email: ada.email, message: "Hello" });
    const [application] = await readApplications(records);
    const accepted = await decisions.accept(application?.id ?? "", ["signals:read"]);
    await records.commit([removeGroup(emailGroup(ada.email))]);
    expect(await keys.find(queueToken)).toBeUndefined();
    expect(await keys.find(accepted?.key ?? "")).toBeUndefined();
    const left = (await dumpStore(store)).filter((row) => row.table === "record");
    const names = new Set(left.map((row) => (row.table === "record" ? row.collection : "")));
    expect([...names].filter((name) => name !== "unsealed-audit" && name !== "last-uses")).toEqual(
      [],
    );
  });
});

describe("the limit on stored submissions", () => {
  it.each(["application", "queue-token"])(
    "rejects an application of the kind %s with rate_limited when the limit for that kind is reached",
    async (kind) => {
      const opened = await open();
      await fill(opened, kind);
      await expect(opened.intake.apply(ada)).rejects.toMatchObject({
        code: "rate_limited",
        headers: { "Retry-After": "3600" },
      });
      expect(await readApplications(opened.records)).toEqual([]);
      expect(await opened.keys.list()).toEqual([]);
      expect(await opened.audits()).toEqual([]);
      const inquiry = { email: ada.email, message: "Hello" };
      expect(await opened.intake.contact(inquiry)).toBeDefined();
    },
  );

  it("rejects an inquiry with rate_limited when the limit for inquiries is reached", async () => {
    const opened = await open();
    await fill(opened, "inquiry");
    const inquiry = { email: ada.email, message: "Hello" };
    await expect(opened.intake.contact(inquiry)).rejects.toMatchObject({ code: "rate_limited" });
    expect(await readInquiries(opened.records)).toEqual([]);
  });

  it("keeps a fifth of the slots for networks that have none", async () => {
    const { intake, records } = await open();
    const groups = [networkSlotsGroup("inquiry", "hash of 2001:db8:1::/48")];
    const steps = Array.from({ length: 16_000 }, (_, at) =>
      put(intakeSlots, { key: `inquiry:${at}`, value: true, groups: at === 0 ? groups : [] }),
    );
    await records.commit(steps);
    const inquiry = { email: ada.email, message: "Hello" };
    const ask = (ip: string) => withCallerAddress(ip, () => intake.contact(inquiry));
    await expect(ask("2001:db8:1:7::1")).rejects.toMatchObject({ code: "rate_limited" });
    await expect(ask("2001:db8:2::1")).resolves.toBeDefined();
    await expect(ask("2001:db8:2::1")).rejects.toMatchObject({ code: "rate_limited" });
  });

  it("allows one network 2,000 of the slots", async () => {
    const { intake, records } = await open();
    const groups = [networkSlotsGroup("inquiry", "hash of 192.0.2.0/24")];
    const steps = Array.from({ length: 2_000 }, (_, at) =>
      put(intakeSlots, { key: `inquiry:${4_999 - at}`, value: true, groups }),
    );
    await records.commit(steps);
    const inquiry = { email: ada.email, message: "Hello" };
    const ask = (ip: string) => withCallerAddress(ip, () => intake.contact(inquiry));
    await expect(ask("192.0.2.200")).rejects.toMatchObject({
      detail: "Too many applications or inquiries from your network are pending.",
    });
    await expect(ask("192.0.3.200")).resolves.toBeDefined();
  });

  it("lets 300 concurrent inquiries find a free slot while most slots are free", async () => {
    const { intake, records } = await open();
    const messages = Array.from({ length: 300 }, (_, at) => `${at}`);
    await Promise.all(messages.map((message) => intake.contact({ email: ada.email, message })));
    expect(await readInquiries(records)).toHaveLength(300);
    expect(await records.list(intakeSlots, { limit: 1_000 })).toHaveLength(300);
  });
});

describe("a decision on an application for access", () => {
  async function applied(mode: StoreMode = "live") {
    const opened = await open(mode);
    await opened.intake.apply(ada);
    const [application] = await readApplications(opened.records);
    return { ...opened, id: application?.id ?? "" };
  }

  it("admits and notifies the applicant exactly once", async () => {
    const { decisions, intake, records, audits, id } = await applied();
    expect(await intake.isAccepted(ada.email)).toBe(false);
    const [one, ...others] = await Promise.all(
      Array.from({ length: 20 }, () => decisions.accept(id, ["signals:read"])),
    ).then((all) => all.filter((decision) => decision?.isNew));
    expect(others).toEqual([]);
    expect(one?.application).toMatchObject({ id, state: "accepted", email: ada.email });
    expect(await intake.isAccepted(ada.email)).toBe(true);
    const again = await decisions.accept(id, ["signals:read"]);
    expect(again).toMatchObject({ isNew: false, key: undefined });
    const sent = await records.list(queuedMails, { limit: 10 });
    expect(sent.map((mail) => decryptEmail(vault, mail).to)).toEqual([ada.email]);
    const accepted = (await audits()).filter(({ action }) => action === "application.accepted");
    expect(accepted).toEqual([{ action: "application.accepted", actor: "operator", target: id }]);
  });

  it("accepts the queue token instead of the application's id", async () => {
    const { decisions, intake, id } = await applied();
    const { queueToken } = await intake.apply(ada);
    expect(await decisions.reject(queueToken)).toMatchObject({ application: { id }, isNew: true });
    expect(await decisions.accept(queueToken)).toMatchObject({ application: { id }, isNew: true });
    expect(await intake.isAccepted(ada.email)).toBe(true);
  });

  it("states in its email what access the applicant has and where to sign in", async () => {
    const { records, clock, keys, id } = await applied();
    const now = () => new Date(clock.now);
    const audit = createAuditor({ hashAddress: (address) => address, now });
    const site = {
      name: "Market Signal and Verification Service",
      baseUrl: "https://signals.example",
    };
    const mailbox = createOutbox({ vault, now });
    await createApplicationDecisionService({ records, audit, keys, mailbox, site }).accept(id);
    const [mail] = await records.list(queuedMails, { limit: 1 });
    const { text } = mail === undefined ? expect.fail() : decryptEmail(vault, mail);
    expect(text).toContain("early access to Market Signal and Verification Service");
    expect(text).toMatch(/^https:\/\/signals\.example\/sign-in$/m);
  });

  it("creates a key that appears neither in the email nor in the audit log", async () => {
    const { decisions, keys, store, records, id } = await applied();
    const decision = await decisions.accept(id, ["signals:read", "alerts:write"]);
    const key = decision?.key ?? "";
    expect(key).toMatch(/^msv_live_/);
    expect(await keys.find(key)).toMatchObject({
      ...{ name: "Ada", scopes: ["signals:read", "alerts:write"] },
    });
    const letters = (await records.list(queuedMails, { limit: 1 })).map((mail) =>
      decryptEmail(vault, mail),
    );
    expect(JSON.stringify(letters)).not.toMatch(/msv_|\bAda\b/);
    expect(JSON.stringify(await dumpStore(store))).not.toContain(key.slice(13));
  });

  it("can be reversed in both directions", async () => {
    const { decisions, intake, id } = await applied();
    await decisions.accept(id);
    expect(await decisions.reject(id)).toMatchObject({ isNew: true });
    expect(await decisions.reject(id)).toMatchObject({ isNew: false });
    expect(await intake.isAccepted(ada.email)).toBe(false);
    await decisions.accept(id);
    expect(await intake.isAccepted(ada.email)).toBe(true);
  });

  it("frees the application's slot on rejection, but not a slot that another application has taken", async () => {
    const { decisions, records, id } = await applied();
    const taken = async () =>
      (await records.list(intakeSlots, { limit: 9 })).filter(({ key }) =>
        key.startsWith("application:"),
      );
    const [seat] = await taken();
    await decisions.reject(id);
    expect(await taken()).toEqual([]);
    await records.commit([put(intakeSlots, { key: seat?.key ?? "", value: true })]);
    await decisions.accept(id);
    expect(await taken()).toHaveLength(1);
  });

  it("is kept when the applicant applies again", async () => {
    const { decisions, intake, id } = await applied();
    await decisions.accept(id);
    await intake.apply({ ...ada, name: "Mallory" });
    expect(await intake.isAccepted(ada.email)).toBe(true);
  });

  it("that rejects what a stranger wrote does not bar the address's owner, and the operator sees both", async () => {
    const { decisions, intake, records, audits, clock } = await open("live");
    await intake.apply({ ...ada, name: "Spam Bot" });
    await intake.apply(ada);
    await intake.apply(ada);
    const [spam] = await readApplications(records);
    const beside = { name: "Ada", focus: "quant", registeredAt: clock.now, wasRejected: false };
    expect(spam).toMatchObject({ name: "Spam Bot", state: "waiting", others: [beside] });
    await decisions.reject(spam?.id ?? "");
    clock.now += DAY_MS;
    await intake.apply(ada);
    const rejected = { ...beside, name: "Spam Bot", wasRejected: true };
    const waiting = await readApplications(records);
    expect(waiting).toEqual([
      expect.objectContaining({
        ...{ ...ada, state: "waiting", registeredAt: clock.now },
        others: [beside, rejected],
      }),
    ]);
    // The rejection was of the stranger's: given once more, it meets nothing.
    expect(await decisions.reject(spam?.id ?? "")).toBeUndefined();
    expect((await audits()).map(({ action }) => action)).toEqual([
      "application.received",
      "application.repeated",
      "application.repeated",
      "application.rejected",
      "application.reopened",
    ]);
    await decisions.accept(waiting[0]?.id ?? "");
    expect(await intake.isAccepted(ada.email)).toBe(true);
  });

  it("is made with one other of each network in view, so that a stranger pushes nobody's out", async () => {
    const { decisions, intake, records, store } = await open("live");
    const apply = (ip: string, name: string) =>
      withCallerAddress(ip, () => intake.apply({ ...ada, name }));
    const stranger = (name: string) => apply(`198.51.100.${name.length}`, name);
    await stranger("Spam");
    // The stranger sends what the person would, and then something else in its place.
    await stranger("Ada");
    await apply("203.0.113.5", "Ada");
    for (const name of ["Spam 1", "Spam to 2", "Spam of 3", "Spam 4", "Spam"]) await stranger(name);
    const others = async () =>
      (await readApplications(records))[0]?.others?.map(({ name }) => name);
    expect(await others()).toEqual(["Ada", "Spam 4"]);
    await decisions.reject((await readApplications(records))[0]?.id ?? "");
    await stranger("Spam again");
    expect(await others()).toEqual(["Ada", "Spam"]);
    expect(JSON.stringify(await dumpStore(store))).not.toMatch(/"(198\.51|203\.0)/);
  });

  it("is on one application with the last four others of its address", async () => {
    const { intake, records } = await open("live");
    for (const name of ["A", "B", "C", "D", "E", "F"]) await intake.apply({ ...ada, name });
    const [application] = await readApplications(records);
    expect(application?.name).toBe("A");
    expect(application?.others?.map(({ name }) => name)).toEqual(["C", "D", "E", "F"]);
  });

  it("returns nothing for an unknown application", async () => {
    const { decisions, audits } = await applied();
    for (const id of ["", "app_", "app_0123456789abcdef", "x".repeat(600), "app_\0"]) {
      expect(await decisions.accept(id), id).toBeUndefined();
      expect(await decisions.reject(id), id).toBeUndefined();
    }
    expect((await audits()).map(({ action }) => action)).toEqual(["application.received"]);
  });
});
