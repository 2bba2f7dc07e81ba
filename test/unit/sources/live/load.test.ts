// @module-tag full

import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../../../src/lib/day.ts";
import type { PolledProvider } from "../../../../src/sources/live/provider.ts";
import { alpaca } from "../../../../src/sources/live/providers/alpaca.ts";
import { coinMetrics } from "../../../../src/sources/live/providers/coin-metrics.ts";
import { coinbase } from "../../../../src/sources/live/providers/coinbase.ts";
import { edgar } from "../../../../src/sources/live/providers/edgar.ts";
import { finraDaily } from "../../../../src/sources/live/providers/finra-daily.ts";
import { finraWeekly } from "../../../../src/sources/live/providers/finra-weekly.ts";
import { gdelt } from "../../../../src/sources/live/providers/gdelt.ts";
import { stocktwits } from "../../../../src/sources/live/providers/stocktwits.ts";
import { stockBarKnownAt } from "../../../../src/sources/live/publication-times.ts";
import { readUniverse } from "../../../../src/sources/live/universe.ts";
import { type DrivenPolling, drivePolling } from "../../../support/providers/drive.ts";
import { rigsFor } from "../../../support/providers/rigs.ts";

const HOUR_MS = 3_600_000;

/** First start on a Sunday at the end of the year, when the history is longest. */
const FIRST_START = Date.parse("2026-12-27T12:00:00Z");

/** Start of the history: 400 days before the year before. */
const HISTORY_FROM = Date.parse("2025-01-01T05:00:00Z") - 400 * DAY_MS;

/** New York's midnight before the session after the first start. */
const SESSION = "2026-12-28";
const SESSION_STARTS = Date.parse(`${SESSION}T05:00:00Z`);

/** Pages of 10,000 trades of the largest stocks in a session, which bounds all others. */
const LARGEST_PAGES = 100;

/** Providers without a paid plan whose number of requests depends on the universe. */
const FREE: readonly PolledProvider[] = [
  ...[coinbase, coinMetrics, alpaca, finraDaily, finraWeekly, edgar, stocktwits, gdelt],
];

type Requests = DrivenPolling["requests"];

/** Requests for the default universe from a provider, or for one feed of it. */
interface Load {
  readonly name: string;
  readonly budget: PolledProvider["budget"];
  /** Requests for the history. */
  readonly first: Requests;
  /** Requests in the 24 hours with the first session. */
  readonly day: Requests;
  /** Number of pages of each answer, at most. */
  readonly pages: number;
}

const loads: Load[] = [];

beforeAll(async () => {
  const universe = await readUniverse(undefined);
  // Enough messages that the first visit reads as many pages as a visit may.
  const density = { tradesADay: 2, messageEveryMs: HOUR_MS / 3, futuresEveryMs: HOUR_MS };
  for (const { provider, serve, settings } of rigsFor(universe, density)) {
    if (!FREE.includes(provider)) continue;
    const instruments = universe.filter(({ assetClass }) => provider.classes.includes(assetClass));
    const options = { instruments, settings, historyFrom: HISTORY_FROM };
    const filled = drivePolling(provider, serve(), { ...options, now: FIRST_START });
    const later = drivePolling(provider, serve(), {
      ...options,
      cursors: filled.cursors,
      now: filled.now,
      until: SESSION_STARTS + DAY_MS,
    });
    const day = later.requests.filter(({ at }) => at >= SESSION_STARTS);
    loads.push(...byFeed(provider, withoutCached(filled.requests), day));
  }
});

/** One load for each feed of Alpaca, of which only prints come in several pages. */
function byFeed({ id, budget }: PolledProvider, first: Requests, day: Requests): readonly Load[] {
  if (id !== alpaca.id) return [{ name: `\`${id}\``, budget, first, day, pages: 1 }];
  return (["bars", "trades"] as const).map((list) => {
    const isOf = ({ path }: Requests[number]) => path.startsWith(`/v2/stocks/${list}?`);
    const isBars = list === "bars";
    return {
      name: isBars ? "`alpaca`, bars" : "`alpaca`, prints, at most",
      budget,
      first: first.filter(isOf),
      day: day.filter(isOf),
      pages: isBars ? 1 : LARGEST_PAGES,
    };
  });
}

/** Requests that are sent: a poller asks once for an answer that it keeps, such as a list of all. */
const withoutCached = (requests: Requests): Requests => [
  ...new Map(requests.map((one, index) => [one.keepMs ? one.path : index, one])).values(),
];

const allowedIn = (ms: number, { budget }: Load): number => (ms / budget.perMs) * budget.requests;
const firstCount = ({ first, pages }: Load): number => first.length * pages;
const dayCount = ({ day, pages }: Load): number => day.length * pages;
const firstMs = (load: Load): number => firstCount(load) / allowedIn(1, load);

/** The row of the load in docs/live-providers.md. */
function rowOf(load: Load): string {
  const allowed = allowedIn(DAY_MS, load);
  const [first, day, limit] = [firstCount(load), dayCount(load), allowed].map((count) =>
    count.toLocaleString("en"),
  );
  const percent = (100 * dayCount(load)) / allowed;
  const share = percent < 0.01 ? "under 0.01" : String(Number(percent.toPrecision(2)));
  return `| ${load.name} | ${first} | ${durationText(firstMs(load))} | ${day} | ${limit} | ${share} % |`;
}

function durationText(ms: number): string {
  const minutes = Math.ceil(ms / 60_000);
  if (minutes === 1) return `${Math.ceil(ms / 1_000)} s`;
  return minutes < 120 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`;
}

describe("the default universe", () => {
  it("needs at most 60 % of each free plan a day, which leaves room to repeat requests", () => {
    for (const load of loads) {
      expect(dayCount(load), load.name).toBeLessThan(0.6 * allowedIn(DAY_MS, load));
    }
  });

  it("has all of its history but prints within two hours, and prints within three days", () => {
    for (const load of loads) {
      const limitMs = load.pages === 1 ? 2 * HOUR_MS : 3 * DAY_MS;
      expect(firstMs(load), load.name).toBeLessThan(limitMs);
    }
  });

  it("has the bars of a session before they count as known, and its prints within an hour", () => {
    const [bars, prints] = loads.filter(({ name }) => name.startsWith("`alpaca`")) as [Load, Load];
    expect(bars.day.length).toBeGreaterThan(0);
    expect(bars.day.at(-1)?.at).toBeLessThan(stockBarKnownAt(SESSION));
    expect(dayCount(prints)).toBeGreaterThan(0);
    expect(dayCount(prints)).toBeLessThan(allowedIn(HOUR_MS, prints));
  });

  it("is asked about once an hour where messages are polled", () => {
    for (const provider of [stocktwits, gdelt]) {
      const { day } = loads.find(({ name }) => name === `\`${provider.id}\``) as Load;
      for (const [key, visits] of Map.groupBy(day, (one) => one.key)) {
        const times = [SESSION_STARTS, ...visits.map(({ at }) => at), SESSION_STARTS + DAY_MS];
        const pauses = times.slice(1).map((at, index) => at - (times[index] ?? 0));
        expect(Math.max(...pauses), key).toBeLessThan(1.1 * HOUR_MS);
      }
    }
  });

  it("has the load that docs/live-providers.md says", () => {
    const file = new URL("../../../../docs/live-providers.md", import.meta.url);
    const [, section = ""] = readFileSync(file, "utf8").split(
      "\n## Requests for the default list\n",
    );
    const rows = section.split("\n").filter((line) => /^\| `.* % \|$/.test(line));
    expect(rows).toEqual(loads.map(rowOf));
  });
});
