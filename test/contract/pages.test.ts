import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, it } from "vitest";
import { sendRaw } from "../support/raw.ts";
import { SANDBOX_NOW, startTestService } from "../support/test-service.ts";
import { createWeb, headingOf, textOf } from "../support/web.ts";

const testService = await startTestService();
const { base } = testService;

beforeEach(() => {
  testService.clock.now = SANDBOX_NOW;
});

const post = (
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
) =>
  fetch(base + path, {
    method: "POST",
    body,
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    redirect: "manual",
  });

describe("a page", () => {
  it.each([
    "/sign-in",
    "/sign-in/code",
    "/oauth/interaction/x",
    "/account",
    "/claim",
    "/claim?agent=x",
    "/claim?attempt=x",
  ])(
    "is one document that no site can frame, and that runs and loads nothing of others: %s",
    async (path) => {
      const person = testService.person();
      await person.signIn();
      const { html, headers } = await person.web.get(path);
      expect(html).toMatch(/^<!doctype html>\n<html lang="en">/);
      for (const part of ["<main>", "<h1>", "<title>"]) {
        expect(html.split(part).length - 1, part).toBe(1);
      }
      expect(html).toContain(" – Market Signal and Verification Service</title>");
      expect(html).not.toMatch(/<script|style="|\son\w+=/i);
      expect(Object.fromEntries(headers)).toMatchObject({
        "content-type": "text/html; charset=utf-8",
        "content-security-policy":
          "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
        "cache-control": "no-store",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
      });
      expect(headers.get("permissions-policy")).toMatch(/camera=\(\)/);
    },
  );

  it("links to a stylesheet with a versioned name, which is cached and revalidated by its ETag", async () => {
    const [, address = ""] =
      /href="(\/assets\/pages\.css[^"]*)"/.exec((await createWeb(base).get("/sign-in")).html) ?? [];
    const style = await fetch(base + address);
    expect(style.headers.get("content-type")).toBe("text/css; charset=utf-8");
    expect(style.headers.get("cache-control")).toBe("public, max-age=86400");
    const tag = style.headers.get("etag") ?? "";
    expect(tag).toMatch(/^"[\w-]{16}-gzip"$/);
    expect(address).toContain(tag.slice(1, 17));
    // Without this Cache-Control, `fetch` adds `no-cache`, which bypasses caches.
    const headers = { "if-none-match": tag, "cache-control": "max-age=0" };
    const again = await fetch(base + address, { headers });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    expect(await style.text()).not.toMatch(/@import|https?:\/\/(?!www\.w3\.org)/);
  });
});

it.each(["/docs/api", "/nothing/here", "/account"])(
  "does not ask a person who is signed in to sign in: %s",
  async (path) => {
    const person = testService.person();
    await person.signIn();
    const headers = { cookie: person.web.cookie(), accept: "text/html" };
    const html = await (await fetch(base + path, { headers })).text();
    const [nav = ""] = /<nav aria-label="Pages">.*?<\/nav>/s.exec(html) ?? [];
    expect(nav).toContain('<a href="/account"');
    expect(nav).not.toContain("Sign in");
  },
);

describe("an error on a page", () => {
  it.each([
    ["PUT", "/sign-in", "GET, HEAD, POST"],
    ["GET", "/sign-out", "POST"],
    ["GET", "/claim/confirm", "POST"],
    ["GET", "/account/keys/x/revoke", "POST"],
    ["DELETE", "/account", "GET, HEAD"],
    ["POST", "/assets/pages.css", "GET, HEAD"],
    ["PUT", "/contact", "GET, HEAD, POST"],
    ["POST", "/operator", "GET, HEAD"],
  ])("is shown as a page: %s %s", async (method, path, allow) => {
    const answer = await fetch(base + path, { method });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, allow]);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(headingOf(await answer.text())).toBe("This page cannot do that");
  });

  it.each([
    ["/sign-in", `email=a&${"x".repeat(8 * 1024)}`, "x-www-form-urlencoded", 413],
    ["/sign-in", "a=1&".repeat(21), "x-www-form-urlencoded", 413],
    ["/contact", `message=${"x".repeat(64 * 1024)}`, "x-www-form-urlencoded", 413],
    ["/sign-in", "{}", "json", 415],
  ])("is shown for a form of %s that is too large or no form", async (path, body, type, status) => {
    const headers = { "content-type": `application/${type}` };
    const answer = await post(path, body, headers);
    const heading = status === 413 ? "This form is too large" : "This form cannot be read";
    expect([answer.status, headingOf(await answer.text())]).toEqual([status, heading]);
  });

  it("has status 400 and no stack trace for a compressed form", async () => {
    const web = createWeb(base);
    const { action, fields } = (await web.get("/sign-in")).form("/sign-in");
    const form = new URLSearchParams(fields as [string, string][]);
    form.set("email", "a@b.example");
    const headers = { cookie: web.cookie(action), "content-encoding": "gzip" };
    const answer = await post("/sign-in", gzipSync(String(form)), headers);
    expect(answer.status).toBe(400);
    expect(await answer.text()).not.toMatch(/Error:|stack|node_modules/);
  });

  it("has status 400 for a form whose fields are repeated or have unexpected names", async () => {
    const person = testService.person();
    const page = await person.web.get("/sign-in");
    const form = page.form("/sign-in");
    for (const name of ["email[x]", "email[]", "__proto__", "constructor"]) {
      const { status } = await person.web.submit(form, { email: undefined, [name]: "a@b.example" });
      expect(status, name).toBe(400);
    }
    const twice = await person.web.submit(form, { email: ["a@b.example", "c@d.example"] });
    expect(twice.status).toBe(400);
  });

  it("is logged for the operator only when it is internal", async () => {
    const own = await startTestService();
    const person = own.person();
    await person.signIn();
    const { records } = own.service.state.store;
    const { list } = records;
    Object.assign(records, { list: () => Promise.reject(new Error("the secret of the store")) });
    const { status, html } = await person.web.get("/account");
    Object.assign(records, { list });
    expect([status, headingOf(html)]).toEqual([500, "Something went wrong here"]);
    expect(html).not.toContain("secret");
    const told = own.logged.filter((line) => line.includes('"msg":"a request failed"'));
    expect(told).toEqual([expect.stringContaining("the secret of the store")]);
  });
});

describe("a page at a host name other than that of the base URL", () => {
  const local = base.replace("127.0.0.1", "localhost");
  const ask = (target: string, headers: Readonly<Record<string, string>> = {}) =>
    sendRaw(base + target, { headers: { host: "evil.example", ...headers } });

  it.each([
    "/sign-in?return_to=%2Fclaim%3Fagent%3Dx",
    "/account",
    "/claim",
    "/oauth/interaction/x",
  ])("redirects to the canonical host name: %s", async (target) => {
    const { status, headers, body } = await ask(target);
    expect([status, headers.location]).toEqual([303, base + target]);
    expect(headers["cache-control"]).toBe("no-store");
    expect(JSON.stringify([headers, body])).not.toContain("evil.example");
  });

  it("redirects a browser from localhost to the base URL, where the person can sign in", async () => {
    const person = testService.person();
    const { leavesFor } = await createWeb(local).get(`${local}/account`);
    expect(leavesFor?.href).toBe(`${base}/account`);
    const page = await person.web.get(leavesFor ?? "");
    const account = await person.signIn(page);
    expect(account.url.href).toBe(`${base}/account`);
  });

  it("uses only the path and query of a request target that contains another host", async () => {
    const { hostname, port } = new URL(base);
    const said = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write(
          "GET http://evil.example/claim?agent=x HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        ),
      );
      text(socket).then(resolve);
    });
    expect(said).toMatch(/^HTTP\/1.1 303 /);
    expect(said).toContain(`\r\nlocation: ${base}/claim?agent=x\r\n`);
    expect(said).not.toContain("evil");
  });

  it("is served behind a proxy that rewrites Host", async () => {
    const [cookie = ""] = (await ask("/sign-in")).headers["set-cookie"] ?? [];
    expect(cookie).toMatch(/^market-signal-sent=1; Max-Age=10; Path=\/; HttpOnly; SameSite=Lax$/);
    const again = await ask("/sign-in", { cookie: cookie.split(";")[0] ?? "" });
    expect([again.status, headingOf(again.body)]).toEqual([200, "Sign in"]);
  });

  it("uses the forwarded host of a trusted proxy", async () => {
    const own = await startTestService({ BASE_URL: "https://signals.example", TRUST_PROXY: "1" });
    const statusFor = async (headers: Readonly<Record<string, string>>) =>
      (await sendRaw(`${own.base}/sign-in`, { headers })).status;
    expect(await statusFor({ host: "Signals.Example:443" })).toBe(200);
    const rewritten = { host: "127.0.0.1:3000", "x-forwarded-host": "signals.example" };
    expect(await statusFor(rewritten)).toBe(200);
    expect(await statusFor({ host: "127.0.0.1:3000" })).toBe(303);
  });

  it("rejects forms, and links to the canonical host", async () => {
    const web = createWeb(base);
    const { fields } = (await web.get("/sign-in")).form("/sign-in");
    const body = String(new URLSearchParams(fields as [string, string][]));
    const answer = await post("/sign-in", body, { cookie: web.cookie(), origin: local });
    expect(answer.status).toBe(403);
    expect(textOf(await answer.text())).toContain(`under ${base}, and send`);
  });
});

describe("the CSRF check of a form", () => {
  it("rejects a form without a token, and advises opening the page again", async () => {
    const answer = await post("/sign-in", "email=a%40b.example");
    const html = await answer.text();
    expect([answer.status, headingOf(html)]).toEqual([403, "Open the page again"]);
    expect(textOf(html)).toContain(
      `Open the page again under ${base}, and send the form from there.`,
    );
  });

  it("accepts a form with a token from an old browser that sends neither Origin nor Sec-Fetch-Site", async () => {
    const web = createWeb(base);
    const { action, fields } = (await web.get("/sign-in")).form("/sign-in");
    const body = new URLSearchParams([...fields, ["email", "a@b.example"]] as [string, string][]);
    body.delete("email");
    body.set("email", "a@b.example");
    const answer = await post("/sign-in", String(body), { cookie: web.cookie(action) });
    expect(answer.status).toBe(303);
  });
});

const strict = await startTestService({
  RATE_LIMITS: "mailbox-codes=1/1/100000 code-mails=3/100000/1000000",
});

describe("a rate limit on a page", () => {
  const ask = async (email: string) => {
    const web = createWeb(strict.base);
    const page = await web.get("/sign-in");
    return web.submit(page.form("/sign-in"), { email });
  };

  it("shows a page with the time to retry", async () => {
    expect((await ask("one@example.com")).status).toBe(200);
    const refused = await ask("one@example.com");
    expect([refused.status, headingOf(refused.html)]).toEqual([429, "Too many requests"]);
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(890);
    expect(seconds).toBeLessThanOrEqual(900);
    expect(textOf(refused.html)).toMatch(
      /Try again after 21 November 2026, 05:1[56] UTC, in 15 minutes\./,
    );
  });

  it("counts IP addresses and email addresses separately, and nothing that is refused", async () => {
    expect((await ask("two@example.com")).status).toBe(200);
    expect((await ask("three@example.com")).status).toBe(200);
    const refused = await ask("four@example.com");
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(3590);
  });
});
