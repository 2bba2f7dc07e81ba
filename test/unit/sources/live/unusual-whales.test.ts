import { describe, expect, it } from "vitest";
import { sessionsBetween } from "../../../../src/market/calendar.ts";
import { newYorkInstant as at } from "../../../../src/market/new-york.ts";
import type { Print } from "../../../../src/market/records.ts";
import { unusualWhales } from "../../../../src/sources/live/providers/unusual-whales.ts";
import { instrument } from "../../../support/instruments.ts";
import {
  type DrivenPolling,
  type DriveOptions,
  drivePolling,
  faultIn,
} from "../../../support/providers/drive.ts";
import { isQualifyingTrade, tradesOf } from "../../../support/providers/listed.ts";
import {
  serveUnusualWhales,
  type UnusualWhalesWorld,
} from "../../../support/providers/unusual-whales.ts";

const WORLD: UnusualWhalesWorld = { symbols: ["AAPL", "BRK-B"], key: "key" };

/** Options of a run on the evening of Friday 2026-06-12, with history from Monday 2026-06-08. */
const WEEK: DriveOptions = {
  instruments: ["AAPL", "BRK-B"].map(instrument),
  feeds: new Set(["prints"]),
  historyFrom: at("2026-06-08", "00:00"),
  settings: { UNUSUAL_WHALES_API_KEY: "key" },
  now: at("2026-06-12", "20:00"),
  until: at("2026-06-12", "21:00"),
};

/** Options of a run over one session of one symbol. */
const DAY: DriveOptions = {
  ...WEEK,
  instruments: [instrument("AAPL")],
  historyFrom: at("2026-06-12", "00:00"),
};

const printsOf = ({ data }: DrivenPolling): readonly Print[] =>
  data.flatMap((datum) => (datum.feed === "prints" ? datum.record : []));

const driveRows = (...data: object[]) =>
  drivePolling(unusualWhales, () => ({ status: 200, body: JSON.stringify({ data }) }), DAY);

const row = <C extends object>(change: C) => ({
  ticker: "AAPL",
  size: 50_000,
  price: "100.5",
  executed_at: "2026-06-12T16:00:00Z",
  nbbo_bid: "100.4",
  nbbo_ask: "100.6",
  canceled: false,
  tracking_id: 30_000_000_000_001,
  ...change,
});

const expectedOf = (world: UnusualWhalesWorld, first: string) =>
  world.symbols.flatMap((symbol) =>
    sessionsBetween(first, "2026-06-12").flatMap((session) =>
      tradesOf(world, symbol, session)
        .filter((trade) => isQualifyingTrade(session, trade))
        .map((trade) => ({
          session,
          id: `${session}/${30_000_000_000_000 + trade.number}`,
          tradedAt: Math.floor(trade.at / 1_000) * 1_000,
          availableAt: Math.floor((trade.at + 2_000) / 1_000) * 1_000,
          price: trade.price,
          sizeShares: trade.shares,
          venue: "FINRA-L",
          conditions: trade.isAverage ? "average_price_trade" : "",
          bid: trade.bid,
          ask: trade.ask,
          canceled: trade.isCanceled,
          signable: !trade.isAverage,
        })),
    ),
  );

const inOrder = <T extends { readonly tradedAt: number; readonly price: number }>(
  list: readonly T[],
) => list.toSorted((one, other) => one.tradedAt - other.tradedAt || one.price - other.price);

describe("dark pool prints from Unusual Whales", () => {
  it("are the trades of block size, by shares or by value, with the quotes at the time of execution", () => {
    const driven = drivePolling(unusualWhales, serveUnusualWhales(WORLD), WEEK);
    const expected = expectedOf(WORLD, "2026-06-08");
    expect(expected.length).toBeGreaterThan(20);
    expect(inOrder(printsOf(driven))).toEqual(inOrder(expected));
    expect(driven.rejected).toEqual([]);
    expect(new Set(driven.waits.map(({ until }) => until))).toEqual(
      new Set([at("2026-06-15", "16:16")]),
    );
  });

  it("are read page by page, newest first, without losing prints of a second that spans two pages", () => {
    const noon = at("2026-06-12", "12:00");
    const newestFirst = Array.from({ length: 1_300 }, (_, index) =>
      row({
        tracking_id: index + 1,
        executed_at: new Date(noon - 1_000 * Math.floor(index / 3)).toISOString(),
      }),
    );
    const driven = drivePolling(
      unusualWhales,
      ({ url }) => {
        const isOlder = (one: { executed_at: string }) =>
          Date.parse(one.executed_at) < Date.parse(olderThan(url));
        const data = newestFirst.filter(isOlder).slice(0, 500);
        return { status: 200, body: JSON.stringify({ data }) };
      },
      DAY,
    );
    expect(driven.data).toHaveLength(1_300);
    expect(driven.requests).toHaveLength(6);
  });

  it("are the same wherever the service is killed and restarted", () => {
    const world = { ...WORLD, symbols: ["AAPL"], tradesADay: 8_000 };
    const idsOf = (...driven: DrivenPolling[]) =>
      new Set(driven.flatMap(({ data }) => data.map(({ id }) => id)));
    const whole = idsOf(drivePolling(unusualWhales, serveUnusualWhales(world), DAY));
    for (const killAfter of [1, 3]) {
      const first = drivePolling(unusualWhales, serveUnusualWhales(world), { ...DAY, killAfter });
      const { cursors } = first;
      const second = drivePolling(unusualWhales, serveUnusualWhales(world), { ...DAY, cursors });
      expect(idsOf(first, second)).toEqual(whole);
    }
  });

  it("do not cause an endless loop when one second fills a page", () => {
    const rows = Array.from({ length: 500 }, (_, index) => row({ tracking_id: 1 + index }));
    const driven = drivePolling(
      unusualWhales,
      ({ url }) => {
        const isOlder = Date.parse("2026-06-12T16:00:00Z") < Date.parse(olderThan(url));
        return { status: 200, body: JSON.stringify({ data: isOlder ? rows : [] }) };
      },
      DAY,
    );
    expect(driven.data).toHaveLength(500);
    expect(driven.requests.length).toBeLessThanOrEqual(6);
  });

  it("start with the first session that the plan's history includes", () => {
    const world = { ...WORLD, historyBegins: "2026-06-10" };
    const driven = drivePolling(unusualWhales, serveUnusualWhales(world), WEEK);
    expect(inOrder(printsOf(driven))).toEqual(inOrder(expectedOf(WORLD, "2026-06-10")));
    // Two additional requests for each of the two symbols are answered with an access error.
    expect(driven.requests).toHaveLength(4 + 4 * 3);
  });

  it.each([
    [{}, true],
    [{ sale_cond_codes: "odd_lot_execution", trade_code: "intermarket_sweep" }, true],
    [{ trade_settlement: "regular" }, true],
    [{ trade_settlement: "regular_settlement" }, true],
    [{ trade_settlement: "cash_settlement" }, false],
    [{ sale_cond_codes: "average_price_trade" }, false],
    [{ sale_cond_codes: "prio_reference_price" }, false],
    [{ sale_cond_codes: "contingent_trade" }, false],
    [{ trade_code: "derivative_priced" }, false],
    [{ trade_code: "qualified_contingent_trade" }, false],
    [{ ext_hour_sold_codes: "sold_out_of_sequence" }, false],
    [{ sale_cond_codes: "a_code_of_tomorrow" }, false],
  ])("with %o have a side that can be estimated: %s", (change, signable) => {
    const [print] = printsOf(driveRows(row(change)));
    expect(print).toMatchObject({ signable, bid: 100.4, ask: 100.6, price: 100.5 });
    const codes = Object.values(change).filter((code) => !String(code).startsWith("regular"));
    expect(print?.conditions).toBe(codes.join(","));
  });

  it("have no quotes when the provider supplies none", () => {
    const prints = printsOf(
      driveRows(
        row({ tracking_id: 1, nbbo_bid: null, nbbo_ask: undefined }),
        row({ tracking_id: 2, nbbo_bid: "0", nbbo_ask: "" }),
        row({ tracking_id: 3, nbbo_bid: "none", nbbo_ask: 100.6 }),
      ),
    );
    expect(prints.map(({ bid, ask }) => [bid, ask])).toEqual([
      [null, null],
      [null, null],
      [null, 100.6],
    ]);
  });

  it("are omitted outside regular trading hours, and quarantined when impossible", () => {
    const driven = driveRows(
      row({ tracking_id: 1, executed_at: "2026-06-12T13:29:59Z" }),
      row({ tracking_id: 2, executed_at: "2026-06-12T13:30:00Z" }),
      row({ tracking_id: 3, executed_at: "2026-06-12T19:59:59Z" }),
      row({ tracking_id: 4, executed_at: "2026-06-12T20:00:00Z" }),
      row({ tracking_id: 5, price: "much" }),
      row({ tracking_id: 6, size: -50_000 }),
      row({ tracking_id: 7, price: "much", size: 100 }),
    );
    expect(printsOf(driven).map(({ id }) => id.slice(-1))).toEqual(["2", "3"]);
    expect(new Set(driven.rejected.map(({ reason }) => reason))).toEqual(
      new Set([
        "price NaN and size 50000 must be positive",
        "price NaN and size 100 must be positive",
      ]),
    );
  });

  it("cause the fault malformed when invalid, and the fault refused when the provider refuses access", () => {
    const answered = (status: number, body: string) =>
      faultIn(() => drivePolling(unusualWhales, () => ({ status, body }), DAY));
    expect(answered(200, '{"unexpected":true}').kind).toBe("malformed");
    expect(answered(200, '{"data":[{"size":"1"}]}').kind).toBe("malformed");
    expect(answered(403, "<html>").kind).toBe("malformed");
    expect(answered(403, '{"code":"forbidden","message":"not in your plan"}').kind).toBe("refused");
    const tooOld = { code: "historic_data_access_missing", message: "from 2026-06-01 on" };
    expect(answered(403, JSON.stringify(tooOld)).kind).toBe("refused");
    const yetToCome = { ...tooOld, message: "from 9999-12-31 on" };
    expect(answered(403, JSON.stringify(yetToCome)).kind).toBe("refused");
    const wrong = { ...WEEK, settings: { UNUSUAL_WHALES_API_KEY: "other" } };
    expect(faultIn(() => drivePolling(unusualWhales, serveUnusualWhales(WORLD), wrong)).kind).toBe(
      "refused",
    );
  });
});

const olderThan = (url: URL): string => url.searchParams.get("older_than") ?? "";
