import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { openKeyring } from "../../../src/keys/keyring.ts";
import { createKeyringVault } from "../../../src/keys/keyring-vault.ts";
import { createVault } from "../../../src/keys/vault.ts";
import { MailWorker } from "../../../src/mail/mail-worker.ts";
import {
  createOutbox,
  decryptEmail,
  type OutgoingMail,
  queuedMails,
} from "../../../src/mail/outbox.ts";
import { startSmtp } from "../../support/smtp.ts";
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
    ["to", "ada@people.example\r\n"],
    ["to", "ada@people.example, eve@evil.example"],
    ["to", "Ada <ada@people.example>"],
    ["to", "ada@people.example>\nRCPT TO:<eve@evil.example"],
    ["subject", "Your code\r\nBcc: eve@evil.example"],
    ["subject", "Your code\nX: y"],
    ["subject", "Your code\u2028X: y"],
    ["subject", ""],
    ["text", "x".repeat(10_001)],
  ])("rejects an email whose member %s is %j", (part, value) => {
    expect(() => stepsOf(outbox.queue, { ...mail, [part]: value })).toThrow();
  });
});

describe("an email text that contains SMTP commands", () => {
  it("arrives as one email to one recipient", async () => {
    const [store, server] = [await openStore(embedded), await startSmtp()];
    const text =
      "one\r\n.\r\nMAIL FROM:<a@b.example>\r\nRCPT TO:<eve@evil.example>\r\nDATA\r\ntwo\n";
    await store.records.commit(stepsOf(outbox.queue, { ...mail, text }));
    const worker = new MailWorker({
      isSuppressed: async () => false,
      ...{ records: store.records, vault, now, onError: () => {} },
      smtp: { smtpUrl: server.url, from: "signals@mail.example" },
    });
    worker.start();
    const [message] = await server.received(1);
    await worker.stop();
    expect(server.messages).toHaveLength(1);
    expect(message?.to).toEqual([mail.to]);
    expect(message?.text).toContain(text.replaceAll("\r", "").trimEnd());
  });
});

describe.runIf(process.platform === "linux")("the password of the mail server", () => {
  it("is not sent over an unencrypted connection", async () => {
    const [store, server] = [await openStore(embedded), await startSmtp("127.0.0.2")];
    const failures: unknown[] = [];
    const worker = new MailWorker({
      isSuppressed: async () => false,
      ...{ records: store.records, vault, now, onError: (error) => failures.push(error) },
      smtp: { smtpUrl: `smtp://me:secret@127.0.0.2:${server.port}`, from: "a@mail.example" },
    });
    await store.records.commit(stepsOf(outbox.queue, mail));
    worker.start();
    await expect.poll(() => failures, { timeout: 10_000 }).toHaveLength(1);
    await worker.stop();
    expect(server.said.join("\n")).not.toContain("AUTH");
    expect(String(failures[0])).toContain("STARTTLS");
    expect(String(failures[0])).not.toContain("secret");
  });
});

describe("the encryption vault of the keyring", () => {
  it("decrypts secrets encrypted before a key rotation, and encrypts with the new key", async () => {
    const { records } = await openStore(embedded);
    const options = { records, masterKey: randomBytes(32), now: () => START };
    const keyring = await openKeyring(options);
    const following = createKeyringVault(keyring);
    const before = following.seal("code", "here");
    await keyring.rotate("secret-encryption", { actor: "operator" });
    const after = following.seal("code", "here");
    expect([before, after].map((sealed) => following.open(sealed, "here"))).toEqual([
      "code",
      "code",
    ]);
    const [newest] = keyring.keys("secret-encryption");
    const alone = createVault(Buffer.from(newest.jwk.k, "base64url"));
    expect(alone.open(after, "here")).toBe("code");
    expect(() => alone.open(before, "here")).toThrow();
    expect(() => following.open(before, "there")).toThrow();
  });
});
