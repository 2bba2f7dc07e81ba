// @module-tag full

import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { beforeEach, describe, expect, it } from "vitest";
import { newToken } from "../support/agent.ts";
import { startBrowser } from "../support/browser.ts";
import { accessibilityFaults, photograph } from "../support/look.ts";
import { startTestService } from "../support/test-service.ts";
import { verifies } from "../support/verifies.ts";

const testService = await startTestService();
const { base } = testService;
const browser = await startBrowser();

/** oidc-provider uses the system clock, so the test clock follows it. */
beforeEach(() => {
  testService.clock.now = new Date();
});

/** A browser page, with its console errors and its requests to other origins. */
interface Watched {
  readonly page: Page;
  readonly complaints: readonly string[];
}

async function openReference(
  options: BrowserContextOptions = {},
  path = "/docs/api",
): Promise<Watched> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== base && protocol !== "data:") complaints.push(`asked ${request.url()}`);
  });
  await page.goto(base + path);
  return { page, complaints };
}

/** Timeout in milliseconds for results that depend on another window. */
const PATIENT = { timeout: 60_000 };

const operation = (page: Page, id: string): Locator => page.locator(`article[id="${id}"]`);

/** Distance of an element from the top edge of the viewport, in CSS pixels. */
const topOf = (part: Locator): Promise<number> =>
  part.evaluate((element) => element.getBoundingClientRect().top);

/** Signs in in the opened window, and consents to the request. */
async function consent(window: Page): Promise<void> {
  const email = "reader@example.com";
  await window.getByLabel("Your email address").fill(email);
  await window.getByRole("button", { name: "Send me a code" }).click();
  const field = window.getByLabel("Code from the operator");
  await field.waitFor();
  await field.fill((await testService.codesTo(email)).at(-1) ?? "");
  await window.getByRole("button", { name: "Sign in" }).click();
  await window.getByRole("button", { name: "Allow selected access" }).click();
}

/** Sends the displayed request of an operation. @returns The displayed answer. */
async function tried(page: Page, id: string, status = "200 in"): Promise<string> {
  const block = operation(page, id);
  await block.getByRole("button", { name: /^Send/ }).click();
  const answer = block.locator(".try output");
  await answer.getByText(status).waitFor();
  return answer.innerText();
}

const widthOf = (page: Page) => page.evaluate("document.documentElement.scrollWidth");

/** Opens all collapsed parts, and forces the layout of parts outside the viewport. */
const layOut = (page: Page) =>
  page.evaluate(`
    for (const one of document.querySelectorAll("details")) { one.removeAttribute("name"); one.open = true; }
    for (const one of document.querySelectorAll("article")) one.style.contentVisibility = "visible";
  `);

/**
 * One operation of each kind. One template renders all operations, and axe would take minutes for
 * all.
 */
const KINDS = [
  "register_client",
  "get_signal",
  "get_log_tile",
  "register_alert",
  "events",
  "call_mcp",
];

/** Removes all operations except one of each kind from the page. */
const onlyKinds = (page: Page) =>
  page.evaluate(`
    for (const one of document.querySelectorAll("article")) {
      if (!${JSON.stringify(KINDS)}.includes(one.id)) one.remove();
    }
  `);

describe("the API reference in a browser", () => {
  verifies(
    "4.10/reference",
    "is readable from 320 to 1920 pixels, in light and dark mode, with all parts expanded",
    async () => {
      const { page, complaints } = await openReference();
      for (const width of [320, 390, 1280, 1920]) {
        await page.setViewportSize({ width, height: 844 });
        expect(await widthOf(page), `${width} pixels`).toBeLessThanOrEqual(width);
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme });
          await photograph(page, `reference-${width}-${colorScheme}`, { isWhole: false });
        }
      }
      await layOut(page);
      await page.setViewportSize({ width: 320, height: 844 });
      expect(await widthOf(page)).toBeLessThanOrEqual(320);
      expect(complaints).toEqual([]);
    },
  );

  it.each(["light", "dark"] as const)(
    "has no accessibility violations that axe can find: %s",
    async (colorScheme) => {
      const { page } = await openReference({ colorScheme });
      await onlyKinds(page);
      expect(await page.locator("article").count()).toBe(KINDS.length);
      await layOut(page);
      expect(await accessibilityFaults(page)).toEqual([]);
    },
  );

  it("is complete without JavaScript, with the code samples in every language", async () => {
    const { page } = await openReference({ javaScriptEnabled: false });
    const signal = operation(page, "get_signal");
    await signal.getByText("curl -sS").waitFor();
    await signal.getByText("Python", { exact: true }).click();
    expect(await signal.getByText("import urllib.request").isVisible()).toBe(true);
    // The code samples of an operation share a `name`, so that only one is open at a time.
    expect(await signal.getByText("curl -sS").isVisible()).toBe(false);
    expect(await signal.getByRole("button").count()).toBe(0);
    await page.getByRole("link", { name: "Markdown", exact: true }).click();
    expect(await page.innerText("body")).toContain(
      "# Market Signal and Verification Service: API reference",
    );
  });

  it("opens at the operation to which a link from the track record or a link in an older format refers", async () => {
    const { page, complaints } = await openReference({}, "/track-record");
    await page.getByRole("link", { name: "work every number out again" }).click();
    await expect.poll(() => topOf(operation(page, "get_factors"))).toBeLessThan(200);
    for (const [hash, id] of [
      ["#/Market/get_factors", "get_factors"],
      ["#/Alerts", "alerts"],
    ]) {
      await page.goto(`${base}/docs/api.md`);
      await page.goto(`${base}/docs/api${hash}`);
      await expect.poll(() => page.url()).toBe(`${base}/docs/api#${id}`);
    }
    expect(complaints).toEqual([]);
  });

  it("redirects to the canonical host name, from which it can call the API", async () => {
    const elsewhere = base.replace("127.0.0.1", "localhost");
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${elsewhere}/docs/api#get_health`);
    expect(page.url()).toBe(`${base}/docs/api#get_health`);
    expect(await tried(page, "get_health")).toContain('"simulated": true');
  });

  it("calls the API with a token, and shows the error of a call without one", async () => {
    const { page } = await openReference();
    expect(await tried(page, "get_signal", "401 in")).toContain('"next": "Get a token at');
    await page.getByLabel("Token or API key").fill(await newToken(base));
    await page.getByRole("button", { name: "Use it" }).click();
    expect(await tried(page, "get_signal")).toContain('"symbol": "ALDER.SIM"');
    const request = operation(page, "get_signal").getByLabel("Request");
    await request.fill("/api/signals?symbol=BYTEN.SIM");
    expect(await tried(page, "get_signal")).toContain('"symbol": "BYTEN.SIM"');
    // The page sends the credential only to this service.
    await request.fill("https://elsewhere.example/api/signals");
    expect(await tried(page, "get_signal", "The request failed")).toContain("not of this service");
  });

  it("calls the API for a person who signs in and consents", async () => {
    const { page } = await openReference();
    const opening = page.waitForEvent("popup");
    await page.getByRole("button", { name: "Sign in and allow this page" }).click();
    await consent(await opening);
    const state = page.locator("#credential-state");
    await expect.poll(() => state.innerText(), PATIENT).toContain("requests are sent as you");
    expect(await tried(page, "list_watchlists")).toContain('"watchlists": []');
  });

  it("copies the code sample in the selected language", async () => {
    const { page } = await openReference({ permissions: ["clipboard-read", "clipboard-write"] });
    await operation(page, "get_health").getByLabel("Copy the code in curl").click();
    await page.getByText("Copied.", { exact: true }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(
      `curl -sS '${base}/api/health'`,
    );
  });
});
