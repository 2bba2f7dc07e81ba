import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AxeResults } from "axe-core";
import type { BrowserContextOptions, Page } from "playwright-core";
import { beforeEach, describe, expect, it } from "vitest";
import { newToken } from "../support/agent.ts";
import { startBrowser } from "../support/browser.ts";
import { registerPublic } from "../support/person.ts";
import { startTown } from "../support/town.ts";
import { verifies } from "../support/verifies.ts";

const town = await startTown();
const { base } = town;
const browser = await startBrowser();
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core"), "utf8");

/** oidc-provider tells the time by the clock of the machine. */
beforeEach(() => {
  town.clock.now = new Date();
});

/** A page, with what the browser complained about and whom else it asked. */
interface Watched {
  readonly page: Page;
  readonly complaints: readonly string[];
}

async function openReference(options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== base && protocol !== "data:") complaints.push(`asked ${request.url()}`);
  });
  await page.goto(`${base}/docs/api`);
  return { page, complaints };
}

const operation = (page: Page, id: string) => page.locator(`[id="operations-${id}"]`);

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
  await window.getByLabel("Your e-mail address").fill(email);
  await window.getByRole("button", { name: "Send me a code" }).click();
  const field = window.getByLabel("Code from the operator");
  await field.waitFor();
  await field.fill((await town.codesTo(email)).at(-1) ?? "");
  await window.getByRole("button", { name: "Sign in" }).click();
  await window.getByRole("button", { name: "Allow what is ticked" }).click();
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

async function photograph(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** Rules that the markup of Swagger UI 5.35 itself breaks; no setting or style of ours changes it. */
const thirdParty: Readonly<Record<string, string>> = {
  "nested-interactive": "the link to an operation stands in the button that unfolds it",
  "select-name": "lists of servers, values, media types and examples have no label",
  "scrollable-region-focusable": "long examples scroll without being in the order of focus",
};

/** Faults that are serious, with their elements. */
async function seriousFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe);
  const { violations } = (await page.evaluate("axe.run()")) as AxeResults;
  return violations.flatMap(({ id, impact, nodes }) => {
    const isSerious = impact === "serious" || impact === "critical";
    if (!isSerious || Object.hasOwn(thirdParty, id)) return [];
    return nodes.map(({ html }) => `${id}: ${html}`);
  });
}

describe("the API reference in a browser", () => {
  verifies(
    "4.10/reference",
    "can be read on a phone and a desktop, by day and by night",
    async () => {
      const { page, complaints } = await openReference();
      await unfold(page, "Market-get_signal");
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        for (const width of widths) {
          await page.setViewportSize({ width, height: 844 });
          const wide = await page.evaluate("document.documentElement.scrollWidth");
          expect(wide, `${width} pixels, ${colorScheme}`).toBeLessThanOrEqual(width);
          await photograph(page, `reference-${width}-${colorScheme}`);
        }
        expect(await seriousFaults(page), colorScheme).toEqual([]);
      }
      expect(complaints).toEqual([]);
    },
  );

  it("tries a call with a token", async () => {
    const { page, complaints } = await openReference();
    await authorize(page, "bearer (http", await newToken(base));
    expect(await tried(page, "Market-get_signal")).toContain('"symbol": "ALDER.SIM"');
    expect(complaints).toEqual([]);
  });

  it("lets a person sign in for an application of theirs, and calls for them", async () => {
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

  it("leads to the Markdown without JavaScript", async () => {
    const { page } = await openReference({ javaScriptEnabled: false });
    await page.getByRole("link", { name: "The reference in short" }).click();
    expect(await page.innerText("body")).toContain("# Market Signal: API reference");
  });
});
