import { beforeEach, describe, expect, it } from "vitest";
import type { Bar } from "../../../../src/market/records.ts";
import { coinbase } from "../../../../src/sources/live/providers/coinbase.ts";
import { instrument } from "../../../support/instruments.ts";
import { serveCoinbase } from "../../../support/providers/coinbase.ts";
import { coinDay, utcDays } from "../../../support/providers/coins.ts";
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
const at = (time: string) => Date.parse(`${time}Z`);

let serve: Serve;
beforeEach(() => {
  serve = serveCoinbase({ products: ["BTC-USD", "ETH-USD"], since: "2020-01-01" });
});

const TWO_YEARS: DriveOptions = {
  instruments: [instrument("BTC-USD")],
  historyFrom: at("2024-06-01T00:00"),
  settings: {},
  now: at("2026-06-10T12:00"),
};

/** Options of a run of one day. */
const A_DAY: DriveOptions = {
  ...TWO_YEARS,
  historyFrom: at("2026-06-08T00:00"),
  now: at("2026-06-10T00:00"),
  until: at("2026-06-10T23:00"),
};

const barsOf = ({ data }: DrivenPolling, symbol = "BTC-USD") =>
  data.filter((datum) => datum.symbol === symbol).map(({ record }) => record as Bar);
const sessionsOf = (driven: DrivenPolling, symbol?: string) =>
  barsOf(driven, symbol).map(({ session }) => session);
const askedAt = ({ requests }: DrivenPolling) =>
  requests.map((sent) => new Date(sent.at).toISOString().slice(11, 16));

describe("the Coinbase provider", () => {
  it("reads every day of two years once, in the documented column order", () => {
    const driven = drivePolling(coinbase, serve, TWO_YEARS);
    const days = utcDays("2024-06-01", "2026-06-09");
    const bars = barsOf(driven);
    expect(bars.map(({ session }) => session)).toEqual(days);
    for (const [index, day] of days.entries()) {
      const { open, high, low, close } = coinDay("BTC-USD", day);
      expect(bars[index]).toMatchObject({ open, high, low, close, dividend: 0, split: 1 });
    }
    expect(driven.rejected).toEqual([]);
  });

  it("computes dollar volume at the typical price", () => {
    const [bar] = barsOf(drivePolling(coinbase, serve, A_DAY));
    const { high, low, close, volume } = coinDay("BTC-USD", "2026-06-08");
    expect(bar?.volume).toBeCloseTo(volume * ((high + low + close) / 3), 4);
  });

  it("dates a bar to five minutes after the end of its day", () => {
    const { data } = drivePolling(coinbase, serve, A_DAY);
    expect(data[0]).toMatchObject({ at: at("2026-06-08T00:00"), id: "2026-06-08" });
    expect(data[0]?.record.availableAt).toBe(at("2026-06-09T00:05"));
  });

  it("requests at most 300 candles at once, and caches responses that can no longer change", () => {
    const { requests } = drivePolling(coinbase, serve, TWO_YEARS);
    expect(requests).toHaveLength(3);
    expect(requests.map(({ keepMs = 0 }) => keepMs > 0)).toEqual([true, true, false]);
  });

  it("polls again when the next day is over", () => {
    const driven = drivePolling(coinbase, serve, A_DAY);
    expect(sessionsOf(driven)).toEqual(["2026-06-08", "2026-06-09"]);
    expect(driven.waits.at(-1)?.until).toBe(at("2026-06-11T00:02"));
  });

  it("reads the same data when it is killed and restarted after every request", () => {
    const whole = drivePolling(coinbase, serve, TWO_YEARS).data;
    let cursors: DrivenPolling["cursors"] = {};
    const pieces: DrivenPolling["data"][number][] = [];
    for (let kill = 0; kill < 4; kill++) {
      const piece = drivePolling(coinbase, serve, { ...TWO_YEARS, cursors, killAfter: 1 });
      pieces.push(...piece.data);
      cursors = piece.cursors;
    }
    expect(pieces).toEqual(whole);
  });

  it("restarts when it cannot parse its cursor", () => {
    for (const cursor of ["", "{", '"2026-06-09"', '{"day":"2026-13-09"}']) {
      const driven = drivePolling(coinbase, serve, { ...A_DAY, cursors: { "BTC-USD": cursor } });
      expect(sessionsOf(driven)).toEqual(["2026-06-08", "2026-06-09"]);
    }
  });

  it("skips the period before a coin was traded", () => {
    const young = serveCoinbase({ products: ["BTC-USD"], since: "2026-05-01" });
    expect(sessionsOf(drivePolling(coinbase, young, TWO_YEARS))).toEqual(
      utcDays("2026-05-01", "2026-06-09"),
    );
  });
});

describe("days without a Coinbase candle", () => {
  it("are omitted", () => {
    const silent = { "BTC-USD": ["2026-05-03", "2026-05-04", "2026-06-07"] };
    const gaps = serveCoinbase({ products: ["BTC-USD"], since: "2020-01-01", silent });
    const sessions = sessionsOf(drivePolling(coinbase, gaps, TWO_YEARS));
    expect(sessions).toHaveLength(739 - 3);
    expect(sessions).not.toContain("2026-05-03");
    expect(sessions.at(-1)).toBe("2026-06-09");
  });

  /**
   * A server that has no candles of June 9 and later until `hour` hours after the start of June 10.
   */
  const lateUntil = (hour: number): Serve => {
    const silent = { "BTC-USD": utcDays("2026-06-09", "2026-06-12") };
    const late = serveCoinbase({ products: ["BTC-USD"], since: "2020-01-01", silent });
    return (request, now) =>
      (now < at("2026-06-10T00:00") + hour * HOUR_MS ? late : serve)(request, now);
  };

  it("are requested again while the candle may be late", () => {
    const driven = drivePolling(coinbase, lateUntil(2), A_DAY);
    expect(sessionsOf(driven)).toEqual(["2026-06-08", "2026-06-09"]);
    expect(askedAt(driven).slice(0, 4)).toEqual(["00:00", "00:10", "00:20", "00:30"]);
    expect(askedAt(driven).at(-1)).toBe("02:00");
  });

  it("are skipped after two days of waiting", () => {
    const driven = drivePolling(coinbase, lateUntil(72), {
      ...A_DAY,
      until: at("2026-06-12T00:04"),
    });
    expect(sessionsOf(driven)).toEqual(["2026-06-08"]);
    expect(driven.cursors).toEqual({ "BTC-USD": '{"day":"2026-06-10"}' });
  });

  it("result in no half-day bar when the exchange's clock is a day behind", () => {
    const behind: Serve = (request, now) => serve(request, now - 24 * HOUR_MS);
    const driven = drivePolling(coinbase, behind, A_DAY);
    expect(sessionsOf(driven)).toEqual(["2026-06-08"]);
  });
});

describe("the Coinbase provider, when records are implausible,", () => {
  it("builds no bar for a day that is still in progress on the exchange, whatever the local clock says", () => {
    const behind: Serve = (request, now) => serve(request, now - 3 * HOUR_MS);
    const driven = drivePolling(coinbase, behind, { ...A_DAY, until: at("2026-06-10T04:00") });
    const [, last] = barsOf(driven);
    expect(last).toMatchObject({
      session: "2026-06-09",
      close: coinDay("BTC-USD", "2026-06-09").close,
    });
    expect(askedAt(driven).at(-1)).toBe("03:05");
  });

  const seconds = (day: string) => at(`${day}T00:00`) / 1_000;
  const page = (...rows: readonly unknown[]): Serve => serveAlways(rows);
  const good = [seconds("2026-06-08"), 95, 105, 100, 101, 7];
  const next = [seconds("2026-06-10"), 95, 105, 100, 101, 7];

  it.each([
    ["a price of zero", [seconds("2026-06-09"), 0, 105, 100, 101, 7]],
    ["a high below the low", [seconds("2026-06-09"), 105, 95, 100, 101, 7]],
    ["a negative volume", [seconds("2026-06-09"), 95, 105, 100, 101, -7]],
  ])("passes on %s unchanged, to be checked later against the preceding bars", (_, row) => {
    const driven = drivePolling(coinbase, page(next, row, good), A_DAY);
    expect(sessionsOf(driven)).toEqual(["2026-06-08", "2026-06-09"]);
    expect(driven.rejected).toEqual([]);
  });

  it("quarantines a future day, and does not conclude from it that earlier days are complete", () => {
    const future = [seconds("2026-06-12"), 95, 105, 100, 101, 7];
    const newest = [seconds("2026-06-09"), 95, 105, 100, 101, 7];
    const now = at("2026-06-10T00:06");
    const driven = drivePolling(coinbase, page(future, newest, good), {
      ...A_DAY,
      now,
      until: now,
    });
    expect(sessionsOf(driven)).toEqual(["2026-06-08"]);
    expect(driven.rejected).toMatchObject([{ id: "2026-06-12", reason: "it has not begun" }]);
    expect(driven.cursors).toEqual({ "BTC-USD": '{"day":"2026-06-09"}' });
  });

  it.each([
    ["an error with status 200", serveAlways({ message: "NotFound" })],
    ["an HTML page", serveAlways("<html><body>Maintenance</body></html>")],
    ["truncated JSON", serveAlways("[[1780876800,95,105,100,")],
    ["rows with too few columns", page([seconds("2026-06-08"), 95, 105, 100, 101])],
    ["strings instead of numbers", page([seconds("2026-06-08"), "95", 105, 100, 101, 7])],
    ["a time out of range", page([1e18, 95, 105, 100, 101, 7])],
  ])("classifies %s as malformed", (_, wrong) => {
    expect(faultIn(() => drivePolling(coinbase, wrong, A_DAY)).kind).toBe("malformed");
  });
});

describe("a coin that Coinbase does not trade", () => {
  it("is requested once a day and reported as unknown", () => {
    const instruments = [instrument("XYZ-USD")];
    const driven = drivePolling(coinbase, serve, {
      ...A_DAY,
      instruments,
      until: A_DAY.now + 50 * HOUR_MS,
    });
    expect(driven.data).toEqual([]);
    expect(driven.requests).toHaveLength(3);
    expect(driven.unknown).toEqual({ "XYZ-USD": ["XYZ-USD"] });
  });

  it("is read from the start once it is listed", () => {
    const instruments = [instrument("XYZ-USD")];
    const listed = serveCoinbase({ products: ["XYZ-USD"], since: "2026-06-09" });
    const later: Serve = (request, now) =>
      (now < at("2026-06-10T12:00") ? serve : listed)(request, now);
    const until = at("2026-06-11T12:00");
    const driven = drivePolling(coinbase, later, { ...A_DAY, instruments, until });
    expect(sessionsOf(driven, "XYZ-USD")).toEqual(["2026-06-09", "2026-06-10"]);
  });
});
