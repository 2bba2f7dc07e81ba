// @module-tag full

import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { beforeEach, describe, expect, it } from "vitest";
import { newToken } from "../support/agent.ts";
import { startBrowser } from "../support/browser.ts";
import { accessibilityFaults, photograph } from "../support/look.ts";
import { registerPublic } from "../support/person.ts";
import { startTestService } from "../support/test-service.ts";
import { verifies } from "../support/verifies.ts";

const testService = await startTestService();
const { base } = testService;
const browser = await startBrowser();

/** oidc-provider tells the time by the clock of the machine. */
beforeEach(() => {
  testService.clock.now = new Date();
});

/** A page, with what the browser complained about and whom else it asked. */
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

const operation = (page: Page, id: string) => page.locator(`[id="operations-${id}"]`);

/** For what moves. */
const PATIENT = { timeout: 60_000 };

/** How far below the upper edge of the window something stands, in CSS pixels. */
const topOf = (part: Locator): Promise<number> =>
  part.evaluate((element) => element.getBoundingClientRect().top);

/** Opens what is to be seen of an operation. */
async function unfold(page: Page, id: string) {
  const block = operation(page, id);
  await block.locator(".opblock-summary-control").click();
  await block.locator(".responses-wrapper").waitFor();
  return block;
}

/** Says the credential that later requests are sent with. */
async function authorize(page: Page, scheme: string, token: string): Promise<void> {
  await page.locator(".auth-wrapper .authorize").click();
  const dialog = page.locator(".dialog-ux");
  const form = dialog.locator("form").filter({ hasText: scheme });
  await form.getByRole("textbox").fill(token);
  await form.getByRole("button", { name: "Apply credentials" }).click();
  await dialog.locator(".close-modal").click();
}

/** Signs in at the window that was opened, and allows what is asked for. */
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

/** Sends the request of an operation as it stands there. @returns What is shown of the answer. */
async function tried(page: Page, id: string): Promise<string> {
  const block = await unfold(page, id);
  await block.locator(".try-out__btn").click();
  await block.locator(".execute").click();
  const answer = block.locator(".live-responses-table");
  await answer.locator(".response-col_status").filter({ hasText: "200" }).waitFor();
  return answer.innerText();
}

/** Widths in CSS pixels: a phone and a desktop. */
const widths = [390, 1280];

const seriousFaults = (page: Page) => accessibilityFaults(page, ["serious", "critical"]);

/** Looks at the page as it is, by day and by night. */
async function expectGood(page: Page, name: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await settled(page, colorScheme);
    for (const width of widths) {
      await page.setViewportSize({ width, height: 844 });
      const wide = await page.evaluate("document.documentElement.scrollWidth");
      expect(wide, `${width} pixels, ${colorScheme}`).toBeLessThanOrEqual(width);
      await photograph(page, `${name}-${width}-${colorScheme}`);
    }
    expect(await seriousFaults(page), colorScheme).toEqual([]);
  }
}

/** Waits until the colors are those of a scheme. */
async function settled(page: Page, colorScheme: "light" | "dark"): Promise<void> {
  const root = colorScheme === "dark" ? "html.dark-mode" : "html:not(.dark-mode)";
  await page.locator(root).waitFor({ state: "attached" });
  await page.evaluate(
    "Promise.allSettled(document.getAnimations().map(({ finished }) => finished))",
  );
}

describe("the API reference in a browser", () => {
  verifies(
    "4.10/reference",
    "is readable on a phone and a desktop, in light and dark mode",
    async () => {
      const { page, complaints } = await openReference();
      await unfold(page, "Market-get_signal");
      expect(await page.getByRole("main").count()).toBe(1);
      await expectGood(page, "reference");
      expect(complaints).toEqual([]);
    },
  );

  it("stays usable in the authorization dialog, and after a call", async () => {
    const { page, complaints } = await openReference();
    const token = await newToken(base);
    await page.locator(".auth-wrapper .authorize").click();
    await expectGood(page, "reference-dialog");
    await page
      .locator(".dialog-ux")
      .getByRole("button", { name: "Close", exact: true })
      .first()
      .click();
    await authorize(page, "bearer (http", token);
    await tried(page, "Market-get_signal");
    await (await unfold(page, "Alerts-register_alert")).locator(".try-out__btn").click();
    await page.getByLabel("Request body").waitFor();
    await expectGood(page, "reference-tried");
    expect(complaints).toEqual([]);
  });

  it("opens at an operation linked from the home page", async () => {
    const { page, complaints } = await openReference({}, "/");
    await page.getByRole("link", { name: "work every number out again" }).click();
    const open = page.locator(".opblock.is-open");
    await open.waitFor();
    expect(await open.getAttribute("id")).toBe("operations-Market-get_factors");
    await expect.poll(() => topOf(open), PATIENT).toBeLessThan(200);
    expect(complaints).toEqual([]);
  });

  it("opens at a group, and reopens at the section that was open", async () => {
    const { page, complaints } = await openReference({}, "/docs/api#/Alerts");
    await expect
      .poll(() => topOf(page.locator("#operations-tag-Alerts")), PATIENT)
      .toBeLessThan(200);
    await unfold(page, "Alerts-list_alerts");
    expect(page.url()).toBe(`${base}/docs/api#/Alerts/list_alerts`);
    await page.reload();
    await page.locator('[id="operations-Alerts-list_alerts"].is-open').waitFor();
    expect(complaints).toEqual([]);
  });

  it("sends calls from a browser at another host name", async () => {
    const elsewhere = base.replace("127.0.0.1", "localhost");
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${elsewhere}/docs/api#/Service`);
    expect(page.url()).toBe(`${base}/docs/api#/Service`);
    expect(await tried(page, "Service-get_health")).toContain('"simulated": true');
  });

  it("sends a call with a token", async () => {
    const { page, complaints } = await openReference();
    await authorize(page, "bearer (http", await newToken(base));
    expect(await tried(page, "Market-get_signal")).toContain('"symbol": "ALDER.SIM"');
    expect(complaints).toEqual([]);
  });

  it("lets a person authorize an application, and sends calls for them", async () => {
    const { client_id } = await registerPublic(base, {
      redirect_uris: [`${base}/docs/api/oauth2-redirect.html`],
    });
    const { page, complaints } = await openReference();
    await page.locator(".auth-wrapper .authorize").click();
    const form = page
      .locator(".dialog-ux .auth-container")
      .filter({ hasText: "authorizationCode" });
    await form.getByLabel("client_id").fill(client_id);
    await form.getByText("select all").click();
    const opening = page.waitForEvent("popup");
    await form.getByRole("button", { name: "Apply given OAuth2 credentials" }).click();
    await consent(await opening);
    await form.getByRole("button", { name: "Remove authorization" }).waitFor();
    await page.locator(".dialog-ux .close-modal").click();
    expect(await tried(page, "Alerts-list_alerts")).toContain('"items": []');
    expect(complaints).toEqual([]);
  });

  it("lists the operations and links to the Markdown without JavaScript", async () => {
    const { page } = await openReference({ javaScriptEnabled: false });
    await page.getByText("GET /api/signals", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Markdown reference" }).click();
    expect(await page.innerText("body")).toContain(
      "# Market Signal and Verification Service: API reference",
    );
  });
});
