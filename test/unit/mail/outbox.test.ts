import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createVault } from "../../../src/keys/vault.ts";
import {
  createOutbox,
  decryptEmail,
  type OutgoingMail,
  queuedMails,
} from "../../../src/mail/outbox.ts";
import { stepsOf } from "../../support/steps-of.ts";
import { dumpStore, embedded, openStore, START } from "../../support/stores.ts";

const mail: OutgoingMail = {
  to: "ada@people.example",
  subject: "Your code",
  text: "The code is 12345678.\n",
  ttlMs: 60_000,
};
const vault = createVault(randomBytes(32));
const now = () => new Date(START);
const outbox = createOutbox({ vault, now });

describe("the email outbox", () => {
  it("encrypts the address and the text of a stored email", async () => {
    const { store, records } = await openStore(embedded);
    await records.commit(stepsOf(outbox.queue, mail));
    const kept = JSON.stringify(await dumpStore(store));
    expect(kept).toContain('"mail"');
    for (const part of ["ada@", "people.example", "12345678", "Your code"]) {
      expect(kept).not.toContain(part);
    }
    const [stored] = await records.list(queuedMails, { limit: 1 });
    const { ttlMs, ...letter } = mail;
    expect(stored && decryptEmail(vault, stored)).toEqual(letter);
    expect(stored?.expiresAt).toBe(START + ttlMs);
  });

  it("encrypts an email so that it can be decrypted only from its own record", async () => {
    const { records } = await openStore(embedded);
    await records.commit([...stepsOf(outbox.queue, mail), ...stepsOf(outbox.queue, mail)]);
    const [one, other] = await records.list(queuedMails, { limit: 2 });
    if (one === undefined || other === undefined) expect.fail();
    expect(() => decryptEmail(vault, { ...other, value: one.value })).toThrow();
  });

  it.each([
    ["to", "ada@people.example\r\nBcc: eve@evil.example"],
    ["subject", "Your code\r\nBcc: eve@evil.example"],
    ["subject", "Your code\nX: y"],
    ["subject", "Your code\u2028X: y"],
    ["subject", ""],
    ["text", "x".repeat(10_001)],
  ])("rejects an email whose member %s is %j", (part, value) => {
    expect(() => stepsOf(outbox.queue, { ...mail, [part]: value })).toThrow();
  });
});
