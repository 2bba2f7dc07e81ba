import { describe, expect, it } from "vitest";
import type { Print } from "../../../../src/market/records.ts";
import { deribit } from "../../../../src/sources/live/providers/deribit.ts";
import { instrument } from "../../../support/instruments.ts";
import {
  type DeribitWorld,
  deribitRfq,
  deribitTrades,
  serveDeribit,
} from "../../../support/providers/deribit.ts";
import {
  always,
  type Drive,
  type Driven,
  drive,
  faultIn,
  type Serve,
} from "../../../support/providers/drive.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.parse("2026-06-10T12:00:00Z");

const WORLD: DeribitWorld = {
  coins: ["BTC", "ETH"],
  tradeEveryMs: 20_000,
  rfqEveryMs: 7 * MINUTE_MS,
  rfqSince: NOW - 30 * DAY_MS,
};

const HALF_A_DAY: Drive = {
  instruments: [instrument("BTC-USD")],
  historyFrom: NOW - 12 * HOUR_MS,
  settings: {},
  now: NOW,
};

const printsOf = ({ data }: Driven) => data.map(({ record }) => record as Print);
const isOfRfq = ({ id }: Print) => id.startsWith("rfq-");
const tradesOf = (driven: Driven) => printsOf(driven).filter((print) => !isOfRfq(print));
const rfqsOf = (driven: Driven) => printsOf(driven).filter(isOfRfq);
const requestsFor = ({ requests }: Driven, method: string) =>
  requests.filter(({ path }) => path.includes(method));

/** Blocks that were brought to Deribit between two instants, both included. */
const blocks = (name: string, from: number, to: number) =>
  deribitTrades(name, WORLD, { from, to }).filter(
    (trade) => trade.block_trade_id !== undefined && trade.block_rfq_id === undefined,
  );

/** Only one of the two calls answers with something. */
const only = (method: string, other: Serve): Serve => {
  const serve = serveDeribit({ ...WORLD, tradeEveryMs: 10 * DAY_MS, rfqSince: NOW });
  return (request, now) => (request.url.pathname.endsWith(method) ? other : serve)(request, now);
};
const TRADES = "get_last_trades_by_currency_and_time";
const RFQS = "get_block_rfq_trades";

describe("Deribit, block trades", () => {
  it("gives each trade outside RFQs, in dollars and coins", () => {
    const driven = drive(deribit, serveDeribit(WORLD), HALF_A_DAY);
    const expected = blocks("BTC", HALF_A_DAY.historyFrom, NOW - 5_000);
    const prints = tradesOf(driven);
    expect(prints.map(({ id }) => id)).toEqual(expected.map(({ trade_id }) => trade_id));
    expect(prints.length).toBeGreaterThan(100);
    for (const [index, { price, amount, timestamp }] of expected.entries()) {
      expect(prints[index]).toMatchObject({ price, tradedAt: timestamp, availableAt: timestamp });
      expect((prints[index] as Print).sizeShares * price).toBeCloseTo(amount, 6);
    }
    expect(requestsFor(driven, TRADES).length).toBeGreaterThan(5);
    expect(driven.rejected).toEqual([]);
  });

  it("never signs a trade, and gives no quotes", () => {
    const [print] = tradesOf(drive(deribit, serveDeribit(WORLD), HALF_A_DAY));
    expect(print).toMatchObject({
      session: "2026-06-10",
      venue: "Deribit block",
      bid: null,
      ask: null,
      canceled: false,
      signable: false,
    });
    expect(print?.conditions).toMatch(/^BTC-(?:PERPETUAL|26DEC25)$/);
  });

  it("continues as trades are made, and gives each once", () => {
    const until = NOW + HOUR_MS;
    const driven = drive(deribit, serveDeribit(WORLD), { ...HALF_A_DAY, until });
    const last = requestsFor(driven, TRADES).at(-1)?.at ?? 0;
    expect(tradesOf(driven).map(({ id }) => id)).toEqual(
      blocks("BTC", HALF_A_DAY.historyFrom, last - 5_000).map(({ trade_id }) => trade_id),
    );
    expect(last).toBeGreaterThan(until - 2 * MINUTE_MS);
    expect(requestsFor(driven, TRADES).length).toBeLessThan(75);
  });

  it("starts at most a week back, at the start of a day", () => {
    const quiet = serveDeribit({ ...WORLD, tradeEveryMs: HOUR_MS });
    const [first] = requestsFor(drive(deribit, quiet, { ...HALF_A_DAY, historyFrom: 0 }), TRADES);
    expect(first?.path).toContain(`start_timestamp=${Date.parse("2026-06-03")}&`);
  });

  it("gives the same result after repeated kills", () => {
    const whole = drive(deribit, serveDeribit(WORLD), HALF_A_DAY);
    const ids = new Set<string>();
    let cursors: Driven["cursors"] = {};
    for (let kill = 0; kill < whole.requests.length; kill++) {
      const piece = drive(deribit, serveDeribit(WORLD), { ...HALF_A_DAY, cursors, killAfter: 3 });
      for (const { id } of piece.data) ids.add(id);
      cursors = piece.cursors;
    }
    expect(ids).toEqual(new Set(whole.data.map(({ id }) => id)));
  });

  it("misses nothing where the local clock is ahead", () => {
    const ahead = 2 * HOUR_MS;
    const serve = serveDeribit(WORLD);
    const behind: Serve = (request, now) => serve(request, now - ahead);
    const until = NOW + ahead + HOUR_MS;
    const driven = drive(deribit, behind, { ...HALF_A_DAY, now: NOW + ahead, until });
    const last = (requestsFor(driven, TRADES).at(-1)?.at ?? 0) - ahead;
    expect(tradesOf(driven).map(({ id }) => id)).toEqual(
      blocks("BTC", HALF_A_DAY.historyFrom, last - 5_000).map(({ trade_id }) => trade_id),
    );
  });

  it("tracks Bitcoin and Ether only", () => {
    const instruments = ["BTC-USD", "ETH-USD", "SOL-USD"].map(instrument);
    const { data } = drive(deribit, serveDeribit(WORLD), { ...HALF_A_DAY, instruments });
    expect(new Set(data.map(({ symbol }) => symbol))).toEqual(new Set(["BTC-USD", "ETH-USD"]));
  });
});

describe("Deribit, requests for quotes", () => {
  /** Legs and hedges in futures of the requests from an instant to another. */
  const expectedIds = (from: number, to: number) =>
    Array.from({ length: 1 + (to - WORLD.rfqSince) / WORLD.rfqEveryMs }, (_, id) =>
      deribitRfq("BTC", WORLD, id),
    )
      .filter(({ timestamp }) => timestamp >= from && timestamp <= to)
      .flatMap(({ id, legs, hedge }) => [
        ...legs.map(({ instrument_name }, index) => [`rfq-${id}-${index}`, instrument_name]),
        ...(hedge ? [[`rfq-${id}-hedge`, hedge.instrument_name]] : []),
      ])
      .filter(([, instrument]) => !instrument?.endsWith("-C"))
      .map(([id]) => id)
      .sort();

  it("reads back to the start of history, page by page", () => {
    const quiet = { ...WORLD, tradeEveryMs: DAY_MS };
    const historyFrom = NOW - 20 * DAY_MS;
    const driven = drive(deribit, serveDeribit(quiet), { ...HALF_A_DAY, historyFrom });
    expect(
      rfqsOf(driven)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(expectedIds(historyFrom, NOW));
    expect(requestsFor(driven, RFQS)).toHaveLength(83);
    expect(driven.rejected).toEqual([]);
  });

  it("ends at the last page", () => {
    const quiet = { ...WORLD, tradeEveryMs: DAY_MS };
    const driven = drive(deribit, serveDeribit(quiet), { ...HALF_A_DAY, historyFrom: 0 });
    expect(
      rfqsOf(driven)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(expectedIds(0, NOW));
  });

  it("counts a leg by its ratio, and a hedge by itself, but no option", () => {
    const driven = drive(deribit, serveDeribit(WORLD), HALF_A_DAY);
    const notional = (id: string) => {
      const print = rfqsOf(driven).find((one) => one.id === id) as Print;
      return Math.round(print.sizeShares * print.price);
    };
    const newest = Math.floor((NOW - WORLD.rfqSince) / WORLD.rfqEveryMs);
    const ofKind = (kind: number) => newest - ((newest - kind) % 4);
    expect(notional(`rfq-${ofKind(0)}-0`)).toBe(500);
    expect(notional(`rfq-${ofKind(1)}-0`)).toBe(300);
    expect(notional(`rfq-${ofKind(1)}-1`)).toBe(600);
    expect(notional(`rfq-${ofKind(3)}-hedge`)).toBe(70);
    expect(rfqsOf(driven).some(({ id }) => id.startsWith(`rfq-${ofKind(2)}-`))).toBe(false);
  });

  it("gives new ones when they appear, with one request a minute", () => {
    const until = NOW + HOUR_MS;
    const driven = drive(deribit, serveDeribit(WORLD), { ...HALF_A_DAY, until });
    const ids = rfqsOf(driven).map(({ id }) => id);
    const last = requestsFor(driven, RFQS).at(-1)?.at ?? 0;
    expect(ids.sort()).toEqual(expectedIds(HALF_A_DAY.historyFrom, last));
    expect(requestsFor(driven, RFQS).length).toBeLessThan(70);
  });

  it("restarts with a cursor that it cannot parse", () => {
    const cursors = { "BTC-USD requests": '{"known":"yesterday"}', "BTC-USD trades": "{" };
    const whole = drive(deribit, serveDeribit(WORLD), HALF_A_DAY).data;
    expect(drive(deribit, serveDeribit(WORLD), { ...HALF_A_DAY, cursors }).data).toEqual(whole);
  });

  it("restarts a pass when its page token has expired", () => {
    const [series] = deribit
      .series({ ...HALF_A_DAY, feeds: new Set(["prints"]) })
      .filter(({ key }) => key.endsWith("requests"));
    const known = NOW - HOUR_MS;
    const cursor = JSON.stringify({ known, walk: { newest: NOW, continuation: "expired" } });
    const stepAfter = (failures?: number) => {
      const step = series?.next(cursor, NOW, failures);
      if (step === undefined || "waitUntil" in step) throw new Error("nothing is asked");
      return step;
    };
    const continued = (failures?: number) =>
      new URL(stepAfter(failures).request.path, deribit.origin).searchParams.get("continuation");
    expect([undefined, 4, 5].map(continued)).toEqual(["expired", "expired", null]);
    const body = Buffer.from(JSON.stringify({ result: { block_rfqs: [] } }));
    const answer = { status: 200, header: () => undefined, body, receivedAt: NOW };
    expect(JSON.parse(stepAfter(5).read(answer).cursor)).toEqual({ known });
  });
});

describe("Deribit, errors", () => {
  const error = (code: number, message: string) => ({ jsonrpc: "2.0", error: { code, message } });

  it.each([
    [200, 10_028, "too_many_requests", "limited"],
    [400, 10_028, "too_many_requests", "limited"],
    [400, 10_041, "settlement_in_progress", "failing"],
    [400, 11_051, "system_maintenance", "failing"],
    [400, -32_602, "Invalid params", "malformed"],
  ])("classifies %i with %i %s as %s", (status, code, message, kind) => {
    const fault = faultIn(() => drive(deribit, always(error(code, message), status), HALF_A_DAY));
    expect(fault.kind).toBe(kind);
    expect(fault.message).toContain(`${code}`);
  });

  it.each([
    ["a page", always("<html></html>")],
    ["a page with status 400", always("<html></html>", 400)],
    ["status 400 without an error", always({ result: { trades: [], has_more: false } }, 400)],
    ["an error of another shape", always({ error: "no" })],
    ["no result", always({ jsonrpc: "2.0" })],
  ])("classifies %s as malformed", (_, wrong) => {
    expect(faultIn(() => drive(deribit, wrong, HALF_A_DAY)).kind).toBe("malformed");
  });

  const trade = (changes: object) => ({
    trade_id: "1",
    timestamp: NOW - HOUR_MS,
    price: 100_000,
    amount: 50,
    instrument_name: "BTC-PERPETUAL",
    block_trade_id: "BLOCK-1",
    ...changes,
  });
  const trades = (has_more: boolean, ...all: readonly object[]) =>
    only(TRADES, always({ result: { trades: all, has_more } }));

  it.each([
    ["more trades, but none", trades(true)],
    ["trades newest first", trades(true, trade({}), trade({ timestamp: NOW - 2 * HOUR_MS }))],
    ["trades from before", trades(true, trade({ timestamp: NOW - DAY_MS }), trade({}))],
    ["a price in text", trades(false, trade({ price: "100000" }))],
  ])("classifies %s as malformed", (_, wrong) => {
    expect(faultIn(() => drive(deribit, wrong, HALF_A_DAY)).kind).toBe("malformed");
  });

  it("continues past more trades of one instant than an answer holds", () => {
    const stuck = trades(true, trade({ timestamp: HALF_A_DAY.historyFrom }));
    const { cursors } = drive(deribit, stuck, { ...HALF_A_DAY, killAfter: 1 });
    expect(cursors["BTC-USD trades"]).toBe(`{"from":${HALF_A_DAY.historyFrom + 1}}`);
  });

  it.each([
    ["a price of nothing", { price: 0 }, "the price 0 is not above 0"],
    ["an amount of nothing", { amount: 0 }, "the amount 0 is not above 0"],
    ["a time that has not come", { timestamp: NOW + HOUR_MS }, "its time has not come"],
  ])("quarantines a block with %s and stores the rest", (_, changes, reason) => {
    const serve = trades(false, trade(changes), trade({ trade_id: "2" }));
    const driven = drive(deribit, serve, { ...HALF_A_DAY, killAfter: 2 });
    expect(tradesOf(driven).map(({ id }) => id)).toEqual(["2"]);
    expect(driven.rejected).toMatchObject([{ id: "1", feed: "prints", reason }]);
  });

  it("ignores a future in another coin, or settled in another", () => {
    const others = [
      "ETH-PERPETUAL",
      "BTC_USDC-PERPETUAL",
      "BTC-26DEC25-90000-C",
      "BTC-FS-26DEC25_PERP",
    ];
    const serve = trades(false, ...others.map((instrument_name) => trade({ instrument_name })));
    expect(tradesOf(drive(deribit, serve, { ...HALF_A_DAY, killAfter: 2 }))).toEqual([]);
  });

  it("classifies a continuation that repeats itself as malformed", () => {
    const rfq = deribitRfq("BTC", WORLD, 6_100);
    const circle = only(RFQS, always({ result: { block_rfqs: [rfq], continuation: "1:1" } }));
    expect(faultIn(() => drive(deribit, circle, HALF_A_DAY)).kind).toBe("malformed");
  });
});
