// @module-tag full

import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { getWith, newToken } from "../support/agent.ts";
import { startBrowser } from "../support/browser.ts";
import { expectAccessiblePage, openMonitoredPage } from "../support/page-look.ts";
import { startTestService } from "../support/test-service.ts";

const browser = await startBrowser();

/** Length of a sandbox session in milliseconds, and the number of sessions in a month. */
const SESSION_MS = 60_000;
const MONTH_SESSIONS = 31;

const testService = await startTestService();
const { base, clock, advanceTo } = testService;
/** The minute in which the past month began, in the format of a datetime-local input. */
const monthAgo = clock.now.toISOString().slice(0, "2026-11-21T05:00".length);
for (let session = 0; session < MONTH_SESSIONS; session++) {
  await advanceTo(new Date(clock.now.getTime() + SESSION_MS));
}

const token = await newToken(base);

async function ask<T>(path: string): Promise<T> {
  return (await (await getWith(token, base + path)).json()) as T;
}

const open = (path: string, options = {}) => openMonitoredPage(browser, base + path, options);

const INSTRUMENT = "/market/ALDER.SIM";
const PROOF = `${INSTRUMENT}/proof`;
const PAGES = ["/", INSTRUMENT, PROOF, "/track-record"];

interface Item {
  readonly symbol: string;
  readonly scoreSmoothed: number;
}

/** Returns the symbols in the first rows of the market table. */
const firstRows = async (page: Page, count: number): Promise<readonly string[]> =>
  (
    await page.getByRole("table").first().getByRole("rowheader").getByRole("link").allInnerTexts()
  ).slice(0, count);

/**
 * Main-thread CPU time of a page since it was opened, in milliseconds. CPU time excludes other work
 * of the machine.
 */
async function workOf(path: string): Promise<number> {
  const page = await (await browser.newContext()).newPage();
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.goto(base + path);
  await page.evaluate(
    `new Promise((resolve) => new PerformanceObserver(resolve)
      .observe({ type: "largest-contentful-paint", buffered: true }))`,
  );
  const { metrics } = await session.send("Performance.getMetrics");
  await page.context().close();
  return 1_000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN);
}

describe("the pages of the market", () => {
  it.each(PAGES)(
    "%s needs less than a second of main-thread work before its largest contentful paint",
    async (path) => {
      const work = await workOf(path);
      expect(work).toBeGreaterThan(1);
      expect(work).toBeLessThan(1_000);
    },
  );

  it.each(PAGES)("%s has at most 40 kB of uncompressed script", async (path) => {
    const html = await (await fetch(base + path)).text();
    const scripts = [...html.matchAll(/<script defer src="([^"]*)"/g)].map(([, src = ""]) => src);
    let bytes = 0;
    for (const src of scripts) {
      bytes += (await (await fetch(base + src)).arrayBuffer()).byteLength;
    }
    expect(scripts.length).toBeLessThanOrEqual(1);
    expect(bytes).toBeLessThan(40_000);
  });

  it.each([
    ["proof", PROOF],
    ["track-record", "/track-record"],
  ])("%s is readable from 320 to 1920 pixels, in light and dark mode", async (name, path) => {
    const { page, complaints } = await open(path);
    for (const summary of await page.locator("main summary").all()) await summary.click();
    await expectAccessiblePage(page, name);
    expect(complaints).toEqual([]);
  });

  it("the comparison of five instruments is readable from 320 to 1920 pixels", async () => {
    const compared = "ALDER.SIM,BRIKT.SIM,DATUL.SIM,DRIMO-USD.SIM,CIRRO.SIM";
    const { page, complaints } = await open(`/?q=nothing+else&compare=${compared}`);
    await page.getByRole("heading", { name: "Compared" }).waitFor();
    await expectAccessiblePage(page, "compared", ["light"]);
    expect(complaints).toEqual([]);
  });

  it.each(PAGES)("%s is complete without JavaScript", async (path) => {
    const { page, complaints } = await open(path, { javaScriptEnabled: false });
    await page.getByRole("heading", { level: 1 }).waitFor();
    // Keyboard hints are only for pages with the script.
    expect(await page.locator(".scripted:visible").count()).toBe(0);
    if (path === INSTRUMENT) {
      expect(await page.locator("[role=img] .panel:visible").count()).toBeGreaterThanOrEqual(9);
    }
    if (path === PROOF) {
      await page.getByText("npx --no-install market-signal verify ./ALDER.SIM-").waitFor();
    }
    expect(complaints).toEqual([]);
  });
});

describe("the crosshair of a chart", () => {
  it("shows the figures of the point that a finger taps", async () => {
    const { page } = await open(INSTRUMENT, {
      hasTouch: true,
      isMobile: true,
      viewport: { width: 390, height: 844 },
    });
    const chart = page.getByRole("img", { name: /^Score of ALDER.SIM/ });
    await chart.tap({ position: { x: 100, y: 100 } });
    await page.getByText(/Signal (LONG|SHORT|WAIT) · Score [\d.]+ · Smoothed/).waitFor();
  });
});

describe("the search field of the market page", () => {
  it("filters while a person types, keeps the filter in the URL, and keeps it after a reload", async () => {
    const { page, complaints } = await open("/");
    await page.getByLabel("Symbol, name or sector").pressSequentially("techno");
    const { items } = await ask<{ items: readonly Item[] }>("/api/signals?sector=Technology");
    await page.getByText(`${items.length} shown`).waitFor();
    expect(new URL(page.url()).search).toBe("?q=techno");
    expect(await page.evaluate("document.activeElement.id")).toBe("q");
    await page.getByRole("link", { name: /^\d+ WAIT$/ }).click();
    await page.waitForURL(/signal=WAIT/);
    expect(await page.getByLabel("Symbol, name or sector").inputValue()).toBe("techno");
    expect(complaints).toEqual([]);
  });
});

describe("a person who uses the pages for the first time", () => {
  it.each([true, false])(
    "finds the three strongest signals of a sector with full coverage (JavaScript: %s)",
    async (javaScriptEnabled) => {
      const { page } = await open("/", { javaScriptEnabled });
      await page.getByLabel("Sector", { exact: true }).selectOption("Technology");
      await page.getByLabel("Coverage").selectOption("Full");
      await page.getByLabel("Order").selectOption("Strongest (smoothed)");
      if (!javaScriptEnabled) await page.getByRole("button", { name: "Show" }).click();
      const { items } = await ask<{ items: readonly Item[] }>(
        "/api/signals?detail=full&sector=Technology&minCoverage=1",
      );
      await page.getByText(`${items.length} shown`).waitFor();
      const strongest = items.toSorted(
        (a, b) => Math.abs(b.scoreSmoothed - 50) - Math.abs(a.scoreSmoothed - 50),
      );
      await expect
        .poll(() => firstRows(page, 3))
        .toEqual(strongest.slice(0, 3).map(({ symbol }) => symbol));
    },
  );

  it("can see why a signal changed", async () => {
    const { page } = await open("/");
    await page.getByRole("columnheader", { name: "Since" }).getByRole("link").click();
    await page.waitForURL(/sort=since/);
    const [symbol = ""] = await firstRows(page, 1);
    await page.getByRole("link", { name: symbol, exact: true }).click();
    await page.getByRole("heading", { name: "What changed" }).waitFor();
    const text = await page.getByRole("region", { name: "What changed" }).innerText();
    expect(text).toMatch(/In the last \d (?:sessions|days) the score went from [\d.]+ to [\d.]+/);
    expect(text).toMatch(/(?:Momentum|Valuation|Social|Dark pool) moved it most/);
    const newest = page.getByRole("region", { name: "What changed" }).getByRole("row").nth(1);
    expect(await newest.innerText()).toMatch(
      /(?:LONG|SHORT|WAIT) ›\s+(?:LONG|SHORT|WAIT).*(?:begins|ends|fell|stopped).*[+−]\d/s,
    );
  });

  it("can prove that a signal from a month ago was not altered, and can prove it again at a later visit", async () => {
    const { page, complaints } = await open(INSTRUMENT);
    await page.getByLabel("An earlier signal, as it stood on").fill(monthAgo);
    await page.getByRole("button", { name: "Verify that signal" }).click();
    await page.getByText(/^Proved in this browser: entry \d+/).waitFor();
    await page.getByText("This browser sees this log for the first time").waitFor();
    await page.getByText("answers the same").waitFor();
    await page.reload();
    await page
      .getByText(/The log has the \d+ entries that this browser saw on .*, unchanged\./)
      .waitFor();
    expect(complaints).toEqual([]);
  });

  it("can follow a link from a change of the signal to its proof", async () => {
    const { page } = await open("/?sort=since");
    const [symbol = ""] = await firstRows(page, 1);
    await page.getByRole("link", { name: symbol, exact: true }).click();
    // The log entry follows the session's close after a moment, and the page polls every five seconds.
    await page
      .getByRole("link", { name: /^Verify the signal of / })
      .first()
      .click({ timeout: 60_000 });
    await page.getByText(/^Proved in this browser: entry \d+/).waitFor();
  });
});

describe("the verification of a proof in the browser", () => {
  /** Opens a proof page whose HTML an attacker has altered. */
  async function openAltered(alter: (html: string) => string): Promise<Page> {
    const page = await (await browser.newContext()).newPage();
    await page.route(`${base}${PROOF}*`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: alter(await response.text()) });
    });
    await page.goto(base + PROOF);
    return page;
  }

  it.each<[string, (html: string) => string, RegExp]>([
    [
      "a changed score",
      (html) => html.replace(/&quot;scoreRaw&quot;:[\d.]+/, "&quot;scoreRaw&quot;:99.99"),
      /^Not proved: the entry leads to another root/,
    ],
    [
      "a changed index in the log",
      (html) => html.replace(/<code id="entry-index">\d+/, '<code id="entry-index">7'),
      /^Not proved: the (?:entry|proof)/,
    ],
    [
      "a missing hash",
      (html) => html.replace(/<ol id="path"><li>.*?<\/li>/s, '<ol id="path">'),
      /^Not proved: the (?:entry|proof)/,
    ],
    [
      "a signature of another checkpoint",
      (html) => html.replace(/(<code id="checkpoint">[^\n]*\n)(\d+)/, "$10$2"),
      /^Not proved: no key of the log signed it/,
    ],
  ])("fails with %s", async (_, alter, why) => {
    const page = await openAltered(alter);
    await page.getByText(why).waitFor();
  });

  it("fails if the log was rewritten since this browser last saw it", async () => {
    const { page } = await open(PROOF);
    await page.getByText(/^Proved in this browser/).waitFor();
    await page.evaluate(`{
      const seen = JSON.parse(localStorage.getItem("signal-log"));
      localStorage.setItem("signal-log", JSON.stringify({ ...seen, size: seen.size - 1 }));
    }`);
    await page.reload();
    await page.getByText(/^Not proved: the log was rewritten since this browser saw it/).waitFor();
  });
});
