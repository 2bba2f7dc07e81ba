import { expect, it } from "vitest";
import { watchlists } from "../../../../src/alerts/watchlists/watchlist.ts";
import { put, remove } from "../../../../src/store/port/operations.ts";
import {
  alertSteps,
  createScriptedMarket,
  leaderOf,
  OWNER,
  type Said,
  toldIn,
} from "../../../support/scripted-market.ts";
import { describeEngines, openStore } from "../../../support/stores.ts";

const KEY = "key of the list";
const LONG: Said = { direction: "LONG" };
const WAIT: Said = { direction: "WAIT" };

describeEngines("an alert on a watchlist", (engine) => {
  /** A leader of a market with A and B, and an alert of a list. */
  async function begun() {
    const store = await openStore(engine);
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
    const close = async (said: Readonly<Record<string, Said>>) => {
      day += 1;
      stage.close(day, said);
      await leader.run();
      return (await toldIn(store)).map(({ payload }) => payload.data.symbol);
    };
    await close({ A: WAIT, B: WAIT });
    return { ...store, list, close };
  }

  it("gets the events of the instruments that are in the list when the session closes", async () => {
    const { list, close } = await begun();
    expect(await close({ A: LONG, B: LONG })).toEqual(["A"]);
    await list("B");
    expect(await close({ A: WAIT, B: WAIT })).toEqual(["A", "B"]);
    await list("A", "B");
    const all = await close({ A: LONG, B: LONG });
    expect(all.slice(2).toSorted()).toEqual(["A", "B"]);
  });

  it("gets no events once the list is deleted", async () => {
    const { records, close } = await begun();
    await records.commit([remove(watchlists, KEY)]);
    expect(await close({ A: LONG, B: LONG })).toEqual([]);
  });
});
