import { describe, expect, it } from "vitest";
import { doctorCommand } from "../../../src/cli/commands/doctor.ts";
import {
  answeringProgress,
  faultOf,
  followedStore,
  notedSeries,
  providerSetup,
  quarantineBar,
} from "../../support/providers/states.ts";
import { model, openStore, START, type TestStore } from "../../support/stores.ts";

const examined = ({ store }: TestStore) =>
  doctorCommand.run(
    {},
    {
      ...{ store, folder: "", now: () => START, holder: "command" },
      keyring: () => Promise.reject(new Error("no keys are needed")),
    },
    () => {},
  );

describe("the doctor command", () => {
  it("reports when no live market has ever been polled", async () => {
    const { isGood, lines, result } = await examined(await openStore(model));
    expect([isGood, result]).toEqual([true, { providers: [] }]);
    expect(lines.join("\n")).toContain("MARKET=live");
  });

  it("describes every state of a provider", async () => {
    const store = await followedStore(
      [
        providerSetup("coinbase"),
        providerSetup("kraken", { feeds: [] }),
        providerSetup("alpaca", { feeds: [], missing: ["ID", "SECRET"] }),
        providerSetup("edgar", { feeds: ["fundamentals"] }),
        providerSetup("deribit", { feeds: ["prints", "bars"] }),
        providerSetup("stream", { feeds: ["mentions"], budget: null }),
      ],
      {
        coinbase: { ...answeringProgress, ...faultOf(3_600) },
        deribit: { ...answeringProgress, ...faultOf(30), failures: 4, openUntil: START + 45_000 },
        stream: { ...answeringProgress, sentAt: [], newestAt: null },
      },
    );
    for (const days of [5, 1, 2, 29, 31]) {
      await quarantineBar(store, { id: "coinbase", days, reason: `the reason of day ${days}` });
    }
    const { isGood, lines, notes } = await examined(store);
    expect(lines).toEqual([
      "39 instruments are followed; nobody is asked for the prices of 27.",
      "coinbase  well     bars; last answer 90 s ago, newest datum 2 h ago",
      "                   8 of 10 requests left in 60 s",
      "                   last fault 60 min ago: answered 500 (failing)",
      "                   4 set apart in 30 days, the newest:",
      "                     AAA bars: the reason of day 1",
      "                     AAA bars: the reason of day 2",
      "                     AAA bars: the reason of day 5",
      "kraken    off      left out, or another provider has the same",
      "alpaca    off      needs ID, SECRET",
      "edgar     waiting  fundamentals; last answer never, newest datum never",
      "                   10 of 10 requests left in 60 s",
      "deribit   fault    prints, bars; last answer 90 s ago, newest datum 2 h ago",
      "                   8 of 10 requests left in 60 s",
      "                   last fault 30 s ago: answered 500 (failing)",
      "                   next try in 45 s",
      "stream    well     mentions; last answer 90 s ago, newest datum never",
    ]);
    expect([isGood, notes]).toEqual([false, []]);
  });

  it("reports a stream as silent after minutes, and any other provider after a week", async () => {
    const providers = ["heard", "unheard", "fresh"].map((id) =>
      providerSetup(id, { budget: null }),
    );
    const since = (ms: number) => ({ ...answeringProgress, lastSuccessAt: START - ms });
    const week = 7 * 86_400_000;
    const store = await followedStore(
      [...providers, providerSetup("asked"), providerSetup("left")],
      {
        ...{ heard: since(300_000), unheard: since(300_001) },
        ...{ asked: since(week), left: since(week + 1) },
      },
    );
    const { isGood, result } = await examined(store);
    expect(isGood).toBe(false);
    expect(result.providers).toMatchObject([
      { id: "heard", state: "well" },
      { id: "unheard", state: "silent" },
      { id: "fresh", state: "waiting" },
      { id: "asked", state: "well" },
      { id: "left", state: "silent" },
    ]);
  });

  it("reports no fault when every provider in use answers", async () => {
    const providers = [providerSetup("one"), providerSetup("two", { feeds: [], missing: ["KEY"] })];
    const { isGood } = await examined(await followedStore(providers, { one: answeringProgress }));
    expect(isGood).toBe(true);
  });

  it("reports a fault when the last answer could not be parsed, although the provider answers", async () => {
    const progress = { one: { ...answeringProgress, ...faultOf(10) } };
    const { isGood, result } = await examined(
      await followedStore([providerSetup("one")], progress),
    );
    expect(isGood).toBe(false);
    expect(result.providers).toMatchObject([{ id: "one", state: "fault", failures: 0 }]);
  });

  it("lists series that cannot be parsed even if other series are healthy", async () => {
    const store = await followedStore([providerSetup("one"), providerSetup("two")], {
      one: answeringProgress,
      two: answeringProgress,
    });
    const lost = { failures: 5, fault: "answered 404" };
    await notedSeries(store, "one", {
      AAA: { failures: 1, fault: "not JSON" },
      "BBB bars": lost,
      CCC: {},
      GONE: { ...lost, askedAt: START - 8 * 86_400_000, unknown: ["GONE"] },
    });
    const { isGood, lines, result } = await examined(store);
    expect(isGood).toBe(false);
    expect(lines.slice(1)).toEqual([
      "one  partly   bars; last answer 90 s ago, newest datum 2 h ago",
      "              8 of 10 requests left in 60 s",
      "              2 series cannot be read, the longest:",
      "                BBB bars: answered 404 (5 times)",
      "                AAA: not JSON (1 times)",
      "two  well     bars; last answer 90 s ago, newest datum 2 h ago",
      "              8 of 10 requests left in 60 s",
    ]);
    expect(result.providers).toMatchObject([
      { state: "partly", failingSeries: [{ key: "BBB bars", ...lost }, { key: "AAA" }] },
      { state: "well", failingSeries: [] },
    ]);
  });

  it("lists data that a provider lacks, without reporting a fault", async () => {
    const store = await followedStore([providerSetup("one")], { one: answeringProgress });
    const symbols = Array.from({ length: 12 }, (_, index) => `S${String(index).padStart(2, "0")}`);
    await notedSeries(store, "one", { A: { unknown: symbols.slice(6) }, B: { unknown: symbols } });
    const { isGood, lines, result } = await examined(store);
    expect(isGood).toBe(true);
    expect(lines.join("\n")).toContain(
      "does not have S00, S01, S02, S03, S04, S05, S06, S07, S08, S09 and 2 more",
    );
    expect(result.providers).toMatchObject([{ state: "well", unknown: symbols }]);
  });

  it("prints the same result as JSON, with instants in ISO 8601", async () => {
    const progress = {
      one: { ...answeringProgress, ...faultOf(30), failures: 1, openUntil: START + 1 },
    };
    const store = await followedStore([providerSetup("one"), providerSetup("two")], progress);
    await quarantineBar(store, { id: "one", days: 1, reason: "too high" });
    const { result } = await examined(store);
    const budget = { requests: 10, perMs: 60_000 };
    expect(JSON.parse(JSON.stringify(result))).toEqual({
      instruments: 39,
      unpriced: 27,
      providers: [
        {
          ...{ id: "one", name: "ONE", state: "fault", missing: [], feeds: ["bars"] },
          ...{ budget, budgetLeft: 8, failures: 1, failingSeries: [], unknown: [] },
          lastSuccessAt: "2026-11-21T11:58:30.000Z",
          newestAt: "2026-11-21T10:00:00.000Z",
          openUntil: "2026-11-21T12:00:00.001Z",
          lastFault: { at: "2026-11-21T11:59:30.000Z", kind: "failing", text: "answered 500" },
          rejected: [
            {
              ...{ provider: "one", feed: "bars", symbol: "AAA", reason: "too high" },
              observedAt: START - 86_400_000,
            },
          ],
        },
        {
          ...{ id: "two", name: "TWO", state: "waiting", missing: [], feeds: ["bars"] },
          ...{ budget, budgetLeft: 10, failures: 0, lastSuccessAt: null, newestAt: null },
          ...{ openUntil: null, lastFault: null, failingSeries: [], unknown: [], rejected: [] },
        },
      ],
    });
  });
});
