import { describe, expect, it } from "vitest";
import { sessionsBetween } from "../../../../src/market/calendar.ts";
import { newYorkInstant as at } from "../../../../src/market/new-york.ts";
import type { Print } from "../../../../src/market/records.ts";
import { massive } from "../../../../src/sources/live/providers/massive.ts";
import { instrument } from "../../../support/instruments.ts";
import {
  type DrivenPolling,
  type DriveOptions,
  drivePolling,
  faultIn,
} from "../../../support/providers/drive.ts";
import { isQualifyingTrade, tradesOf } from "../../../support/providers/listed.ts";
import { type MassiveWorld, serveMassive } from "../../../support/providers/massive.ts";

const WORLD: MassiveWorld = { symbols: ["AAPL", "BRK-B"], key: "key" };
const SESSIONS = sessionsBetween("2026-06-08", "2026-06-12");

/** Options of a run on the evening of Friday 2026-06-12, with history from Monday 2026-06-08. */
const WEEK: DriveOptions = {
  instruments: ["AAPL", "BRK-B"].map(instrument),
  feeds: new Set(["prints"]),
  historyFrom: at("2026-06-08", "00:00"),
  settings: { MASSIVE_API_KEY: "key" },
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

/** Runs the provider on a single response with status 200. */
const driveAnswer = (answer: object) =>
  drivePolling(massive, () => ({ status: 200, body: JSON.stringify(answer) }), DAY);

/** Noon in New York on 2026-06-12, Unix nanoseconds. */
const NOON_NS = at("2026-06-12", "12:00") * 1e6;

const trade = (change: object) => ({
  exchange: 4,
  trf_id: 201,
  id: "1",
  participant_timestamp: NOON_NS,
  sip_timestamp: NOON_NS + 9e9,
  price: 100,
  size: 50_000,
  ...change,
});

describe("off-exchange trades from Massive", () => {
  it("are the trades of exchange 4 with a reporting facility, from block size up", () => {
    const driven = drivePolling(massive, serveMassive(WORLD), WEEK);
    const expected = ["AAPL", "BRK-B"].flatMap((symbol) =>
      SESSIONS.flatMap((session) =>
        tradesOf(WORLD, symbol, session)
          .filter((one) => isQualifyingTrade(session, one))
          .map((one) => ({
            session,
            tradedAt: one.at,
            price: one.price,
            sizeShares: one.shares,
            conditions: one.isAverage ? "2" : "",
            bid: null,
            ask: null,
            canceled: one.isCanceled,
            signable: false,
          })),
      ),
    );
    expect(expected.length).toBeGreaterThan(20);
    const byTime = (one: { tradedAt: number }, other: { tradedAt: number }) =>
      one.tradedAt - other.tradedAt;
    const got = printsOf(driven).map(({ id: _, venue: __, availableAt, ...print }) => {
      // The tape publishes a trade four seconds later, and rounding nanoseconds may add a millisecond.
      expect(availableAt - print.tradedAt - 4_000).toBeOneOf([0, 1]);
      return print;
    });
    expect(got.toSorted(byTime)).toEqual(expected.toSorted(byTime));
    expect(driven.rejected).toEqual([]);
    expect(driven.waits.map(({ until }) => until)).toEqual([
      at("2026-06-15", "16:16"),
      at("2026-06-15", "16:16"),
    ]);
  });

  it("are read page by page, with the same result wherever the service is killed and restarted", () => {
    const serve = serveMassive({ ...WORLD, pageRows: 7 });
    const whole = drivePolling(massive, serve, WEEK);
    const idsOf = (...driven: DrivenPolling[]) =>
      new Set(driven.flatMap(({ data }) => data.map(({ symbol, id }) => `${symbol} ${id}`)));
    expect(idsOf(whole)).toEqual(idsOf(drivePolling(massive, serveMassive(WORLD), WEEK)));
    for (const killAfter of [1, 5, 20]) {
      const first = drivePolling(massive, serve, { ...WEEK, killAfter });
      const second = drivePolling(massive, serve, { ...WEEK, cursors: first.cursors });
      expect(idsOf(first, second)).toEqual(idsOf(whole));
    }
  });

  it("are stored with facility, sale conditions and corrections", () => {
    const results = [
      trade({ trf_id: 202, conditions: [0, 37], correction: 0 }),
      trade({ trf_id: 203, conditions: [2, 41], correction: 1 }),
      trade({ trf_id: 209, correction: 8 }),
      trade({ trf_id: 201, correction: 12 }),
      trade({ trf_id: undefined }),
      trade({ trf_id: 0 }),
      trade({ exchange: 11 }),
      trade({ id: "small", size: 1_999 }),
      trade({ id: "large", size: 2_000 }),
    ];
    const prints = printsOf(driveAnswer({ status: "DELAYED", results }));
    expect(
      prints.map(({ id, venue, conditions, canceled }) => ({ id, venue, conditions, canceled })),
    ).toEqual([
      {
        id: "2026-06-12/202/1",
        venue: "FINRA-NASDAQ-TRF-CARTERET",
        conditions: "37",
        canceled: false,
      },
      {
        id: "2026-06-12/203/1",
        venue: "FINRA-NASDAQ-TRF-CHICAGO",
        conditions: "2,41",
        canceled: false,
      },
      { id: "2026-06-12/209/1", venue: "FINRA-TRF", conditions: "", canceled: true },
      { id: "2026-06-12/201/1", venue: "FINRA-NYSE-TRF", conditions: "", canceled: true },
      { id: "2026-06-12/201/large", venue: "FINRA-NYSE-TRF", conditions: "", canceled: false },
    ]);
  });

  it("are quarantined when implausible", () => {
    const results = [
      trade({ price: -1 }),
      trade({ participant_timestamp: NOON_NS + 864e11 }),
      trade({}),
    ];
    const driven = driveAnswer({ status: "OK", results });
    expect(driven.rejected.map(({ reason }) => reason)).toEqual([
      "price -1 and size 50000 must be positive",
      "2026-06-13T16:00:00.000Z has not come yet at 2026-06-13T00:00:00.000Z",
    ]);
    expect(driven.data).toHaveLength(1);
  });

  it.each([-1, 1e300, 253_402_300_800_000 * 1e6])(
    "cause a fault that states the position when a timestamp is invalid: %s nanoseconds",
    (time) => {
      const answer = { status: "OK", results: [trade({}), trade({ participant_timestamp: time })] };
      const fault = faultIn(() => driveAnswer(answer));
      expect(fault.kind).toBe("malformed");
      expect(fault.message).toContain("results.1.participant_timestamp");
    },
  );

  it.each([
    "https://elsewhere.example/v3/reference/tickers?cursor=x",
    "https://api.massive.com/v3/trades/MSFT?cursor=x",
    "https://api.massive.com/v3/trades/AAPL",
    "//elsewhere.example",
  ])("cause a fault when the next URL is %s", (next_url) => {
    const { kind, message } = faultIn(() => driveAnswer({ status: "OK", results: [], next_url }));
    expect(kind).toBe("malformed");
    expect(message).toBe("next_url does not lead to trades of the same symbol");
  });

  it("are always requested from the provider's own origin, whatever the host of the next URL", () => {
    const asked: string[] = [];
    const driven = drivePolling(
      massive,
      ({ url }) => {
        asked.push(`${url.origin}${url.pathname}${url.search}`);
        const next_url = "https://elsewhere.example/v3/trades/AAPL?cursor=a%2Bb";
        const isFirst = asked.length === 1;
        return {
          status: 200,
          body: JSON.stringify({ status: "OK", ...(isFirst && { next_url }) }),
        };
      },
      DAY,
    );
    expect(asked[1]).toBe("https://api.massive.com/v3/trades/AAPL?cursor=a%2Bb");
    expect(driven.requests[1]?.headers).toEqual({ authorization: "Bearer key" });
  });

  it("cause a fault when the response has another shape, or an error with status 200", () => {
    expect(faultIn(() => driveAnswer({ unexpected: true })).kind).toBe("malformed");
    expect(faultIn(() => driveAnswer({ status: "ERROR", error: "no" })).kind).toBe("malformed");
    expect(faultIn(() => driveAnswer({ status: "OK", results: [{}] })).kind).toBe("malformed");
    const wrong = { ...WEEK, settings: { MASSIVE_API_KEY: "other" } };
    expect(faultIn(() => drivePolling(massive, serveMassive(WORLD), wrong)).kind).toBe("refused");
  });
});
