// @module-tag full

import { describe, expect, it } from "vitest";
import { alerts } from "../../src/alerts/alert.ts";
import { mailCommand } from "../../src/cli/commands/mail.ts";
import { LoopTurns } from "../../src/http/loop-turns.ts";
import { queuedMails } from "../../src/mail/outbox.ts";
import { accounts } from "../../src/principals/accounts/accounts.ts";
import { register, tokenOf } from "../support/agent.ts";
import { bearer, makeAlert } from "../support/alert-events.ts";
import { addChannel, mailbox } from "../support/channel-pages.ts";
import { startSmtp } from "../support/smtp.ts";
import { LOOSE_LIMITS, startTestService, type TestService } from "../support/test-service.ts";
import { createWeb, textOf } from "../support/web.ts";

/** Attacks that exceeded what the service had limits for. */

/** Requests a sign-in code for an email address from an IP address. @returns The status. */
async function askCode(base: string, email: string, from: string, cookie = ""): Promise<Response> {
  const web = createWeb(base);
  const { action, fields } = (await web.get("/sign-in")).form("/sign-in");
  const body = new URLSearchParams(fields as [string, string][]);
  body.set("email", email);
  const own = web.cookie(action);
  const headers = {
    cookie: [own, cookie].filter(Boolean).join("; "),
    origin: base,
    "x-forwarded-for": from,
  };
  return fetch(action, { method: "POST", headers, body, redirect: "manual" });
}

/** A code is sent after at most this delay, and found by a worker that polls every two seconds. */
const MOST_DELAY_MS = 2_000;
const POLL = { timeout: 20_000 };

/** All emails to a mailbox, whatever follows a + in its name. */
const mailsTo = async ({ mails }: Pick<TestService, "mails">, name: string) =>
  (await mails()).filter(({ to }) => to.split(/[+@]/)[0] === name);

describe("an attacker who sends codes to a stranger's mailbox", () => {
  it("sends a few, however many accounts, spellings and kinds of codes it uses", async () => {
    const service = await startTestService({ TRUST_PROXY: "1", RATE_LIMITS: "" });
    const { base } = service;
    for (let at = 0; at < 10; at += 1) {
      await askCode(base, `victim+${at}@example.com`, "198.51.100.1");
      await askCode(base, "Victim@example.com", `198.51.100.${at}`);
    }
    for (let at = 0; at < 3; at += 1) {
      const person = service.person(`attacker-${at}@example.com`);
      await person.signIn();
      await addChannel(person, mailbox(`victim+channel${at}@example.com`));
    }
    expect((await mailsTo(service, "victim")).length).toBeLessThanOrEqual(6);
  });

  it("sends none once the mailbox has used the way out, and its person can go back", async () => {
    const { base, ...service } = await startTestService({ TRUST_PROXY: "1", RATE_LIMITS: "" });
    await askCode(base, "quiet@example.com", "198.51.100.1");
    const [mail] = await mailsTo(service, "quiet");
    const link = mail?.unsubscribeUrl ?? "";
    expect(mail?.text).toContain(`Do not send me mail again: ${link}`);
    const web = createWeb(base);
    expect((await web.get(link)).html).toContain("Do not send me mail again");
    const oneClick = { method: "POST", body: "List-Unsubscribe=One-Click" };
    expect((await fetch(link, oneClick)).status).toBe(200);
    const stopped = await web.get(link);
    expect(stopped.html).toContain("Nothing is sent to your mailbox any more.");
    const { pathname } = new URL(link);
    expect((await web.submit(stopped.form(`${pathname}/allow`))).status).toBe(200);
    expect((await web.get(link)).html).toContain('<button class="main">Do not send me mail again');
    expect((await fetch(`${link}x`, oneClick)).status).toBe(404);
  });

  it("sends none to it until the operator, too, has allowed mail again", async () => {
    const testService = await startTestService({ TRUST_PROXY: "1", RATE_LIMITS: "" });
    const { base, service } = testService;
    await askCode(base, "asks@example.com", "198.51.100.1");
    const [mail] = await mailsTo(testService, "asks");
    await fetch(mail?.unsubscribeUrl ?? "", { method: "POST" });
    const { store, keyring } = service.state;
    const allow = () =>
      mailCommand.run(
        { allow: "asks+home@example.com" },
        { store, folder: "", keyring: async () => keyring, now: Date.now, holder: "server" },
        () => {},
      );
    expect((await allow()).lines).toEqual(["asks+home@example.com gets mail again."]);
    expect((await allow()).lines).toEqual(["asks+home@example.com had not stopped mail."]);
    const { html } = await createWeb(base).get(mail?.unsubscribeUrl ?? "");
    expect(html).not.toContain("Nothing is sent to your mailbox any more.");
  });
});

describe("strangers who request codes for a person's mailbox", () => {
  const flood = async (base: string, email: string) => {
    for (let network = 0; network < 6; network += 1) {
      for (const address of [1, 2, 3]) {
        for (let at = 0; at < 6; at += 1) {
          await askCode(base, email, `198.51.${network}.${address}`);
        }
      }
    }
  };

  it("from 18 addresses in six networks do not keep the person from signing in elsewhere", async () => {
    const service = await startTestService({ TRUST_PROXY: "1", RATE_LIMITS: "" });
    await flood(service.base, "victim@example.com");
    expect((await askCode(service.base, "victim@example.com", "203.0.113.1")).status).toBe(303);
  });

  it("from any number of networks do not lock out a browser at which the person signed in", async () => {
    const service = await startTestService({
      TRUST_PROXY: "1",
      RATE_LIMITS: `${LOOSE_LIMITS} mailbox-codes=1/1/2`,
    });
    const person = service.person("known@example.com");
    await person.signIn();
    for (let network = 0; network < 9; network += 1) {
      await askCode(service.base, person.email, `198.51.${network}.1`);
    }
    const elsewhere = await askCode(service.base, person.email, "203.0.113.1");
    expect([elsewhere.status, Number(elsewhere.headers.get("retry-after")) <= 900]).toEqual([
      429,
      true,
    ]);
    const [known] = /market-signal-known=[^;]+/.exec(person.web.cookie(service.base)) ?? [];
    expect((await askCode(service.base, person.email, "203.0.113.1", known)).status).toBe(303);
  });
});

/** Uses the link at the end of an email in a new browser, to sign in there. */
const useLink = async ({ base }: TestService, link = "") => {
  const web = createWeb(base);
  const page = await web.get(link);
  const signIn = await web.submit(page.form(`${new URL(link).pathname}/browser`));
  expect(signIn.url.pathname).toBe("/sign-in");
  return web;
};
const passOf = (cookies: string) => /market-signal-mailbox=[^;]+/.exec(cookies)?.[0] ?? "";

describe("accounts of many mailboxes that sign in again at known browsers", () => {
  const start = (codeMails: string) =>
    startTestService({
      TRUST_PROXY: "1",
      RATE_LIMITS: `${LOOSE_LIMITS} code-mails=${codeMails}`,
    });
  const [here, elsewhere] = ["198.51.100.1", "203.0.113.1"];
  /** Signs a person in. @returns Asks for a code at the browser, in the network of an address. */
  const signIn = async (service: TestService, email: string, from: string) => {
    const { base } = service;
    const web = createWeb(base, from);
    await web.signIn(email, async () => (await service.codesTo(email)).at(-1) ?? "");
    const [known = ""] = /market-signal-known=[^;]+/.exec(web.cookie(base)) ?? [];
    return (at: string, cookie = "") => askCode(base, email, at, `${known}; ${cookie}`);
  };
  type Ask = Awaited<ReturnType<typeof signIn>>;
  /** Statuses of one code for each of some people. */
  const statusesOf = async (people: readonly Ask[], at: string) => {
    const statuses = [];
    for (const ask of people) statuses.push((await ask(at)).status);
    return statuses;
  };

  it("get what the network of their first sign-in has, which keeps nobody else from a code", async () => {
    const service = await start("20/3/1000");
    const names = ["a", "b", "c"].map((name) => `${name}@all.example`);
    const own = await Promise.all(names.map((email) => signIn(service, email, here)));
    const visitor = await signIn(service, "visitor@example.com", elsewhere);
    expect((await askCode(service.base, "new@example.com", here)).status).toBe(429);
    // The first of each counts for its mailbox, the next ones for the network.
    expect(await statusesOf([...own, ...own, ...own], here)).toEqual([
      ...[303, 303, 303],
      ...[303, 303, 303],
      ...[429, 429, 429],
    ]);
    expect((await visitor(here)).status).toBe(303);
    // Where neighbors have used up the network of the account, what strangers have is left.
    expect((await own[0]?.("192.0.2.1"))?.status).toBe(303);
  });

  it("leave a neighbor a code at a known browser and one by the link, and then say where to go", async () => {
    const service = await start("20/3/1000");
    const { base } = service;
    const email = "neighbor@example.com";
    const neighbor = await signIn(service, email, here);
    const names = ["a", "b"].map((name) => `${name}@all.example`);
    const others = await Promise.all(names.map((name) => signIn(service, name, here)));
    const asked = await statusesOf([...others, ...others, ...others], here);
    expect(asked).toEqual([303, 303, 303, 303, 303, 429]);
    expect((await neighbor(here)).status).toBe(303);
    const refused = await neighbor(here);
    expect([refused.status, await refused.text()]).toEqual([
      429,
      expect.stringContaining("Or open the link at the end of any email with a code"),
    ]);
    // The link at the same browser, and at one that is not known.
    const passTo = async (name: string) => {
      const [mail] = await mailsTo(service, name);
      return passOf((await useLink(service, mail?.unsubscribeUrl)).cookie());
    };
    for (const name of ["a", "b"]) {
      const pass = await passTo(name);
      for (let at = 0; at < 3; at += 1) await askCode(base, `${name}@all.example`, here, pass);
    }
    const pass = await passTo("neighbor");
    expect((await neighbor(here, pass)).status).toBe(303);
    const last = await neighbor(here, pass);
    expect([last.status, await last.text()]).toEqual([
      429,
      expect.stringContaining("Or ask for a code in another network"),
    ]);
    expect((await neighbor("192.0.2.1", pass)).status).toBe(303);
  });

  it("have no more first codes than the total, then what the networks have", async () => {
    const service = await start("20/1/4");
    const people = [];
    for (const at of [1, 2, 3, 4]) {
      people.push(await signIn(service, `p${at}@all.example`, `198.51.${at}.1`));
    }
    const asked = await statusesOf([...people, ...people, ...people], "198.51.1.1");
    expect(asked).toEqual([303, 303, 303, 303, 303, 303, 303, 303, 429, 429, 429, 429]);
    // The first by the link would be the fifth, so only the one of the network is left.
    const [mail] = await mailsTo(service, "p1");
    const pass = passOf((await useLink(service, mail?.unsubscribeUrl)).cookie());
    const byLink = [await people[0]?.("198.51.1.1", pass), await people[0]?.("198.51.1.1", pass)];
    expect(byLink.map((answer) => answer?.status)).toEqual([303, 429]);
  });
});

describe("a person whom strangers have locked out of every browser that is not known", () => {
  it("gets a code by the link in any email, which does not make the codes of others more", async () => {
    const service = await startTestService({ TRUST_PROXY: "1", RATE_LIMITS: "" });
    const { base } = service;
    const email = "owner@example.com";
    for (let network = 0; network < 30; network += 1) {
      await askCode(base, email, `198.51.${network}.1`);
    }
    const refused = await askCode(base, email, "203.0.113.1");
    expect([refused.status, await refused.text()]).toEqual([
      429,
      expect.stringContaining("Or open the link at the end of any email with a code"),
    ]);
    const [mail] = await mailsTo(service, "owner");
    const pass = passOf((await useLink(service, mail?.unsubscribeUrl)).cookie());
    expect((await askCode(base, email, "203.0.113.1", pass)).status).toBe(303);
    expect((await askCode(base, "owner+b@example.com", "203.0.113.2", pass)).status).toBe(303);
    // The pass is for this mailbox alone, and has a number of its own.
    for (let network = 0; network < 30; network += 1) {
      await askCode(base, "other@example.com", `198.51.${network}.1`);
    }
    expect((await askCode(base, "other@example.com", "203.0.113.1", pass)).status).toBe(429);
    const own = [];
    for (let at = 0; at < 9; at += 1)
      own.push((await askCode(base, email, "203.0.113.1", pass)).status);
    expect(own).toContain(429);
  });

  it("has one number for all spellings of the mailbox, and gets no account that its network may not have", async () => {
    const service = await startTestService({ TRUST_PROXY: "1", RATE_LIMITS: "code-mails=2/2/99" });
    const { base } = service;
    const ask = (email: string, cookie: string) => askCode(base, email, "203.0.113.1", cookie);
    const owner = service.person("owner@example.com");
    await owner.signIn();
    await askCode(base, owner.email, "198.51.100.1");
    const [mail] = await mailsTo(service, "owner");
    const pass = passOf((await useLink(service, mail?.unsubscribeUrl)).cookie());
    // Two new accounts are what code-mails leaves to the network. What is refused looks the same
    // for an address that has an account.
    const mailbox = async (name: string) => (await mailsTo(service, name)).length;
    const before = await mailbox("owner");
    const asked = [];
    for (const email of ["owner+a@example.com", "owner+b@example.com", "owner+c@example.com"]) {
      const { status, headers } = await ask(email, pass);
      asked.push([status, headers.get("location")]);
    }
    const next = [303, "/sign-in/code?return_to=%2Faccount"];
    expect(asked).toEqual([next, next, next]);
    expect(await mailbox("owner")).toBe(before + 2);
    const exceeded = [await ask("owner+d@example.com", pass), await ask(owner.email, pass)];
    expect(exceeded.map(({ status }) => status)).toEqual([429, 429]);
    // A browser that is known has the number of its mailbox too, not one for each spelling.
    const [known] = /market-signal-known=[^;]+/.exec(owner.web.cookie(base)) ?? [];
    const own = [];
    for (let at = 0; at < 4; at += 1)
      own.push((await askCode(base, owner.email, "192.0.2.1", known)).status);
    expect(own).toEqual([303, 303, 303, 429]);
  });

  it("keeps the pass of the link, whatever forms another site sends from the browser", async () => {
    const service = await startTestService({ TRUST_PROXY: "1" });
    await askCode(service.base, "attacker@example.com", "198.51.100.1");
    const [mail] = await mailsTo(service, "attacker");
    const link = mail?.unsubscribeUrl ?? "";
    const page = await createWeb(service.base).get(link);
    const send = async (action: string, headers: Readonly<Record<string, string>>) => {
      const answer = await fetch(`${link}/${action}`, {
        method: "POST",
        headers,
        body: new URLSearchParams(page.forms.at(-1)?.fields as [string, string][]),
        redirect: "manual",
      });
      return [
        answer.status,
        answer.headers.getSetCookie().filter((line) => line.includes("mailbox")),
      ];
    };
    for (const action of ["browser", "allow"]) {
      const elsewhere = { origin: "https://attacker.example", "sec-fetch-site": "cross-site" };
      expect(await send(action, elsewhere)).toEqual([403, []]);
      expect(await send(action, {})).toEqual([403, []]);
    }
    // Mail programs stop mail without a page.
    expect((await fetch(link, { method: "POST" })).status).toBe(200);
  });

  it("returns by the link to where they were on the way to, though the code was refused", async () => {
    const service = await startTestService({ RATE_LIMITS: "mailbox-codes=1/1/9" });
    const email = "owner@example.com";
    const web = createWeb(service.base);
    const place = "/oauth/interaction/under-way";
    const page = await web.get(`/sign-in?return_to=${encodeURIComponent(place)}`);
    await askCode(service.base, email, "127.0.0.1");
    expect((await web.submit(page.form("/sign-in"), { email })).status).toBe(429);
    const [mail] = await mailsTo(service, "owner");
    const { pathname } = new URL(mail?.unsubscribeUrl ?? "");
    const used = await web.submit((await web.get(pathname)).form(`${pathname}/browser`));
    expect(Object.fromEntries(used.form("/sign-in").fields).return_to).toBe(place);
  });

  it("gets a code by the link where the network has no new accounts left", async () => {
    const service = await startTestService({ TRUST_PROXY: "1", RATE_LIMITS: "code-mails=1/1/99" });
    const { base } = service;
    const owner = service.person("owner@example.com");
    await owner.signIn();
    await askCode(base, owner.email, "198.51.100.1");
    const [mail] = await mailsTo(service, "owner");
    const pass = passOf((await useLink(service, mail?.unsubscribeUrl)).cookie());
    expect((await askCode(base, "other@example.com", "203.0.113.1")).status).toBe(303);
    const before = (await mailsTo(service, "owner")).length;
    expect((await askCode(base, owner.email, "203.0.113.1", pass)).status).toBe(303);
    expect((await mailsTo(service, "owner")).length).toBe(before + 1);
    // The first was the mailbox's; the links of a network have a number too.
    expect((await askCode(base, owner.email, "203.0.113.2", pass)).status).toBe(303);
    expect((await askCode(base, owner.email, "203.0.113.2", pass)).status).toBe(429);
  });

  it("gets the codes that they ask for themselves, whoever has stopped mail to the mailbox", async () => {
    const server = await startSmtp();
    const service = await startTestService({
      TRUST_PROXY: "1",
      SMTP_URL: server.url,
      MAIL_FROM: "signals@example.com",
    });
    const { base, clock } = service;
    const { records } = service.service.state.store;
    const delivered = async () => {
      clock.now = new Date(clock.now.getTime() + MOST_DELAY_MS);
      await expect.poll(() => records.list(queuedMails, { limit: 9 }), POLL).toEqual([]);
      return server.said.filter((line) => line === ".").length;
    };
    const email = "owner@example.com";
    const web = createWeb(base);
    const asked = await web.submit((await web.get("/sign-in")).form("/sign-in"), { email });
    const [code = ""] = await service.codesTo(email);
    const link = (await mailsTo(service, "owner"))[0]?.unsubscribeUrl ?? "";
    expect(await delivered()).toBe(1);
    await web.submit(asked.form("/sign-in/code"), { code });
    await fetch(link, { method: "POST", body: "List-Unsubscribe=One-Click" });
    // A stranger's browser: none is sent, and the page says to anyone where the owner goes.
    const stranger = createWeb(base);
    const page = await stranger.submit((await stranger.get("/sign-in")).form("/sign-in"), {
      email,
    });
    expect(textOf(page.html)).toContain("A mailbox that wants no more mail from here gets no code");
    expect(await delivered()).toBe(1);
    const [known] = /market-signal-known=[^;]+/.exec(web.cookie(base)) ?? [];
    await askCode(base, email, "203.0.113.1", known);
    expect(await delivered()).toBe(2);
    const elsewhere = createWeb(base);
    const stopped = await elsewhere.get(link);
    expect(stopped.html).toContain("Nothing is sent to your mailbox any more.");
    await elsewhere.submit(stopped.form(`${new URL(link).pathname}/browser`));
    await askCode(base, email, "203.0.113.1", passOf(elsewhere.cookie()));
    expect(await delivered()).toBe(3);
  });

  it("enters a code behind an address that strangers have locked out by guessing", async () => {
    const service = await startTestService({ RATE_LIMITS: `${LOOSE_LIMITS} guesses=2/99/999` });
    const stranger = createWeb(service.base);
    const asked = await stranger.submit((await stranger.get("/sign-in")).form("/sign-in"), {
      email: "stranger@example.com",
    });
    for (const code of ["00000000", "11111111", "22222222"]) {
      await stranger.submit(asked.form("/sign-in/code"), { code });
    }
    const email = "neighbor@example.com";
    const web = createWeb(service.base);
    const page = await web.submit((await web.get("/sign-in")).form("/sign-in"), { email });
    const [code = ""] = await service.codesTo(email);
    const refused = await web.submit(page.form("/sign-in/code"), { code });
    expect([refused.status, refused.html]).toEqual([
      429,
      expect.stringContaining("Or open the link at the end of any email with a code"),
    ]);
    const [mail] = await mailsTo(service, "neighbor");
    const link = mail?.unsubscribeUrl ?? "";
    await web.submit((await web.get(link)).form(`${new URL(link).pathname}/browser`));
    await web.submit(page.form("/sign-in/code"), { code });
    expect((await web.get("/account")).url.pathname).toBe("/account");
  });
});

describe("requests for codes that are refused", () => {
  it("do not count for the others of the network", async () => {
    const service = await startTestService({
      TRUST_PROXY: "1",
      RATE_LIMITS: `${LOOSE_LIMITS} mailbox-codes=1/1/1 code-mails=5/5/100`,
    });
    const statuses = [];
    for (let at = 0; at < 20; at += 1) {
      statuses.push((await askCode(service.base, "full@example.com", "198.51.100.1")).status);
    }
    expect(statuses.filter((status) => status === 303)).toHaveLength(1);
    expect((await askCode(service.base, "other@example.com", "198.51.100.2")).status).toBe(303);
  });

  it("look the same for an address that signed in from the same network", async () => {
    const service = await startTestService({
      TRUST_PROXY: "1",
      RATE_LIMITS: `${LOOSE_LIMITS} mailbox-codes=2/2/9`,
    });
    const person = service.person("here@example.com");
    await person.signIn();
    const statusesOf = async (email: string) => {
      const statuses = [];
      for (let at = 0; at < 4; at += 1) {
        statuses.push((await askCode(service.base, email, "127.0.0.9")).status);
      }
      return statuses;
    };
    const first = await statusesOf("nobody@example.com");
    expect(first).toEqual([303, 303, 429, 429]);
    // The sign-in itself was one of the two.
    expect(await statusesOf(person.email)).toEqual([303, 429, 429, 429]);
  });
});

describe("free accounts of one network", () => {
  it("have their alerts counted together, so that their events fill a bounded part of the disk", async () => {
    const service = await startTestService();
    const headers = async () => bearer((await service.person().tokens()).access_token);
    const ids = [
      await makeAlert(service, await headers()),
      await makeAlert(service, await headers()),
    ];
    const { records } = service.service.state.store;
    const kept = await Promise.all(ids.map((id) => records.get(alerts, id)));
    const networks = kept.map((alert) => alert?.value.network);
    expect(networks[0]).toMatch(/\S/);
    expect(networks[1]).toBe(networks[0]);
    expect(networks[0]).not.toContain("127.0.0");
    // It is the network in which the accounts were made, wherever their applications call from.
    const owners = await records.list(accounts, { limit: 10 });
    expect(owners.map(({ value }) => value.network)).toEqual(networks);
  });
});

describe("many unclaimed agents that export at the same time", () => {
  it("compute at most two parts in a turn of the event loop, networks in turn", async () => {
    const turns = new LoopTurns();
    const started: string[] = [];
    const wait = (network: string) => turns.next(network).then(() => void started.push(network));
    const all = [...Array.from({ length: 30 }, () => wait("flood")), wait("honest")];
    const perTurn: number[] = [];
    while (started.length < all.length) {
      const before = started.length;
      await new Promise((resolve) => setImmediate(resolve));
      perTurn.push(started.length - before);
    }
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(2);
    expect(started.indexOf("honest")).toBeLessThan(2);
  });

  it("have at most two under way each", async () => {
    const { base } = await startTestService({ RATE_LIMITS: LOOSE_LIMITS });
    const begin = async (token: string) => {
      const stop = new AbortController();
      const url = `${base}/api/export?assetClass=stock`;
      const { status } = await fetch(url, { headers: bearer(token), signal: stop.signal });
      return { status, stop: () => stop.abort() };
    };
    const agent = await register(base);
    const tokens = [await tokenOf(base, agent), await tokenOf(base, agent)];
    const own = await Promise.all([...tokens, ...tokens].map(begin));
    expect(own.map(({ status }) => status).toSorted()).toEqual([200, 200, 429, 429]);
    for (const { stop } of own) stop();
  });
});
