// @module-tag full

import { describe, expect, it } from "vitest";
import { OperatorAccess } from "../../src/auth/operator-access.ts";
import { createKeyringVault } from "../../src/keys/keyring-vault.ts";
import { startBrowser } from "../support/browser.ts";
import { accessibilityFaults, photograph } from "../support/look.ts";
import { startTestService } from "../support/test-service.ts";

const { base, clock, service } = await startTestService();
const browser = await startBrowser();

/** Printable width of A4 in landscape with margins of 10 mm, in CSS pixels. */
const PAPER_WIDTH = 1_046;

describe("a printed page", () => {
  it.each([
    ["market", "/", "thead"],
    ["instrument", "/market/ALDER.SIM", "svg.plot, figure svg"],
    ["track-record", "/track-record", "table, .empty, section"],
  ])("%s has dark ink and its chart or table, but no navigation", async (name, path, content) => {
    const page = await browser.newPage({
      colorScheme: "dark",
      viewport: { width: PAPER_WIDTH, height: 1_000 },
    });
    await page.goto(base + path);
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    expect(await page.locator(content).first().isVisible()).toBe(true);
    for (const control of await page.locator("nav, form, button").all()) {
      expect(await control.isVisible()).toBe(false);
    }
    const ink = await page.evaluate("getComputedStyle(document.body).color");
    expect(ink).toBe("rgb(27, 31, 30)");
    const wide = await page.evaluate("document.documentElement.scrollWidth");
    expect(wide).toBeLessThanOrEqual(PAPER_WIDTH);
    await photograph(page, `print-${name}`);
    await page.close();
  });
});

describe("the operator's page", () => {
  it("is readable from 320 to 1280 pixels, in light and dark mode, without violations that axe can find", async () => {
    const vault = createKeyringVault(service.state.keyring);
    const link = new OperatorAccess(vault, () => clock.now.getTime()).newLink();
    const page = await (await browser.newContext()).newPage();
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    await page.goto(`${base}/operator?link=${link}`);
    expect(page.url()).toBe(`${base}/operator`);
    await page.getByRole("heading", { name: "What is missing" }).waitFor();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of [320, 390, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        const wide = await page.evaluate("document.documentElement.scrollWidth");
        expect(wide, `${width} ${colorScheme}`).toBeLessThanOrEqual(width);
        await photograph(page, `operator-${width}-${colorScheme}`);
      }
      expect(await accessibilityFaults(page), colorScheme).toEqual([]);
    }
    expect(complaints).toEqual([]);
  });
});
