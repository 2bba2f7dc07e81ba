import { expect, it } from "vitest";
import { openResponseCache, type ResponseCache } from "../../src/ingest/response-cache.ts";
import { DAY_MS } from "../../src/lib/day.ts";
import { newYorkInstant } from "../../src/market/new-york.ts";
import type { PolledProvider } from "../../src/sources/live/provider.ts";
import { coinbase } from "../../src/sources/live/providers/coinbase.ts";
import { edgar } from "../../src/sources/live/providers/edgar.ts";
import { finraDaily } from "../../src/sources/live/providers/finra-daily.ts";
import { temporaryFolder } from "../support/process.ts";
import { serveCoinbase } from "../support/providers/coinbase.ts";
import type { Serve } from "../support/providers/drive.ts";
import { serveEdgar } from "../support/providers/edgar.ts";
import { serveFinraDaily } from "../support/providers/finra-daily.ts";
import { contentOf, followProvider, pollerOf } from "../support/providers/follow.ts";
import { RIG_INSTRUMENTS } from "../support/providers/rigs.ts";
import { startProvider } from "../support/providers/server.ts";
import { model, openStore, START } from "../support/stores.ts";

/** Polls a provider and stores its data in a new store. */
async function followed(
  provider: PolledProvider,
  { serve, cache, until }: { serve: Serve; cache: ResponseCache; until: number },
) {
  const store = await openStore(model);
  const { origin, asked } = await startProvider(serve, () => store.clock.now);
  const options = {
    instruments: RIG_INSTRUMENTS.filter(({ assetClass }) => provider.classes.includes(assetClass)),
    ...{ feeds: new Set(provider.feeds), historyFrom: START - 700 * DAY_MS },
    settings: { SEC_USER_AGENT: "Ada Example ada@example.org" },
  };
  const poller = pollerOf({ provider, options, origin, store, cache });
  await followProvider(poller, store.clock, until);
  return { content: await contentOf(store, provider.feeds), asked: asked.length };
}

it("after the store is lost, ingestion reads immutable answers from the cache and requests only the rest", async () => {
  const world = { products: ["BTC-USD", "ETH-USD"], since: "2020-01-01" };
  const cache = await openResponseCache(temporaryFolder());
  const around = { cache, until: START + 60_000 };
  const first = await followed(coinbase, { ...around, serve: serveCoinbase(world) });
  const again = await followed(coinbase, { ...around, serve: serveCoinbase(world) });
  expect(again.content).toEqual(first.content);
  expect([first.asked, again.asked]).toEqual([6, 2]);
});

it("a resource that all companies share is requested only once during ingestion", async () => {
  const companies = ["AAPL", "BRK-B"].map((ticker, cik) => ({ ticker, cik: cik + 1, since: 2022 }));
  const { asked } = await followed(edgar, {
    ...{ cache: await openResponseCache(temporaryFolder()), until: START + 60_000 },
    serve: serveEdgar(companies),
  });
  expect(asked).toBe(1 + 2);
});

it("ingestion finds a file that was missing as soon as it is published", async () => {
  const session = "2026-11-18";
  const late = new Map([[session, newYorkInstant("2026-11-21", "15:00")]]);
  const { content } = await followed(finraDaily, {
    ...{ cache: await openResponseCache(temporaryFolder()), until: START + 2 * DAY_MS },
    serve: serveFinraDaily({ symbols: ["AAPL"], late }),
  });
  const sessions = content.map(({ record }) => (record as { session?: string }).session);
  expect(sessions).toContain(session);
});

it("a coin without trades is requested only once a day during ingestion", async () => {
  const { asked } = await followed(coinbase, {
    ...{ cache: await openResponseCache(temporaryFolder()), until: START + 2.5 * DAY_MS },
    serve: serveCoinbase({ products: [], since: "2020-01-01" }),
  });
  expect(asked).toBe(2 * 3);
});
