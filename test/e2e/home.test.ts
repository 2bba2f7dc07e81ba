// @module-tag full

import type { BrowserContextOptions, Page, Response } from "playwright-core";
import { describe, expect, it } from "vitest";
import { getWith, newToken } from "../support/agent.ts";
import { startBrowser } from "../support/browser.ts";
import { plainLabels, pointsOf, positionsByAxis } from "../support/drawn.ts";
import { type HistoryRow, historyRows } from "../support/history.ts";
import { photograph } from "../support/look.ts";
import {
  expectAccessiblePage,
  expectContrastOnHover,
  openMonitoredPage,
} from "../support/page-look.ts";
import { isMissing, reducedMarketFolder } from "../support/real-market.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

const browser = await startBrowser();

/** Length of a session of the sandbox in milliseconds. */
const SESSION_MS = 60_000;

/** Interval of a page's polls in milliseconds; twice as long after a failed one. */
const POLL_MS = 5_000;

/** Timeout in milliseconds for changes that appear with the page's next poll. */
const PATIENT = { timeout: 60_000 };

const testService = await startTestService();
const { base } = testService;

/** Advances the clock by one session. */
const goOn = ({ clock, advanceTo }: TestService) =>
  advanceTo(new Date(clock.now.getTime() + SESSION_MS));

const open = (address: string, options: BrowserContextOptions = {}) =>
  openMonitoredPage(browser, address, options);

/** Opens a page whose clock the test moves. */
async function openWithClock(address: string) {
  const opened = await open(address);
  await opened.page.clock.install();
  await opened.page.reload();
  return opened;
}

interface Item {
  readonly symbol: string;
  readonly signal: string;
  readonly score: number | null;
  readonly scoreRaw: number;
  readonly scoreSmoothed: number;
  readonly asOf: string;
}

const token = await newToken(base);

async function ask<T>(path: string): Promise<T> {
  return (await (await getWith(token, base + path)).json()) as T;
}

/** Returns the displayed cells of the market table. */
const shown = (page: Page): Promise<readonly (readonly (string | null)[])[]> =>
  page
    .locator("table.market tbody tr")
    .evaluateAll((rows) =>
      rows.map((row) =>
        ["th a", ".direction", ".score data"].map(
          (part) => row.querySelector(part)?.textContent?.replace(" · thin", "").trim() ?? null,
        ),
      ),
    );

/** Returns the same cells from the API, read page by page; a missing score has no figure. */
async function answered(cursor = ""): Promise<readonly (readonly (string | null)[])[]> {
  const { items, nextCursor } = await ask<{
    readonly items: readonly Item[];
    readonly nextCursor: string | null;
  }>(`/api/signals?detail=full&limit=500${cursor}`);
  const rows = items.map(({ symbol, signal, score }) => [
    symbol,
    signal,
    score?.toString() ?? null,
  ]);
  return nextCursor === null ? rows : [...rows, ...(await answered(`&cursor=${nextCursor}`))];
}

/** Length of a year of sandbox sessions in milliseconds, which is as far back as the page goes. */
const YEAR_MS = 366 * SESSION_MS;

async function pastOf(symbol: string): Promise<readonly HistoryRow[]> {
  const { asOf } = await ask<Item>(`/api/signals?detail=full&symbol=${symbol}`);
  const from = new Date(Date.parse(asOf) - YEAR_MS).toISOString();
  return historyRows(ask, `/api/signals?symbol=${symbol}&from=${from}`);
}

/**
 * Returns a stock that never had a split, and its history. The page draws split-adjusted closes,
 * but the API returns closes as traded; the two are equal for such a stock. Its price axis has at
 * least two plain labels, which determine the scale; labels of the newest figures may hide others.
 */
async function unsplit() {
  const { items } = await ask<{ items: readonly Item[] }>("/api/signals?assetClass=stock");
  for (const { symbol } of items) {
    const past = await pastOf(symbol);
    const prices = past.map(({ price }) => price ?? Number.NaN);
    const isSplit = prices.some((price, at) => price < 0.6 * (prices[at - 1] ?? 0));
    if (isSplit) continue;
    const html = await (await fetch(`${base}/market/${symbol}`)).text();
    const [, panel = ""] = html.split('<div class="panel p-price">');
    const [axis = ""] = panel.split('<div class="panel');
    if (plainLabels(axis).length >= 2) return { symbol, past };
  }
  throw new Error("No stock is without a split and with two labels.");
}

/** Returns the displayed panel with the given CSS class, and its height in CSS pixels. */
async function panelOf(page: Page, name: string) {
  const panel = page.locator(`.panel.${name}`);
  const box = await panel.locator("> svg").first().boundingBox();
  return { html: await panel.innerHTML(), height: box?.height ?? 0 };
}

/** Expects each point of a line within one pixel of its expected height. */
function expectHeights(
  points: readonly { readonly y: number }[],
  expected: readonly number[],
  height: number,
): void {
  expect(points).toHaveLength(expected.length);
  const errors = points.map(({ y }, at) => Math.abs((y * height) / 1_000 - (expected[at] ?? 0)));
  expect(Math.max(...errors)).toBeLessThan(1);
}

/** Returns the cells of the history table: time, signal, score and smoothed score. */
const figures = (page: Page): Promise<readonly (readonly (string | null | undefined)[])[]> =>
  page
    .locator("#history-figures tbody tr")
    .evaluateAll((rows) =>
      rows.map((row) => [
        row.querySelector("time")?.getAttribute("datetime"),
        row.children[1]?.textContent,
        row.children[2]?.textContent,
        row.children[3]?.textContent,
      ]),
    );

describe("the home page in a browser", () => {
  it("is readable on a phone and a desktop, in light and dark mode", async () => {
    const { page, complaints } = await open(base);
    await expectAccessiblePage(page, "home");
    expect(complaints).toEqual([]);
  });

  it("is readable with its client section expanded, and when a search finds nothing", async () => {
    const { page, complaints } = await open(`${base}/?q=nothing+like+this`);
    await page.getByText("No instrument fits.").waitFor();
    await expectAccessiblePage(page, "home-empty", ["light"]);
    await page.getByText("curl", { exact: true }).click();
    await expectAccessiblePage(page, "home-curl", ["dark"]);
    expect(complaints).toEqual([]);
  });

  it("can be filtered and sorted, and leads to an instrument, by keyboard and without JavaScript", async () => {
    const { page, complaints } = await open(base, { javaScriptEnabled: false });
    await page.getByLabel("Symbol, name or sector").fill("aldermoor");
    await page.keyboard.press("Enter");
    await page.getByText("One instrument").waitFor();
    expect(await page.getByLabel("Symbol, name or sector").inputValue()).toBe("aldermoor");
    await page.getByRole("link", { name: "Clear" }).press("Enter");
    await page.getByLabel("Signal").selectOption("SHORT");
    await page.getByLabel("Order").selectOption("score");
    await page.getByRole("button", { name: "Show" }).press("Enter");
    await page.waitForURL(/signal=SHORT/);
    expect(await page.locator("td.direction").allInnerTexts()).not.toContain("LONG");
    await page.goto(base);
    await page.getByRole("link", { name: "ALDER.SIM", exact: true }).press("Enter");
    await page.getByRole("heading", { name: "ALDER.SIM" }).waitFor();
    await page.getByText("The same in figures").first().press("Enter");
    await page.getByText("sessions, newest first").first().waitFor();
    expect(await page.getByRole("button", { name: "Copy" }).count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it("is a table for assistive technology, even on a phone", async () => {
    const { page } = await open(base, { viewport: { width: 390, height: 844 } });
    const table = page.getByRole("table");
    expect(await table.getByRole("columnheader").count()).toBe(13);
    const row = table
      .getByRole("row")
      .filter({ has: page.getByRole("link", { name: "ALDER.SIM" }) });
    expect(await row.getByRole("rowheader").count()).toBe(1);
    expect(await row.getByRole("cell").count()).toBeGreaterThanOrEqual(6);
  });

  it("compares the chosen rows", async () => {
    const { page, complaints } = await open(base);
    const [[first] = [], [second] = []] = await shown(page);
    await page.getByLabel(`Compare ${first}`, { exact: true }).check();
    await page.getByLabel(`Compare ${second}`, { exact: true }).check();
    await page.getByRole("button", { name: "Compare the chosen" }).click();
    await page.getByRole("heading", { name: "Compared" }).waitFor();
    const compared = page.locator(".compare thead th a");
    expect(await compared.allInnerTexts()).toEqual([first, second]);
    expect(complaints).toEqual([]);
  });

  it("goes to its search by the key /, which is text inside the search", async () => {
    const { page, complaints } = await open(base);
    await page.keyboard.press("/");
    await page.keyboard.type("a/b");
    expect(await page.getByLabel("Symbol, name or sector").inputValue()).toBe("a/b");
    expect(complaints).toEqual([]);
  });

  it("copies a snippet to the clipboard, and confirms the copy", async () => {
    const { page, complaints } = await open(base, {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    await page.getByRole("button", { name: "Copy the address" }).click();
    await page.getByText("Copied.", { exact: true }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(`${base}/mcp`);
    await page.getByText("Cursor", { exact: true }).click();
    await page.getByRole("button", { name: "Copy the configuration of Cursor" }).click();
    const readText = async () => String(await page.evaluate("navigator.clipboard.readText()"));
    await expect.poll(readText).toContain("mcpServers");
    const copied = await readText();
    expect(JSON.parse(copied).mcpServers).toEqual({
      [Object.keys(JSON.parse(copied).mcpServers)[0] ?? ""]: { url: `${base}/mcp` },
    });
    expect(complaints).toEqual([]);
  });
});

/** The sizes of a first screen, and the number of instruments that it has to show. */
const FIRST_SCREENS = [
  { width: 1280, height: 800, least: 6 },
  { width: 390, height: 844, least: 3 },
];

/** Counts the rows of the market table that are wholly in the window, and not covered. */
const instrumentsInSight = async (page: Page): Promise<number> =>
  Number(
    await page.evaluate(`[...document.querySelectorAll("table.market tbody tr")].filter((row) => {
      const { top, bottom } = row.getBoundingClientRect();
      const { x, y } = row.querySelector("th a").getBoundingClientRect();
      const seen = document.elementFromPoint(x + 2, y + 2);
      return top >= 0 && bottom <= innerHeight && row.contains(seen);
    }).length`),
  );

describe("the first screen of the home page", () => {
  async function expectInstruments(address: string, name: string): Promise<void> {
    for (const colorScheme of ["light", "dark"] as const) {
      for (const { width, height, least } of FIRST_SCREENS) {
        const { page } = await open(address, { viewport: { width, height }, colorScheme });
        const found = `${name}, ${width} by ${height}, ${colorScheme}`;
        expect(await instrumentsInSight(page), found).toBeGreaterThanOrEqual(least);
        await photograph(page, `first-${name}-${width}-${colorScheme}`, { isWhole: false });
      }
    }
  }

  it("shows six instruments on a desktop and three on a phone", () =>
    expectInstruments(base, "sandbox"));

  it.skipIf(isMissing)("shows as many of a recorded market", async () => {
    const symbols = ["AAPL", "ABBV", "ABT", "BAC", "IBM", "INTC", "JNJ", "JPM", "KO", "XOM"];
    const folder = await reducedMarketFolder({ symbols });
    const recorded = await startTestService({
      MARKET: `files:${folder}`,
      AS_OF: "2015-06-30T21:00:00Z",
    });
    await expectInstruments(recorded.base, "recorded");
  });

  it("keeps the header of the table above the rows that scroll under it", async () => {
    const { page } = await open(base, { viewport: { width: 1280, height: 800 } });
    for (const past of [100, 113, 126, 139]) {
      const covered = await page.evaluate(`{
        document.querySelector("table.market").scrollIntoView();
        scrollBy(0, ${past});
        [...document.querySelectorAll("table.market thead th")].filter((cell) => {
          const { left, top, right, bottom } = cell.getBoundingClientRect();
          const [x, y] = [[left + 4, left + 20, (left + right) / 2], [top + 2, (top + bottom) / 2, bottom - 2]];
          return x.some((at) => y.some((height) => !cell.contains(document.elementFromPoint(at, height))));
        }).map((cell) => cell.textContent);
      }`);
      expect(covered, `${past} pixels past the top`).toEqual([]);
    }
  });
});

it("the header stays in place from page to page", async () => {
  for (const width of [390, 1280]) {
    const { page } = await open(base, { viewport: { width, height: 800 } });
    const places = new Set<string>();
    for (const path of ["/", "/market/ALDER.SIM", "/track-record", "/docs/api", "/sign-in", "/x"]) {
      await page.goto(base + path);
      const boxes = await page.locator(".top a").evaluateAll((links) =>
        // The last is the account, whose label says who is signed in.
        links.slice(0, -1).map((link) => link.getBoundingClientRect().toJSON()),
      );
      places.add(JSON.stringify(boxes));
    }
    expect([...places], `${width} pixels`).toHaveLength(1);
  }
});

describe("the page of an instrument in a browser", () => {
  it("is readable on a phone and a desktop, in light and dark mode", async () => {
    const { page, complaints } = await open(`${base}/market/ALDER.SIM`);
    await expectAccessiblePage(page, "instrument");
    expect(complaints).toEqual([]);
  });

  it("is readable with its factors expanded", async () => {
    const { page } = await open(`${base}/market/ALDER.SIM`);
    for (const summary of await page.locator("article summary").all()) await summary.click();
    await expectAccessiblePage(page, "instrument-factors", ["light"]);
  });

  it("is readable when feeds are missing, with its history expanded", async () => {
    const { items } = await ask<{ items: readonly Item[] }>("/api/signals?assetClass=crypto");
    const { page } = await open(`${base}/market/${items[0]?.symbol}`);
    await page.getByText("No feed.", { exact: true }).waitFor();
    await page.getByText("The same in figures").first().click();
    await expectAccessiblePage(page, "coin", ["dark"]);
  });

  it("draws every price and score of the API with pixel accuracy at every width, and has a table of the same data", async () => {
    const { symbol, past: history } = await unsplit();
    const { page } = await open(`${base}/market/${symbol}`);
    const prices = history.map(({ price }) => price ?? Number.NaN);
    // The smoothed score of a stock is a place among fewer than forty stocks.
    expect(new Set(history.map(({ scoreSmoothed }) => scoreSmoothed)).size).toBeGreaterThan(20);
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 844 });
      const price = await panelOf(page, "p-price");
      expectHeights(pointsOf(price, "l-price"), positionsByAxis(price, prices), price.height);
      const scores = await panelOf(page, "p-score");
      for (const [name, member] of [
        ["l-raw", "scoreRaw"],
        ["l-score", "scoreSmoothed"],
      ] as const) {
        const expected = history.map((one) => ((100 - one[member]) * scores.height) / 100);
        expectHeights(pointsOf(scores, name), expected, scores.height);
      }
    }
    await page.getByText("The same in figures").first().click();
    expect(await figures(page)).toEqual(
      history
        .toReversed()
        .map(({ asOf, signal, scoreRaw, scoreSmoothed }) => [
          asOf,
          signal,
          scoreRaw.toFixed(2),
          scoreSmoothed.toFixed(2),
        ]),
    );
  });

  it("shows the figures of a session when the pointer or the keyboard selects it", async () => {
    const { symbol, past: history } = await unsplit();
    const { page, complaints } = await open(`${base}/market/${symbol}`);
    const plot = page.getByRole("img", { name: `Score of ${symbol}` });
    const output = page.locator(".readout output").first();
    const told = async (at: number) => {
      const { signal, scoreRaw, price } = history.at(at) ?? {};
      expect(await output.innerText()).toContain(
        `Signal ${signal} · Score ${scoreRaw?.toFixed(2)} ·`,
      );
      expect(await output.innerText()).toContain(`Close ${price?.toFixed(2)}`);
    };
    await plot.focus();
    await page.keyboard.press("Home");
    await told(0);
    await page.keyboard.press("ArrowRight");
    await told(1);
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowLeft");
    await told(-2);
    const svg = await plot.locator(".p-price > svg").first().boundingBox();
    const { html } = await panelOf(page, "p-price");
    const { x = 0 } = pointsOf({ html }, "l-price")[40] ?? {};
    await page.mouse.move((svg?.x ?? 0) + (x / 1_000) * (svg?.width ?? 0), (svg?.y ?? 0) + 50);
    await told(40);
    expect(complaints).toEqual([]);
  });
});

it.each(["/", "/market/ALDER.SIM"])(
  "the links and buttons of %s are readable while the pointer is on them",
  async (path) => {
    const { page } = await open(base + path);
    await expectContrastOnHover(page);
  },
);

describe("an open page while the market moves", () => {
  it("updates, and preserves focus, expanded sections and scroll position", async () => {
    const { page, complaints } = await openWithClock(`${base}/#market`);
    await page.getByText("Cursor", { exact: true }).click();
    const link = page.getByRole("link", { name: "BRIKT.SIM", exact: true });
    await link.focus();
    // What is above may grow, by a longer text; what is read must stay where it is in the window.
    const top = () => page.evaluate<number>("kept.getBoundingClientRect().top");
    await page.evaluate(
      "window.kept = document.activeElement; scrollBy(0, kept.getBoundingClientRect().top - 80)",
    );
    const [before, place] = [await shown(page), await top()];
    await goOn(testService);
    await page.clock.runFor(POLL_MS);
    await expect.poll(() => shown(page), PATIENT).not.toEqual(before);
    expect(await shown(page)).toEqual(await answered());
    expect(await page.evaluate("document.activeElement === window.kept")).toBe(true);
    expect(await page.evaluate("document.activeElement.textContent")).toBe("BRIKT.SIM");
    expect(Math.abs((await top()) - place)).toBeLessThan(2);
    expect(await page.locator("details[open]").count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  it("does not download unchanged parts again", async () => {
    // Checks the home page, since the page of an instrument changes while the log catches up with
    // the sandbox's year.
    const { page } = await openWithClock(base);
    const next = async () => {
      const isPoll = (response: Response) => response.request().resourceType() === "fetch";
      const arrived = page.waitForResponse(isPoll, PATIENT);
      await page.clock.runFor(POLL_MS);
      const response = await arrived;
      await response.finished();
      return response.status();
    };
    expect(await next()).toBe(200);
    expect(await next()).toBe(304);
  });

  it("keeps the DOM element of the focused link when the rows are reordered", async () => {
    const { page } = await openWithClock(`${base}/?sort=score`);
    const link = page.getByRole("link", { name: "ALDER.SIM", exact: true });
    await link.focus();
    await page.evaluate("window.kept = document.activeElement");
    const order = async () => (await shown(page)).map(([symbol]) => symbol);
    const before = await order();
    await goOn(testService);
    await page.clock.runFor(POLL_MS);
    await expect.poll(order, PATIENT).not.toEqual(before);
    expect(await page.evaluate("document.activeElement === window.kept")).toBe(true);
    expect(await page.evaluate("document.activeElement.textContent")).toBe("ALDER.SIM");
    expect(new Set(await order()).size).toBe(before.length);
  });

  it("shows since when it has been out of date, and later that it is up to date again", async () => {
    const { page } = await openWithClock(base);
    await page.route(/127\.0\.0\.1/, (route) => route.abort());
    await page.clock.runFor(POLL_MS);
    await page.getByText(/^Not up to date since \d\d:\d\d UTC\.$/).waitFor(PATIENT);
    await page.unroute(/127\.0\.0\.1/);
    await page.clock.runFor(2 * POLL_MS);
    await page.getByText("Up to date again.").waitFor(PATIENT);
  });

  it("pauses its updates while it is hidden", async () => {
    const { page } = await open(base);
    await page.evaluate(
      "Object.defineProperty(document, 'hidden', { get: () => window.isAway ?? false })",
    );
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.clock.install();
    await page.evaluate(
      "window.isAway = true; document.dispatchEvent(new Event('visibilitychange'))",
    );
    await page.clock.runFor(120_000);
    expect(requests).toEqual([]);
    const looked = page.waitForResponse(`${base}/`);
    await page.evaluate(
      "window.isAway = false; document.dispatchEvent(new Event('visibilitychange'))",
    );
    await looked;
  });
});
