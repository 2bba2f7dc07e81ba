import { expect, it } from "vitest";
import { persist } from "../../src/ingest/persist.ts";
import type { Observation, Rejected } from "../../src/sources/live/provider.ts";
import { contentOf, rejectedIn } from "../support/providers/follow.ts";
import { describeStores, openStore } from "../support/stores.ts";

const DAY_MS = 86_400_000;
const T = Date.UTC(2026, 10, 2);
const given = { provider: "test", observedAt: T + 99 * DAY_MS };

function bar(day: number, close: number, split = 1): Observation {
  const at = T + day * DAY_MS;
  const session = new Date(at).toISOString().slice(0, 10);
  const prices = { open: close, high: close, low: close, close };
  const record = { session, availableAt: at + DAY_MS, ...prices, volume: 1, dividend: 0, split };
  return { feed: "bars", symbol: "AAA", at, id: session, record };
}

describeStores("a bar with a price jump", (engine) => {
  async function kept(...pages: readonly (readonly Observation[])[]) {
    const store = await openStore(engine);
    for (const data of pages) await persist({ data }, given, store);
    const closes = (await contentOf(store, ["bars"])).map(
      ({ record }) => (record as { close: number }).close,
    );
    return { closes, rejected: await rejectedIn(store) };
  }

  it("is quarantined with the reason, within a page and across pages", async () => {
    const { closes, rejected } = await kept(
      [bar(0, 10), bar(1, 1_000), bar(2, 11)],
      [bar(3, 0.1)],
      [bar(4, 12)],
    );
    expect(closes).toEqual([10, 11, 12]);
    expect(rejected).toEqual([
      {
        symbol: "AAA",
        reason: "the close 1000 is too far from the 10 before it, and no split explains it",
      },
      {
        symbol: "AAA",
        reason: "the close 0.1 is too far from the 11 before it, and no split explains it",
      },
    ]);
  });

  it("is accepted with a split, and from the next bar on when the price stays there", async () => {
    expect((await kept([bar(0, 700)], [bar(1, 100, 7)])).closes).toEqual([700, 100]);
    expect((await kept([bar(0, 10)], [bar(1, 30)], [bar(2, 31)], [bar(3, 32)])).closes).toEqual([
      10, 31, 32,
    ]);
    expect((await kept([bar(0, 10), bar(1, 30), bar(2, 31)])).closes).toEqual([10, 31]);
  });

  it("is accepted eventually, whatever else of the instrument is quarantined", async () => {
    const store = await openStore(engine);
    const posts = Array.from({ length: 30 }, (_, second): Rejected => {
      const at = T + DAY_MS + second * 1_000;
      return { feed: "mentions", symbol: "AAA", at, id: `m${second}`, reason: "too long" };
    });
    const wrong = { ...bar(1.5, 7), reason: "high is below low" } as unknown as Rejected;
    await persist({ data: [bar(0, 10)] }, given, store);
    await persist({ data: [bar(1, 30)], rejected: [...posts, wrong] }, given, store);
    await persist({ data: [bar(2, 31)], rejected: posts }, given, store);
    const bars = await contentOf(store, ["bars"]);
    expect(bars.map(({ record }) => (record as { close: number }).close)).toEqual([10, 31]);
  });

  it("is not reported again under another day", async () => {
    const { closes } = await kept([bar(0, 10)], [bar(1, 1_000)], [bar(2, 10)], [bar(3, 1_000)]);
    expect(closes).toEqual([10, 10]);
  });
});
