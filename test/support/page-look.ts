import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { accessibilityFaults, photograph } from "./look.ts";

/**
 * A page, with the browser's complaints: console messages, errors, and requests to other origins.
 */
interface Watched {
  readonly page: Page;
  readonly complaints: readonly string[];
}

/**
 * Opens a URL in a new browser context and records the browser's complaints. The context closes
 * after the test, because the browser keeps open pages up to date.
 */
export async function openMonitoredPage(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  const { origin: own } = new URL(address);
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== own && protocol !== "data:") complaints.push(`asked ${request.url()}`);
  });
  await page.goto(address);
  return { page, complaints };
}

/**
 * Viewport widths in CSS pixels: the narrowest phone (WCAG 2.2, 1.4.10), a common phone, a tablet,
 * a desktop and a large screen.
 */
const widths = [320, 390, 820, 1280, 1920];

/** Widths at which accessibility is checked, which takes long. */
const looked: readonly number[] = [390, 1280];

/**
 * Checks the page in its current state at every width and in the given color schemes: no horizontal
 * scrolling, and no accessibility faults.
 */
export async function expectAccessiblePage(
  page: Page,
  name: string,
  schemes: readonly ("light" | "dark")[] = ["light", "dark"],
): Promise<void> {
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    for (const width of widths) {
      await page.setViewportSize({ width, height: 844 });
      const found = `${name}, ${width} pixels, ${colorScheme}`;
      const wide = await page.evaluate("document.documentElement.scrollWidth");
      expect(wide, found).toBeLessThanOrEqual(width);
      await photograph(page, `${name}-${width}-${colorScheme}`);
      if (looked.includes(width)) expect(await accessibilityFaults(page), found).toEqual([]);
    }
  }
}

/**
 * Checks that every link and button of the page has enough contrast while the pointer is on it, in
 * both color schemes. Chromium shows all of them at once as if the pointer were on them.
 */
export async function expectContrastOnHover(page: Page): Promise<void> {
  const devTools = await page.context().newCDPSession(page);
  await devTools.send("DOM.enable");
  await devTools.send("CSS.enable");
  const { root } = await devTools.send("DOM.getDocument");
  const selector = "a, button, summary";
  const { nodeIds } = await devTools.send("DOM.querySelectorAll", {
    nodeId: root.nodeId,
    selector,
  });
  expect(nodeIds).not.toEqual([]);
  for (const nodeId of nodeIds) {
    await devTools.send("CSS.forcePseudoState", { nodeId, forcedPseudoClasses: ["hover"] });
  }
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await accessibilityFaults(page), `${page.url()}, ${colorScheme}`).toEqual([]);
  }
  await devTools.detach();
}
