import { randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import type { Email } from "../../../src/mail/email.ts";
import type { Mail } from "../../../src/mail/mail.ts";
import { createMailWorker, type MailWorkerOptions } from "../../../src/mail/mail-worker.ts";
import { createOutbox, MAIL_TOPIC, mails } from "../../../src/mail/outbox.ts";
import { createVault } from "../../../src/store/keys/vault.ts";
import { announce } from "../../../src/store/port/operations.ts";
import type { Records } from "../../../src/store/port/records.ts";
import { startSmtp } from "../../support/smtp.ts";
import { describeStores, openStore, type TestStore } from "../../support/stores.ts";

const FROM = "signals@mail.example";
const MINUTE = 60_000;
const vault = createVault(randomBytes(32));

const toAda: Mail = {
  to: "ada@people.example",
  subject: "Your code",
  text: "The code is 12345678.\n",
  usefulMs: 20 * MINUTE,
};

const clockOf = ({ clock }: TestStore) => ({ now: () => new Date(clock.now) });

/** Puts messages into the outbox of a store. */
async function queue(store: TestStore, ...wanted: readonly Mail[]): Promise<void> {
  const outbox = createOutbox({ vault, ...clockOf(store) });
  for (const mail of wanted) await store.records.commit(outbox.queued(mail));
}

/** A postman that is at work until the test ends. */
function startPostman(
  store: TestStore,
  options: Partial<MailWorkerOptions>,
): { readonly failures: string[]; readonly stop: () => Promise<void> } {
  const failures: string[] = [];
  const onError = (error: unknown) => void failures.push(String(error));
  const postman = createMailWorker({
    ...{ records: store.records, vault, onError, ...clockOf(store) },
    ...options,
  });
  postman.start();
  onTestFinished(postman.stop);
  return { failures, stop: postman.stop };
}

const smtpOf = ({ url }: { readonly url: string }) => ({ smtp: { smtpUrl: url, from: FROM } });

const wake = ({ records }: { readonly records: Records }) => records.commit([announce(MAIL_TOPIC)]);

/** Records of one process that tell how many commits it has made. */
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

describeStores("the postman", (engine) => {
  it("hands a message to the mail server and keeps nothing of it", async () => {
    const [store, server] = [await openStore(engine), await startSmtp()];
    const { records, commits } = committing(store.records);
    startPostman(store, { records, ...smtpOf(server) });
    await queue(store, toAda);
    const [message] = await server.received(1);
    expect(message).toMatchObject({ from: FROM, to: [toAda.to] });
    expect(message?.text).toMatch(/^From: signals@mail\.example$/m);
    expect(message?.text).toMatch(/^To: ada@people\.example$/m);
    expect(message?.text).toMatch(/^Subject: Your code$/m);
    expect(message?.text).toMatch(/^Auto-Submitted: auto-generated$/m);
    expect(message?.text).toMatch(/\n\nThe code is 12345678\.$/m);
    await commits(1);
    expect(await store.records.list(mails, { limit: 10 })).toEqual([]);
  });

  it("sends what waited before it was started", async () => {
    const [store, server] = [await openStore(engine), await startSmtp()];
    await queue(store, toAda, { ...toAda, to: "bob@people.example" });
    startPostman(store, smtpOf(server));
    const recipients = (await server.received(2)).map(({ to }) => to[0]);
    expect(new Set(recipients)).toEqual(new Set([toAda.to, "bob@people.example"]));
  });

  it.each(["451 try later", "drop"] as const)(
    "tries again, later and later, when the server says %j",
    async (reaction) => {
      const [store, server] = [await openStore(engine), await startSmtp()];
      server.reactions = { end: reaction };
      const { records, commits } = committing(store.records);
      const { failures } = startPostman(store, { records, ...smtpOf(server) });
      await queue(store, toAda);
      for (const [at, pauseMs] of [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000].entries()) {
        await commits(at + 1);
        const [waiting] = await store.records.list(mails, { limit: 10 });
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

  it("never sends a message that is of no use any more", async () => {
    const [store, server] = [await openStore(engine), await startSmtp()];
    server.reactions = { MAIL: "450 busy" };
    const { records, commits } = committing(store.records);
    startPostman(store, { records, ...smtpOf(server) });
    await queue(store, toAda);
    await commits(1);
    store.clock.now += toAda.usefulMs;
    server.reactions = {};
    await queue(store, { ...toAda, to: "bob@people.example" });
    expect(await server.received(1)).toMatchObject([{ to: ["bob@people.example"] }]);
  });

  it("takes nothing that is of no use from the start, though it is written like all others", async () => {
    const [store, server] = [await openStore(engine), await startSmtp()];
    startPostman(store, smtpOf(server));
    await queue(store, { ...toAda, usefulMs: 0 }, { ...toAda, to: "bob@people.example" });
    expect(await server.received(1)).toMatchObject([{ to: ["bob@people.example"] }]);
  });

  it("gives up an address that the server refuses for good, and does not name it", async () => {
    const [store, server] = [await openStore(engine), await startSmtp()];
    server.reactions = { RCPT: `550 no such user ${toAda.to}` };
    const { records, commits } = committing(store.records);
    const { failures } = startPostman(store, { records, ...smtpOf(server) });
    await queue(store, toAda);
    await commits(1);
    expect(await store.records.list(mails, { limit: 10 })).toEqual([]);
    expect(failures.join()).toContain("550 no such user <address>");
    expect(failures.join()).not.toContain("ada@");
  });

  it("keeps a message when the sender is refused, which the operator can mend", async () => {
    const [store, server] = [await openStore(engine), await startSmtp()];
    server.reactions = { MAIL: "553 who are you" };
    const { records, commits } = committing(store.records);
    startPostman(store, { records, ...smtpOf(server) });
    await queue(store, toAda);
    await commits(1);
    expect(await store.records.list(mails, { limit: 10 })).toHaveLength(1);
  });

  it("stops while the server says nothing, and leaves the message for later", async () => {
    const [store, server] = [await openStore(engine), await startSmtp()];
    server.reactions = { end: "hang" };
    const { stop } = startPostman(store, smtpOf(server));
    const reached = server.reached("end");
    await queue(store, toAda);
    await reached;
    await stop();
    expect(await store.records.list(mails, { limit: 10 })).toHaveLength(1);
  });

  it("sends one message while another hangs", async () => {
    const [store, server] = [await openStore(engine), await startSmtp()];
    server.reactions = { end: "hang" };
    startPostman(store, smtpOf(server));
    const reached = server.reached("end");
    await queue(store, toAda);
    await reached;
    server.reactions = {};
    await queue(store, { ...toAda, to: "bob@people.example" });
    expect(await server.received(1)).toMatchObject([{ to: ["bob@people.example"] }]);
  });

  it("sends each message once, however many there are of it", async () => {
    const [store, server] = [await openStore(engine), await startSmtp()];
    const wanted = Array.from({ length: 30 }, (_, at) => ({
      ...toAda,
      to: `p${at}@people.example`,
    }));
    const { records, commits } = committing(store.records);
    for (let process = 0; process < 3; process += 1) {
      startPostman(store, { records, ...smtpOf(server) });
    }
    await queue(store, ...wanted);
    await commits(wanted.length);
    const recipients = server.messages.map(({ to }) => to[0]);
    expect(recipients.toSorted()).toEqual(wanted.map(({ to }) => to).toSorted());
  });

  it("sends what is due later when it is due, and not before", async () => {
    const [store, server] = [await openStore(engine), await startSmtp()];
    await queue(store, { ...toAda, dueInMs: 1_000 });
    startPostman(store, smtpOf(server));
    store.clock.now += 999;
    await queue(store, { ...toAda, to: "bob@people.example" });
    expect((await server.received(1))[0]?.to).toEqual(["bob@people.example"]);
    store.clock.now += 1;
    await wake(store);
    expect((await server.received(2))[1]?.to).toEqual([toAda.to]);
  });

  it("sends again what a process took that has died, under the same id", async () => {
    const [store, server] = [await openStore(engine), await startSmtp()];
    await queue(store, toAda);
    const [taken] = await store.records.claimDue(mails, { limit: 1, leaseMs: MINUTE });
    startPostman(store, smtpOf(server));
    store.clock.now += MINUTE;
    await wake(store);
    const [message] = await server.received(1);
    expect(message?.text).toContain(`Message-ID: <${taken?.key}@mail.example>`);
  });

  it("without a mail server shows each message once and leaves it to be read", async () => {
    const store = await openStore(engine);
    const shown: Email[] = [];
    const onTerminal = (letter: Email) => void shown.push(letter);
    const first = committing(store.records);
    const { stop } = startPostman(store, { records: first.records, onTerminal });
    await queue(store, toAda);
    await first.commits(1);
    await stop();
    const second = committing(store.records);
    startPostman(store, { records: second.records, onTerminal });
    await queue(store, { ...toAda, text: "another\n" });
    await second.commits(1);
    expect(shown.map(({ text }) => text)).toEqual([toAda.text, "another\n"]);
    expect(await store.records.list(mails, { limit: 10 })).toHaveLength(2);
  });

  it("without a mail server and a terminal leaves everything where it is", async () => {
    const store = await openStore(engine);
    await queue(store, toAda);
    const before = await store.records.list(mails, { limit: 10 });
    await startPostman(store, {}).stop();
    expect(await store.records.list(mails, { limit: 10 })).toEqual(before);
  });
});
