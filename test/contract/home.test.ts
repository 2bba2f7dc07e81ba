import { appendFile, copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { DIRECTION_EVIDENCE_SUMMARY, DIRECTION_EVIDENCE_TEXT } from "../../src/answers/meaning.ts";
import { getWith, newToken } from "../support/agent.ts";
import { pointsOf } from "../support/drawn.ts";
import { historyRows } from "../support/history.ts";
import { allSignals } from "../support/signal-list.ts";
import { smallMarket } from "../support/small-market.ts";
import { SANDBOX_NOW, startTestService } from "../support/test-service.ts";
import { createWeb, headingOf, textOf, type WebPage } from "../support/web.ts";

const testService = await startTestService();
const { base } = testService;

beforeEach(() => {
  testService.clock.now = SANDBOX_NOW;
});

/**
 * Headers of a conditional request. With them, `fetch` by default also sends
 * `Cache-Control: no-cache`, as a browser does on reload.
 */
const known = (etag: string) => ({ "if-none-match": etag });

/** A row of the market table, with the exact figures next to the displayed ones. */
interface ShownRow {
  readonly symbol: string;
  readonly signal: string;
  /** Whether the row is marked as having thin coverage. */
  readonly isThin: boolean;
  readonly score: string;
  readonly scoreRaw: number;
  /** Contribution of each factor in points, or the reason why it is missing. */
  readonly factors: readonly (number | string)[];
}

function rowsIn(html: string): readonly ShownRow[] {
  return [...html.matchAll(/<tr id="row-([^"]+)".*?<\/tr>/gs)].map(([row, symbol = ""]) => {
    const cell = (name: string) =>
      new RegExp(`<td class="${name}".*?</td>`, "s").exec(row)?.[0] ?? "";
    const [, raw, score = ""] = /<data value="([^"]*)">(\d+)</.exec(cell("score")) ?? [];
    const factors = [...row.matchAll(/<td class="factor".*?<\/td>/gs)].map(([factor]) => {
      const [, value] = /<data value="([^"]*)">/.exec(factor) ?? [];
      const [, why = ""] = /<span class="why">([^<]*)</.exec(factor) ?? [];
      return value === undefined ? why : Number(value);
    });
    const [signal = "", thin] = textOf(cell("direction")).split(" · ");
    return { symbol, signal, isThin: thin === "thin", score, scoreRaw: Number(raw), factors };
  });
}

/** Coverage is no gate for stocks. */
const isThinlyCovered = ({ assetClass, coverage }: Pick<Item, "assetClass" | "coverage">) =>
  assetClass !== "stock" && coverage < 0.6;

const symbolsIn = (html: string) => rowsIn(html).map(({ symbol }) => symbol);

interface Item {
  readonly symbol: string;
  readonly assetClass: string;
  readonly name: string;
  readonly signal: string;
  readonly score: number;
  readonly scoreRaw: number;
  readonly scoreSmoothed: number;
  readonly coverage: number;
}

interface Factor {
  readonly z: number | null;
  readonly contribution: number;
  readonly status: string;
  readonly inputs: readonly { readonly name: string; readonly value: number | null }[];
}

const token = await newToken(base);

async function ask<T>(path: string): Promise<T> {
  const response = await getWith(token, base + path);
  expect(response.status, path).toBe(200);
  return (await response.json()) as T;
}

const signals = (query = "") => allSignals<Item>(ask, query);

describe("the home page of the sandbox", () => {
  it("shows everyone the market, with the same figures as the API", async () => {
    const items = await signals();
    const rows = rowsIn((await createWeb(base).get("/")).html);
    expect(
      rows.map(({ symbol, signal, isThin, score, scoreRaw }) => [
        symbol,
        signal,
        isThin,
        score,
        scoreRaw,
      ]),
    ).toEqual(
      items.map(({ symbol, assetClass, signal, coverage, score, scoreRaw }) => [
        symbol,
        signal,
        isThinlyCovered({ assetClass, coverage }),
        String(score),
        scoreRaw,
      ]),
    );
    const words: Readonly<Record<string, string>> = {
      stale: "old data",
      no_activity: "no activity",
      no_feed: "no feed",
      insufficient_data: "too little data",
    };
    for (const { symbol, factors } of rows) {
      const answer = await ask<{ readonly factors: Readonly<Record<string, Factor>> }>(
        `/api/factors?detail=full&symbol=${symbol}`,
      );
      const expected = Object.values(answer.factors).map(({ z, contribution, status }) =>
        z === null ? words[status] : contribution,
      );
      expect(factors, symbol).toEqual(expected);
    }
    expect(rows.flatMap(({ factors }) => factors)).toContain("no feed");
  });

  it("states its purpose, its limits and the status of the service", async () => {
    const { html } = await createWeb(base).get("/");
    const text = textOf(html);
    expect(text).toContain("not investment advice.");
    expect(text).toContain("not a probability, not a return");
    expect(text).toContain("Simulated, known up to 21 November 2026, 05:00 UTC.");
    expect(text).toContain("Market Simulated sandbox");
    expect(text).toContain("Known up to 21 November 2026, 05:00 UTC");
    expect(text).toContain("Source Simulated market");
    expect(text).toContain(`${base}/mcp`);
    expect(html.indexOf("<table")).toBeLessThan(html.indexOf('id="connect"'));
  });

  it.each(["/", "/market/ALDER.SIM", "/track-record", "/docs/api"])(
    "says once on %s what a score is worth, and leads to the figures",
    async (path) => {
      const { html } = await createWeb(base).get(path);
      expect(html.split(DIRECTION_EVIDENCE_SUMMARY)).toHaveLength(2);
      expect(html.split("not investment advice").length).toBeLessThanOrEqual(2);
      const [link] = html.match(/<a href="[^"]*">The figures<\/a>/) ?? [];
      const isIndirect = path === "/" || path === "/market/ALDER.SIM";
      expect(html.includes(DIRECTION_EVIDENCE_TEXT)).toBe(!isIndirect);
      expect(link).toBe(
        isIndirect ? '<a href="/track-record#backtest">The figures</a>' : undefined,
      );
    },
  );

  it("has no broken links", async () => {
    const { html } = await createWeb(base).get("/");
    const links = new Set([...html.matchAll(/(?:href|src)="(\/[^"]*)"/g)].map(([, to = ""]) => to));
    for (const path of ["/docs/api", "/llms.txt", "/auth.md", "/account", "/contact"]) {
      expect(links).toContain(path);
    }
    expect(links).toContain("/.well-known/api-catalog");
    for (const link of links) expect((await fetch(base + link)).status, link).toBe(200);
  });

  it("allows indexing of itself but not of its filtered views, and links to the documents for programs", async () => {
    const response = await fetch(base);
    const html = await response.text();
    expect(html).toMatch(/<meta name="description" content="[^"]{50,}">/);
    expect(html).not.toContain("noindex");
    expect(await (await fetch(`${base}/?signal=LONG`)).text()).toContain("noindex");
    expect(await (await fetch(`${base}/market/ALDER.SIM`)).text()).toContain("noindex");
    const link = response.headers.get("link");
    for (const rel of ["api-catalog", "service-desc", "service-doc", "describedby"]) {
      expect(link).toContain(`rel="${rel}"`);
    }
  });

  it("runs a single script from its own origin and sets no cookie", async () => {
    const { headers, ...response } = await fetch(base);
    expect(response).toBeDefined();
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; script-src 'self'; connect-src 'self'",
    );
    expect(headers.getSetCookie()).toEqual([]);
    for (const path of ["/", "/market/ALDER.SIM"]) {
      const html = await (await fetch(base + path)).text();
      expect(html.match(/<script/g), path).toHaveLength(1);
      expect(html, path).not.toMatch(/ style="|<style|\son\w+=|javascript:/i);
      expect(html, path).not.toMatch(/(?:src|href)="https?:/);
    }
    const [, address = ""] =
      /<script defer src="([^"]*)"/.exec(await (await fetch(base)).text()) ?? [];
    const script = await fetch(base + address);
    expect(script.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect((await script.arrayBuffer()).byteLength).toBeLessThan(10_000);
  });

  it("is answered with 304 while it is unchanged, and so is the page of an instrument", async () => {
    const own = await startTestService();
    const addresses = ["/", "/market/ALDER.SIM"].map((path) => own.base + path);
    const etags: string[] = [];
    for (const address of addresses) {
      const first = await fetch(address);
      const etag = first.headers.get("etag") ?? "";
      etags.push(etag);
      expect(first.headers.get("cache-control")).toBe("private, no-cache");
      expect(first.headers.get("vary")).toBe("Accept, Cookie, X-Live-Parts, Accept-Encoding");
      for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
        const again = await fetch(address, { headers: known(tag) });
        expect([again.status, await again.text()], tag).toEqual([304, ""]);
        expect(again.headers.get("etag")).toBe(etag);
      }
      expect((await fetch(address, { headers: known('"x"') })).status).toBe(200);
    }
    own.clock.now = new Date(SANDBOX_NOW.getTime() + 60_000);
    own.service.refresh();
    for (const [at, address] of addresses.entries()) {
      const etag = etags[at] ?? "";
      const later = await fetch(address, { headers: known(etag) });
      expect(later.status).toBe(200);
      expect(later.headers.get("etag")).not.toBe(etag);
    }
  });

  it("answers HEAD like GET, and rejects all other methods", async () => {
    for (const path of ["/", "/market/ALDER.SIM", "/assets/live.js"]) {
      const [get, head] = [await fetch(base + path), await fetch(base + path, { method: "HEAD" })];
      expect([head.status, await head.text()]).toEqual([200, ""]);
      for (const name of ["content-type", "content-length", "etag", "vary", "cache-control"]) {
        expect(head.headers.get(name), name).toBe(get.headers.get(name));
      }
      const post = await fetch(base + path, { method: "POST" });
      expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    }
  });
});

describe("the home page for agents", () => {
  const accepting = (accept: string, headers = {}) =>
    fetch(base, { headers: { accept, ...headers } });

  it("is Markdown without market data", async () => {
    const response = await accepting("text/markdown");
    const text = await response.text();
    expect(response.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
    expect(response.headers.get("vary")).toBe("Accept, Accept-Encoding");
    expect(text).toMatch(/^# Market Signal and Verification Service\n/);
    expect(text).not.toContain("ALDER.SIM");
    const etag = response.headers.get("etag") ?? "";
    const headers = known(etag);
    expect((await accepting("text/markdown", headers)).status).toBe(304);
    expect((await accepting("text/html", headers)).status).toBe(200);
  });
});

describe("the filter of the market page", () => {
  const page = async (query: string) => (await createWeb(base).get(`/${query}`)).html;

  it("selects by text, asset class and signal, as the API does", async () => {
    const items = await signals();
    const symbols = (some: readonly Item[]) => some.map(({ symbol }) => symbol);
    expect(symbolsIn(await page("?q=aldermoor"))).toEqual(["ALDER.SIM"]);
    const inside = await page("?q=ldermoor");
    expect(symbolsIn(inside)).toEqual(["ALDER.SIM"]);
    expect(textOf(inside)).toContain("One instrument whose name has the text only inside a word.");
    const some = await page("?q=aldermoor+computer");
    expect(symbolsIn(some)).toEqual(["ALDER.SIM"]);
    expect(textOf(some)).toContain("One instrument whose name has only some words of the text.");
    expect(symbolsIn(await page("?q=&class=&signal="))).toEqual(symbols(items));
    const coins = await signals("&assetClass=crypto");
    expect(symbolsIn(await page("?class=crypto"))).toEqual(symbols(coins));
    const shorts = await signals("&signal=SHORT&assetClass=stock");
    expect(symbolsIn(await page("?signal=SHORT&class=stock"))).toEqual(symbols(shorts));
    expect(shorts.length).toBeGreaterThan(0);
  });

  it("selects by sector and full factor coverage, and sorts by the strength of the signal", async () => {
    const items = await signals("&sector=Technology&minCoverage=1");
    const expected = items.toSorted(
      (a, b) => Math.abs(b.scoreSmoothed - 50) - Math.abs(a.scoreSmoothed - 50),
    );
    const html = await page("?sector=Technology&coverage=full&sort=strength");
    expect(symbolsIn(html)).toEqual(expected.map(({ symbol }) => symbol));
    expect(expected.length).toBeGreaterThan(3);
    expect(textOf(html)).toContain(`${items.length} with full coverage`);
    expect(symbolsIn(await page("?sector=Coin"))).toHaveLength(8);
    expect(symbolsIn(await page("?sector=Tech"))).toEqual([]);
  });

  it("sorts by the start of the signal, and shows the number of instruments with each signal, whichever signal is selected", async () => {
    const html = await page("?sort=since&signal=SHORT");
    const begun = [...html.matchAll(/<td class="since".*?datetime="([^"]*)"/gs)].map(
      ([, at]) => at,
    );
    expect(begun).toEqual(begun.toSorted().toReversed());
    for (const signal of ["LONG", "WAIT", "SHORT"]) {
      const items = await signals(`&signal=${signal}`);
      expect(textOf(html)).toContain(`${items.length} ${signal}`);
    }
    expect(html).toContain('href="/?sort=since#market" aria-current="true"');
  });

  it("sorts by score, highest first", async () => {
    const scores = rowsIn(await page("?sort=score")).map(({ scoreRaw }) => scoreRaw);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect(scores.length).toBeGreaterThan(40);
  });

  it("sorts in both directions by links in the table header, and marks the sorted column", async () => {
    const html = await page("?sort=-score&class=stock");
    const scores = rowsIn(html).map(({ scoreRaw }) => scoreRaw);
    expect(scores).toEqual(scores.toSorted((a, b) => a - b));
    expect(html).toContain(
      'aria-sort="ascending"><a href="/?class=stock&amp;sort=score#market">Score',
    );
    expect(await page("?sort=score")).toContain(
      'aria-sort="descending"><a href="/?sort=-score#market">Score',
    );
    const changes = [
      ...(await page("?sort=change")).matchAll(/<td class="change".*?value="([^"]*)"/gs),
    ].map(([, value]) => Number(value));
    expect(changes).toEqual(changes.toSorted((a, b) => b - a));
    expect(changes.length).toBeGreaterThan(40);
  });

  it("sorts by steadiness, shows it in place of the confidence, and what is not ranked comes last", async () => {
    const shown = (html: string) =>
      [...html.matchAll(/<td class="confidence".*?Steadiness<\/span>(.*?)<\/td>/gs)].map(
        ([, text]) => text,
      );
    const { rows } = await ask<{ readonly rows: readonly (readonly [string, number | null])[] }>(
      "/api/signals?fields=symbol,steadiness&sort=steadiness",
    );
    const html = await page("?sort=steadiness");
    expect(shown(html)).toEqual(rows.map(([, value]) => String(value ?? "–")));
    expect(html).toContain('aria-sort="descending"><a href="/?sort=-steadiness#market">Steadiness');
    expect(textOf(html)).toContain("it says nothing about return or quality.");
    const ranked = shown(html).filter((text) => text !== "–");
    expect(ranked.length).toBeGreaterThan(30);
    const lowest = shown(await page("?sort=-steadiness"));
    expect(lowest.slice(0, ranked.length)).toEqual(ranked.toReversed());
    expect(shown(await page(""))).toEqual([]);
  });

  it("compares up to five instruments, selected by checkboxes or in the URL", async () => {
    const html = await page("?compare=ALDER.SIM&compare=BRIKT.SIM&compare=NOPE");
    const [table = ""] = /<section aria-labelledby="compare".*?<\/section>/s.exec(html) ?? [];
    const heads = [...table.matchAll(/<th scope="col"><a href="\/market\/([^"]*)"/g)];
    expect(heads.map(([, symbol]) => symbol)).toEqual(["ALDER.SIM", "BRIKT.SIM"]);
    const items = await signals();
    for (const { symbol, scoreRaw } of items.filter(({ symbol }) => table.includes(symbol))) {
      expect(table, symbol).toContain(`<data value="${scoreRaw}">`);
    }
    expect(await page("?compare=%3Cscript%3E")).not.toContain('id="compare"');
    const coins = await signals("&assetClass=crypto");
    const [coin, ...others] = coins.map(({ symbol }) => symbol);
    const unfed = await page(`?compare=${coin},ALDER.SIM,${others[0]}`);
    const [rows = ""] = /<section aria-labelledby="compare".*?<\/section>/s.exec(unfed) ?? [];
    expect(textOf(rows)).toMatch(/Dark pool, points .*no feed/);
    expect(textOf(rows)).not.toMatch(/points[^a-z]*(?<![\d.])0\.0(?!\d)/);
    const many = await createWeb(base).get("/?compare=A,B,C,D,E,F");
    expect(many.status).toBe(400);
    expect(textOf(many.html)).toContain("Compare at most 5 instruments.");
  });

  it("keeps the filter of the list when instruments are compared", async () => {
    const chosen = "q=co&class=stock&signal=WAIT&sort=-score&compare=NOPE";
    const [form = ""] = /<form id="pick".*?<\/form>/s.exec(await page(`?${chosen}`)) ?? [];
    const kept = form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
    expect([...kept].map(([, name, value]) => [name, value])).toEqual([
      ["q", "co"],
      ["class", "stock"],
      ["signal", "WAIT"],
      ["sort", "-score"],
    ]);
  });

  it("shows the selected values again as escaped text", async () => {
    const html = await page("?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&class=etf&signal=WAIT");
    expect(html).toContain('value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"');
    expect(html.match(/<script/g)).toHaveLength(1);
    expect(html).toContain('<option value="etf" selected>');
    expect(html).toContain('<option value="WAIT" selected>');
    expect(textOf(html)).toContain("No instrument fits. Show all 46");
  });

  it("states the error and shows no rows for an invalid filter", async () => {
    const web = createWeb(base);
    const { status, html } = await web.get(`/?class=bond&page=0&q=${"a".repeat(200)}`);
    expect(status).toBe(400);
    expect(rowsIn(html)).toEqual([]);
    const text = textOf(html);
    expect(text).toContain("Search for at most 100 characters.");
    expect(text).toContain("Choose one of the classes.");
    expect(text).toContain("A page has a whole number, from 1 on.");
    expect(html).toContain("<title>Error: ");
    for (const [, id] of html.matchAll(/<a href="#([\w-]+)"/g))
      expect(html).toContain(`id="${id}"`);
  });

  it("states that a page beyond the last one does not exist", async () => {
    expect(textOf(await page("?page=2"))).toContain(
      "There is no page 2: what fits is on one page.",
    );
  });
});

describe("the page of an instrument", () => {
  const path = "/market/ALDER.SIM";

  it("has the signal and factors of the API, including every input", async () => {
    const { html } = await createWeb(base).get(path);
    const signal = await ask<
      Item & { since: string; scoreSmoothed: number; price: { value: number } }
    >("/api/signals?detail=full&symbol=ALDER.SIM");
    const text = textOf(html);
    expect(headingOf(html)).toBe("ALDER.SIM");
    expect(text).toContain(signal.name);
    expect(html).toContain(`<data value="${signal.scoreRaw}">${signal.score}</data>`);
    expect(html).toContain(`<data value="${signal.scoreSmoothed}">`);
    expect(html).toContain(`<data value="${signal.price.value}">`);
    expect(html).toContain(`Since <time datetime="${signal.since}">`);
    expect(text).toContain(
      "LONG begins at 90 and ends below 50, SHORT begins at 10 and ends above 50.",
    );

    const { factors } = await ask<{ readonly factors: Readonly<Record<string, Factor>> }>(
      "/api/factors?detail=full&symbol=ALDER.SIM",
    );
    for (const { contribution, inputs } of Object.values(factors)) {
      expect(html).toContain(`<data value="${contribution}">`);
      for (const { name, value } of inputs) {
        const [row = ""] = new RegExp(`<code>${name}</code>.*?</tr>`, "s").exec(html) ?? [];
        expect(row, name).toContain(value === null ? "–" : `<data value="${value}">`);
      }
    }
  });

  it("shows the steadiness of a stock with its rank and what it means, and of a coin among coins", async () => {
    const { steadiness, risk } = await ask<{
      readonly steadiness: number;
      readonly risk: { readonly steadiness: { readonly rank: number; readonly peers: number } };
    }>("/api/signals?detail=full&symbol=ALDER.SIM");
    const { rank, peers } = risk.steadiness;
    const shown = textOf((await createWeb(base).get(path)).html);
    expect(shown).toContain(`Steadiness ${steadiness} rank ${rank} of ${peers} stocks`);
    expect(shown).toContain(
      "Steadiness ranks how far prices are likely to fall in a bad month, compared with the rest of the class; it says nothing about return or quality.",
    );
    const coin = await createWeb(base).get("/market/DRIMO-USD.SIM");
    expect(textOf(coin.html)).toMatch(/Steadiness \d+ rank [\d.]+ of \d+ coins/);
  });

  it("shows the company's next report as in the API, with the earliest and latest date", async () => {
    const { nextReport } = await ask<{ readonly nextReport: Readonly<Record<string, string>> }>(
      "/api/signals?detail=full&symbol=ALDER.SIM",
    );
    const { expected, earliest, latest } = nextReport;
    const { html } = await createWeb(base).get(path);
    for (const day of [expected, earliest, latest]) {
      expect(html).toContain(`<time datetime="${day}">`);
    }
    expect(textOf(html)).toContain("95 % of past filings; results come then or a few sessions");
    expect(html).toContain(
      `; the next report is expected to be filed about ${expected}, between ${earliest} and ${latest}"`,
    );
    expect(textOf(html)).toContain("R? filing of the next report expected, in its 95 % window");
    const answer = await fetch(`${base}${path}`, { headers: { accept: "text/markdown" } });
    expect(await answer.text()).toContain(
      `| ${expected} (95 % of past filings: ${earliest} to ${latest}) |`,
    );
    const { html: coin } = await createWeb(base).get("/market/DRIMO-USD.SIM");
    expect(textOf(coin)).not.toMatch(/next report/i);
  });

  it.each([
    ["", 366],
    ["?range=6m", 183],
    ["?range=1m&scale=log", 31],
    ["?range=nonsense&scale=%22%3E", 366],
  ])(
    "shows the history from the API as a chart, a table and CSV for the query %j",
    async (query, days) => {
      const { html } = await createWeb(base).get(`${path}${query}`);
      const { asOf } = await ask<{ readonly asOf: string }>(
        "/api/signals?detail=full&symbol=ALDER.SIM",
      );
      const from = new Date(Date.parse(asOf) - days * 60_000).toISOString();
      const history = await historyRows(ask, `/api/signals?symbol=ALDER.SIM&from=${from}`);
      const [table = ""] = /<caption>\d+ sessions.*?<\/table>/s.exec(html) ?? [];
      const rows = [
        ...table.matchAll(
          /datetime="([^"]*)".*?<td>(\w+)<\/td><td><data[^>]*>([\d.]+)<\/data><\/td><td><data[^>]*>([\d.]+)<\/data><\/td><td>([\d.]+)</g,
        ),
      ];
      expect(rows.map(([, ...cells]) => cells)).toEqual(
        history
          .map((one) => [
            one.asOf,
            one.signal,
            ...[one.scoreRaw, one.scoreSmoothed, one.price ?? Number.NaN].map((value) =>
              value.toFixed(2),
            ),
          ])
          .toReversed(),
      );
      expect(rows.length).toBeGreaterThan(20);
      expect(html).toContain(
        `role="img" tabindex="0" aria-label="Score of ALDER.SIM over ${rows.length} sessions: `,
      );
      const csv = await fetch(`${base}${path}/history.csv${query}`);
      expect(csv.headers.get("content-type")).toContain("text/csv");
      const rest = await fetch(`${base}/api/signals?symbol=ALDER.SIM&from=${from}&detail=full`, {
        headers: { authorization: `Bearer ${token}`, accept: "text/csv" },
      });
      expect(await csv.text()).toBe(await rest.text());
    },
  );

  it("marks whether the later returns stayed within each forecast range", async () => {
    const { html } = await createWeb(base).get(path);
    const { asOf } = await ask<{ readonly asOf: string }>(
      "/api/signals?detail=full&symbol=ALDER.SIM",
    );
    const from = new Date(Date.parse(asOf) - 366 * 60_000).toISOString();
    const history = await historyRows(ask, `/api/signals?symbol=ALDER.SIM&from=${from}`);
    const [total = 0] = Array.from(html.matchAll(/viewBox="-\.5 0 (\d+) 1000"/g), ([, count]) =>
      Number(count),
    );
    const marks = Array.from(
      html.matchAll(/<circle class="(kept|broke)" cx="([\d.]+)%"/g),
      ([, name, x]) => ({ name, place: Math.round((Number(x) * total) / 100 - 0.5) }),
    );
    // The first sessions have no range, since a range needs a year of earlier data.
    expect(marks.length).toBeGreaterThan(40);
    for (const { name, place } of marks) {
      // The forecast range ends after five closes; sessions without a close do not count.
      const closes = history.slice(0, place + 1).filter((one) => one.return !== null);
      const start = closes.at(-6);
      const { range80, price } = await ask<{
        readonly range80: Readonly<Record<string, readonly [number, number]>>;
        readonly price: { readonly value: number };
      }>(`/api/signals?detail=full&symbol=ALDER.SIM&asOf=${start?.asOf}`);
      const [low = 0, high = 0] = range80["5"] ?? [];
      const growth = closes
        .slice(-5)
        .reduce((product, one) => product * (1 + (one.return ?? 0)), price.value);
      expect(name, `the range that ended at ${history[place]?.asOf}`).toBe(
        growth >= low && growth <= high ? "kept" : "broke",
      );
    }
    const kept = marks.filter(({ name }) => name === "kept").length;
    expect(textOf(html)).toContain(`kept ${kept} times of ${marks.length}, 80 % promised`);
  });

  it("shows by how much each factor moved the score in the last week, with the same figures as the API", async () => {
    const { html } = await createWeb(base).get(path);
    const [sentence = ""] = /In the last 5 sessions the score.*?<\/p>/s.exec(html) ?? [];
    const { asOf } = await ask<{ readonly asOf: string }>(
      "/api/signals?detail=full&symbol=ALDER.SIM",
    );
    const since = new Date(Date.parse(asOf) - 5 * 60_000).toISOString();
    const { attribution } = await ask<{
      readonly attribution: {
        readonly score: readonly [number, number];
        readonly change: number;
        readonly factors: Readonly<Record<string, { readonly change: number }>>;
      };
    }>(`/api/signals?detail=full&symbol=ALDER.SIM&since=${since}`);
    const changes = Object.values(attribution.factors)
      .map(({ change }) => change)
      .toSorted((a, b) => Math.abs(b) - Math.abs(a));
    const expected = [...attribution.score, attribution.change, ...changes];
    const told = Array.from(sentence.matchAll(/<data value="([^"]*)">/g), ([, value]) =>
      Number(value),
    );
    expect(told.length).toBeGreaterThan(4);
    for (const [at, value] of told.entries()) expect(value).toBeCloseTo(expected[at] ?? 0, 9);
  });

  it("lists the changes of the signal, newest first", async () => {
    const { html } = await createWeb(base).get(path);
    const { asOf } = await ask<{ readonly asOf: string }>(
      "/api/signals?detail=full&symbol=ALDER.SIM",
    );
    const from = new Date(Date.parse(asOf) - 366 * 60_000).toISOString();
    const history = await historyRows(ask, `/api/signals?symbol=ALDER.SIM&from=${from}`);
    const changes = history.flatMap(({ asOf, signal }, at) =>
      at > 0 && signal !== history[at - 1]?.signal ? [[asOf, signal]] : [],
    );
    const [table = ""] =
      /<table class="figures changes" role="table">.*?<\/table>/s.exec(html) ?? [];
    const rows = Array.from(
      table.matchAll(
        /<tr role="row"><th scope="row" role="rowheader"><time datetime="([^"]*)">.*?<\/span><\/td>/gs,
      ),
      ([row, at]) => [at, textOf(row).match(/LONG$|SHORT$|WAIT$/)?.[0]],
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(rows).toEqual(changes.toReversed().slice(0, 12));
  });

  it("links to the instruments with neighboring scores, and shows the smoothed scores of peers", async () => {
    const { items } = await ask<{ readonly items: readonly Item[] }>(
      "/api/signals?detail=full&sector=Technology&sort=score",
    );
    const place = Math.floor(items.length / 2);
    const { html } = await createWeb(base).get(`/market/${items[place]?.symbol}`);
    const peers = [...html.matchAll(/<a class="card peer" href="\/market\/([^"]*)"/g)];
    expect(peers.map(([, symbol]) => symbol)).toEqual(items.map(({ symbol }) => symbol));
    expect(textOf(html)).toContain(`${place + 1} of ${items.length} by score`);
    expect(html).toContain(`rel="prev" href="/market/${items[place - 1]?.symbol}"`);
    expect(html).toContain(`rel="next" href="/market/${items[place + 1]?.symbol}"`);
    const found = symbolsIn((await createWeb(base).get("/?q=technology")).html);
    expect(found.toSorted()).toEqual(items.map(({ symbol }) => symbol).toSorted());
  });

  it("shows the off-exchange trades of the API, and states their limitations", async () => {
    const { html } = await createWeb(base).get(path);
    const look = (view: string) =>
      ask<Readonly<Record<"days" | "prints", readonly Readonly<Record<string, unknown>>[]>>>(
        `/api/darkpool?detail=full&symbol=ALDER.SIM&view=${view}`,
      );
    const [{ days }, { prints }] = [await look("days"), await look("prints")];
    expect(days.length).toBe(20);
    for (const { session, shares } of days) {
      expect(html).toMatch(new RegExp(`datetime="${session}".*?<data value="${shares}">`));
    }
    for (const { tradedAt, price } of prints) {
      expect(html).toMatch(new RegExp(`datetime="${tradedAt}".*?<data value="${price}">`));
    }
    expect(textOf(html)).toContain(
      "alternative trading systems, internalized orders and OTC trades",
    );
  });

  /** Returns the panels with the given CSS class, in page order. */
  const panelsIn = (html: string, name: string) =>
    [...html.matchAll(new RegExp(`<div class="panel ${name}">.*?</svg></div>`, "gs"))].map(
      ([panel]) => panel,
    );

  /** Signed heights of a panel's bars in thousandths of the panel height, by position. */
  const barsOf = (panel = ""): ReadonlyMap<number, number> =>
    new Map(
      Array.from(panel.matchAll(/M(-?[\d.]+) (\d+)V(\d+)h/g), ([, x, foot, top]) => [
        Math.round(Number(x) + 0.3),
        Number(foot) - Number(top),
      ]),
    );

  it("draws the API's off-exchange volume and short share with pixel accuracy", async () => {
    const { html } = await createWeb(base).get(path);
    const { days } = await ask<{
      readonly days: readonly {
        readonly shares: number;
        readonly shortVolumeRatio: number | null;
      }[];
    }>("/api/darkpool?detail=full&symbol=ALDER.SIM&view=days&limit=63");
    const most = Math.max(...days.map(({ shares }) => shares));
    const volumes = barsOf(panelsIn(html, "p-volume")[0]);
    const tallest = Math.max(...volumes.values());
    const shorts = pointsOf({ html: panelsIn(html, "p-line")[0] ?? "" }, "l-price").values();
    expect(volumes.size).toBe(days.length);
    for (const [place, { shares, shortVolumeRatio }] of days.toReversed().entries()) {
      // One pixel of tolerance: the panels are 112 and 88 pixels high.
      expect(Math.abs((volumes.get(place) ?? 0) / tallest - shares / most)).toBeLessThan(1 / 112);
      if (shortVolumeRatio === null) continue;
      const { x = Number.NaN, y = Number.NaN } = shorts.next().value ?? {};
      expect(x).toBeCloseTo((1_000 * (place + 0.5)) / days.length, 6);
      expect(Math.abs(1 - y / 1_000 - shortVolumeRatio)).toBeLessThan(1 / 88);
    }
  });

  it("draws the contribution points of the API's factors with pixel accuracy", async () => {
    const { html } = await createWeb(base).get(path);
    const [table = ""] =
      /<table class="figures" id="points-figures">.*?<\/table>/s.exec(html) ?? [];
    const times = Array.from(table.matchAll(/datetime="([^"]*)"/g), ([, at = ""]) => at);
    const factors = panelsIn(html, "p-factor").map(barsOf);
    expect(times.length).toBeGreaterThan(40);
    for (const [place, at] of times.toReversed().entries()) {
      const { why } = await ask<{ readonly why: Readonly<Record<string, number | string>> }>(
        `/api/signals?detail=full&symbol=ALDER.SIM&asOf=${at}`,
      );
      for (const [row, points] of Object.values(why).entries()) {
        // A factor without a value counts as 0. One point is a hundredth of the panel height of 68
        // pixels.
        const drawn = (factors[row]?.get(place) ?? 0) / 10;
        const expected = Math.max(-50, Math.min(50, Number(points) || 0));
        expect(Math.abs(drawn - expected), `${at}, factor ${row}`).toBeLessThan(100 / 68);
      }
    }
  });

  it("states when a feed is missing", async () => {
    const items = await signals("&assetClass=crypto");
    const { html } = await createWeb(base).get(`/market/${items[0]?.symbol}`);
    const text = textOf(html);
    expect(text).toContain("No feed. Nothing observes off-exchange trades of this instrument.");
    expect(text).toContain("Off-exchange pressure has no feed.");
  });

  it.each(["", "?range=1m&scale=log"])(
    "redirects every spelling of the symbol to one URL, with the query %j",
    async (query) => {
      const spelled = `${base}/market/alder.sim${query}`;
      const response = await fetch(spelled, { redirect: "manual" });
      expect([response.status, response.headers.get("location")]).toEqual([302, path + query]);
    },
  );

  it.each(["NOPE", "<script>alert(1)</script>", "..%2f..", "%00", "a".repeat(5_000), "ALDER.SIN"])(
    "is answered with 404 for an unknown symbol: %s",
    async (symbol) => {
      const response = await fetch(`${base}/market/${encodeURIComponent(symbol)}`);
      const html = await response.text();
      expect([response.status, headingOf(html)]).toEqual([404, "No such instrument"]);
      expect(html).not.toContain("<script");
      expect(html.length).toBeLessThan(5_000);
      expect(html.includes('href="/market/ALDER.SIM"')).toBe(symbol === "ALDER.SIN");
    },
  );

  it("is answered with 404 for a path that cannot be decoded", async () => {
    const response = await fetch(`${base}/market/%E0%A4%A`);
    expect(response.status).toBe(400);
    expect((await fetch(`${base}/market`)).status).toBe(404);
    expect((await fetch(`${base}/market/A/B`)).status).toBe(404);
  });
});

/** A name with every character that is special in HTML. */
const EVIL = `<script>alert("1")</script> & 'Sons'`;

/** A recorded market with more instruments than fit on one page. */
async function recordedMarket(): Promise<string> {
  const folder = await smallMarket();
  const file = join(folder, "instruments.csv");
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace("Acme Corp.", `"${EVIL.replaceAll('"', '""')}"`));
  for (let index = 10; index < 60; index++) {
    await appendFile(file, `X${index},Extra ${index},stock,NYSE,USD,Industrials\n`);
    await copyFile(join(folder, "bars/LATE.csv"), join(folder, `bars/X${index}.csv`));
  }
  return folder;
}

const recorded = await startTestService({
  MARKET: `files:${await recordedMarket()}`,
  ...{ SIGN_UP: "open", ANONYMOUS_SCOPES: "factor:read darkpool:read" },
});

/** Matches text that only members may see. */
const SECRETS = /ACME|LATE|FUND|COIN-USD|X\d\d|alert\(|Broad Market|<data|row-|class="signal|<svg/;

describe("a market from files, with default settings", () => {
  it("grants browsers the same access as unclaimed agents", async () => {
    const { base: open } = await startTestService({ MARKET: `files:${await recordedMarket()}` });
    const { html } = await createWeb(open).get("/");
    expect(symbolsIn(html)).toContain("ACME");
    expect(html).toContain('class="factor"');
    expect((await createWeb(open).get("/market/ACME")).status).toBe(200);
  });

  it("marks funds and coins whose coverage is too thin for LONG and SHORT, and no stocks", async () => {
    const person = recorded.person();
    await person.signIn();
    const rows = rowsIn((await person.web.get("/?coverage=")).html);
    expect(rows.filter(({ isThin }) => isThin).map(({ symbol }) => symbol)).toEqual([
      "COIN-USD",
      "FUND",
    ]);
  });
});

describe("a market with no access for unclaimed agents", () => {
  const paths = ["/", "/?q=ACME", "/?signal=LONG&page=2", "/?class=bond"];
  /** Removes the icon, and the symbol in the sign-in link, which disclose no market data. */
  const withoutWords = (html: string, symbol = "") =>
    html.replaceAll(`%2Fmarket%2F${symbol}`, "").replace(/<link rel="icon"[^>]*>/, "");

  it("discloses no market data to the public", async () => {
    for (const path of paths) {
      const response = await fetch(recorded.base + path);
      const html = withoutWords(await response.text());
      expect(response.status, path).toBe(200);
      expect(html, path).not.toMatch(SECRETS);
      expect(html).toContain('<a href="/sign-in?return_to=%2F">Sign in to see them</a>');
      expect(response.headers.get("vary")).toBe("Accept, Cookie, X-Live-Parts, Accept-Encoding");
      expect(response.headers.get("cache-control")).toBe("private, no-cache");
    }
    const markdown = await fetch(recorded.base, { headers: { accept: "text/markdown" } });
    expect(await markdown.text()).not.toMatch(/ACME|LATE\b|FUND\b|X10/);
  });

  it.each(["text/html", "text/markdown"])(
    "does not disclose to the public whether an instrument exists: %s",
    async (accept) => {
      const [there, nowhere] = await Promise.all(
        ["ACME", "NOPE"].map(async (symbol) => {
          const headers = { accept, "accept-encoding": "identity" };
          const response = await fetch(`${recorded.base}/market/${symbol}`, { headers });
          expect(response.headers.get("link")).toBeNull();
          const html = withoutWords(await response.text(), symbol);
          return [response.status, response.headers.get("content-length"), html];
        }),
      );
      expect(there).toEqual(nowhere);
      expect(there?.[0]).toBe(403);
      expect(there?.[2]).not.toMatch(SECRETS);
    },
  );

  it("rejects a session cookie from another browser", async () => {
    const cookies = ["market-signal=x", `market-signal=${"A".repeat(43)}`, "market-signal="];
    for (const cookie of cookies) {
      const response = await fetch(recorded.base, { headers: { cookie } });
      expect(withoutWords(await response.text()), cookie).not.toMatch(SECRETS);
    }
    const bearer = await newToken(recorded.base);
    const html = await (await getWith(bearer, recorded.base)).text();
    expect(withoutWords(html), "a token is for programs").not.toMatch(SECRETS);
  });

  it("redirects a person through the sign-in back to the requested page", async () => {
    const person = recorded.person();
    const closed = await person.web.get("/market/ACME");
    const [, link = ""] = /<a href="(\/sign-in[^"]*)"/.exec(closed.html) ?? [];
    const page = await person.web.get(link);
    const opened = await person.signIn(page);
    expect([opened.url.pathname, opened.status]).toEqual(["/market/ACME", 200]);
    expect(headingOf(opened.html)).toBe("ACME");
  });

  it("shows the whole market to members in pages, with names escaped", async () => {
    const person = recorded.person();
    await person.signIn();
    const key = await person.createKey(["signals:read"]);
    const { items } = (await (
      await fetch(`${recorded.base}/api/signals?limit=500`, { headers: { "x-api-key": key } })
    ).json()) as { readonly items: readonly Item[] };
    const [first, second] = [await person.web.get("/"), await person.web.get("/?page=2")];
    expect(symbolsIn(first.html)).toHaveLength(50);
    expect([...symbolsIn(first.html), ...symbolsIn(second.html)]).toEqual(
      items.map(({ symbol }) => symbol),
    );
    expect(first.html).toContain('rel="next" href="/?page=2#market"');
    expect(second.html).toContain('rel="prev" href="/#market"');
    expect(textOf(second.html)).toContain("Page 2 of 2");
    expect(textOf(first.html)).toContain("Market Recorded history files");

    for (const { html } of [first, await person.web.get("/market/ACME")]) {
      expect(html.match(/<script/g)).toHaveLength(1);
      expect(textOf(html)).toContain(EVIL);
      // The clock is stopped, so the page does not poll.
      expect(html).not.toContain("data-refresh");
    }
    const unknown = await person.web.get("/market/NOPE");
    expect([unknown.status, headingOf(unknown.html)]).toEqual([404, "No such instrument"]);
  });

  it("is inaccessible again after a sign-out or the deletion of the account", async () => {
    const isOpen = ({ html }: WebPage) => symbolsIn(html).length > 0;
    const person = recorded.person();
    await person.signIn();
    expect(isOpen(await person.web.get("/"))).toBe(true);
    const cookie = person.web.cookie();
    const etag = (await person.web.get("/")).headers.get("etag") ?? "";
    await person.web.submit((await person.web.get("/account")).form("/sign-out"));
    expect(isOpen(await person.web.get("/"))).toBe(false);
    const stolen = await fetch(recorded.base, { headers: { cookie, ...known(etag) } });
    expect(stolen.status, "what was seen is not confirmed to who may not see it").toBe(200);
    expect(withoutWords(await stolen.text())).not.toMatch(SECRETS);
  });
});

describe("the proof of a signal", () => {
  const page = (query = "") => createWeb(base).get(`/market/ALDER.SIM/proof${query}`);

  it("shows the log entry, states whether the service still gives the same answer, and offers the proof as a file", async () => {
    const { html, url, status } = await page();
    expect(status).toBe(200);
    const entry = url.searchParams.get("entry");
    const { logged, scoreRaw } = await ask<{
      readonly logged: { readonly index: number };
      readonly scoreRaw: number;
    }>("/api/signals?detail=full&symbol=ALDER.SIM");
    expect(entry).toBe(String(logged.index));
    const [, shown = ""] = /<code id="entry">(.*?)<\/code>/s.exec(html) ?? [];
    const proven = await ask<{ readonly entry: string }>("/api/signals/verify?symbol=ALDER.SIM");
    expect(shown.replaceAll("&quot;", '"')).toBe(proven.entry);
    expect(JSON.parse(proven.entry).scoreRaw).toBeCloseTo(scoreRaw, 2);
    expect(textOf(html)).toContain("This service today answers the same for that session");
    const file = await fetch(`${base}/market/ALDER.SIM/proof.tlog-proof?entry=${entry}`);
    expect(file.headers.get("content-disposition")).toBe(
      `attachment; filename=ALDER.SIM-${entry}.tlog-proof`,
    );
    expect(await file.text()).toBe(await (await fetch(`${base}/log/proof/${entry}`)).text());
  });

  it("leads from an instant to the last signal logged at or before that instant", async () => {
    const newest = (await page()).url.searchParams.get("entry");
    const found = await page("?at=2026-11-21T05:00");
    expect(found.url.searchParams.get("entry")).toBe(newest);
    const early = await page("?at=2020-01-01");
    expect(early.status).toBe(404);
    expect(textOf(early.html)).toMatch(
      /Nothing was logged by 1 Jan 2020, 23:59\. The log began with the session of 2\d Nov 2026, \d\d:\d\d\./,
    );
    expect(early.html).toContain('value="2020-01-01"');
    const oldest = /<a href="([^"]+\?entry=\d+)">Verify its oldest signal/.exec(early.html)?.[1];
    const { html } = await createWeb(base).get(oldest ?? "");
    expect(textOf(html)).toMatch(/What was said when the session of .* closed/);
  });

  it.each([
    ["?at=yesterday", 400],
    ["?at=2026-13-45", 400],
    ["?entry=0", 404],
    ["?entry=999999999999999", 404],
    ["?entry=9999999999999999", 404],
    ["?entry=-1", 404],
    [`?at=${"9".repeat(5_000)}`, 400],
  ])("for the query %s has the status %i", async (query, status) => {
    const response = await fetch(`${base}/market/ALDER.SIM/proof${query}`, { redirect: "manual" });
    expect(response.status).toBe(status);
  });

  it("is not shown for the signal of another instrument", async () => {
    const entry = (await page()).url.searchParams.get("entry");
    expect((await fetch(`${base}/market/BRIKT.SIM/proof?entry=${entry}`)).status).toBe(404);
    const file = `${base}/market/BRIKT.SIM/proof.tlog-proof?entry=${entry}`;
    expect((await fetch(file, { redirect: "manual" })).status).toBe(302);
  });

  it("is denied to callers without access to signals, and is missing in a market with a stopped clock", async () => {
    const closed = await fetch(`${recorded.base}/market/ACME/proof?entry=1`);
    expect(closed.status).toBe(403);
    expect(await closed.text()).not.toContain("ACME<");
    const person = recorded.person();
    await person.signIn();
    const { status, html } = await person.web.get("/market/ACME/proof");
    expect([status, textOf(html).includes("There is no log")]).toEqual([404, true]);
  });
});

describe("a visitor over the rate limit", { tags: ["full"] }, () => {
  it("sees when to retry", async () => {
    const own = await startTestService({ RATE_LIMITS: "calls=2/100000/1000000" });
    const status = async () => (await fetch(own.base)).status;
    expect([await status(), await status()]).toEqual([200, 200]);
    const response = await fetch(`${own.base}/market/ALDER.SIM`);
    expect(response.status).toBe(429);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(headingOf(await response.text())).toBe("Too many requests");
  });
});

describe("the page of the track record", () => {
  it("states that the record is simulated, which figures are still missing, and how to verify the signal log", async () => {
    const web = createWeb(base);
    const { html, status } = await web.get("/track-record");
    expect(status).toBe(200);
    expect(html).toContain("<h1>Track record</h1>");
    expect(html).toContain("The prices of this market are made up");
    expect(textOf(html)).toMatch(/Nothing yet The log began on .* a verdict needs 60 periods/);
    expect(textOf(html)).toMatch(/Stock, 21 sessions: not before 21 Nov 2026, 05:23/);
    expect(html).toContain(`npx --no-install market-signal verify ${base} --state seen.json`);
    const { html: home } = await web.get("/");
    expect(home).toContain('href="/track-record"');
    expect(home).toContain("Verify what was said");
  });
});
