import { beforeEach, describe, expect, it } from "vitest";
import { SANDBOX_NOW } from "../support/service.ts";
import { startTown } from "../support/town.ts";
import { createWeb, textOf } from "../support/web.ts";

const town = await startTown();
const { base } = town;

beforeEach(() => {
  town.clock.now = SANDBOX_NOW;
});

const codeOf = async (email: string) => (await town.codesTo(email)).at(-1) ?? "";

describe("signing in", () => {
  it("leads from the address over the code to the account", async () => {
    const web = createWeb(base);
    const start = await web.get("/sign-in");
    expect(start.html).toContain('autocomplete="email"');
    const asked = await web.submit(start.form("/sign-in"), { email: " Ann@Example.com " });
    expect(asked.url.href).toBe(`${base}/sign-in/code?return_to=%2Faccount`);
    expect(asked.html).toMatch(/inputmode="numeric" autocomplete="one-time-code"/);
    expect(textOf(asked.html)).toContain("If ann@example.com can sign in, a code is on its way.");
    const code = await codeOf("ann@example.com");
    const spaced = `${code.slice(0, 4)} ${code.slice(4)}`;
    const account = await web.submit(asked.form("/sign-in/code"), { code: spaced });
    expect(account.url.pathname).toBe("/account");
    expect(textOf(account.html)).toContain("Signed in as ann@example.com");
  });

  it("shows the form again with what was typed when it is no address", async () => {
    const web = createWeb(base);
    const form = (await web.get("/sign-in?return_to=/claim")).form("/sign-in");
    const again = await web.submit(form, { email: "ann at example" });
    expect(again.status).toBe(400);
    expect(again.html).toContain("<title>Error: Sign in");
    expect(again.html).toContain('value="ann at example"');
    expect(again.html).toContain('<a href="#email">Type one e-mail address.</a>');
    expect(Object.fromEntries(again.form("/sign-in").fields)).toMatchObject({
      return_to: "/claim",
    });
  });

  it("shows the form again when the code is wrong, whatever is wrong with it", async () => {
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
    expect(said[0]).toEqual([400, expect.stringContaining("wrong, too old or used up")]);
  });

  it("says no word of whether a code was asked for", async () => {
    const { html } = await createWeb(base).get("/sign-in/code");
    expect(textOf(html)).toContain("If your address can sign in, a code is on its way.");
  });

  it("leads back to where the person wanted to go, and to no other site", async () => {
    for (const [place, end] of [
      ["/claim?agent=agt_x", "/claim?agent=agt_x"],
      ["https://evil.example/", "/account"],
      ["//evil.example", "/account"],
      ["/sign-out", "/account"],
    ] as const) {
      const person = town.person();
      const page = await person.web.get(`/sign-in?return_to=${encodeURIComponent(place)}`);
      const filled = { email: person.email, return_to: place };
      const forged = await person.web.submit(page.form("/sign-in"), filled);
      expect(forged.url.searchParams.get("return_to")).toBe(end);
      const { url, leavesFor } = await person.web.signIn(person.email, codeOf, page);
      expect([url.pathname + url.search, leavesFor]).toEqual([end, undefined]);
    }
  });

  it("fills in the address of whoever signs in again", async () => {
    const person = town.person();
    await person.signIn();
    const { html } = await person.web.get("/sign-in");
    expect(html).toContain(`value="${person.email}"`);
  });

  it("says where the code is when no mail is sent, and only then", async () => {
    const hint = "npm run admin -- mail";
    expect((await createWeb(base).get("/sign-in/code")).html).toContain(hint);
    const mailing = await startTown({
      SMTP_URL: "smtp://127.0.0.1:9",
      MAIL_FROM: "signals@example.com",
    });
    expect((await createWeb(mailing.base).get("/sign-in/code")).html).not.toContain(hint);
  });

  it("offers no other provider when there is none", async () => {
    expect((await createWeb(base).get("/sign-in")).html).not.toContain("/sign-in/provider");
    for (const path of ["/sign-in/provider", "/sign-in/callback"]) {
      expect((await fetch(base + path)).status).toBe(404);
    }
  });
});

describe("signing out", () => {
  it("leads to the sign-in page, and the account is shut", async () => {
    const person = town.person();
    const account = await person.signIn();
    const out = await person.web.submit(account.form("/sign-out"));
    expect(out.url.href).toBe(`${base}/sign-in`);
    const shut = await person.web.get("/account");
    expect(shut.url.href).toBe(`${base}/sign-in?return_to=%2Faccount`);
  });
});
