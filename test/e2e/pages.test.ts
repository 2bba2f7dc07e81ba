// @module-tag full

import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { alerts } from "../../src/alerts/alert.ts";
import { claimLink, getWith, postJson, registerClaimable, tokenOf } from "../support/agent.ts";
import { bearer, makeAlert, writeEvents } from "../support/alert-events.ts";
import { archiveTestAttempt } from "../support/alert-service.ts";
import { startBrowser } from "../support/browser.ts";
import { createCertificate } from "../support/certificate.ts";
import { freePort } from "../support/free-port.ts";
import { accessibilityFaults, photograph } from "../support/look.ts";
import { startOpenIdProvider } from "../support/openid-provider.ts";
import { expectContrastOnHover } from "../support/page-look.ts";
import { authorizationRequest, registerPublic } from "../support/person.ts";
import { storeName } from "../support/stored-name.ts";
import { startTestService } from "../support/test-service.ts";

const testService = await startTestService({}, { start: new Date() });
const { base } = testService;
const browser = await startBrowser();

/** oidc-provider uses the system clock, so the test clock follows it. */
beforeEach(() => {
  testService.clock.now = new Date();
});

const sites: Server[] = [];
afterAll(() => {
  for (const site of sites) site.close();
});

/** Starts another site on its own address. */
async function startSite(host: string, html = "<h1>The application</h1>"): Promise<URL> {
  return listen(createServer(answering(html)), { host, scheme: "http" });
}

/** Starts an application site with a TLS certificate. */
async function startSecureSite(): Promise<URL> {
  const certificate = createCertificate("localhost");
  const site = createSecureServer(certificate, answering("<h1>The application</h1>"));
  return listen(site, { host: "localhost", scheme: "https" });
}

const answering =
  (html: string): RequestListener =>
  (_req, res) =>
    res.setHeader("content-type", "text/html").end(html);

async function listen(site: Server, { host, scheme }: { host: string; scheme: string }) {
  await new Promise<void>((resolve) => site.listen(0, host, resolve));
  sites.push(site);
  const { port } = site.address() as AddressInfo;
  return new URL(`${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}/`);
}

/** Console errors of the browser. */
const complaints: string[] = [];

/** The console message for a page with status 400, which is expected. */
const REFUSAL = /^Failed to load resource: the server responded with a status of 400/;

async function openPage(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.on("console", (message) => {
    if (!REFUSAL.test(message.text())) complaints.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error.message}`));
  return page;
}

const codeOf = async (email: string) => (await testService.codesTo(email)).at(-1) ?? "";

let people = 0;
const newAddress = () => `browser-${++people}@example.com`;

/**
 * Signs in on the open sign-in page, and waits until the page that follows has loaded; the click
 * may return earlier.
 */
async function signIn(page: Page, email = newAddress()): Promise<string> {
  await page.getByLabel("Your email address").fill(email);
  await page.getByRole("button", { name: "Send me a code" }).click();
  await page.getByLabel("Code from the operator").fill(await codeOf(email));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(({ pathname }) => !pathname.startsWith("/sign-in"));
  return email;
}

const newAgent = (client_name = "Night shift") => registerClaimable(base, { client_name });

async function typeClaim(page: Page, code: string): Promise<void> {
  await page.getByLabel("Claim code").fill(code);
  await page.getByRole("button", { name: "Review the agent" }).click();
}

/** Widths in CSS pixels: the narrowest phone (WCAG 2.2, 1.4.10), a common phone and a desktop. */
const widths = [320, 390, 1280];

/**
 * Checks the current page at every width and in both color schemes, also while the pointer is on a
 * link or button.
 */
async function expectGood(page: Page, name: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of widths) {
      await page.setViewportSize({ width, height: 844 });
      const found = `${name}, ${width} pixels, ${colorScheme}`;
      const wide = await page.evaluate("document.documentElement.scrollWidth");
      expect(wide, found).toBeLessThanOrEqual(width);
      await photograph(page, `${name}-${width}-${colorScheme}`);
    }
    expect(await accessibilityFaults(page), `${name}, ${colorScheme}`).toEqual([]);
  }
  await expectContrastOnHover(page);
}

describe("a person in a browser", () => {
  it("signs in, creates an API key and signs out, using only the keyboard", async () => {
    const page = await openPage();
    const email = newAddress();
    await page.goto(`${base}/account`);
    await expectGood(page, "sign-in");
    await page.getByLabel("Your email address").focus();
    await page.keyboard.type(email);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/sign-in\/code/);
    await expectGood(page, "code");
    await page.keyboard.type("00000000");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await expectGood(page, "code-wrong");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.keyboard.type(await codeOf(email));
    await page.keyboard.press("Enter");
    await page.waitForURL(`${base}/account`);
    await expectGood(page, "account-new");

    await page.getByLabel("What is it for?").focus();
    await page.keyboard.type("notebook");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Your new key" }).waitFor();
    await expectGood(page, "key");
    const key = await page.locator(".secret code").innerText();
    const headers = { "x-api-key": key };
    expect((await fetch(`${base}/api/signals?limit=1`, { headers })).status).toBe(200);

    await page.goto(`${base}/account`);
    await page.getByText("Revoke this key").focus();
    await page.keyboard.press("Enter");
    await expectGood(page, "account-key-open");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("Revoke this key").waitFor({ state: "detached" });
    expect((await fetch(`${base}/api/signals?limit=1`, { headers })).status).toBe(401);
    await page.getByRole("button", { name: "Sign out" }).press("Enter");
    await page.waitForURL(`${base}/sign-in`);
  });

  it("claims an agent with its code and removes it again", async () => {
    const page = await openPage();
    const agent = await newAgent();
    await page.goto(`${base}/claim?agent=${agent.client_id}`);
    await signIn(page);
    await expectGood(page, "claim");
    await typeClaim(page, "00000000");
    await page.getByRole("alert").waitFor();
    await expectGood(page, "claim-wrong");
    await typeClaim(page, agent.claim.code);
    await page.getByText("calls itself “Night shift”").waitFor();
    await expectGood(page, "claim-look");
    await page.getByLabel(/Register alert webhook endpoints/).uncheck();
    await page.getByRole("button", { name: "Claim this agent" }).click();
    await page.getByRole("heading", { name: "You have claimed this agent" }).waitFor();
    await expectGood(page, "claim-done");

    const token = await tokenOf(base, agent);
    await page.getByRole("link", { name: "Go to your account" }).click();
    await page.getByText("Remove this agent").waitFor();
    await expectGood(page, "account-agent");
    await page.getByText("Remove this agent").click();
    await page.getByRole("button", { name: "Remove agent and end its tokens" }).click();
    await page.getByText("An agent that you claim may do more").waitFor();
    expect((await getWith(token, `${base}/api/signals?limit=1`)).status).toBe(401);
  });

  it("opens an agent's link to claim it, and gives the displayed code to the agent", async () => {
    const page = await openPage();
    const agent = await newAgent("Day shift");
    const token = await tokenOf(base, agent);
    const headers = { authorization: `Bearer ${token}` };
    const body = { agent_id: agent.client_id };
    const link = await claimLink(base, { agent, token });
    await page.goto(link);
    await signIn(page);
    await expectGood(page, "link");
    await page.getByRole("button", { name: "Agree and show me the code" }).click();
    await page.getByRole("heading", { name: "Give this code to your agent" }).waitFor();
    await expectGood(page, "link-code");
    const claim_code = await page.locator(".secret code").innerText();
    const done = await postJson(`${base}/oauth/claim`, { ...body, claim_code }, headers);
    expect(await done.json()).toMatchObject({ status: "claimed" });
    await page.goto(link);
    await page.getByRole("heading", { name: "This link is no longer valid" }).waitFor();
    await expectGood(page, "link-over");
  });

  it.each(["127.0.0.1", "::1"])(
    "consents to an application at %s, and returns to it",
    async (host) => {
      const redirect_uri = new URL("callback", await startSite(host)).href;
      const page = await openPage();
      const changes = { client_name: "Desk", redirect_uris: [redirect_uri] };
      const { client_id } = await registerPublic(base, changes);
      await page.goto(authorizationRequest(base, { client_id, redirect_uri }).url.href);
      await signIn(page);
      await page.getByText("calls itself “Desk”").waitFor();
      await expectGood(page, "consent");
      await page.getByLabel(/Register alert webhook endpoints/).uncheck();
      await page.getByRole("button", { name: "Allow selected access" }).click();
      await page.waitForURL(/callback\?code=/);
      expect(page.url()).toMatch(redirect_uri);
      await page.goto(`${base}/account`);
      await page.getByText("“Desk”").waitFor();
      await expectGood(page, "account-application");
    },
  );

  it.each([
    ["Allow selected access", "code"],
    ["Refuse", "error"],
  ])(
    "is redirected by the application to another site after a click on %j",
    async (button, parameter) => {
      const elsewhere = await startSite("localhost", "<h1>Another site of the application</h1>");
      const callback = createServer(({ url = "" }, res) =>
        res.writeHead(302, { location: new URL(url, elsewhere).href }).end(),
      );
      const site = await listen(callback, { host: "127.0.0.1", scheme: "http" });
      const redirect_uri = new URL("callback", site).href;
      const page = await openPage();
      const { client_id } = await registerPublic(base, { redirect_uris: [redirect_uri] });
      await page.goto(authorizationRequest(base, { client_id, redirect_uri }).url.href);
      await signIn(page);
      await page.getByRole("button", { name: button }).click();
      // The person never approved this redirect URI, so a refusal only offers a link to it.
      if (button === "Refuse") await page.getByRole("link", { name: "Tell it" }).click();
      await page.getByRole("heading", { name: "Another site of the application" }).waitFor();
      const { origin, searchParams } = new URL(page.url());
      expect([origin, searchParams.has(parameter)]).toEqual([elsewhere.origin, true]);
    },
  );

  it("sees the end of a long host name in the redirect URI", async () => {
    const label = "login".repeat(12);
    const host = `accounts.google.com.${label}.${label}.${label}.evil.example`;
    const redirect_uri = `https://${host}/callback`;
    const page = await openPage();
    const changes = { redirect_uris: [redirect_uri], application_type: "web" };
    const { client_id } = await registerPublic(base, changes);
    const scope = "openid signals:read";
    await page.goto(authorizationRequest(base, { client_id, redirect_uri, scope }).url.href);
    await signIn(page);
    await page.getByText(host, { exact: true }).waitFor();
    await expectGood(page, "consent-long-host");
  });

  it("returns to a known application directly from the sign-in", async () => {
    const redirect_uri = new URL("callback", await startSecureSite()).href;
    const page = await openPage({ ignoreHTTPSErrors: true });
    const changes = { redirect_uris: [redirect_uri], application_type: "web" };
    const { client_id } = await registerPublic(base, changes);
    const asked = { client_id, redirect_uri, resource: base };
    testService.clock.now = new Date(Date.now() - 60_000);
    await page.goto(authorizationRequest(base, asked).url.href);
    const email = await signIn(page);
    await page.getByRole("button", { name: "Allow selected access" }).click();
    await page.waitForURL(/callback\?code=/);

    testService.clock.now = new Date(Date.now() + 1_000);
    await page.goto(authorizationRequest(base, { ...asked, prompt: "login" }).url.href);
    await signIn(page, email);
    await page.waitForURL(/callback\?code=/);
    expect(page.url()).toMatch(redirect_uri);
  });

  it("signs in with an external provider", async () => {
    const port = await freePort();
    const own = await startTestService({
      OIDC_ISSUER: `http://127.0.0.1:${port}`,
      OIDC_CLIENT_ID: "market-signal",
      OIDC_CLIENT_SECRET: "secret of the client",
    });
    const redirectUri = `${own.base}/sign-in/callback`;
    await startOpenIdProvider({ redirectUri, port: Number(port) });
    const page = await openPage();
    await page.goto(`${own.base}/sign-in`);
    await expectGood(page, "sign-in-provider");
    await page.getByRole("button", { name: `Sign in with 127.0.0.1:${port}` }).click();
    await page.waitForURL(`${own.base}/account`);
    await page.getByText("ada@people.example").waitFor();
  });

  it("creates, changes and follows an alert, with and without JavaScript", async () => {
    for (const javaScriptEnabled of [true, false]) {
      const look = (page: Page, name: string) =>
        javaScriptEnabled ? expectGood(page, name) : Promise.resolve();
      const page = await openPage({ javaScriptEnabled });
      await page.goto(`${base}/account/alerts/new?symbols=ALDER.SIM`);
      await signIn(page);
      await look(page, "alert-new");
      await page.getByLabel("Symbols or names").fill("br");
      await page.getByLabel("To a webhook of mine").check();
      await page.getByLabel("Address").fill("https://hooks.example.com/in");
      await page.getByRole("button", { name: "Make the alert" }).click();
      await page.getByText("Choose what you mean by").waitFor();
      await look(page, "alert-wrong");
      await page.getByLabel("BRIKT.SIM").check();
      await page.getByRole("button", { name: "Make the alert" }).click();
      await page.getByRole("heading", { name: "Your alert is made" }).waitFor();
      expect(await page.getByRole("button", { name: "Copy the secret" }).isVisible()).toBe(
        javaScriptEnabled,
      );
      await look(page, "alert-secret");
      await page.getByRole("link", { name: "I have saved it" }).click();
      await page.getByRole("link", { name: "Change", exact: true }).click();
      await page.getByLabel("Name", { exact: true }).fill("Semis");
      await look(page, "alert-edit");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("heading", { name: "Semis" }).waitFor();
      const { records } = testService.service.state.store;
      const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
      const owner = (await records.get(alerts, id))?.value.owner;
      if (owner === undefined) throw new Error("the alert is not kept");
      const at = Date.now();
      const data = { symbol: "ALDER.SIM", signal: "LONG", score: 71, reason: "direction" };
      const ats = [at - 90_000, at - 60_000];
      await writeEvents(testService, { alertId: id, owner }, ats, {
        ...data,
        previousSignal: "WAIT",
      });
      const failed = { error: "http_status", status: 503, response: "busy" } as const;
      await archiveTestAttempt(testService.service.state.store, {
        alertId: id,
        eventId: "x",
        at,
        ...failed,
      });
      await page.getByRole("button", { name: "Pause" }).click();
      await page.getByText("Status").waitFor();
      await look(page, "alert");
      await page.getByRole("link", { name: "All your alerts" }).click();
      await page.getByRole("link", { name: "“Semis”" }).waitFor();
    }
  });

  it("creates an alert that is sent to a channel", async () => {
    const page = await openPage();
    await page.goto(`${base}/account`);
    const email = await signIn(page);
    const channels = page.getByRole("region", { name: "Your channels" });
    await channels.getByText("Email", { exact: true }).click();
    await channels.getByLabel("Name").first().fill("Inbox");
    await channels.getByLabel("Address").fill("not an address@");
    await channels.getByLabel("Address").evaluate((input) => input.setAttribute("type", "text"));
    await channels.getByRole("button", { name: "Add and send a code" }).first().click();
    await page.getByRole("alert").waitFor();
    const to = `inbox-${email}`;
    await channels.getByLabel("Address").fill(to);
    await channels.getByRole("button", { name: "Add and send a code" }).first().click();
    await channels.getByText("Waits for its code").waitFor();
    await expectGood(page, "channel-pending");
    await expect.poll(async () => (await testService.emailsTo(to)).length).toBe(1);
    const [text = ""] = await testService.emailsTo(to);
    await channels.getByLabel("Code").fill(/Your code: (\d{8})/.exec(text)?.[1] ?? "");
    await channels.getByRole("button", { name: "Verify" }).click();
    await channels.getByText("Active").waitFor();
    await channels.getByText("Quiet time and daily digest").click();
    await expectGood(page, "channel");
    await page.getByRole("link", { name: "Make an alert" }).click();
    await page.getByLabel("Symbols or names").fill("ALDER.SIM");
    expect(await page.getByLabel("Channel", { exact: true }).inputValue()).toBe("Inbox");
    await expectGood(page, "alert-channel");
    await page.getByRole("button", { name: "Make the alert" }).click();
    await page.getByText("Your channel Inbox").waitFor();
  });

  it("sees all alerts, and deletes one without JavaScript", async () => {
    const page = await openPage({ javaScriptEnabled: false });
    const agent = await newAgent();
    await page.goto(`${base}/claim?agent=${agent.client_id}`);
    await signIn(page);
    await typeClaim(page, agent.claim.code);
    await page.getByRole("button", { name: "Claim this agent" }).click();
    await page.getByRole("heading", { name: "You have claimed this agent" }).waitFor();
    const headers = bearer(await tokenOf(base, agent));
    const symbols = testService.service.market.instruments().map(({ symbol }) => symbol);
    const url = `https://${"long-name-of-a-host.".repeat(8)}example.com:8443/secret`;
    await makeAlert(testService, headers, {
      label: "Watch the harbour",
      symbols: symbols.slice(0, 3),
    });
    await makeAlert(testService, headers, {
      ...{ label: `<3 ${"W".repeat(90)}`, symbols, kinds: ["volatility"] },
      delivery: { type: "webhook", url },
    });
    await page.goto(`${base}/account`);
    expect(await page.getByText("/secret").count()).toBe(0);
    await photograph(page, "account-alerts-no-script");

    const card = page.getByRole("listitem").filter({ hasText: "Watch the harbour" });
    await card.getByText("Delete this alert").click();
    await card.getByRole("button", { name: "Delete alert for good" }).click();
    await page.getByText("Watch the harbour").waitFor({ state: "detached" });
    expect(await page.getByText("Delete this alert").count()).toBe(1);
    // axe is a script, so it needs a page with JavaScript enabled.
    const looked = await openPage();
    await looked.context().addCookies(await page.context().cookies());
    await looked.goto(`${base}/account`);
    await looked.getByText("Delete this alert").click();
    await expectGood(looked, "account-alerts");
  });

  it("can read a long name that another chose", async () => {
    const page = await openPage();
    const name = `<img src=x onerror=alert(1)> ${"W".repeat(70)}`;
    const agent = await newAgent("An agent");
    await storeName(testService, agent, name);
    await page.goto(`${base}/claim?agent=${agent.client_id}`);
    await signIn(page);
    await typeClaim(page, agent.claim.code);
    expect(await page.locator("bdi").first().innerText()).toBe(name);
    await expectGood(page, "claim-look-long");
  });

  it("gets no browser errors on any of these pages", () => {
    expect(complaints).toEqual([]);
  });
});
