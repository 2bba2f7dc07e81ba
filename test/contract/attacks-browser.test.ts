// @module-tag full

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { postJson, register, tokenOf } from "../support/agent.ts";
import { startBrowser } from "../support/browser.ts";
import { authorizationRequest, type Person, registerPublic } from "../support/person.ts";
import { storeName } from "../support/stored-name.ts";
import { sharedTestService } from "../support/test-service.ts";

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

const names = [
  "<script>window.pwned = 1</script>",
  '"><img src=x onerror="window.pwned = 1">',
  "'><svg onload='window.pwned = 1'>",
  "</title></dd></textarea><script>window.pwned = 1</script>",
  '" autofocus onfocus="window.pwned = 1" x="',
  "<iframe srcdoc='<script>parent.pwned = 1</script>'>",
  "<base href=//evil.example>",
  "<form action=//evil.example><button>Go on</button>",
  '<meta http-equiv="refresh" content="0;url=//evil.example">',
];

describe("an untrusted name on a page", () => {
  it.each(names)(
    "runs no script, even without a content security policy: %j",
    async (client_name) => {
      const person = testService.person();
      const context = await browserOf(person, { bypassCSP: true });
      const claimed = await register(base);
      await storeName(testService, claimed, client_name);
      const { claim } = claimed as typeof claimed & { claim: { code: string } };
      await person.claim(claimed.client_id, claim.code);
      const { client_id } = await registerPublic(base);
      await storeName(testService, { client_id }, client_name);
      await person.tokens({ client: { ...claimed, client_id } });
      const agent = await register(base);
      await storeName(testService, agent, client_name);
      const started = await postJson(
        `${base}/oauth/claim/start`,
        { agent_id: agent.client_id },
        { authorization: `Bearer ${await tokenOf(base, agent)}` },
      );
      const { verification_uri } = (await started.json()) as { verification_uri: string };
      const another = await registerPublic(base);
      await storeName(testService, another, client_name);

      const page = await context.newPage();
      const seen = watched(page);
      for (const address of [
        `${base}/account`,
        verification_uri,
        authorizationRequest(base, { client_id: another.client_id }).url.href,
      ]) {
        await page.goto(address);
        expect(await page.locator("body").innerText(), address).toContain(client_name);
        expect(await page.evaluate("window.pwned"), address).toBeUndefined();
        expect(await page.locator("script, iframe, base, meta[http-equiv=refresh]").count()).toBe(
          0,
        );
      }
      expect(seen).toEqual([]);
      await context.close();
    },
  );
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
    for (const frame of inside) expect(await frame.locator("form").count()).toBe(0);
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

  it("cannot read the pages or API answers of a signed-in person", async () => {
    const person = testService.person();
    const context = await browserOf(person);
    const page = await context.newPage();
    await page.goto(await elsewhere("<p>Hello</p>"));
    for (const path of ["/account", "/api/signals?limit=1", "/claim"]) {
      const read = `fetch("${base}${path}", { credentials: "include" }).then((r) => r.text())`;
      await expect(page.evaluate(read), path).rejects.toThrow(/Failed to fetch/);
    }
    await context.close();
  });
});
