import { beforeEach, describe, expect, it } from "vitest";
import type { OnChainFigures } from "../../../../src/market/records.ts";
import { coinMetrics } from "../../../../src/sources/live/providers/coin-metrics.ts";
import { instrument } from "../../../support/instruments.ts";
import { coinCap, coinMvrv, serveCoinMetrics } from "../../../support/providers/coin-metrics.ts";
import { utcDays } from "../../../support/providers/coins.ts";
import {
  type DrivenPolling,
  type DriveOptions,
  drivePolling,
  faultIn,
  type Serve,
  serveAlways,
} from "../../../support/providers/drive.ts";

const HOUR_MS = 3_600_000;
const at = (time: string) => Date.parse(`${time}Z`);

const BOTH = ["CapMVRVCur", "CapMrktCurUSD"] as const;
const WORLD = {
  assets: { btc: BOTH, eth: BOTH, xrp: ["CapMrktCurUSD"], usdt: [] },
  since: "2015-01-01",
} as const;

let serve: Serve;
beforeEach(() => {
  serve = serveCoinMetrics(WORLD);
});

/** Options of a run that starts at midnight UTC and lasts half a day. */
const A_DAY: DriveOptions = {
  instruments: [instrument("BTC-USD")],
  historyFrom: at("2026-06-05T00:00"),
  settings: {},
  now: at("2026-06-10T00:00"),
  until: at("2026-06-10T12:00"),
};

const figuresOf = ({ data }: DrivenPolling) => data.map(({ record }) => record as OnChainFigures);
const sessionsOf = (driven: DrivenPolling) => figuresOf(driven).map(({ session }) => session);
const askedAt = ({ requests }: DrivenPolling) =>
  requests.map((sent) => new Date(sent.at).toISOString().slice(8, 16));

describe("the Coin Metrics provider", () => {
  it("reads market value and its ratio to realized value, known at 06:00 UTC on the next day", () => {
    const driven = drivePolling(coinMetrics, serve, A_DAY);
    expect(sessionsOf(driven)).toEqual(utcDays("2026-06-05", "2026-06-09"));
    expect(figuresOf(driven)[0]).toEqual({
      session: "2026-06-05",
      availableAt: at("2026-06-06T06:00"),
      mvrv: Number(coinMvrv("btc", "2026-06-05")),
      nvt: null,
      marketCapUsd: Number(coinCap("btc", "2026-06-05")),
    });
    expect(askedAt(driven)).toEqual(["10T00:00", "10T06:00"]);
    expect(driven.waits.at(-1)?.until).toBe(at("2026-06-11T06:00"));
  });

  it("reads ten years starting from the oldest page, and each day once", () => {
    const driven = drivePolling(coinMetrics, serve, {
      ...A_DAY,
      historyFrom: at("2016-01-01T00:00"),
    });
    expect(sessionsOf(driven)).toEqual(utcDays("2016-01-01", "2026-06-09"));
    expect(driven.requests.length).toBeGreaterThan(3);
  });

  it("reads the same data when it is killed between pages and restarted", () => {
    const options = { ...A_DAY, historyFrom: at("2016-01-01T00:00") };
    const whole = drivePolling(coinMetrics, serve, options).data;
    const first = drivePolling(coinMetrics, serve, { ...options, killAfter: 2 });
    const second = drivePolling(coinMetrics, serve, { ...options, cursors: first.cursors });
    expect([...first.data, ...second.data]).toEqual(whole);
  });

  it("stays within ten requests in six seconds for a whole universe of coins", () => {
    const many = Object.fromEntries(Array.from({ length: 45 }, (_, index) => [`c${index}`, BOTH]));
    const instruments = Object.keys(many).map((name) => instrument(`${name.toUpperCase()}-USD`));
    const crowd = serveCoinMetrics({ ...WORLD, assets: many });
    const driven = drivePolling(coinMetrics, crowd, { ...A_DAY, instruments, until: A_DAY.now });
    expect(driven.data).toHaveLength(45 * 4);
    expect(driven.now - A_DAY.now).toBe(24_000);
  });
});

describe("the Coin Metrics provider, when figures are late,", () => {
  it("does not store a day until both figures of that day are available", () => {
    const late = serveCoinMetrics({ ...WORLD, late: { "2026-06-08": at("2026-06-10T03:10") } });
    const driven = drivePolling(coinMetrics, late, A_DAY);
    expect(sessionsOf(driven)).toEqual(utcDays("2026-06-05", "2026-06-09"));
    expect(figuresOf(driven)[3]?.mvrv).toBe(Number(coinMvrv("btc", "2026-06-08")));
    expect(askedAt(driven).slice(0, 2)).toEqual(["10T00:00", "10T00:30"]);
    expect(askedAt(driven).at(-2)).toBe("10T03:30");
  });

  it("stores a day with only one of the figures after two days of waiting", () => {
    const instruments = [instrument("XRP-USD")];
    const driven = drivePolling(coinMetrics, serve, { ...A_DAY, instruments });
    expect(sessionsOf(driven)).toEqual(utcDays("2026-06-05", "2026-06-07"));
    expect(figuresOf(driven)[0]).toMatchObject({
      mvrv: null,
      marketCapUsd: Number(coinCap("xrp", "2026-06-05")),
    });
  });

  it("skips days without any figures", () => {
    const driven = drivePolling(coinMetrics, serve, {
      ...A_DAY,
      instruments: [instrument("USDT-USD")],
    });
    expect(driven.data).toEqual([]);
    expect(driven.cursors).toEqual({ "USDT-USD": '{"day":"2026-06-08"}' });
  });
});

describe("the Coin Metrics provider, when it receives an error,", () => {
  const error = (type: string, message: string, status: number) =>
    serveAlways({ error: { type, message } }, status);

  it("pauses an unknown coin for a day", () => {
    const until = A_DAY.now + 50 * HOUR_MS;
    const driven = drivePolling(coinMetrics, serve, {
      ...A_DAY,
      instruments: [instrument("XYZ-USD")],
      until,
    });
    expect(driven.data).toEqual([]);
    expect(driven.requests).toHaveLength(3);
  });

  it("pauses a coin that the free plan does not cover", () => {
    const paid = error("forbidden", "Requested metric is not available.", 403);
    const { requests, unknown } = drivePolling(coinMetrics, paid, A_DAY);
    expect(requests).toHaveLength(1);
    expect(Object.entries(unknown)).toEqual([["BTC-USD", ["BTC-USD"]]]);
  });

  it.each([
    [400, error("bad_parameter", "Bad parameter 'frequency'.", 400), "malformed"],
    [429, error("too_many_requests", "Rate limit exceeded.", 429), "limited"],
    [500, error("internal", "Oops.", 500), "failing"],
  ])("classifies other errors by status: %i", (_, wrong, kind) => {
    expect(faultIn(() => drivePolling(coinMetrics, wrong, A_DAY)).kind).toBe(kind);
  });
});

describe("the Coin Metrics provider, when records are implausible,", () => {
  const row = (day: string, mvrv: unknown, cap: unknown) => ({
    asset: "btc",
    time: `${day}T00:00:00.000000000Z`,
    CapMVRVCur: mvrv,
    CapMrktCurUSD: cap,
  });
  const rest = utcDays("2026-06-06", "2026-06-08");
  const good = rest.map((day) => row(day, "1.5", "2e12"));

  it.each([
    ["a value of zero", "0"],
    ["a negative value", "-1.5"],
    ["a value that is not a number", "n/a"],
    ["an infinite value", "1e999"],
  ])("quarantines a day with %s and stores the rest", (_, figure) => {
    const page = serveAlways({ data: [row("2026-06-05", figure, "2e12"), ...good] });
    const driven = drivePolling(coinMetrics, page, { ...A_DAY, until: A_DAY.now });
    expect(sessionsOf(driven)).toEqual(rest);
    expect(driven.rejected).toMatchObject([{ id: "2026-06-05", feed: "onChain" }]);
  });

  it("ignores days that were not requested", () => {
    const page = serveAlways({
      data: [row("2026-06-04", "1", "1"), ...good, row("2026-06-09", "1", "1")],
    });
    expect(sessionsOf(drivePolling(coinMetrics, page, { ...A_DAY, until: A_DAY.now }))).toEqual(
      rest,
    );
  });

  it.each([
    ["numbers instead of strings", serveAlways({ data: [row("2026-06-08", 1.5, 2e12)] })],
    ["a day that does not exist", serveAlways({ data: [row("2026-06-31", "1.5", "2e12")] })],
    ["a next page after a page without data", serveAlways({ data: [], next_page_token: "abc" })],
    ["a response without data", serveAlways({})],
    ["an HTML page", serveAlways("<html></html>")],
  ])("classifies %s as malformed", (_, wrong) => {
    expect(faultIn(() => drivePolling(coinMetrics, wrong, A_DAY)).kind).toBe("malformed");
  });
});
