import { describe, expect, it } from "vitest";
import { getWith, newToken } from "../support/agent.ts";
import { FOLDER, isMissing, reduced } from "../support/real-market.ts";
import { startService } from "../support/service.ts";

/** Reading years of a whole market takes seconds. */
const timeout = 180_000;

/** Symbols of every class and feed, for tests that need not read the whole folder. */
const SAMPLE = ["AAPL", "IBM", "IWM", "BTC-USD", "BAC", "MSFT"];

async function serve(folder: string, asOf: string) {
  const market = { kind: "files", folder, asOf: new Date(asOf) } as const;
  const { base } = await startService({ market });
  const token = await newToken(base);
  const read = async (path: string) => {
    const response = await getWith(token, `${base}${path}`);
    return { status: response.status, text: await response.text() };
  };
  const json = async <T>(path: string): Promise<T> => JSON.parse((await read(path)).text) as T;
  return { read, json };
}

interface Factors {
  readonly status: string;
  readonly factors: Readonly<
    Record<
      string,
      {
        readonly status: string;
        readonly z: number | null;
        readonly inputs: readonly { readonly name: string; readonly value: number }[];
      }
    >
  >;
}

const inputOf = ({ factors }: Factors, factor: string, name: string) =>
  factors[factor]?.inputs.find((input) => input.name === name)?.value ?? Number.NaN;

describe.skipIf(isMissing)("real history", { timeout }, () => {
  it("has momentum, valuation and social for AAPL on 2015-06-30", async () => {
    const { json } = await serve(FOLDER, "2015-06-30T21:00:00Z");
    const { factors } = await json<Factors>("/api/factors?symbol=AAPL");
    for (const name of ["momentum", "valuation", "social"]) {
      expect(factors[name], name).toMatchObject({ status: "ok", z: expect.any(Number) });
    }
    expect(factors.darkpool).toMatchObject({ status: "not_observed", z: null });

    const signal = await json<object>("/api/signals?symbol=AAPL");
    expect(signal).toMatchObject({
      market: "files",
      asOf: "2015-06-30T21:00:00.000Z",
      missingFactors: ["darkpool"],
      price: { value: 125.4299, currency: "USD", at: "2015-06-30T20:15:00.000Z" },
    });
    const { items } = await json<{ items: object[] }>("/api/signals?limit=500");
    expect(items.length).toBe(356);
  });

  it("has IBM's 7,458 off-exchange prints of 2013-10-07 as of 2013-10-11", async () => {
    const { json } = await serve(FOLDER, "2013-10-11T21:00:00Z");
    const { days } = await json<{ days: { session: string }[] }>(
      "/api/darkpool?symbol=IBM&view=days",
    );
    const day = days.find(({ session }) => session === "2013-10-07") as unknown as {
      prints: number;
      shares: number;
      shareOfVolume: number;
    };
    expect(day).toMatchObject({ prints: 7_458, shares: 1_228_746 });
    expect(day.shareOfVolume).toBeCloseTo(0.31, 3);
    const signal = await json<object>("/api/signals?symbol=IBM");
    expect(signal).toMatchObject({ signal: "WAIT", status: "insufficient_data" });
  });

  it("is continuous for AAPL across the 7 for 1 split of 2014-06-09", async () => {
    const folder = await reduced({ symbols: SAMPLE });
    const on = async (asOf: string) => {
      const { json } = await serve(folder, asOf);
      return json<Factors & { symbol: string }>("/api/factors?symbol=AAPL");
    };
    const before = await on("2014-06-06T21:00:00Z");
    const after = await on("2014-06-09T21:00:00Z");
    const capBefore = inputOf(before, "valuation", "marketCapUsd");
    const capAfter = inputOf(after, "valuation", "marketCapUsd");
    expect(capAfter / capBefore).toBeCloseTo((93.7 * 7) / 645.57, 6);
    const change =
      inputOf(after, "momentum", "return12m1") - inputOf(before, "momentum", "return12m1");
    expect(Math.abs(change)).toBeLessThan(0.05);
  });

  it("has IWM's short ratio on 2017-06-30 and BTC's network value on 2020-06-30", async () => {
    const folder = await reduced({ symbols: SAMPLE });
    const fund = await serve(folder, "2017-06-30T23:00:00Z");
    const { factors } = await fund.json<Factors>("/api/factors?symbol=IWM");
    expect(factors.darkpool?.status).toBe("ok");
    const coin = await serve(folder, "2020-06-30T12:00:00Z");
    const btc = await coin.json<Factors>("/api/factors?symbol=BTC-USD");
    expect(btc.factors.valuation?.status).toBe("ok");
    expect(btc.factors.momentum?.status).toBe("ok");
  });

  it("answers byte for byte the same when the future is deleted", async () => {
    const asOf = "2015-06-30T21:00:00Z";
    const whole = await serve(FOLDER, asOf);
    const past = await serve(await reduced({ lastDate: "2015-06-30" }), asOf);
    const { items } = await whole.json<{ items: { symbol: string }[] }>(
      "/api/instruments?limit=500",
    );
    const paths = [
      "/api/instruments?limit=500",
      "/api/signals?limit=500",
      ...items.flatMap(({ symbol }) => [
        `/api/signals?symbol=${symbol}`,
        `/api/signals?symbol=${symbol}&from=2014-01-01T00:00:00Z&limit=500`,
        `/api/factors?symbol=${symbol}`,
        `/api/darkpool?symbol=${symbol}`,
      ]),
    ];
    expect(paths.length).toBeGreaterThan(1_400);
    for (const path of paths) expect(await past.read(path), path).toEqual(await whole.read(path));
  });

  it("does not know of feeds, filings or messages to come when asked for the past", async () => {
    const asOf = "2013-12-20T21:15:00Z";
    const whole = await serve(FOLDER, "2014-01-10T21:15:00Z");
    const past = await serve(await reduced({ lastDate: "2013-12-20" }), "2014-01-10T21:15:00Z");
    const { items } = await past.json<{ items: { symbol: string }[] }>(
      "/api/instruments?limit=500",
    );
    for (const { symbol } of items) {
      for (const tool of ["signals", "factors", "darkpool"]) {
        const path = `/api/${tool}?symbol=${symbol}&asOf=${asOf}`;
        expect(await whole.read(path), path).toEqual(await past.read(path));
      }
    }
  });

  it("scores the session under way against the tables of the close before it", async () => {
    const folder = await reduced({});
    const signalOf = async (asOf: string) => {
      const { json } = await serve(folder, asOf);
      const { factors } = await json<Factors>("/api/factors?symbol=AAPL");
      const { signal, since } = await json<Record<string, string>>("/api/signals?symbol=AAPL");
      return { z: factors.momentum?.z, signal, since };
    };
    const afterClose = await signalOf("2015-06-30T21:00:00Z");
    expect(afterClose.z).toBeCloseTo(1.06357, 5);
    expect((await signalOf("2015-06-30T18:00:00Z")).z).toBeCloseTo(0.963925, 6);
    expect(await signalOf("2015-07-01T02:00:00Z")).toEqual(afterClose);
  });

  it("gives a signal that does not depend on when the process starts", async () => {
    const folder = await reduced({ symbols: SAMPLE });
    const early = await serve(folder, "2015-03-31T21:00:00Z");
    const late = await serve(folder, "2015-06-30T21:00:00Z");
    for (const symbol of ["AAPL", "BTC-USD", "IWM"]) {
      const past = `/api/signals?symbol=${symbol}&from=2014-01-01T00:00:00Z&to=2015-03-31T20:20:00Z&limit=500`;
      const history = await late.json<{ history: object[] }>(past);
      expect(history.history.length, symbol).toBeGreaterThan(190);
      expect((await early.json<{ history: object[] }>(past)).history).toEqual(history.history);
    }
  });
});
