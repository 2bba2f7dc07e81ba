// @module-tag full

import type { BrowserContextOptions, Page } from "playwright-core";
import { beforeEach, describe, expect, it } from "vitest";
import {
  readApplications,
  readInquiries,
} from "../../src/principals/applications/intake-records.ts";
import { startBrowser } from "../support/browser.ts";
import { accessibilityFaults, photograph } from "../support/look.ts";
import { startTestService } from "../support/test-service.ts";

const testService = await startTestService();
/** A service that takes two submissions of an address. */
const strict = await startTestService({ RATE_LIMITS: "submissions=2/100000/1000000" });
const { base } = testService;
const { records } = testService.service.state.store;
const browser = await startBrowser();

beforeEach(() => {
  testService.clock.now = new Date();
  strict.clock.now = new Date();
});

/** Console errors of the browser, and its requests to other origins. */
const complaints: string[] = [];

/** The console message for a page with status 400 or 429, which is expected. */
const REFUSAL = /^Failed to load resource: the server responded with a status of 4(?:00|29)/;

async function openPage(options: BrowserContextOptions = {}): Promise<Page> {
  const page = await (await browser.newContext(options)).newPage();
  page.on("console", (message) => {
    if (!REFUSAL.test(message.text())) complaints.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error.message}`));
  page.on("request", (request) => {
    const isOwn = [base, strict.base].some((origin) => request.url().startsWith(`${origin}/`));
    if (!/^data:/.test(request.url()) && !isOwn) {
      complaints.push(`${page.url()} asks ${request.url()}`);
    }
  });
  return page;
}

/**
 * Checks the current page at the width of the narrowest phone (WCAG 2.2, 1.4.10), a common phone
 * and a desktop, in both color schemes.
 */
async function expectGood(page: Page, name: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [320, 390, 1280]) {
      await page.setViewportSize({ width, height: 844 });
      const found = `${name}, ${width} pixels, ${colorScheme}`;
      const wide = await page.evaluate("document.documentElement.scrollWidth");
      expect(wide, found).toBeLessThanOrEqual(width);
      await photograph(page, `${name}-${width}-${colorScheme}`);
      expect(await accessibilityFaults(page), found).toEqual([]);
    }
  }
}

const focusedId = (page: Page) => page.evaluate("document.activeElement.id");

describe("a person in a browser", () => {
  it("writes a message, corrects it, and sees when the limit is reached", async () => {
    const page = await openPage();
    await page.goto(`${strict.base}/contact`);
    await expectGood(page, "contact");
    await page.getByLabel("Your email address").focus();
    await page.keyboard.type("ada@host.example");
    // Typing a tab leaves the field, but pasted text can contain a tab.
    await page.getByLabel("Your message").fill("First line\nwith a\ttab");
    await page.getByRole("button", { name: "Send message" }).press("Enter");
    await page.getByRole("alert").waitFor();
    await expectGood(page, "contact-wrong");
    await page.getByRole("link", { name: /^The message must have no control/ }).press("Enter");
    expect(await focusedId(page)).toBe("message");
    const message = page.getByLabel("Your message");
    expect(await message.inputValue()).toBe("First line\nwith a\ttab");
    await message.fill("\nFirst line\n<3 & more");
    await page.getByRole("button", { name: "Send message" }).click();
    await page.getByRole("heading", { name: "Your message was recorded" }).waitFor();
    await expectGood(page, "contact-sent");
    const reference = await page.locator("code").innerText();
    expect(await readInquiries(strict.service.state.store.records)).toMatchObject([
      { reference, email: "ada@host.example", message: "First line\n<3 & more" },
    ]);

    for (const heading of ["Your message was recorded", "Too many requests"]) {
      await page.goto(`${strict.base}/contact`);
      await page.getByLabel("Your email address").fill("ada@host.example");
      await page.getByLabel("Your message").fill("Again");
      await page.getByRole("button", { name: "Send message" }).click();
      await page.getByRole("heading", { name: heading }).waitFor();
    }
    await expectGood(page, "contact-limit");
    expect(await readInquiries(strict.service.state.store.records)).toHaveLength(2);
  });

  it("applies for early access, and gets a token that the API accepts", async () => {
    const page = await openPage();
    await page.goto(`${base}/apply`);
    await expectGood(page, "apply");
    await page.getByLabel("Your name").fill("<Ada>");
    await page.getByLabel("Your email address").fill("ada@host.example");
    await page.getByLabel("A fund or another institution").check();
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByRole("alert").waitFor();
    await expectGood(page, "apply-wrong");
    expect(await page.getByLabel("A fund or another institution").isChecked()).toBe(true);
    await page.getByLabel("Your name").fill("Ada & Söhne");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByRole("heading", { name: "Your seat is reserved" }).waitFor();
    await expectGood(page, "apply-seat");
    const headers = { "x-api-key": await page.locator(".secret code").innerText() };
    expect((await fetch(`${base}/api/signals?limit=1`, { headers })).status).toBe(200);
    expect(await readApplications(records)).toMatchObject([
      { name: "Ada & Söhne", email: "ada@host.example", focus: "fund" },
    ]);
  });

  it("sees no browser errors, and loads nothing from other origins", () => {
    expect(complaints).toEqual([]);
  });
});
