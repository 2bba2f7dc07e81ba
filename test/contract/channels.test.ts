import { describe, expect, it, onTestFinished } from "vitest";
import { CHAT_KINDS, type ChatKind } from "../../src/alerts/channels/services/chat-services.ts";
import { CHANNEL_KINDS } from "../../src/alerts/channels/targets.ts";
import { asking, bearer, claimedAgent, type Headers } from "../support/alert-events.ts";
import {
  addChannel,
  channelCardsIn,
  channelIdIn,
  enterChannelCode,
  mailbox,
} from "../support/channel-pages.ts";
import { type ChatServer, startChat } from "../support/chat-server.ts";
import { operatorOf, rowsOf } from "../support/operator.ts";
import type { Person } from "../support/person.ts";
import { codesIn, sharedTestService, startTestService } from "../support/test-service.ts";
import { textOf } from "../support/web.ts";

/** Host of the chat servers of the tests. */
const LOOPBACK = "127.0.0.1";

const telegram = await startChat("telegram");
const testService = await startTestService({
  ALLOW_INSECURE_WEBHOOKS: "1",
  TELEGRAM_API_URL: telegram.origin,
});

/** Starts a chat server that stops with the test; Telegram tests share a single server. */
async function chatOf(kind: ChatKind): Promise<ChatServer> {
  if (kind === "telegram") return telegram;
  const chat = await startChat(kind);
  onTestFinished(chat.close);
  return chat;
}

/** The code in a message. */
const codeOf = (text = ""): string => codesIn(text)[0] ?? "";

/** Returns a person with a verified channel. */
async function withChannel(chat: ChatServer, service = testService): Promise<Person> {
  const person = service.person();
  await person.signIn();
  const before = chat.taken.length;
  await addChannel(person, chat.typed);
  const taken = await chat.took(before + 1);
  await enterChannelCode(person, codeOf(taken.at(-1)?.text));
  return person;
}

/** Returns the emails to an address. */
const emailsTo = async (address: string) =>
  (await testService.mails()).filter(({ to }) => to === address);

/** Waits until this many emails to an address exist. */
const emailed = (to: string, count: number) =>
  expect.poll(async () => (await emailsTo(to)).length).toBe(count);

describe("a channel", () => {
  it.each(CHAT_KINDS)(
    "of the kind %s receives a code, is verified with the code, and receives a test message",
    async (kind) => {
      const chat = await chatOf(kind);
      const person = testService.person();
      await person.signIn();
      const before = chat.taken.length;
      const added = await addChannel(person, chat.typed);
      expect(channelCardsIn(added)[0]).toMatch(/Waits for its code/);
      const code = codeOf((await chat.took(before + 1)).at(-1)?.text);
      expect(code).toMatch(/^\d{8}$/);
      const verified = await enterChannelCode(person, code);
      expect(channelCardsIn(verified)[0]).toMatch(/Status Active .* Alerts none yet: make one/);
      expect(verified.html).toMatch(
        /<a href="\/account\/alerts\/new\?channel=[^"]+">make one<\/a>/,
      );
      const id = channelIdIn(verified);
      await person.web.submit(verified.form(`/account/channels/${id}/test`));
      const tests = await chat.took(before + 2);
      expect(tests.at(-1)?.text).toContain("Test of a channel");
      await expect
        .poll(async () => channelCardsIn(await person.web.get("/account"))[0])
        .toMatch(/Last success \d+ November 2026/);
    },
  );

  it("of the kind email has the person's address as the suggested target until an email channel exists", async () => {
    const person = testService.person();
    const page = await person.signIn();
    const suggested = (html: string) => /id="email-to"[^>]*value="([^"]*)"/.exec(html)?.[1];
    expect(suggested(page.html)).toBe(person.email);
    const added = await addChannel(person, mailbox(person.email));
    expect(suggested(added.html)).toBeUndefined();
  });

  it("never shows its secrets again after its creation", async () => {
    const chat = await chatOf("telegram");
    const person = await withChannel(chat);
    const { html } = await person.web.get("/account");
    expect(html).toContain("chat -1001234567890 by bot 123456");
    expect(html).not.toContain(chat.typed.token.slice(7));
  });

  it("accepts no further codes after five wrong ones", async () => {
    const chat = await chatOf("slack");
    const person = testService.person();
    await person.signIn();
    await addChannel(person, chat.typed);
    const code = codeOf((await chat.took(1))[0]?.text);
    const wrong = code === "00000000" ? "00000001" : "00000000";
    for (let tried = 0; tried < 5; tried++) {
      expect((await enterChannelCode(person, wrong)).status).toBe(400);
    }
    expect((await enterChannelCode(person, code)).status).toBe(409);
    const page = await person.web.get("/account");
    expect(channelCardsIn(page)[0]).toMatch(/The code was wrong too often/);
    await person.web.submit(page.form(`/account/channels/${channelIdIn(page)}/code`));
    const second = codeOf((await chat.took(2))[1]?.text);
    expect(channelCardsIn(await enterChannelCode(person, second))[0]).toMatch(/Status Active/);
  });

  it("has a code that expires after 15 minutes", async () => {
    const { clock } = testService;
    const chat = await chatOf("slack");
    const person = testService.person();
    await person.signIn();
    await addChannel(person, chat.typed);
    const code = codeOf((await chat.took(1))[0]?.text);
    const before = clock.now;
    onTestFinished(() => {
      clock.now = before;
    });
    clock.now = new Date(before.getTime() + 15 * 60_000);
    const late = await enterChannelCode(person, code);
    expect(late.status).toBe(409);
    expect(textOf(late.html)).toContain("Ask for another code.");
  });

  it("is rejected when its name is taken, or when the person already has ten channels", async () => {
    const chat = await chatOf("slack");
    const person = testService.person();
    await person.signIn();
    await addChannel(person, chat.typed, "one");
    const twice = await addChannel(person, chat.typed, "ONE");
    expect(twice.status).toBe(400);
    expect(textOf(twice.html)).toContain("another channel of yours has it");
    for (let at = 2; at <= 10; at++) await addChannel(person, chat.typed, `number ${at}`);
    const page = await person.web.get("/account");
    expect(channelCardsIn(page)).toHaveLength(10);
    expect(textOf(page.html)).toContain("You have 10 channels, which is the maximum.");
  });

  it("can have quiet hours, a digest and a time zone, and reports an invalid value at its field", async () => {
    const chat = await chatOf("slack");
    const person = await withChannel(chat);
    const page = await person.web.get("/account");
    const id = channelIdIn(page);
    const form = page.form(`/account/channels/${id}/schedule`);
    const save = (from: string, until: string, digest: string, zone: string) =>
      person.web.submit(form, { from, until, digest, zone });
    const saved = await save("22:00", "07:00", "08:30", "Europe/Berlin");
    expect(channelCardsIn(saved)[0]).toContain(
      "once a day at 08:30, quiet from 22:00 to 07:00 (Europe/Berlin)",
    );
    for (const [from, until, digest, zone, said] of [
      ["22:00", "", "", "UTC", "A quiet time has a start and an end."],
      ["22:00", "22:00", "", "UTC", "The quiet time would never end."],
      ["", "", "25:00", "UTC", "Enter times as 22:30"],
      ["", "", "", "Mars/Olympus", "It is no time zone"],
    ] as const) {
      const refused = await save(from, until, digest, zone);
      expect(refused.status).toBe(400);
      expect(textOf(refused.html)).toContain(said);
      const again = refused.form(`/account/channels/${id}/schedule`).fields;
      expect(Object.fromEntries(again)).toMatchObject({ from, until, digest, zone });
    }
  });
});

describe("an alert that is sent to a channel", () => {
  const ask = asking(testService);
  const call = (headers: Headers, path: string, body: object) =>
    ask(headers, `/api/alerts${path}`, "POST", body);
  const patch = (headers: Headers, path: string, body: object) =>
    ask(headers, `/api/alerts${path}`, "PATCH", body);
  const keyOf = async (person: Person): Promise<Headers> => ({
    "x-api-key": await person.createKey(["signals:read", "alerts:write"]),
  });

  it("is created by channel name with a person's API key, shows the channel to its owner, and can be tested", async () => {
    const chat = await chatOf("slack");
    const person = await withChannel(chat);
    const key = await keyOf(person);
    const made = await call(key, "", { symbols: ["ALDER.SIM"], channel: "mine" });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      status: "active",
      delivery: { type: "channel", channel: "Mine", kind: "slack", state: "active" },
    });
    expect(made.body.secret).toBeUndefined();
    expect((await call(key, `/${made.body.id}/test`, {})).status).toBe(200);
    expect((await chat.took(2))[1]?.text).toContain("Test of an alert");
    expect((await call(key, `/${made.body.id}/rotate`, {})).status).toBe(409);
  });

  it("of an agent is sent only while the person lets applications use the channel", async () => {
    const chat = await chatOf("slack");
    const person = await withChannel(chat);
    const agent = bearer((await claimedAgent(testService, person)).token);
    const wish = { symbols: ["ALDER.SIM"], channel: "Mine" };
    const unknown = await call(agent, "", { ...wish, channel: "None" });
    const refused = await call(agent, "", wish);
    expect(refused.status).toBe(404);
    expect({ ...refused.body, requestId: "" }).toEqual({ ...unknown.body, requestId: "" });

    const page = await person.web.get("/account");
    const id = channelIdIn(page);
    const shared = await person.web.submit(page.form(`/account/channels/${id}/share`));
    expect(channelCardsIn(shared)[0]).toContain("all your agents and applications");
    const made = await call(agent, "", wish);
    expect(made.status).toBe(201);
    expect((await call(agent, `/${made.body.id}/test`, {})).status).toBe(200);
    await chat.took(2);

    await person.web.submit(shared.form(`/account/channels/${id}/unshare`));
    expect((await call(agent, `/${made.body.id}/test`, {})).status).toBe(409);
    expect((await call(agent, "", wish)).status).toBe(404);
    const moved = await patch(agent, `/${made.body.id}`, { channel: "Mine" });
    expect(moved.status).toBe(404);
    expect(chat.taken).toHaveLength(2);
  });

  it("can be moved to another channel, and to no channel", async () => {
    const chat = await chatOf("slack");
    const person = await withChannel(chat);
    const key = await keyOf(person);
    const made = await call(key, "", { symbols: ["ALDER.SIM"] });
    const to = async (channel: string | null) =>
      (await patch(key, `/${made.body.id}`, { channel })).body.delivery;
    const answer = (await patch(key, `/${made.body.id}`, { channel: "MINE" })).body;
    expect(answer.delivery).toMatchObject({ type: "channel", channel: "Mine" });
    expect(answer).not.toHaveProperty("channel");
    expect(await to("mine")).toMatchObject({ type: "channel", channel: "Mine" });
    expect(await to(null)).toEqual({ type: "poll" });
    const url = "https://hooks.public.dev/x";
    const hooked = await call(key, "", {
      symbols: ["ALDER.SIM"],
      delivery: { type: "webhook", url },
    });
    expect(hooked.status).toBe(201);
    expect((await patch(key, `/${hooked.body.id}`, { channel: "Mine" })).status).toBe(409);
  });

  it("is rejected for a channel that is unknown, belongs to another person, or is not verified", async () => {
    const chat = await chatOf("slack");
    await withChannel(chat);
    const person = testService.person();
    await person.signIn();
    const key = await keyOf(person);
    expect((await call(key, "", { symbols: ["ALDER.SIM"], channel: "Mine" })).status).toBe(404);
    await addChannel(person, chat.typed);
    expect((await call(key, "", { symbols: ["ALDER.SIM"], channel: "Mine" })).status).toBe(409);
  });

  it("is recorded but no longer sent after its channel is removed, and the page warns of this before the removal", async () => {
    const chat = await chatOf("slack");
    const person = await withChannel(chat);
    const key = await keyOf(person);
    const made = await call(key, "", { symbols: ["ALDER.SIM"], channel: "Mine" });
    const page = await person.web.get("/account");
    expect(channelCardsIn(page)[0]).toContain(
      "events of the 1 alert that it sends are only recorded from then on",
    );
    await person.web.submit(page.form(`/account/channels/${channelIdIn(page)}/remove`));
    expect(channelCardsIn(await person.web.get("/account"))).toEqual([]);
    const now = await ask(key, `/api/alerts/${made.body.id}`);
    expect(now.body).toMatchObject({ delivery: { type: "poll" } });
  });

  it("is recorded but no longer sent if its channel is removed while the operator has it disabled", async () => {
    const person = await withChannel(await chatOf("slack"));
    const key = await keyOf(person);
    const id = (await call(key, "", { symbols: ["ALDER.SIM"], channel: "Mine" })).body.id;
    const operator = operatorOf(testService);
    await operator("admin alerts disable", { id });
    const page = await person.web.get("/account");
    await person.web.submit(page.form(`/account/channels/${channelIdIn(page)}/remove`));
    await operator("admin alerts enable", { id });
    const now = await ask(key, `/api/alerts/${id}`);
    expect(now.body).toMatchObject({ delivery: { type: "poll" } });
  });
});

describe("an email channel", () => {
  it("is verified by email, and unsubscribed by one POST without a session", async () => {
    const person = testService.person();
    await person.signIn();
    const to = "ann@mail.example";
    await addChannel(person, mailbox(to));
    await emailed(to, 1);
    const [first] = await emailsTo(to);
    expect(first?.unsubscribeUrl).toMatch(/\/unsubscribe\/mail_/);
    const verified = await enterChannelCode(person, codeOf(first?.text));
    await person.web.submit(verified.form(`/account/channels/${channelIdIn(verified)}/test`));
    await emailed(to, 2);
    const link = (await emailsTo(to))[1]?.unsubscribeUrl ?? "";
    expect(link).toMatch(/\/unsubscribe\/chan_\w{16}\.[\w-]{43}$/);

    const seen = await fetch(link);
    expect(await seen.text()).toContain("<button");
    expect(channelCardsIn(await person.web.get("/account"))[0]).toMatch(/Status Active/);

    const forged = `${link.slice(0, -1)}${link.endsWith("A") ? "B" : "A"}`;
    expect((await fetch(forged, { method: "POST" })).status).toBe(404);
    expect((await fetch(forged)).status).toBe(404);

    const one = await fetch(link, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "List-Unsubscribe=One-Click",
    });
    expect(one.status).toBe(200);
    expect(one.headers.get("set-cookie")).toBeNull();
    expect((await fetch(link, { method: "POST", body: new FormData() })).status).toBe(200);
    const page = await person.web.get("/account");
    expect(channelCardsIn(page)[0]).toMatch(/Stopped: it was unsubscribed by a link in an email/);

    await person.web.submit(page.form(`/account/channels/${channelIdIn(page)}/code`));
    // The unsubscription has deleted the earlier emails.
    await emailed(to, 1);
    const again = await enterChannelCode(person, codeOf((await emailsTo(to))[0]?.text));
    expect(channelCardsIn(again)[0]).toMatch(/Status Active/);
  });
});

describe("an unsubscribed address", () => {
  it("receives no more messages from any channel, not even from those of other people", async () => {
    const to = "two@mail.example";
    const people: Person[] = [];
    for (const count of [1, 2]) {
      const person = testService.person();
      people.push(person);
      await person.signIn();
      await addChannel(person, mailbox(to));
      await emailed(to, count);
      const codes = (await emailsTo(to)).map(({ text }) => codeOf(text));
      for (const code of codes) await enterChannelCode(person, code);
      const page = await person.web.get("/account");
      expect(channelCardsIn(page)[0]).toMatch(/Status Active/);
    }
    const page = await (people[0] as Person).web.get("/account");
    await (people[0] as Person).web.submit(
      page.form(`/account/channels/${channelIdIn(page)}/test`),
    );
    await emailed(to, 3);
    const links = (await emailsTo(to)).map(({ unsubscribeUrl }) => unsubscribeUrl);
    const [link = ""] = links.filter((one) => one?.includes("/chan_"));
    expect((await fetch(link, { method: "POST" })).status).toBe(200);
    for (const { web } of people) {
      expect(channelCardsIn(await web.get("/account"))[0]).toMatch(/Stopped: it was unsubscribed/);
    }
  });

  it("stays unsubscribed when a disabled account is enabled again", async () => {
    const to = "three@mail.example";
    const person = testService.person();
    await person.signIn();
    await addChannel(person, mailbox(to));
    await emailed(to, 1);
    const page = await enterChannelCode(person, codeOf((await emailsTo(to))[0]?.text));
    await person.web.submit(page.form(`/account/channels/${channelIdIn(page)}/test`));
    await emailed(to, 2);
    const link = (await emailsTo(to))[1]?.unsubscribeUrl ?? "";
    const operator = operatorOf(testService);
    const listed = await operator("admin accounts list", { email: person.email });
    const id = rowsOf(listed, "accounts")[0]?.id;
    await operator("admin accounts disable", { id });
    expect(await (await fetch(link)).text()).toContain("<button");
    expect((await fetch(link, { method: "POST" })).status).toBe(200);
    await operator("admin accounts enable", { id });
    expect(channelCardsIn(await person.web.get("/account"))[0]).toMatch(
      /Stopped: it was unsubscribed/,
    );
    expect(await emailsTo(to)).toEqual([]);
  });
});

describe("the target of a channel", () => {
  it("is rejected with an error at its field, whatever the kind", async () => {
    const service = await sharedTestService();
    const person = service.person();
    await person.signIn();
    const wrong = [
      ["email", "ann@mail.example, bob@mail.example"],
      ["slack", "https://evil.example/services/T0/B0/x"],
      ["discord", "https://discord.com/api/v10/users/@me"],
      ["telegram", "../sendMessage"],
      ["ntfy", "http://127.0.0.1:8080/topic"],
    ] as const;
    expect(wrong.map(([kind]) => kind)).toEqual(CHANNEL_KINDS);
    for (const [kind, to] of wrong) {
      const token = kind === "telegram" ? telegram.typed.token : "";
      const refused = await addChannel(person, { kind, to, token });
      expect(refused.status).toBe(400);
      expect(refused.html).toContain(`id="${kind}-to-error"`);
      expect(channelCardsIn(refused)).toEqual([]);
    }
  });

  it.each([
    ["discord", "/api/", ["/api/v6/", "/api/v7/", "/api/v8/", "/api/"]],
    ["ntfy", LOOPBACK, ["localhost", "localhost.", "LOCALHOST..", "localhost..."]],
  ] as const)(
    "of the kind %s receives a limited number of codes, however it is spelled and whoever asks",
    async (kind, part, spellings) => {
      const service = await startTestService({
        ALLOW_INSECURE_WEBHOOKS: "1",
        RATE_LIMITS: "registrations=1000/100000/1000000",
      });
      const { typed } = await chatOf(kind);
      const people = [service.person(), service.person()] as const;
      for (const person of people) await person.signIn();
      const statuses = [];
      for (const [at, spelling] of spellings.entries()) {
        const target = { ...typed, to: typed.to.replace(part, spelling) };
        statuses.push((await addChannel(people[at % 2 ? 1 : 0], target, spelling)).status);
      }
      expect(statuses).toEqual([200, 200, 200, 429]);
    },
  );

  it("has a host that receives a limited number of codes, whatever its topic, port and spelling", async () => {
    const service = await startTestService({
      ALLOW_INSECURE_WEBHOOKS: "1",
      RATE_LIMITS: "registrations=1000/100000/1000000 host-requests=2/1000/10000",
    });
    const person = service.person();
    await person.signIn();
    const statusOf = async (to: string) =>
      (await addChannel(person, { kind: "ntfy", to, token: "" }, to)).status;
    expect(await statusOf("http://localhost:8001/one")).toBe(200);
    expect(await statusOf("http://localhost.:8002/two")).toBe(200);
    expect(await statusOf("http://localhost..:8003/three")).toBe(429);
  });
});
