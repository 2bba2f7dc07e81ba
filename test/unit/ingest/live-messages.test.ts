import { pino } from "pino";
import { expect, it } from "vitest";
import { openLiveMarkets } from "../../../src/ingest/live.ts";
import { observationRow } from "../../../src/ingest/market-rows.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import { LiveMarket } from "../../../src/sources/live/live-market.ts";
import { instrument } from "../../support/instruments.ts";
import { temporaryFolder } from "../../support/process.ts";
import { model, openStore } from "../../support/stores.ts";

const MONTH = Date.parse("2027-06-01T00:00Z");

/** A message that arrived a minute after it was written. */
const message = (at: number) => ({
  ...{ feed: "mentions" as const, symbol: "BTC-USD", at, id: String(at) },
  ...{ provider: "gdelt", observedAt: at + 60_000 },
  record: {
    ...{ id: String(at), text: "Up it goes.", author: null, followers: null },
    ...{ symbolCount: 1, stance: null, availableAt: at },
  },
});

const timesIn = (market: LiveMarket, at: number) =>
  market
    .recordsUntil(at)
    .flatMap(({ mentions = [] }) => Array.from(mentions, ({ availableAt }) => availableAt));

it.each([
  ["before the first message of a month", [MONTH - 1_000]],
  ["after the first message of a month", [MONTH - 1_000, MONTH + 1_000]],
  ["in the month after the newest message", [MONTH - 40 * DAY_MS]],
])(
  "a process that starts %s has the same messages as a process that was already running",
  async (_, newest) => {
    const now = MONTH + 600_000;
    // Times around the cutoff of each of three months, 180 days before the month starts, and one
    // message of the previous year.
    const kept = [MONTH, Date.parse("2027-05-01"), Date.parse("2027-04-01")].flatMap((month) =>
      [-3, -1, -0.0001, 0, 1].map((days) => month - 180 * DAY_MS + days * DAY_MS),
    );
    const all = [MONTH - 390 * DAY_MS, ...kept, ...newest].sort((a, b) => a - b).map(message);
    const running = new LiveMarket([instrument("BTC-USD")], new Map());
    for (const one of all) {
      running.take([one]);
      running.recordsUntil(one.observedAt);
    }

    const { archive, records } = await openStore(model);
    await archive.append(all.map((one) => observationRow(one, one)));
    const folder = temporaryFolder();
    const live = await openLiveMarkets(
      { universe: "BTC-USD", providers: [], settings: {}, origins: {} },
      { store: { archive, records }, folder, now: () => now, log: pino({ level: "silent" }) },
    );
    const times = timesIn(live.market, now);
    await live.close();
    expect(times.length).toBeGreaterThan(4);
    expect(times).toEqual(timesIn(running, now));
  },
);
