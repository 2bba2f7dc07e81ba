import { describe, expect, it, onTestFinished } from "vitest";
import { alerts } from "../../../../src/alerts/alert.ts";
import { newAlertId } from "../../../../src/alerts/api/ownership.ts";
import {
  CHAT_KINDS,
  type ChatKind,
} from "../../../../src/alerts/channels/services/chat-services.ts";
import { enqueueDelivery, newMessageId } from "../../../../src/alerts/delivery/delivery.ts";
import {
  DIRECTION_EVIDENCE_SUMMARY,
  DIRECTION_LIMITS_TEXT,
} from "../../../../src/answers/meaning.ts";
import { decryptEmail, findCauseGroup, queuedMails } from "../../../../src/mail/outbox.ts";
import { accountRecordsGroup } from "../../../../src/principals/agents/agent.ts";
import { insert, removeGroup } from "../../../../src/store/port/operations.ts";
import {
  attemptsAt,
  changeAlert,
  changeChannel,
  channelAlert,
  channelNow,
  outletsOn,
  queuedShift,
  shiftBody,
} from "../../../support/channels.ts";
import {
  type ChatServer,
  LIMITED_SECONDS,
  SUPERGROUP,
  startChat,
} from "../../../support/chat-server.ts";
import {
  queuedIn,
  type RunningWorker,
  receiver,
  startWorker,
} from "../../../support/delivery-worker.ts";
import { stepsOf } from "../../../support/steps-of.ts";
import { embedded, openStore, type TestStore } from "../../../support/stores.ts";
import {
  loopbackSender,
  queuedEvent,
  storeWebhookAlert,
  vault,
  webhookAlert,
} from "../../../support/webhook-alerts.ts";

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;

/** Starts a chat service that is closed at the end of the test. */
async function chatOf(
  kind: ChatKind,
  options: Parameters<typeof startChat>[1] = {},
): Promise<ChatServer> {
  const chat = await startChat(kind, options);
  onTestFinished(chat.close);
  return chat;
}

/** Starts a worker that uses the chat service of the test as its Telegram server. */
function workerFor(store: TestStore, chat?: ChatServer): RunningWorker {
  const { clock } = store;
  const sender = loopbackSender({ now: () => clock.now });
  onTestFinished(sender.close);
  const channelOutlets = outletsOn(vault, () => new Date(clock.now), chat?.origin);
  return startWorker(store, { sender, channels: channelOutlets });
}

/** Stores a channel to a chat service, and an alert that uses the channel. */
async function kept(store: TestStore, target: ChatServer["target"], more = {}) {
  const made = channelAlert({ target, vault, ...more });
  await store.records.commit(made.steps);
  return made;
}

describe("delivery to a channel", () => {
  it.each(CHAT_KINDS)("sends an event to %s once, in the channel's own format", async (kind) => {
    const store = await openStore(embedded);
    const chat = await chatOf(kind);
    const made = await kept(store, chat.target);
    const worker = workerFor(store, chat);
    await store.records.commit(queuedShift(made.alert, "A&B<C>", store.clock.now));
    await worker.look();
    expect(chat.requests).toBe(1);
    const [message] = chat.taken;
    expect(message?.text).toContain("A&B<C>: LONG, was WAIT; score 71, was 55");
    expect(message?.text).toContain(DIRECTION_EVIDENCE_SUMMARY);
    expect(message?.text).toContain(DIRECTION_LIMITS_TEXT);
    expect(message?.text).toContain("https://signals.test/market/A%26B%3CC%3E");
    expect(await queuedIn(store)).toEqual([]);
    expect(await attemptsAt(store, made)).toMatchObject([
      { error: "none", number: 1, response: "" },
    ]);
  });

  it.each(["slack", "email"] as const)(
    "tells a channel to %s once, in words, that a webhook of its owner was disabled",
    async (kind) => {
      const store = await openStore(embedded);
      const chat = kind === "slack" ? await chatOf(kind) : undefined;
      const made = await kept(store, chat?.target ?? { kind: "email", to: "ann@mail.example" });
      const { owner } = made.alert.value;
      const second = newAlertId();
      const hook = await receiver({ behavior: 410 });
      const failing = webhookAlert({
        url: hook.url,
        owner,
        label: "v1.2: \u{1f469}\u200d\u{1f4bb}",
      });
      await store.records.commit([
        insert(alerts, { key: second, value: made.alert.value }),
        storeWebhookAlert(failing),
        ...queuedEvent(failing),
      ]);
      const worker = workerFor(store, chat);
      await worker.look();
      const mails = (await store.records.list(queuedMails, { limit: 10 })).map((mail) =>
        decryptEmail(vault, mail),
      );
      const messages = [
        ...(chat?.taken ?? []).map(({ text }) => text),
        ...mails.map(({ subject, text }) => `${subject} ${text}`),
      ];
      expect(messages).toHaveLength(1);
      expect(messages[0]).toContain(`The webhook of the alert ${failing.key} was disabled`);
      expect(messages[0]).toContain("Reason: its webhook answered 410 Gone.");
      expect(messages[0]).toContain("Alert: v1");
      expect(messages[0]).toContain("https://signals.test/account#alerts");
      expect(worker.errors).toEqual([]);
      expect(await queuedIn(store)).toEqual([]);
    },
  );

  it.each(CHAT_KINDS)(
    "retries deliveries to %s on the webhook schedule after every kind of fault, and loses no event",
    async (kind) => {
      const store = await openStore(embedded);
      const inTurn = [500, "reset", "redirect", "limited", "takes"] as const;
      const chat = await chatOf(kind, { inTurn });
      const made = await kept(store, chat.target);
      const worker = workerFor(store, chat);
      await store.records.commit(queuedShift(made.alert, "AAPL", store.clock.now));
      for (const seconds of [0, 5, 300, 1_800, 7_200]) {
        store.clock.now += seconds * SECOND;
        await worker.look();
      }
      expect(chat.requests).toBe(inTurn.length);
      expect(chat.taken).toHaveLength(1);
      expect(worker.errors).toEqual([]);
      const errors = (await attemptsAt(store, made)).map(({ error }) => error);
      expect(errors).toEqual(["http_status", "unreachable", "http_status", "http_status", "none"]);
      expect(await queuedIn(store)).toEqual([]);
    },
  );

  it.each(CHAT_KINDS)(
    "does not contact %s again before the retry time in its response, whatever the format of that time",
    async (kind) => {
      const store = await openStore(embedded);
      const chat = await chatOf(kind, { behavior: "limited" });
      const made = await kept(store, chat.target);
      const worker = workerFor(store, chat);
      await store.records.commit(queuedShift(made.alert, "AAPL", store.clock.now));
      await worker.look();
      const [first] = await attemptsAt(store, made);
      expect(first?.nextInMs).toBeGreaterThan((LIMITED_SECONDS - 1) * SECOND);
      expect(first?.nextInMs).toBeLessThanOrEqual(LIMITED_SECONDS * SECOND);
      store.clock.now += (LIMITED_SECONDS - 1) * SECOND;
      await worker.look();
      expect(chat.requests).toBe(1);
      chat.behavior = "takes";
      store.clock.now += SECOND;
      await worker.look();
      expect(chat.taken).toHaveLength(1);
    },
  );

  it.each(["slack", "discord", "telegram"] as const)(
    "disables a %s channel at once when its target no longer exists, and notifies the person through another channel",
    async (kind) => {
      const store = await openStore(embedded);
      const [chat, other] = [await chatOf(kind, { behavior: "gone" }), await chatOf("ntfy")];
      const made = await kept(store, chat.target);
      await kept(store, other.target, { name: "other" });
      const worker = workerFor(store, chat);
      await store.records.commit(queuedShift(made.alert, "AAPL", store.clock.now));
      await worker.look();
      expect((await channelNow(store, made)).value.state).toMatchObject({
        is: "disabled",
        reason: "gone",
      });
      expect(chat.requests).toBe(1);
      expect(other.taken.map(({ text }) => text)).toEqual([
        expect.stringContaining("A channel of your alerts was stopped"),
      ]);
      await store.records.commit(queuedShift(made.alert, "MSFT", store.clock.now));
      await worker.look();
      expect(chat.requests).toBe(1);
      expect(await queuedIn(store)).toEqual([]);
    },
  );

  it("disables a channel that fails for five days", async () => {
    const store = await openStore(embedded);
    const chat = await chatOf("ntfy", { behavior: 500 });
    const made = await kept(store, chat.target);
    const worker = workerFor(store, chat);
    for (let day = 0; day <= 6; day++) {
      await store.records.commit(queuedShift(made.alert, `D${day}`, store.clock.now));
      for (let hour = 0; hour < 24; hour += 3) {
        await worker.look();
        store.clock.now += 3 * HOUR;
      }
    }
    expect((await channelNow(store, made)).value.state).toMatchObject({
      is: "disabled",
      reason: "failing",
    });
    expect(await queuedIn(store)).toEqual([]);
  });

  it("adds an email with a one-click unsubscribe link to the outbox in the same commit that ends the delivery", async () => {
    const store = await openStore(embedded);
    const made = await kept(store, { kind: "email", to: "ann@mail.example" });
    const worker = workerFor(store);
    await store.records.commit(queuedShift(made.alert, "AAPL", store.clock.now));
    await worker.look();
    const queued = await store.records.list(queuedMails, { limit: 10 });
    expect(queued.map((mail) => decryptEmail(vault, mail))).toMatchObject([
      {
        to: "ann@mail.example",
        subject: "AAPL: LONG, was WAIT; score 71, was 55",
        unsubscribeUrl: `https://signals.test/unsubscribe/${made.channel.key}`,
      },
    ]);
    expect(await queuedIn(store)).toEqual([]);
    expect(await attemptsAt(store, made)).toMatchObject([{ error: "none", status: null }]);
  });

  it("holds back events while a channel is not verified, and sends them after verification", async () => {
    const store = await openStore(embedded);
    const chat = await chatOf("slack");
    const state = { is: "pending", since: 0, code: null, codeUntil: DAY, triesLeft: 0 } as const;
    const made = await kept(store, chat.target, { state });
    const worker = workerFor(store, chat);
    await store.records.commit(queuedShift(made.alert, "AAPL", store.clock.now));
    await worker.look();
    expect(chat.requests).toBe(0);
    await changeChannel(store, made, { state: { is: "active", since: 1 } });
    await chat.took(1);
  });

  it("neutralizes mentions and links in the label of an alert", async () => {
    const store = await openStore(embedded);
    const chat = await chatOf("slack");
    const made = await kept(store, chat.target);
    const worker = workerFor(store, chat);
    await changeAlert(store, made, { label: "<!channel> @here https://evil.example/x" });
    await store.records.commit(queuedShift(made.alert, "AAPL", store.clock.now));
    await worker.look();
    const [message] = chat.taken;
    expect(message?.body.text).not.toMatch(/<!|@here|https:\/\/evil|evil\.example/);
    expect(message?.text).toContain("<!channel> @\u2060here");
  });

  it("neutralizes mentions, links and bidirectional controls in the name of a company", async () => {
    const store = await openStore(embedded);
    const chat = await chatOf("telegram");
    const made = await kept(store, chat.target);
    const worker = workerFor(store, chat);
    const shift = JSON.parse(shiftBody("AAPL")) as { data: object };
    const name = "@everyone \u202egnp.exe http://evil.example /start";
    const body = JSON.stringify({ ...shift, data: { ...shift.data, name } });
    const message = { eventId: newMessageId(1), type: "signal.shift", body };
    await store.records.commit(stepsOf(enqueueDelivery, made.alert, message));
    await worker.look();
    const said = chat.taken[0]?.text ?? "";
    expect(said).not.toMatch(/@everyone|\u202e|http:\/\/evil|evil\.example|\/start/);
    expect(said).toContain("@\u2060everyone");
  });

  it.each(CHAT_KINDS)(
    "fits the longest message that an event can produce into the limits of %s",
    async (kind) => {
      const store = await openStore(embedded);
      const chat = await chatOf(kind);
      const made = await kept(store, chat.target);
      const worker = workerFor(store, chat);
      await changeAlert(store, made, { label: `a${"[.*_]".repeat(19)}😀` });
      const shift = JSON.parse(shiftBody("AAPL")) as { data: object };
      const body = JSON.stringify({ ...shift, data: { ...shift.data, name: "*😀".repeat(60) } });
      const message = { eventId: newMessageId(1), type: "signal.shift", body };
      await store.records.commit(stepsOf(enqueueDelivery, made.alert, message));
      await worker.look();
      expect(chat.taken).toHaveLength(1);
    },
  );

  it("sends an event to the new id of a Telegram group that became a supergroup", async () => {
    const store = await openStore(embedded);
    const chat = await chatOf("telegram", { inTurn: ["moved", "takes"] });
    const made = await kept(store, chat.target);
    const worker = workerFor(store, chat);
    await store.records.commit(queuedShift(made.alert, "AAPL", store.clock.now));
    await worker.look();
    store.clock.now += 6 * SECOND;
    await worker.look();
    expect(chat.taken).toHaveLength(1);
    expect(chat.taken[0]?.body.chat_id).toBe(SUPERGROUP);
    expect((await channelNow(store, made)).value.hint).toContain(SUPERGROUP);
  });

  it('disables the channel of a Telegram chat that is not found, with the reason "gone"', async () => {
    const store = await openStore(embedded);
    const chat = await chatOf("telegram");
    const target = { ...chat.target, kind: "telegram", chatId: "-7" } as ChatServer["target"];
    const made = await kept(store, target);
    const worker = workerFor(store, chat);
    await store.records.commit(queuedShift(made.alert, "AAPL", store.clock.now));
    await worker.look();
    expect((await channelNow(store, made)).value.state).toMatchObject({ reason: "gone" });
  });

  it("disables a channel whose target is gone, even if the channel is changed during the request", async () => {
    const store = await openStore(embedded);
    const chat = await chatOf("slack", {
      behavior: "gone",
      onAsked: () => changeChannel(store, made, { name: "renamed" }),
    });
    const made = await kept(store, chat.target);
    const worker = workerFor(store, chat);
    await store.records.commit(queuedShift(made.alert, "AAPL", store.clock.now));
    await worker.look();
    expect((await channelNow(store, made)).value).toMatchObject({
      name: "renamed",
      state: { is: "disabled", reason: "gone" },
    });
  });

  it("assigns queued emails to the channel's account, and deletes them with the account", async () => {
    const store = await openStore(embedded);
    const made = await kept(store, { kind: "email", to: "ann@mail.example" });
    const worker = workerFor(store);
    await store.records.commit(queuedShift(made.alert, "AAPL", store.clock.now));
    await worker.look();
    const [mail] = await store.records.list(queuedMails, { limit: 10 });
    expect(findCauseGroup(mail?.groups ?? [])).toContain("acc_of_channels");
    await store.records.commit([removeGroup(accountRecordsGroup("acc_of_channels"))]);
    expect(await store.records.list(queuedMails, { limit: 10 })).toEqual([]);
  });
});
