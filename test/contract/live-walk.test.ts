import { setImmediate as turn } from "node:timers/promises";
import pino from "pino";
import { expect, it, onTestFinished } from "vitest";
import { readConfig } from "../../src/config.ts";
import { keep } from "../../src/ingest/keep.ts";
import { openScoring } from "../../src/scoring.ts";
import type { Datum } from "../../src/sources/live/provider.ts";
import { coinBarKnown } from "../../src/sources/live/when.ts";
import { temporaryFolder } from "../support/process.ts";
import { coinDay, utcDays } from "../support/providers/coins.ts";
import { model, openStore } from "../support/stores.ts";

const COINS = ["BTC-USD", "ETH-USD"];

const daysOf = (from: string, to: string): readonly Datum[] =>
  COINS.flatMap((symbol) =>
    utcDays(from, to).map((session) => ({
      ...{ feed: "bars" as const, symbol, at: Date.parse(session), id: session },
      record: {
        ...{ session, availableAt: coinBarKnown(session), dividend: 0, split: 1 },
        ...coinDay(symbol, session),
      },
    })),
  );

/** A process that scores what is kept in a store; it asks nobody. */
async function scoringOf(store: Awaited<ReturnType<typeof openStore>>) {
  const env = { MARKET: "live", UNIVERSE: COINS.join(), DATA_DIR: temporaryFolder() };
  const scoring = await openScoring({
    config: readConfig({ ...env, PROVIDERS: "coinbase" }),
    now: () => new Date(store.clock.now),
    ...{ store, log: pino({ level: "silent" }) },
  });
  onTestFinished(() => scoring.live?.close());
  const scores = () =>
    COINS.map((symbol) =>
      scoring.snapshots.history(symbol, 0, store.clock.now).map(({ at, score }) => [at, score]),
    );
  return { ...scoring, scores };
}

it("history is scored piece by piece, and what was scored before is served until all is", async () => {
  const store = await openStore(model);
  const give = async (data: readonly Datum[]) => {
    const given = { provider: "coinbase", observedAt: store.clock.now };
    const { announcements } = await keep({ data }, given, store);
    await store.records.commit(announcements);
  };
  await give(daysOf("2026-10-01", "2026-11-20"));
  const scoring = await scoringOf(store);
  const before = scoring.scores();
  expect(before.map(({ length }) => length)).toEqual([51, 51]);

  await give(daysOf("2025-06-01", "2026-09-30"));
  let turns = 0;
  let served = { until: scoring.knownUntil(), scores: before };
  for (let look = 0; served.scores.some(({ length }) => length < 538); look++) {
    expect(look).toBeLessThan(10_000);
    store.clock.now += 1_000;
    scoring.refresh();
    const found = { until: scoring.knownUntil(), scores: scoring.scores() };
    if (found.until === served.until) {
      turns++;
      expect(found).toEqual(served);
    }
    served = found;
    await turn();
  }
  expect(turns).toBeGreaterThan(100);
  expect(scoring.scores()).toEqual((await scoringOf(store)).scores());
});
