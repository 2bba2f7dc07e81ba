import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../../../src/lib/day.ts";
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
  type DrivenPolling,
  type DriveOptions,
  drivePolling,
  faultIn,
  type Serve,
  serveAlways,
} from "../../../support/providers/drive.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NOW = Date.parse("2026-06-10T12:00:00Z");

const WORLD: DeribitWorld = {
  coins: ["BTC", "ETH"],
  tradeEveryMs: 20_000,
  rfqEveryMs: 7 * MINUTE_MS,
  rfqSince: NOW - 30 * DAY_MS,
};

const HALF_A_DAY: DriveOptions = {
  instruments: [instrument("BTC-USD")],
  historyFrom: NOW - 12 * HOUR_MS,
  settings: {},
  now: NOW,
};

const printsOf = ({ data }: DrivenPolling) => data.map(({ record }) => record as Print);
const isOfRfq = ({ id }: Print) => id.startsWith("rfq-");
const tradesOf = (driven: DrivenPolling) => printsOf(driven).filter((print) => !isOfRfq(print));
const rfqsOf = (driven: DrivenPolling) => printsOf(driven).filter(isOfRfq);
const requestsFor = ({ requests }: DrivenPolling, method: string) =>
  requests.filter(({ path }) => path.includes(method));

/** Block trades, except those from RFQs, between two instants, both inclusive. */
const blocks = (name: string, from: number, to: number) =>
  deribitTrades(name, WORLD, { from, to }).filter(
    (trade) => trade.block_trade_id !== undefined && trade.block_rfq_id === undefined,
  );

/** A server on which only one of the two API methods returns data. */
const only = (method: string, other: Serve): Serve => {
  const serve = serveDeribit({ ...WORLD, tradeEveryMs: 10 * DAY_MS, rfqSince: NOW });
  return (request, now) => (request.url.pathname.endsWith(method) ? other : serve)(request, now);
};
const TRADES = "get_last_trades_by_currency_and_time";
const RFQS = "get_block_rfq_trades";

describe("the Deribit provider, reading block trades,", () => {
  it("reads each trade outside RFQs, in dollars and in coins", () => {
    const driven = drivePolling(deribit, serveDeribit(WORLD), HALF_A_DAY);
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

  it("marks each trade as having no side and no quotes", () => {
    const [print] = tradesOf(drivePolling(deribit, serveDeribit(WORLD), HALF_A_DAY));
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

  it("continues as trades are made, and reads each trade once", () => {
    const until = NOW + HOUR_MS;
    const driven = drivePolling(deribit, serveDeribit(WORLD), { ...HALF_A_DAY, until });
    const last = requestsFor(driven, TRADES).at(-1)?.at ?? 0;
    expect(tradesOf(driven).map(({ id }) => id)).toEqual(
      blocks("BTC", HALF_A_DAY.historyFrom, last - 5_000).map(({ trade_id }) => trade_id),
    );
    expect(last).toBeGreaterThan(until - 2 * MINUTE_MS);
    expect(requestsFor(driven, TRADES).length).toBeLessThan(75);
  });

  it("starts at most a week ago, at the start of a day", () => {
    const quiet = serveDeribit({ ...WORLD, tradeEveryMs: HOUR_MS });
    const [first] = requestsFor(
      drivePolling(deribit, quiet, { ...HALF_A_DAY, historyFrom: 0 }),
      TRADES,
    );
    expect(first?.path).toContain(`start_timestamp=${Date.parse("2026-06-03")}&`);
  });

  it("reads the same data when it is killed and restarted repeatedly", () => {
    const whole = drivePolling(deribit, serveDeribit(WORLD), HALF_A_DAY);
    const ids = new Set<string>();
    let cursors: DrivenPolling["cursors"] = {};
    for (let kill = 0; kill < whole.requests.length; kill++) {
      const piece = drivePolling(deribit, serveDeribit(WORLD), {
        ...HALF_A_DAY,
        cursors,
        killAfter: 3,
      });
      for (const { id } of piece.data) ids.add(id);
      cursors = piece.cursors;
    }
    expect(ids).toEqual(new Set(whole.data.map(({ id }) => id)));
  });

  it("misses no trade when the local clock is ahead", () => {
    const ahead = 2 * HOUR_MS;
    const serve = serveDeribit(WORLD);
    const behind: Serve = (request, now) => serve(request, now - ahead);
    const until = NOW + ahead + HOUR_MS;
    const driven = drivePolling(deribit, behind, { ...HALF_A_DAY, now: NOW + ahead, until });
    const last = (requestsFor(driven, TRADES).at(-1)?.at ?? 0) - ahead;
    expect(tradesOf(driven).map(({ id }) => id)).toEqual(
      blocks("BTC", HALF_A_DAY.historyFrom, last - 5_000).map(({ trade_id }) => trade_id),
    );
  });

  it("reads only Bitcoin and Ether", () => {
    const instruments = ["BTC-USD", "ETH-USD", "SOL-USD"].map(instrument);
    const { data } = drivePolling(deribit, serveDeribit(WORLD), { ...HALF_A_DAY, instruments });
    expect(new Set(data.map(({ symbol }) => symbol))).toEqual(new Set(["BTC-USD", "ETH-USD"]));
  });
});

describe("the Deribit provider, reading requests for quotes (RFQs),", () => {
  /** Expected ids of futures legs and hedges of the RFQs between two instants. */
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

  it("reads back page by page to the requested start", () => {
    const quiet = { ...WORLD, tradeEveryMs: DAY_MS };
    const historyFrom = NOW - 20 * DAY_MS;
    const driven = drivePolling(deribit, serveDeribit(quiet), { ...HALF_A_DAY, historyFrom });
    expect(
      rfqsOf(driven)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(expectedIds(historyFrom, NOW));
    expect(requestsFor(driven, RFQS)).toHaveLength(83);
    expect(driven.rejected).toEqual([]);
  });

  it("stops at the last page", () => {
    const quiet = { ...WORLD, tradeEveryMs: DAY_MS };
    const driven = drivePolling(deribit, serveDeribit(quiet), { ...HALF_A_DAY, historyFrom: 0 });
    expect(
      rfqsOf(driven)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(expectedIds(0, NOW));
  });

  it("multiplies the amount of a leg by its ratio, includes the hedge, and excludes options", () => {
    const driven = drivePolling(deribit, serveDeribit(WORLD), HALF_A_DAY);
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

  it("reads new RFQs as they appear, with one request per minute", () => {
    const until = NOW + HOUR_MS;
    const driven = drivePolling(deribit, serveDeribit(WORLD), { ...HALF_A_DAY, until });
    const ids = rfqsOf(driven).map(({ id }) => id);
    const last = requestsFor(driven, RFQS).at(-1)?.at ?? 0;
    expect(ids.sort()).toEqual(expectedIds(HALF_A_DAY.historyFrom, last));
    expect(requestsFor(driven, RFQS).length).toBeLessThan(70);
  });

  it("restarts when it cannot parse its cursor", () => {
    const cursors = { "BTC-USD requests": '{"known":"yesterday"}', "BTC-USD trades": "{" };
    const whole = drivePolling(deribit, serveDeribit(WORLD), HALF_A_DAY).data;
    expect(drivePolling(deribit, serveDeribit(WORLD), { ...HALF_A_DAY, cursors }).data).toEqual(
      whole,
    );
  });

  it("starts a pass over the pages again when its page token has expired", () => {
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

describe("the Deribit provider, when it receives errors or odd data,", () => {
  const error = (code: number, message: string) => ({ jsonrpc: "2.0", error: { code, message } });

  it.each([
    [200, 10_028, "too_many_requests", "limited"],
    [400, 10_028, "too_many_requests", "limited"],
    [400, 10_041, "settlement_in_progress", "failing"],
    [400, 11_051, "system_maintenance", "failing"],
    [400, -32_602, "Invalid params", "malformed"],
  ])("classifies status %i with error %i (%s) as %s", (status, code, message, kind) => {
    const fault = faultIn(() =>
      drivePolling(deribit, serveAlways(error(code, message), status), HALF_A_DAY),
    );
    expect(fault.kind).toBe(kind);
    expect(fault.message).toContain(`${code}`);
  });

  it.each([
    ["an HTML page", serveAlways("<html></html>")],
    ["an HTML page with status 400", serveAlways("<html></html>", 400)],
    ["status 400 without an error", serveAlways({ result: { trades: [], has_more: false } }, 400)],
    ["an error of another schema", serveAlways({ error: "no" })],
    ["no result", serveAlways({ jsonrpc: "2.0" })],
  ])("classifies %s as malformed", (_, wrong) => {
    expect(faultIn(() => drivePolling(deribit, wrong, HALF_A_DAY)).kind).toBe("malformed");
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
    only(TRADES, serveAlways({ result: { trades: all, has_more } }));

  it.each([
    ["an empty page that announces more trades", trades(true)],
    [
      "trades in descending order of time",
      trades(true, trade({}), trade({ timestamp: NOW - 2 * HOUR_MS })),
    ],
    [
      "trades from before the requested period",
      trades(true, trade({ timestamp: NOW - DAY_MS }), trade({})),
    ],
    ["a price that is a string", trades(false, trade({ price: "100000" }))],
  ])("classifies %s as malformed", (_, wrong) => {
    expect(faultIn(() => drivePolling(deribit, wrong, HALF_A_DAY)).kind).toBe("malformed");
  });

  it("continues when more trades have the same timestamp than one response can hold", () => {
    const stuck = trades(true, trade({ timestamp: HALF_A_DAY.historyFrom }));
    const { cursors } = drivePolling(deribit, stuck, { ...HALF_A_DAY, killAfter: 1 });
    expect(cursors["BTC-USD trades"]).toBe(`{"from":${HALF_A_DAY.historyFrom + 1}}`);
  });

  it.each([
    ["a price of zero", { price: 0 }, "the price 0 is not above 0"],
    ["an amount of zero", { amount: 0 }, "the amount 0 is not above 0"],
    ["a time in the future", { timestamp: NOW + HOUR_MS }, "its time has not come"],
  ])("quarantines a block with %s and stores the rest", (_, changes, reason) => {
    const serve = trades(false, trade(changes), trade({ trade_id: "2" }));
    const driven = drivePolling(deribit, serve, { ...HALF_A_DAY, killAfter: 2 });
    expect(tradesOf(driven).map(({ id }) => id)).toEqual(["2"]);
    expect(driven.rejected).toMatchObject([{ id: "1", feed: "prints", reason }]);
  });

  it("ignores futures on another coin and futures settled in another coin", () => {
    const others = [
      "ETH-PERPETUAL",
      "BTC_USDC-PERPETUAL",
      "BTC-26DEC25-90000-C",
      "BTC-FS-26DEC25_PERP",
    ];
    const serve = trades(false, ...others.map((instrument_name) => trade({ instrument_name })));
    expect(tradesOf(drivePolling(deribit, serve, { ...HALF_A_DAY, killAfter: 2 }))).toEqual([]);
  });

  it("classifies a page token that repeats itself as malformed", () => {
    const rfq = deribitRfq("BTC", WORLD, 6_100);
    const circle = only(RFQS, serveAlways({ result: { block_rfqs: [rfq], continuation: "1:1" } }));
    expect(faultIn(() => drivePolling(deribit, circle, HALF_A_DAY)).kind).toBe("malformed");
  });
});
