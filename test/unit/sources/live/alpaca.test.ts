import { describe, expect, it } from "vitest";
import { sessionsBetween } from "../../../../src/market/calendar.ts";
import { newYorkInstant } from "../../../../src/market/new-york.ts";
import type { Bar, Feed, Print } from "../../../../src/market/records.ts";
import { splitRatio } from "../../../../src/sources/live/providers/alpaca/splits.ts";
import { alpaca } from "../../../../src/sources/live/providers/alpaca.ts";
import { instrument } from "../../../support/instruments.ts";
import { type AlpacaWorld, serveAlpaca } from "../../../support/providers/alpaca.ts";
import {
  type DrivenPolling,
  type DriveOptions,
  drivePolling,
  faultIn,
  type Serve,
} from "../../../support/providers/drive.ts";
import { isQualifyingTrade, tradedBar, tradesOf } from "../../../support/providers/listed.ts";

const WORLD: AlpacaWorld = { symbols: ["AAPL", "BRK-B", "SPLT"], keyId: "id", secret: "secret" };
const SETTINGS = { APCA_API_KEY_ID: "id", APCA_API_SECRET_KEY: "secret" };
const at = newYorkInstant;
const MINUTE_MS = 60_000;

/** Options of a run from Monday 2026-01-05 to the evening of Friday 2026-06-12. */
const driveOf = (feed: Feed, change: Partial<DriveOptions> = {}): DriveOptions => ({
  instruments: ["AAPL", "BRK-B", "SPLT"].map(instrument),
  feeds: new Set([feed]),
  historyFrom: at("2026-01-05", "00:00"),
  settings: SETTINGS,
  now: at("2026-06-12", "18:00"),
  until: at("2026-06-12", "19:30"),
  ...change,
});
const SESSIONS = sessionsBetween("2026-01-05", "2026-06-12");

const barsOf = ({ data }: DrivenPolling, symbol: string): readonly Omit<Bar, "logReturn">[] =>
  data.flatMap((datum) => (datum.feed === "bars" && datum.symbol === symbol ? datum.record : []));
const printsOf = ({ data }: DrivenPolling): readonly Print[] =>
  data.flatMap((datum) => (datum.feed === "prints" ? datum.record : []));

/** The Alpaca server with `change` applied to its response bodies. */
const changed = (world: AlpacaWorld, change: (body: string) => string): Serve => {
  const serve = serveAlpaca(world);
  return (request, now) => {
    const answer = serve(request, now);
    return { ...answer, body: change(String(answer.body)) };
  };
};

describe("daily bars from Alpaca", () => {
  it("cover every session with unadjusted prices, and are known at 16:45 New York time", () => {
    const driven = drivePolling(alpaca, serveAlpaca(WORLD), driveOf("bars"));
    expect(driven.rejected).toEqual([]);
    for (const symbol of WORLD.symbols) {
      const expected = SESSIONS.map((session) => ({
        ...tradedBar(WORLD, symbol, session),
        session,
        availableAt: at(session, "16:45"),
        dividend: 0,
        split: 1,
      }));
      expect(barsOf(driven, symbol)).toEqual(expected);
    }
    expect(driven.requests.length).toBeLessThanOrEqual(4);
    expect(driven.waits.at(-1)?.until).toBe(at("2026-06-15", "16:31"));
  });

  it("contain each split on its ex-date as a ratio, and no other split", () => {
    const splits = [
      { symbol: "SPLT", session: "2026-02-10", ratio: 7 },
      { symbol: "SPLT", session: "2026-02-11", ratio: 1 / 10 },
      { symbol: "AAPL", session: "2026-05-04", ratio: 1.5 },
      { symbol: "BRK-B", session: "2026-06-12", ratio: 21 / 20 },
    ];
    const world = { ...WORLD, splits };
    const driven = drivePolling(alpaca, serveAlpaca(world), driveOf("bars"));
    expect(driven.rejected).toEqual([]);
    const found = WORLD.symbols.flatMap((symbol) =>
      barsOf(driven, symbol)
        .filter(({ split }) => split !== 1)
        .map(({ session, split }) => ({ symbol, session, ratio: split })),
    );
    expect(found.toSorted((one, other) => (one.session < other.session ? -1 : 1))).toEqual(splits);
    for (const symbol of WORLD.symbols) {
      const closes = SESSIONS.map((session) => tradedBar(world, symbol, session).close);
      expect(barsOf(driven, symbol).map(({ close }) => close)).toEqual(closes);
    }
    expect(driven.requests.length).toBeLessThan(100);
  });

  it("contain a split of the first new session even when the previous session is already stored", () => {
    const splits = [{ symbol: "SPLT", session: "2026-06-12", ratio: 4 }];
    const serve = serveAlpaca({ ...WORLD, splits });
    const before = drivePolling(
      alpaca,
      serve,
      driveOf("bars", { now: at("2026-06-11", "17:00"), until: at("2026-06-11", "17:00") }),
    );
    const after = drivePolling(alpaca, serve, driveOf("bars", { cursors: before.cursors }));
    expect(barsOf(after, "SPLT").map(({ session, split }) => ({ session, split }))).toEqual([
      { session: "2026-06-12", split: 4 },
    ]);
    expect(after.requests).toHaveLength(2);
  });

  it("are the same wherever the service is killed and restarted", () => {
    const splits = [{ symbol: "SPLT", session: "2026-02-10", ratio: 7 }];
    const serve = () => serveAlpaca({ ...WORLD, splits });
    const whole = drivePolling(alpaca, serve(), driveOf("bars"));
    for (const killAfter of [1, 2, 3, 5, 8]) {
      const first = drivePolling(alpaca, serve(), driveOf("bars", { killAfter }));
      const second = drivePolling(alpaca, serve(), driveOf("bars", { cursors: first.cursors }));
      expect([...first.data, ...second.data]).toEqual(whole.data);
    }
  });

  it("are requested in smaller windows when a response has several pages", () => {
    const driven = drivePolling(alpaca, serveAlpaca({ ...WORLD, pageRows: 60 }), driveOf("bars"));
    expect(barsOf(driven, "BRK-B").map(({ session }) => session)).toEqual(SESSIONS);
  });

  it("are requested again while a symbol lacks the newest bar, but not indefinitely if the symbol did not trade", () => {
    const dueAt = at("2026-06-12", "16:45");
    const missing = new Map([["AAPL 2026-06-12", dueAt + 40 * MINUTE_MS]]);
    const late = drivePolling(
      alpaca,
      serveAlpaca({ ...WORLD, missing }),
      driveOf("bars", { now: dueAt, until: dueAt + 60 * MINUTE_MS }),
    );
    expect(barsOf(late, "AAPL").at(-1)?.session).toBe("2026-06-12");
    expect(late.waits.at(-1)?.until).toBe(at("2026-06-15", "16:31"));

    const halted = new Map([["AAPL 2026-06-12", Number.POSITIVE_INFINITY]]);
    const never = drivePolling(
      alpaca,
      serveAlpaca({ ...WORLD, missing: halted }),
      driveOf("bars", { now: dueAt, until: at("2026-06-13", "12:00") }),
    );
    expect(barsOf(never, "AAPL").at(-1)?.session).toBe("2026-06-11");
    expect(barsOf(never, "BRK-B").at(-1)?.session).toBe("2026-06-12");
    expect(never.waits.at(-1)?.until).toBe(at("2026-06-15", "16:31"));
  });

  it("are passed on unchanged when implausible, and imply no split", () => {
    const spoiled: Record<string, (row: Record<string, number>) => object> = {
      "2026-02-03": (row) => ({ ...row, l: (row.h as number) + 1 }),
      "2026-02-10": (row) => ({ ...row, c: -1 }),
      "2026-02-17": (row) => ({ ...row, c: 10 * (row.c as number) }),
    };
    const spoil = (body: string) => {
      const page = JSON.parse(body);
      page.bars.AAPL = page.bars.AAPL.map(
        (row: { t: string }) => spoiled[row.t.slice(0, 10)]?.({ ...row } as never) ?? row,
      );
      return JSON.stringify(page);
    };
    const driven = drivePolling(alpaca, changed(WORLD, spoil), driveOf("bars"));
    expect(driven.rejected).toEqual([]);
    // Bars are checked later, when all stored bars are known.
    expect(barsOf(driven, "AAPL")).toHaveLength(SESSIONS.length);
    expect(barsOf(driven, "AAPL").every(({ split }) => split === 1)).toBe(true);
    expect(barsOf(driven, "BRK-B")).toHaveLength(SESSIONS.length);
  });

  it("are stored for other symbols when one symbol is unknown, which is reported and retried daily", () => {
    const instruments = ["AAPL", "TOOLONGONE", "BRK-B"].map(instrument);
    const until = at("2026-06-19", "18:00");
    const driven = drivePolling(
      alpaca,
      serveAlpaca(WORLD),
      driveOf("bars", { instruments, until }),
    );
    expect(barsOf(driven, "BRK-B")).toHaveLength(SESSIONS.length + 4);
    expect(Object.values(driven.unknown)).toEqual([["TOOLONGONE"]]);
    const asked = driven.requests.filter(({ path }) => path.includes("TOOLONGONE"));
    expect(asked.map((one) => new Date(one.at).toISOString().slice(0, 10))).toEqual([
      ...["2026-06-12", "2026-06-15", "2026-06-16", "2026-06-17", "2026-06-18"],
    ]);
  });

  /** A server that rejects each symbol until a given instant. */
  const refusing = (until: Readonly<Record<string, number>>): Serve => {
    const serve = serveAlpaca(WORLD);
    return (request, now) => {
      const symbols = request.url.searchParams.get("symbols")?.split(",") ?? [];
      const refused = symbols.find((symbol) => now < (until[symbol] ?? 0));
      if (refused === undefined) return serve(request, now);
      return { status: 400, body: JSON.stringify({ message: `invalid symbol: ${refused}` }) };
    };
  };

  it("resume where they stopped for each symbol that was temporarily rejected, without losing a bar", () => {
    const serve = refusing({
      AAPL: at("2026-06-16", "12:00"),
      SPLT: at("2026-06-18", "12:00"),
      "BRK.B": at("2026-06-12", "18:01"),
    });
    const drives = driveOf("bars", { until: at("2026-06-19", "18:00") });
    const driven = drivePolling(alpaca, serve, drives);
    const all = sessionsBetween("2026-01-05", "2026-06-19");
    for (const symbol of WORLD.symbols) {
      const sessions = barsOf(driven, symbol).map(({ session }) => session);
      expect(sessions.toSorted(), symbol).toEqual(all);
    }
    expect(Object.values(driven.unknown)).toEqual([[]]);
    for (const killAfter of [1, 3, 4, 9]) {
      const first = drivePolling(alpaca, serve, { ...drives, killAfter });
      const { cursors, now } = first;
      const second = drivePolling(alpaca, serve, { ...drives, cursors, now });
      expect(new Set([...first.data, ...second.data].map(({ symbol, id }) => symbol + id))).toEqual(
        new Set(driven.data.map(({ symbol, id }) => symbol + id)),
      );
    }
  });

  it("are requested for the same symbols in both halves of a divided time window, even across midnight", () => {
    const [series] = alpaca.series({ ...driveOf("bars"), feeds: new Set(["bars"]) });
    const without = [["AAPL", "2026-06-10", "2026-06-11"]];
    const symbolsAfter = (half?: object) => {
      const cursor = JSON.stringify({ done: "2026-06-11", span: 1, without, half });
      const step = series?.next(cursor, at("2026-06-12", "18:00"));
      const path = step && "request" in step ? step.request.path : "";
      return new URL(path, alpaca.origin).searchParams.get("symbols");
    };
    expect(symbolsAfter({ end: "2026-06-12", edges: [null, null] })).toBe("BRK.B,SPLT");
    expect(symbolsAfter()).toBe("AAPL,BRK.B,SPLT");
  });

  it("have a cursor of limited size even if all symbols of a request are rejected", () => {
    const instruments = Array.from({ length: 25 }, (_, index) => instrument(`TOOLONGX${index}`));
    const driven = drivePolling(alpaca, serveAlpaca(WORLD), driveOf("bars", { instruments }));
    expect(driven.data).toEqual([]);
    expect(Object.values(driven.unknown).flat()).toHaveLength(25);
    const midnight = Date.parse("2026-06-13T00:00:00Z");
    expect(driven.waits.map(({ until }) => until)).toEqual([midnight, midnight]);
  });

  it("are never requested for the most recent 15 minutes, which the free plan excludes", () => {
    const driven = drivePolling(alpaca, serveAlpaca(WORLD), driveOf("bars"));
    for (const { path, at: asked } of driven.requests) {
      const end = new URL(path, alpaca.origin).searchParams.get("end") ?? "";
      expect(Date.parse(end)).toBeLessThanOrEqual(asked - 15 * MINUTE_MS);
    }
  });
});

describe("off-exchange trades from Alpaca", () => {
  const SHORT: Partial<DriveOptions> = {
    instruments: ["AAPL", "BRK-B"].map(instrument),
    historyFrom: at("2026-06-08", "00:00"),
    now: at("2026-06-12", "20:00"),
    until: at("2026-06-12", "20:00"),
  };
  const expectedOf = (symbol: string) =>
    sessionsBetween("2026-06-08", "2026-06-12").flatMap((session) =>
      tradesOf(WORLD, symbol, session)
        .filter((trade) => isQualifyingTrade(session, trade))
        .map((trade) => ({ session, trade })),
    );

  it("are stored from block size upward, with their session, and without a side when there are no quotes", () => {
    const driven = drivePolling(alpaca, serveAlpaca(WORLD), driveOf("prints", SHORT));
    const expected = ["AAPL", "BRK-B"].flatMap(expectedOf).map(({ session, trade }) => ({
      session,
      tradedAt: trade.at,
      availableAt: trade.at + 15 * MINUTE_MS,
      price: trade.price,
      sizeShares: trade.shares,
      venue: "FINRA",
      conditions: trade.isAverage ? "W" : "",
      bid: null,
      ask: null,
      canceled: trade.isCanceled,
      signable: false,
    }));
    expect(expected.length).toBeGreaterThan(20);
    expect(expected.some(({ canceled }) => canceled)).toBe(true);
    const got = printsOf(driven).map(({ id: _, ...print }) => print);
    const byTime = (one: { tradedAt: number }, other: { tradedAt: number }) =>
      one.tradedAt - other.tradedAt;
    expect(got.toSorted(byTime)).toEqual(expected.toSorted(byTime));
    expect(new Set(printsOf(driven).map(({ id }) => id)).size).toBe(expected.length);
  });

  it("are read page by page, with the same result wherever the service is killed and restarted", () => {
    const serve = () => serveAlpaca({ ...WORLD, pageRows: 7 });
    const whole = drivePolling(alpaca, serve(), driveOf("prints", SHORT));
    expect(whole.data).toHaveLength([...expectedOf("AAPL"), ...expectedOf("BRK-B")].length);
    for (const killAfter of [1, 4, 13]) {
      const first = drivePolling(alpaca, serve(), driveOf("prints", { ...SHORT, killAfter }));
      const { cursors } = first;
      const second = drivePolling(alpaca, serve(), driveOf("prints", { ...SHORT, cursors }));
      expect(new Set([...first.data, ...second.data].map(({ id }) => id))).toEqual(
        new Set(whole.data.map(({ id }) => id)),
      );
    }
  });

  it("are requested 15 minutes after the close, also on half days", () => {
    const until = (now: number) =>
      drivePolling(
        alpaca,
        serveAlpaca(WORLD),
        driveOf("prints", { ...SHORT, now, until: now }),
      ).waits.at(-1)?.until;
    expect(until(at("2026-06-12", "16:15"))).toBe(at("2026-06-12", "16:16"));
    expect(until(at("2026-06-12", "16:16"))).toBe(at("2026-06-15", "16:16"));
    expect(until(at("2026-11-27", "12:00"))).toBe(at("2026-11-27", "13:16"));
  });

  it("go back at most four months, however much history is requested", () => {
    const history = { ...SHORT, historyFrom: at("2020-01-01", "00:00"), killAfter: 1 };
    const { requests } = drivePolling(alpaca, serveAlpaca(WORLD), driveOf("prints", history));
    expect(new URL(requests[0]?.path ?? "", alpaca.origin).searchParams.get("start")).toBe(
      "2026-02-12T14:30:00.000Z",
    );
  });

  it("are requested again on the next day for an unknown symbol", () => {
    const instruments = ["TOOLONGONE", "AAPL"].map(instrument);
    const until = at("2026-06-13", "20:00");
    const driven = drivePolling(
      alpaca,
      serveAlpaca(WORLD),
      driveOf("prints", { ...SHORT, instruments, until }),
    );
    expect(driven.unknown["trades TOOLONGONE"]).toEqual(["TOOLONGONE"]);
    const asked = driven.requests.filter(({ key }) => key === "trades TOOLONGONE");
    expect(asked.map((one) => one.at)).toEqual([SHORT.now, until]);
    expect(driven.data).toHaveLength(expectedOf("AAPL").length);
  });

  it("are read from the start of the session when a page token has expired", () => {
    const [series] = alpaca.series({ ...driveOf("prints", SHORT), feeds: new Set(["prints"]) });
    const cursor = JSON.stringify({ session: "2026-06-09", page: "expired" });
    const pageAfter = (failures?: number) => {
      const step = series?.next(cursor, at("2026-06-12", "20:00"), failures);
      const path = step && "request" in step ? step.request.path : "";
      return new URL(path, alpaca.origin).searchParams.get("page_token");
    };
    expect([undefined, 0, 4, 5, 6].map(pageAfter)).toEqual([
      ...["expired", "expired", "expired", null, null],
    ]);
  });

  it("are void when they are marked as incorrect or canceled, but not when they are marked as corrected", () => {
    const row = (i: number, u?: string) => ({
      t: `2026-06-12T15:00:0${i}.000000123Z`,
      x: "D",
      p: 100,
      s: 50_000,
      c: [" ", "4"],
      i,
      z: "A",
      u,
    });
    const body = JSON.stringify({
      trades: { AAPL: [row(1), row(2, "incorrect"), row(3, "corrected"), row(4, "canceled")] },
      next_page_token: null,
    });
    const driven = drivePolling(
      alpaca,
      () => ({ status: 200, body }),
      driveOf("prints", {
        ...SHORT,
        instruments: [instrument("AAPL")],
        historyFrom: at("2026-06-12", "00:00"),
      }),
    );
    expect(printsOf(driven).map(({ canceled }) => canceled)).toEqual([false, true, false, true]);
    expect(printsOf(driven)[0]).toMatchObject({
      id: "2026-06-12T15:00:01.000000123Z/1",
      conditions: "4",
    });
  });

  it("are quarantined when they belong to another day or to the future", () => {
    const row = (t: string, p = 100) => ({ t, x: "D", p, s: 50_000, c: [], i: 1, z: "A" });
    const body = JSON.stringify({
      trades: {
        AAPL: [
          row("2026-06-11T15:00:00.5Z"),
          row("2027-06-12T15:00:00Z"),
          row("2026-06-12T15:00:00Z", 0),
        ],
      },
      next_page_token: null,
    });
    const driven = drivePolling(
      alpaca,
      () => ({ status: 200, body }),
      driveOf("prints", {
        ...SHORT,
        instruments: [instrument("AAPL")],
        historyFrom: at("2026-06-12", "00:00"),
      }),
    );
    expect(driven.data).toEqual([]);
    expect(driven.rejected.map(({ reason }) => reason)).toEqual([
      "2026-06-11T15:00:00.500Z is not on 2026-06-12",
      "2027-06-12T15:00:00.000Z has not come yet at 2026-06-13T00:00:00.000Z",
      "price 0 and size 50000 must be positive",
    ]);
  });
});

describe("an error response from Alpaca", () => {
  const answered = (status: number, body: string) =>
    faultIn(() => drivePolling(alpaca, () => ({ status, body }), driveOf("bars")));

  it("is temporary if it concerns the most recent 15 minutes, and permanent if it concerns the key", () => {
    const recent = answered(
      403,
      '{"message":"subscription does not permit querying recent SIP data"}',
    );
    expect(recent).toMatchObject({ kind: "limited", retryAfterMs: 15 * MINUTE_MS });
    expect(answered(403, '{"message":"forbidden."}').kind).toBe("refused");
    const settings = { ...SETTINGS, APCA_API_SECRET_KEY: "wrong" };
    const wrong = () => drivePolling(alpaca, serveAlpaca(WORLD), driveOf("bars", { settings }));
    expect(faultIn(wrong).kind).toBe("refused");
  });

  it("is malformed if its format or shape is unknown", () => {
    expect(answered(400, '{"message":"invalid time"}').kind).toBe("malformed");
    expect(answered(400, '{"message":"invalid symbol: OTHER"}').kind).toBe("malformed");
    expect(answered(403, "<html>").kind).toBe("malformed");
    expect(answered(200, "<html>").kind).toBe("malformed");
    expect(answered(200, '{"unexpected":true}').kind).toBe("malformed");
    expect(answered(200, '{"bars":{"AAPL":[{"t":"2026-06-12T04:00:00Z"').kind).toBe("malformed");
    expect(
      answered(200, '{"bars":{"AAPL":[{"t":"soon","o":"1"}]},"next_page_token":null}').kind,
    ).toBe("malformed");
  });

  it("is assumed for a repeated or overlong page token, which could otherwise cause an endless loop", () => {
    const body = '{"trades":{},"next_page_token":"again"}';
    const turning = () => drivePolling(alpaca, () => ({ status: 200, body }), driveOf("prints"));
    expect(faultIn(turning).message).toBe("the page behind a page is itself");
    const long = JSON.stringify({ trades: {}, next_page_token: "x".repeat(901) });
    const endless = () =>
      drivePolling(alpaca, () => ({ status: 200, body: long }), driveOf("prints"));
    expect(faultIn(endless).message).toBe("the name of the next page has 901 characters");
  });
});

describe("the split ratio inferred from closes", () => {
  const ratio = (traded: number, adjusted: number) =>
    splitRatio({ traded, adjusted }, { traded: 50.02, adjusted: 50.02 });

  it.each([
    [7, 645.57, 92.22],
    [4, 499.23, 124.81],
    [20, 2_447, 122.35],
    [3 / 2, 75.05, 50.03],
    [5 / 4, 60, 48],
    [11 / 10, 55, 50],
    [1 / 10, 1.31, 13.1],
    [1 / 3, 12.4, 37.2],
    [1, 50.03, 50.03],
  ])("is %s for a close of %s whose adjusted close is %s", (expected, traded, adjusted) => {
    expect(ratio(traded, adjusted)).toBeCloseTo(expected, 12);
  });

  it("tolerates closes that are rounded to cents", () => {
    // 0.3124 / 7 = 0.0446, which is reported as 0.04.
    expect(splitRatio({ traded: 0.31, adjusted: 0.04 }, { traded: 0.31, adjusted: 0.31 })).toBe(8);
    expect(splitRatio({ traded: 3.01, adjusted: 0.43 }, { traded: 2.87, adjusted: 0.41 })).toBe(1);
  });

  it("has four significant digits when no simple ratio is close", () => {
    expect(ratio(103.23, 100)).toBe(1.032);
  });
});

it("a cursor of an older Alpaca integration is ignored and reading starts over", () => {
  const cursors = { "bars AAPL,BRK-B,SPLT": '{"day":"2026-06-12"}' };
  const driven = drivePolling(alpaca, serveAlpaca(WORLD), driveOf("bars", { cursors }));
  expect(barsOf(driven, "AAPL")).toHaveLength(SESSIONS.length);
});
