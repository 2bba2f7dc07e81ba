import { describe, expect, it } from "vitest";
import { watchlists } from "../../../../src/alerts/watchlists/watchlist.ts";
import { put, remove } from "../../../../src/store/port/operations.ts";
import {
  alertSteps,
  createScriptedMarket,
  leaderOf,
  OWNER,
  recordedEventsIn,
  type SnapshotOverrides,
} from "../../../support/scripted-market.ts";
import { embedded, openStore } from "../../../support/stores.ts";

const KEY = "key of the list";
const LONG: SnapshotOverrides = { direction: "LONG" };
const WAIT: SnapshotOverrides = { direction: "WAIT" };

describe("an alert on a watchlist", () => {
  /** A leader of a market with the instruments A and B, and an alert on a watchlist. */
  async function begun() {
    const store = await openStore(embedded);
    const stage = createScriptedMarket();
    const list = (...symbols: string[]) =>
      store.records.commit([
        put(watchlists, { key: KEY, value: { owner: OWNER, name: "mine", symbols } }),
      ]);
    await list("A");
    const watched = { by: "watchlist", key: KEY, name: "mine" } as const;
    await store.records.commit(alertSteps("a1", { watched }));
    const leader = leaderOf(store, stage);
    let day = 0;
    const close = async (said: Readonly<Record<string, SnapshotOverrides>>) => {
      day += 1;
      stage.close(day, said);
      await leader.run();
      return (await recordedEventsIn(store)).map(({ payload }) => payload.data.symbol);
    };
    await close({ A: WAIT, B: WAIT });
    return { ...store, list, close };
  }

  it("receives the events of the instruments that are in the list when the session closes", async () => {
    const { list, close } = await begun();
    expect(await close({ A: LONG, B: LONG })).toEqual(["A"]);
    await list("B");
    expect(await close({ A: WAIT, B: WAIT })).toEqual(["A", "B"]);
    await list("A", "B");
    const all = await close({ A: LONG, B: LONG });
    expect(all.slice(2).toSorted()).toEqual(["A", "B"]);
  });

  it("receives no events after the list is deleted", async () => {
    const { records, close } = await begun();
    await records.commit([remove(watchlists, KEY)]);
    expect(await close({ A: LONG, B: LONG })).toEqual([]);
  });
});
