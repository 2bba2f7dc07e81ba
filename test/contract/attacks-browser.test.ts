// @module-tag full

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { claimLink, register, registerClaimable, tokenOf } from "../support/agent.ts";
import { startBrowser } from "../support/browser.ts";
import { authorizationRequest, type Person, registerPublic } from "../support/person.ts";
import { storeName } from "../support/stored-name.ts";
import { sharedTestService } from "../support/test-service.ts";
import type { WebPage } from "../support/web.ts";

const testService = await sharedTestService();
const { base } = testService;
const browser = await startBrowser();

/** Opens a browser context with the session of a signed-in person. */
async function browserOf(person: Person, options: object = {}): Promise<BrowserContext> {
  await person.signIn();
  const context = await browser.newContext(options);
  const cookies = person.web
    .cookie()
    .split("; ")
    .map((pair) => {
      const [name = "", value = ""] = pair.split("=");
      return { name, value, url: base, httpOnly: true, sameSite: "Lax" as const };
    });
  await context.addCookies(cookies);
  return context;
}

/** Records dialogs, page errors and requests to other origins, which injected code would cause. */
function watched(page: Page): readonly string[] {
  const seen: string[] = [];
  page.on("dialog", (dialog) => {
    seen.push(`dialog: ${dialog.message()}`);
    return dialog.dismiss();
  });
  page.on("pageerror", (error) => seen.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(base) && !request.url().startsWith("data:")) {
      seen.push(`request: ${request.url()}`);
    }
  });
  return seen;
}

/** Expects that what a page shows has run nothing, and has added no element that loads or leads. */
async function expectInert(page: Page, what: string): Promise<void> {
  expect(await page.evaluate("window.pwned"), what).toBeUndefined();
  const active =
    'script:not([src^="/assets/"]), img, iframe, object, embed, base, meta[http-equiv=refresh], [onfocus], [onerror], [onload], [href^="javascript:"], [action^="//"]';
  expect(await page.locator(active).count(), what).toBe(0);
}

/** Claims an agent by its code, and answers for every page on the way. */
async function claimPages({ web }: Person, name: string): Promise<readonly WebPage[]> {
  const agent = await registerClaimable(base);
  await storeName(testService, agent, name);
  const asked = await web.get(`/claim?agent=${agent.client_id}`);
  const given = { agent_id: agent.client_id, code: agent.claim.code };
  const shown = await web.submit(asked.form("/claim"), given);
  return [shown, await web.submit(shown.form("/claim/confirm"))];
}

/** Opens an agent's link, and approves the claim. */
async function linkPages({ web }: Person, name: string): Promise<readonly WebPage[]> {
  const agent = await register(base);
  await storeName(testService, agent, name);
  const page = await web.get(await claimLink(base, { agent, token: await tokenOf(base, agent) }));
  return [page, await web.submit(page.form("/claim/approve"))];
}

/** Opens the consent page of an application. */
async function consentPage({ web }: Person, name: string): Promise<WebPage> {
  const { client_id } = await registerPublic(base);
  await storeName(testService, { client_id }, name);
  const page = await web.get(authorizationRequest(base, { client_id }).url);
  await web.submit(page.form(page.url.pathname), { decision: "allow" });
  return page;
}

describe("an untrusted name on a page", () => {
  it.each([
    "<script>window.pwned = 1</script>",
    '"><img src=x onerror="window.pwned = 1">',
    "'><svg onload='window.pwned = 1'>",
    "</title></dd></textarea><script>window.pwned = 1</script>",
    "<!--<img src=x onerror=window.pwned=1>-->",
    '" autofocus onfocus="window.pwned = 1" x="',
    "<iframe srcdoc='<script>parent.pwned = 1</script>'>",
    "<base href=//evil.example>",
    "<form action=//evil.example><button>Go on</button>",
    '<meta http-equiv="refresh" content="0;url=//evil.example">',
    "&lt;script&gt;",
    "javascript:window.pwned=1",
  ])("is text on every page, even without a content security policy: %j", async (name) => {
    const person = testService.person();
    const context = await browserOf(person, { bypassCSP: true });
    const [review, claimed] = await claimPages(person, name);
    const [link, approved] = await linkPages(person, name);
    const consent = await consentPage(person, name);
    const keys = (await person.web.get("/account")).form("/account/keys");
    const key = await person.web.submit(keys, { name, scope: "signals:read" });
    const account = await person.web.get("/account");
    const page = await context.newPage();
    const seen = watched(page);
    await page.goto(`${base}/sign-in`);
    for (const shown of [review, link, consent, account, claimed, approved, key]) {
      await page.setContent(shown?.html ?? "");
      await expectInert(page, `${shown?.url}`);
      const isNamed = [review, link, consent, account].includes(shown);
      if (isNamed) expect(await page.locator("main").innerText(), `${shown?.url}`).toContain(name);
    }
    expect(seen).toEqual([]);
    await context.close();
  });
});

/** Serves a page of another site. Sites differ by host name, not by port. */
async function elsewhere(html: string): Promise<string> {
  const server = createServer((_req, res) => {
    res.setHeader("content-type", "text/html").end(`<!doctype html>${html}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  afterAll(() => server.close());
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

const keysOf = async (person: Person) =>
  (await person.web.get("/account")).html.match(/\/account\/keys\/[^/]+\/revoke/g) ?? [];

describe("a page on another site", () => {
  it("cannot show a page of the service in a frame", async () => {
    const person = testService.person();
    const context = await browserOf(person);
    const frames = ["/account", "/claim", "/sign-in"].map(
      (path) => `<iframe src="${base}${path}"></iframe>`,
    );
    const page = await context.newPage();
    await page.goto(await elsewhere(frames.join("")));
    const inside = page.frames().filter((frame) => frame !== page.mainFrame());
    expect(inside).toHaveLength(3);
    for (const frame of inside) await expect.poll(() => frame.url()).toMatch(/^chrome-error:/);
    await context.close();
  });

  it("cannot submit a form on a person's behalf", async () => {
    const person = testService.person();
    const context = await browserOf(person);
    const { fields } = (await person.web.get("/account")).form("/account/keys");
    const stolen = fields.find(([name]) => name === "form_token")?.[1];
    const form = `<form method="post" action="${base}/account/keys">
      <input name="form_token" value="${stolen}"><input name="name" value="x">
      <input name="scope" value="signals:read"><button id="send">Send</button></form>`;
    const page = await context.newPage();
    await page.goto(await elsewhere(form));
    const [answer] = await Promise.all([
      page.waitForResponse(`${base}/account/keys`),
      page.click("#send"),
    ]);
    expect(answer.status()).toBe(403);
    expect(await keysOf(person)).toEqual([]);
    await context.close();
  });
});
