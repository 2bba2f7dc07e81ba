import { randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { createVault } from "../../../src/keys/vault.ts";
import type { Email } from "../../../src/mail/email-schema.ts";
import { MailWorker, type MailWorkerOptions } from "../../../src/mail/mail-worker.ts";
import {
  createOutbox,
  MAIL_TOPIC,
  type OutgoingMail,
  queuedMails,
} from "../../../src/mail/outbox.ts";
import { announce } from "../../../src/store/port/operations.ts";
import type { Records } from "../../../src/store/port/records.ts";
import { startSmtp } from "../../support/smtp.ts";
import { stepsOf } from "../../support/steps-of.ts";
import { describeEngines, embedded, openStore, type TestStore } from "../../support/stores.ts";

const FROM = "signals@mail.example";
const MINUTE = 60_000;
const vault = createVault(randomBytes(32));

const toAda: OutgoingMail = {
  to: "ada@people.example",
  subject: "Your code",
  text: "The code is 12345678.\n",
  ttlMs: 20 * MINUTE,
};

const clockOf = ({ clock }: TestStore) => ({ now: () => new Date(clock.now) });

/** Queues emails in a store. */
async function queue(store: TestStore, ...wanted: readonly OutgoingMail[]): Promise<void> {
  const outbox = createOutbox({ vault, ...clockOf(store) });
  for (const mail of wanted) await store.records.commit(stepsOf(outbox.queue, mail));
}

/** Runs a worker until the end of the test. */
function startWorker(
  store: TestStore,
  options: Partial<MailWorkerOptions>,
): { readonly failures: string[]; readonly stop: () => Promise<void> } {
  const failures: string[] = [];
  const onError = (error: unknown) => void failures.push(String(error));
  const worker = new MailWorker({
    isSuppressed: async () => false,
    ...{ records: store.records, vault, onError, ...clockOf(store) },
    ...options,
  });
  worker.start();
  const stop = () => worker.stop();
  onTestFinished(stop);
  return { failures, stop };
}

const smtpOf = ({ url }: { readonly url: string }) => ({ smtp: { smtpUrl: url, from: FROM } });

const wake = ({ records }: { readonly records: Records }) => records.commit([announce(MAIL_TOPIC)]);

/** Wraps records so that a test can await a number of commits. */
function committing(records: Records) {
  const events = new EventEmitter();
  let made = 0;
  const watched: Records = {
    ...records,
    async commit(operations) {
      const isDone = await records.commit(operations);
      made += 1;
      events.emit("commit");
      return isDone;
    },
  };
  const commits = async (count: number): Promise<void> => {
    while (made < count) await once(events, "commit");
  };
  return { records: watched, commits };
}

describe("the mail worker", () => {
  it("delivers an email to the mail server and then deletes it", async () => {
    const [store, server] = [await openStore(embedded), await startSmtp()];
    const { records, commits } = committing(store.records);
    startWorker(store, { records, ...smtpOf(server) });
    await queue(store, toAda);
    const [message] = await server.received(1);
    expect(message).toMatchObject({ from: FROM, to: [toAda.to] });
    expect(message?.text).toMatch(/^From: signals@mail\.example$/m);
    expect(message?.text).toMatch(/^To: ada@people\.example$/m);
    expect(message?.text).toMatch(/^Subject: Your code$/m);
    expect(message?.text).toMatch(/^Auto-Submitted: auto-generated$/m);
    expect(message?.text).toMatch(/\n\nThe code is 12345678\.$/m);
    await commits(1);
    expect(await store.records.list(queuedMails, { limit: 10 })).toEqual([]);
  });

  it("offers one-click unsubscribing in header fields that it does not fold", async () => {
    const [store, server] = [await openStore(embedded), await startSmtp()];
    const unsubscribeUrl = `https://signals.example/unsubscribe/${"a".repeat(100)}`;
    await queue(store, { ...toAda, unsubscribeUrl });
    startWorker(store, smtpOf(server));
    const [message] = await server.received(1);
    expect(message?.text.split("\n")).toEqual(
      expect.arrayContaining([
        `List-Unsubscribe: <${unsubscribeUrl}>`,
        "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
      ]),
    );
  });

  it("sends a text that contains SMTP commands as one email to one recipient", async () => {
    const [store, server] = [await openStore(embedded), await startSmtp()];
    const text =
      "one\r\n.\r\nMAIL FROM:<a@b.example>\r\nRCPT TO:<eve@evil.example>\r\nDATA\r\ntwo\n";
    const { records, commits } = committing(store.records);
    await queue(store, { ...toAda, text });
    startWorker(store, { records, ...smtpOf(server) });
    await commits(1);
    expect(server.messages).toMatchObject([
      { to: [toAda.to], text: expect.stringContaining(text.replaceAll("\r", "").trimEnd()) },
    ]);
    expect(server.messages).toHaveLength(1);
  });

  it.runIf(process.platform === "linux")(
    "does not send the password of the mail server over an unencrypted connection",
    async () => {
      const [store, server] = [await openStore(embedded), await startSmtp("127.0.0.2")];
      const { records, commits } = committing(store.records);
      const url = `smtp://me:secret@127.0.0.2:${server.port}`;
      const { failures } = startWorker(store, { records, ...smtpOf({ url }) });
      await queue(store, toAda);
      await commits(1);
      expect(server.said.join("\n")).not.toContain("AUTH");
      expect(failures.join()).toContain("STARTTLS");
      expect(failures.join()).not.toContain("secret");
    },
  );

  it("sends emails that were queued before the worker started", async () => {
    const [store, server] = [await openStore(embedded), await startSmtp()];
    await queue(store, toAda, { ...toAda, to: "bob@people.example" });
    startWorker(store, smtpOf(server));
    const recipients = (await server.received(2)).map(({ to }) => to[0]);
    expect(new Set(recipients)).toEqual(new Set([toAda.to, "bob@people.example"]));
  });

  it("sends an email caused by one network while emails caused by another network wait for the mail server", {
    tags: ["full"],
  }, async () => {
    const [store, server] = [await openStore(embedded), await startSmtp()];
    server.reactions = { end: "hang" };
    const flood = Array.from({ length: 25 }, () => ({ ...toAda, cause: "one" }));
    await queue(store, ...flood);
    startWorker(store, smtpOf(server));
    const ends = () => server.said.filter((line) => line === ".").length;
    await expect.poll(ends).toBe(4);
    server.reactions = {};
    store.clock.now += 1_000;
    await queue(store, { ...toAda, to: "bob@people.example", cause: "another" });
    expect(await server.received(1)).toMatchObject([{ to: ["bob@people.example"] }]);
  });

  it.each(["451 try later", "drop"] as const)(
    "retries with increasing delays when the server responds with %j",
    async (reaction) => {
      const [store, server] = [await openStore(embedded), await startSmtp()];
      server.reactions = { end: reaction };
      const { records, commits } = committing(store.records);
      const { failures } = startWorker(store, { records, ...smtpOf(server) });
      await queue(store, toAda);
      for (const [at, pauseMs] of [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000].entries()) {
        await commits(at + 1);
        const [waiting] = await store.records.list(queuedMails, { limit: 10 });
        expect(waiting).toMatchObject({
          value: { failures: at + 1 },
          dueAt: store.clock.now + pauseMs,
        });
        store.clock.now += pauseMs;
        await wake(store);
      }
      await commits(8);
      expect(failures[0]).toContain("mail could not be sent");

      server.reactions = {};
      store.clock.now += 60_000;
      await wake(store);
      expect(await server.received(1)).toHaveLength(1);
    },
  );

  it("never sends an expired email", async () => {
    const [store, server] = [await openStore(embedded), await startSmtp()];
    server.reactions = { MAIL: "450 busy" };
    const { records, commits } = committing(store.records);
    startWorker(store, { records, ...smtpOf(server) });
    await queue(store, toAda);
    await commits(1);
    store.clock.now += toAda.ttlMs;
    server.reactions = {};
    await queue(store, { ...toAda, to: "bob@people.example" });
    expect(await server.received(1)).toMatchObject([{ to: ["bob@people.example"] }]);
  });

  it("ignores an email with a lifetime of 0, which is committed like any other email", async () => {
    const [store, server] = [await openStore(embedded), await startSmtp()];
    startWorker(store, smtpOf(server));
    await queue(store, { ...toAda, ttlMs: 0 }, { ...toAda, to: "bob@people.example" });
    expect(await server.received(1)).toMatchObject([{ to: ["bob@people.example"] }]);
  });

  it("drops an email whose recipient is permanently rejected, without logging the address", async () => {
    const [store, server] = [await openStore(embedded), await startSmtp()];
    server.reactions = { RCPT: `550 no such user ${toAda.to}` };
    const { records, commits } = committing(store.records);
    const { failures } = startWorker(store, { records, ...smtpOf(server) });
    await queue(store, toAda);
    await commits(1);
    expect(await store.records.list(queuedMails, { limit: 10 })).toEqual([]);
    expect(failures.join()).toContain("550 no such user <address>");
    expect(failures.join()).not.toContain("ada@");
  });

  it("keeps an email when the sender address is rejected, since the operator can correct MAIL_FROM", async () => {
    const [store, server] = [await openStore(embedded), await startSmtp()];
    server.reactions = { MAIL: "553 who are you" };
    const { records, commits } = committing(store.records);
    startWorker(store, { records, ...smtpOf(server) });
    await queue(store, toAda);
    await commits(1);
    expect(await store.records.list(queuedMails, { limit: 10 })).toHaveLength(1);
  });

  it("can be stopped while the mail server does not respond, and keeps the email for later", {
    tags: ["full"],
  }, async () => {
    const [store, server] = [await openStore(embedded), await startSmtp()];
    server.reactions = { end: "hang" };
    const { stop } = startWorker(store, smtpOf(server));
    const reached = server.reached("end");
    await queue(store, toAda);
    await reached;
    await stop();
    expect(await store.records.list(queuedMails, { limit: 10 })).toHaveLength(1);
  });

  it("does not send a delayed email before it is due", async () => {
    const [store, server] = [await openStore(embedded), await startSmtp()];
    await queue(store, { ...toAda, dueInMs: 1_000 });
    startWorker(store, smtpOf(server));
    store.clock.now += 999;
    await queue(store, { ...toAda, to: "bob@people.example" });
    expect((await server.received(1))[0]?.to).toEqual(["bob@people.example"]);
    store.clock.now += 1;
    await wake(store);
    expect((await server.received(2))[1]?.to).toEqual([toAda.to]);
  });

  it("shows each email once on the terminal and keeps it when there is no mail server", async () => {
    const store = await openStore(embedded);
    const shown: Email[] = [];
    const onTerminal = (email: Email) => void shown.push(email);
    const first = committing(store.records);
    const { stop } = startWorker(store, { records: first.records, onTerminal });
    await queue(store, toAda);
    await first.commits(1);
    await stop();
    const second = committing(store.records);
    startWorker(store, { records: second.records, onTerminal });
    await queue(store, { ...toAda, text: "another\n" });
    await second.commits(1);
    expect(shown.map(({ text }) => text)).toEqual([toAda.text, "another\n"]);
    expect(await store.records.list(queuedMails, { limit: 10 })).toHaveLength(2);
  });

  it("leaves every email unchanged when there is neither a mail server nor a terminal", async () => {
    const store = await openStore(embedded);
    await queue(store, toAda);
    const before = await store.records.list(queuedMails, { limit: 10 });
    await startWorker(store, {}).stop();
    expect(await store.records.list(queuedMails, { limit: 10 })).toEqual(before);
  });
});

describeEngines("the mail worker of several processes", (engine) => {
  it("sends each email only once when several workers run", async () => {
    const [store, server] = [await openStore(engine), await startSmtp()];
    const wanted = Array.from({ length: 30 }, (_, at) => ({
      ...toAda,
      to: `p${at}@people.example`,
    }));
    const { records, commits } = committing(store.records);
    for (let process = 0; process < 3; process += 1) {
      startWorker(store, { records, ...smtpOf(server) });
    }
    await queue(store, ...wanted);
    await commits(wanted.length);
    const recipients = server.messages.map(({ to }) => to[0]);
    expect(recipients.toSorted()).toEqual(wanted.map(({ to }) => to).toSorted());
  });

  it("resends an email that was claimed by a crashed process, with the same Message-ID", async () => {
    const [store, server] = [await openStore(engine), await startSmtp()];
    await queue(store, toAda);
    const [taken] = await store.records.claimDue(queuedMails, { limit: 1, leaseMs: MINUTE });
    startWorker(store, smtpOf(server));
    store.clock.now += MINUTE;
    await wake(store);
    const [message] = await server.received(1);
    expect(message?.text).toContain(`Message-ID: <${taken?.key}@mail.example>`);
  });
});
