import { beforeEach, describe, expect, it } from "vitest";
import { startSmtp } from "../support/smtp.ts";
import { workOf } from "../support/store-work.ts";
import { SANDBOX_NOW, startTestService } from "../support/test-service.ts";
import { createWeb, textOf, type WebPage } from "../support/web.ts";

const testService = await startTestService();
const { base } = testService;

/** The link that the terminal shows, and its token. */
const link = testService.service.accountLink;
const token = new URL(link).searchParams.get("here") ?? "";

beforeEach(() => {
  testService.clock.now = SANDBOX_NOW;
});

const codeOf = async (email: string) => (await testService.codesTo(email)).at(-1) ?? "";

/** The page to which the form for the code returns the person. */
const returnOf = (page: WebPage) => Object.fromEntries(page.form("/sign-in/code").fields).return_to;

describe("signing in", () => {
  it.each([
    ["applications", /whose application was accepted/, "/apply"],
    ["closed", /no new accounts are created/, "/contact"],
  ])(
    "states, with SIGN_UP=%s, who gets no code and what these people can do instead",
    async (SIGN_UP, words, way) => {
      const own = await startTestService({ SIGN_UP });
      const web = createWeb(own.base);
      const start = await web.get("/sign-in");
      const asked = await web.submit(start.form("/sign-in"), { email: "nobody@example.com" });
      for (const page of [start, asked]) {
        expect(textOf(page.html)).toMatch(words);
        expect(page.html).toContain(`href="${way}"`);
      }
      expect(await own.codesTo("nobody@example.com")).toEqual([]);
      expect((await web.get(way)).status).toBe(200);
    },
  );

  it("leads from the email address to the code and then to the account", async () => {
    const web = createWeb(base);
    const start = await web.get("/sign-in");
    expect(start.html).toContain('autocomplete="email"');
    const asked = await web.submit(start.form("/sign-in"), { email: " Ann@Example.com " });
    expect(returnOf(asked)).toBe("/account");
    expect(asked.html).toMatch(/inputmode="numeric" autocomplete="one-time-code"/);
    expect(textOf(asked.html)).toContain("If ann@example.com can sign in, there is a code for you");
    const code = await codeOf("ann@example.com");
    const spaced = `${code.slice(0, 4)} ${code.slice(4)}`;
    const account = await web.submit(asked.form("/sign-in/code"), { code: spaced });
    expect(account.url.pathname).toBe("/account");
    expect(textOf(account.html)).toContain("Signed in as ann@example.com");
  });

  it("shows the form again with the input for an invalid address", async () => {
    const web = createWeb(base);
    const form = (await web.get("/sign-in?return_to=/claim")).form("/sign-in");
    const again = await web.submit(form, { email: "ann at example" });
    expect(again.status).toBe(400);
    expect(again.html).toContain("<title>Error: Sign in");
    expect(again.html).toContain('value="ann at example"');
    expect(again.html).toContain('<a href="#email">Enter one email address.</a>');
    expect(Object.fromEntries(again.form("/sign-in").fields)).toMatchObject({
      return_to: "/claim",
    });
  });

  it("shows the same form again for every kind of wrong code", async () => {
    const web = createWeb(base);
    const start = await web.get("/sign-in?return_to=/claim");
    const asked = await web.submit(start.form("/sign-in"), { email: "ben@example.com" });
    const said = [];
    for (const code of ["00000000", "", "x".repeat(21), undefined, ["1", "2"], "<b>"]) {
      const again = await web.submit(asked.form("/sign-in/code"), { code });
      said.push([again.status, textOf(again.html)]);
      expect(Object.fromEntries(again.form("/sign-in/code").fields)).toMatchObject({
        return_to: "/claim",
      });
    }
    expect(new Set(said.map(String)).size).toBe(1);
    expect(said[0]).toEqual([400, expect.stringContaining("This code is wrong. Try again")]);
  });

  it.each(["open", "closed"])(
    "requires a new code when the last one has expired, with SIGN_UP=%s",
    async (SIGN_UP) => {
      const own = await startTestService({ SIGN_UP });
      const web = createWeb(own.base);
      const start = await web.get("/sign-in?return_to=/claim");
      const asked = await web.submit(start.form("/sign-in"), { email: "cat@example.com" });
      const form = asked.form("/sign-in/code");
      const said = [];
      for (let time = 0; time < 6; time += 1) {
        const { status, html } = await web.submit(form, { code: "wrong" });
        said.push([status, /(Try again|Ask for a new one)/.exec(textOf(html))?.[0]]);
      }
      const wrong = [400, "Try again"];
      const over = [400, "Ask for a new one"];
      expect(said).toEqual([wrong, wrong, wrong, wrong, over, over]);
      const last = (await web.submit(form, { code: "wrong" })).form("/sign-in");
      expect(Object.fromEntries(last.fields)).toMatchObject({ return_to: "/claim" });
      const again = await web.submit(last, { email: "cat@example.com" });
      expect(returnOf(again)).toBe("/claim");
    },
  );

  it("starts with the email address in a browser without a pending code", async () => {
    const { url } = await createWeb(base).get("/sign-in/code?return_to=/claim");
    expect(url.href).toBe(`${base}/sign-in?return_to=%2Fclaim`);
  });

  it("behaves the same for known and unknown addresses, even after the code was requested", async () => {
    const before = await startTestService();
    await before.person("known@example.com").signIn();
    await before.stop();
    const smtp = await startSmtp();
    const own = await startTestService({
      ...{ SIGN_UP: "closed", DATA_DIR: before.folder },
      ...{ SMTP_URL: smtp.url, MAIL_FROM: "signals@example.com" },
    });
    const ask = async (email: string) => {
      const web = createWeb(own.base);
      const start = await web.get("/sign-in");
      await web.submit(start.form("/sign-in"), { email });
      const { html } = await web.get("/sign-in/code");
      return textOf(html).replace(email, "<email>");
    };
    const { records } = own.service.state.store;
    const known = await workOf(records, () => ask("known@example.com"));
    const unknown = await workOf(records, () => ask("unknown@example.com"));
    expect(unknown).toEqual(known);
    expect(known[0]?.work).toContain("get sign-in-codes");
    expect(await own.codesTo("known@example.com")).not.toEqual([]);
    expect(smtp.said).toEqual([]);
  });

  it("returns to the requested page, but never to another site", async () => {
    for (const [place, end] of [
      ["/claim?agent=agt_x", "/claim?agent=agt_x"],
      ["https://evil.example/", "/account"],
      ["//evil.example", "/account"],
      ["/sign-out", "/account"],
    ] as const) {
      const person = testService.person();
      const page = await person.web.get(`/sign-in?return_to=${encodeURIComponent(place)}`);
      const filled = { email: person.email, return_to: place };
      const forged = await person.web.submit(page.form("/sign-in"), filled);
      expect(returnOf(forged)).toBe(end);
      const { url, leavesFor } = await person.signIn(page);
      expect([url.pathname + url.search, leavesFor]).toEqual([end, undefined]);
    }
  });

  it("fills in the address of a person who signs in again", async () => {
    const person = testService.person();
    await person.signIn();
    const { html } = await person.web.get("/sign-in");
    expect(html).toContain(`value="${person.email}"`);
  });

  it("shows the code to the browser that opened the terminal's link of a local sandbox, which signs the person in", async () => {
    const web = createWeb(base);
    const start = await web.get(link);
    expect(start.url.href).toBe(`${base}/sign-in?return_to=%2Faccount`);
    expect(textOf(start.html)).toContain("You get a code on the next page");
    const asked = await web.submit(start.form("/sign-in"), { email: "dan@example.com" });
    expect(asked.headers.get("cache-control")).toBe("no-store");
    expect(textOf(asked.html)).toContain("this is a sandbox on your machine, which sends no mail");
    const form = asked.form("/sign-in/code");
    expect(Object.fromEntries(form.fields).code).toBe(await codeOf("dan@example.com"));
    expect((await web.submit(form, {})).url.pathname).toBe("/account");
    expect((await web.get(link)).url.href).toBe(`${base}/account`);
  });

  it("remembers the terminal's link in a cookie for this session and site, and leaves its token nowhere else", async () => {
    const { status, headers } = await fetch(link, { redirect: "manual" });
    expect([status, headers.get("location")]).toEqual([303, "/account"]);
    expect([headers.get("referrer-policy"), headers.get("cache-control")]).toEqual([
      "no-referrer",
      "no-store",
    ]);
    const cookie = `market-signal-here=${token}; Path=/; HttpOnly; SameSite=Strict`;
    expect(headers.getSetCookie()).toContain(cookie);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(testService.logged.join()).not.toContain(token);
  });

  it.each([
    ["without the link", undefined],
    ["with a wrong token", "A".repeat(43)],
  ])("shows no code to a browser %s, and says where it is", async (_, tried) => {
    const web = createWeb(base);
    const start = await web.get(tried === undefined ? "/sign-in" : `/sign-in?here=${tried}`);
    expect(web.cookie()).not.toContain("market-signal-here");
    expect(start.url.searchParams.has("here")).toBe(false);
    const asked = await web.submit(start.form("/sign-in"), { email: "eve@example.com" });
    expect(asked.url.pathname).toBe("/sign-in/code");
    expect(asked.html).not.toMatch(/\d{8}/);
    expect(textOf(asked.html)).toMatch(
      /on the terminal of the service, and npx --no-install market-signal admin mail shows it/,
    );
  });

  it("shows no code to a request that a proxy sent, and says where it is", async () => {
    const web = createWeb(base);
    const start = await web.get(link);
    const fields = {
      ...Object.fromEntries(start.form("/sign-in").fields),
      email: "eve@example.com",
    };
    const headers = { cookie: web.cookie(), origin: base, "x-forwarded-for": "203.0.113.7" };
    const ask = (path: string, init: RequestInit = {}) =>
      fetch(base + path, { headers, redirect: "manual", ...init });
    expect(textOf(await (await ask("/sign-in")).text())).toContain(
      "a code from the operator of this service, which sends no mail",
    );
    const asked = await ask("/sign-in", { method: "POST", body: new URLSearchParams(fields) });
    expect([asked.status, await asked.text()]).toEqual([303, expect.not.stringMatching(/\d{8}/)]);
    const shown = textOf(await (await ask("/sign-in/code")).text());
    expect(shown).toMatch(/market-signal admin mail.*Code from the operator/);
    expect(shown).not.toMatch(/by email|from the email|spam|on its way/);
  });

  it("says that the code comes by email where mail is sent", async () => {
    const mail = { SMTP_URL: "smtp://127.0.0.1:9", MAIL_FROM: "signals@example.com" };
    const own = await startTestService(mail);
    expect(own.service.accountLink).toBe(`${own.base}/account`);
    const web = createWeb(own.base);
    const start = await web.get(`/sign-in?here=${token}`);
    expect(web.cookie()).not.toContain("market-signal-here");
    expect(textOf(start.html)).toContain("You get a code by email");
    const asked = textOf(
      (await web.submit(start.form("/sign-in"), { email: "dan@example.com" })).html,
    );
    expect(asked).toMatch(/a code is on its way\. Code from the email.*spam folder/);
    expect(asked).not.toMatch(/operator|npm run|\d{8}/);
  });

  it("offers no external provider when none is configured", async () => {
    expect((await createWeb(base).get("/sign-in")).html).not.toContain("/sign-in/provider");
    for (const path of ["/sign-in/provider", "/sign-in/callback"]) {
      expect((await fetch(base + path)).status).toBe(404);
    }
  });
});

describe("signing out", () => {
  it("leads to the sign-in page, and makes the account page inaccessible", async () => {
    const person = testService.person();
    const account = await person.signIn();
    const out = await person.web.submit(account.form("/sign-out"));
    expect(out.url.href).toBe(`${base}/sign-in`);
    const shut = await person.web.get("/account");
    expect(shut.url.href).toBe(`${base}/sign-in?return_to=%2Faccount`);
  });
});
