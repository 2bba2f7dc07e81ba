import { beforeEach, describe, expect, it } from "vitest";
import type { Bar } from "../../../../src/market/records.ts";
import { kraken } from "../../../../src/sources/live/providers/kraken.ts";
import { instrument } from "../../../support/instruments.ts";
import { coinDay, utcDays } from "../../../support/providers/coins.ts";
import {
  type DrivenPolling,
  type DriveOptions,
  drivePolling,
  faultIn,
  type Serve,
  serveAlways,
} from "../../../support/providers/drive.ts";
import { krakenMean, serveKraken } from "../../../support/providers/kraken.ts";

const HOUR_MS = 3_600_000;
const at = (time: string) => Date.parse(`${time}Z`);

let serve: Serve;
beforeEach(() => {
  serve = serveKraken({ pairs: ["XBTUSD", "ETHUSD", "XDGUSD", "SOLUSD"] });
});

/** Options of a run that starts at midnight UTC and lasts one day. */
const A_DAY: DriveOptions = {
  instruments: [instrument("BTC-USD")],
  historyFrom: at("2026-06-05T00:00"),
  settings: {},
  now: at("2026-06-10T00:00"),
  until: at("2026-06-10T12:00"),
};

const barsOf = ({ data }: DrivenPolling) => data.map(({ record }) => record as Bar);
const sessionsOf = (driven: DrivenPolling) => barsOf(driven).map(({ session }) => session);

describe("the Kraken provider", () => {
  it("reads complete days, and not the day in progress", () => {
    const driven = drivePolling(kraken, serve, A_DAY);
    expect(sessionsOf(driven)).toEqual(utcDays("2026-06-05", "2026-06-09"));
    for (const bar of barsOf(driven)) {
      const { open, high, low, close } = coinDay("XBTUSD", bar.session);
      expect(bar).toMatchObject({ open, high, low, close });
    }
    expect(driven.waits.at(-1)?.until).toBe(at("2026-06-11T00:02"));
  });

  it("computes dollar volume at the volume-weighted average price", () => {
    const [bar] = barsOf(drivePolling(kraken, serve, A_DAY));
    const day = coinDay("XBTUSD", "2026-06-05");
    expect(bar?.volume).toBeCloseTo(krakenMean(day) * day.volume, 4);
  });

  it("reads at most the last 720 days", () => {
    const driven = drivePolling(kraken, serve, { ...A_DAY, historyFrom: at("2020-01-01T00:00") });
    expect(driven.data).toHaveLength(720);
    expect(sessionsOf(driven).at(-1)).toBe("2026-06-09");
    expect(driven.requests).toHaveLength(2);
  });

  it("requests coins by Kraken's names, accepts any name in the response, and stays within its budget", () => {
    const instruments = ["BTC-USD", "ETH-USD", "DOGE-USD", "SOL-USD"].map(instrument);
    const driven = drivePolling(kraken, serve, { ...A_DAY, instruments });
    expect(driven.data).toHaveLength(4 * 5);
    const pairs = driven.requests.map(({ path }) => /pair=([A-Z]+)/.exec(path)?.[1]);
    expect(new Set(pairs)).toEqual(new Set(["XBTUSD", "ETHUSD", "XDGUSD", "SOLUSD"]));
  });

  it("uses the exchange's clock instead of the local clock to recognize the day in progress", () => {
    const behind: Serve = (request, now) => serve(request, now - 9 * HOUR_MS);
    const driven = drivePolling(kraken, behind, A_DAY);
    const last = barsOf(driven).at(-1);
    expect(last).toMatchObject({
      session: "2026-06-09",
      close: coinDay("XBTUSD", "2026-06-09").close,
    });
    expect(driven.data).toHaveLength(5);
  });

  it("reads the same data when it is killed and restarted days later", () => {
    const until = at("2026-06-14T12:00");
    const whole = drivePolling(kraken, serve, { ...A_DAY, until }).data;
    const first = drivePolling(kraken, serve, { ...A_DAY, killAfter: 1 });
    const now = at("2026-06-14T11:00");
    const second = drivePolling(kraken, serve, { ...A_DAY, now, until, cursors: first.cursors });
    expect([...first.data, ...second.data]).toEqual(whole);
  });

  it("keeps its cursor when nothing has been traded for days", () => {
    const halted: Serve = (request, now) => serve(request, now - 72 * HOUR_MS);
    const cursors = { "BTC-USD": '{"day":"2026-06-08"}' };
    const driven = drivePolling(kraken, halted, { ...A_DAY, cursors });
    expect(driven.data).toEqual([]);
    expect(driven.cursors).toEqual(cursors);
  });

  it("pauses for a day when Kraken does not trade the pair", () => {
    const until = A_DAY.now + 50 * HOUR_MS;
    const driven = drivePolling(kraken, serve, {
      ...A_DAY,
      instruments: [instrument("XYZ-USD")],
      until,
    });
    expect(driven.data).toEqual([]);
    expect(driven.requests).toHaveLength(3);
    expect(driven.unknown).toEqual({ "XYZ-USD": ["XYZ-USD"] });
  });
});

describe("the Kraken provider, when a response with status 200 contains an error,", () => {
  it.each([
    ["EAPI:Rate limit exceeded", "limited"],
    ["EGeneral:Too many requests", "limited"],
    ["EGeneral:Permission denied", "refused"],
    ["EGeneral:Internal error", "failing"],
    ["EService:Unavailable", "failing"],
    ["EService:Market in cancel_only mode", "failing"],
    ["EGeneral:Invalid arguments", "malformed"],
  ])("classifies %s as %s", (error, kind) => {
    const fault = faultIn(() => drivePolling(kraken, serveAlways({ error: [error] }), A_DAY));
    expect(fault.kind).toBe(kind);
    expect(fault.message).toContain(error);
  });

  it("accepts a response with a warning", () => {
    const warned: Serve = (request, now) => {
      const { status, body } = serve(request, now);
      const answer = JSON.parse(String(body));
      return { status, body: JSON.stringify({ ...answer, error: ["WService:Slow"] }) };
    };
    expect(drivePolling(kraken, warned, A_DAY).data).toHaveLength(5);
  });
});

describe("the Kraken provider, when records are implausible,", () => {
  const day = (date: string) => at(`${date}T00:00`) / 1_000;
  const answer = (...rows: readonly unknown[]): Serve =>
    serveAlways({ error: [], result: { XXBTZUSD: rows, last: 1 } });
  const good = [day("2026-06-09"), "100", "105", "95", "101", "100.5", "7", 9];
  const running = [day("2026-06-10"), "101", "102", "100", "101", "101", "1", 2];

  it.each([
    ["a price of zero", [day("2026-06-08"), "0.0", "105", "95", "101", "100", "7", 9]],
    ["a negative price", [day("2026-06-08"), "100", "105", "-95", "101", "100", "7", 9]],
    ["a high below the low", [day("2026-06-08"), "100", "95", "105", "101", "100", "7", 9]],
  ])("passes on %s unchanged, to be checked later against the preceding bars", (_, row) => {
    const driven = drivePolling(kraken, answer(row, good, running), A_DAY);
    expect(sessionsOf(driven)).toEqual(["2026-06-08", "2026-06-09"]);
    expect(driven.rejected).toEqual([]);
  });

  it("stores a day without trades", () => {
    const quiet = [day("2026-06-09"), "101", "101", "101", "101", "0.0", "0.00000000", 0];
    const [bar] = barsOf(drivePolling(kraken, answer(quiet, running), A_DAY));
    expect(bar).toMatchObject({ session: "2026-06-09", close: 101, volume: 0 });
  });

  it.each([
    ["numbers instead of strings", answer([day("2026-06-09"), 100, 105, 95, 101, 100, 7, 9])],
    [
      "a string that is not a decimal number",
      answer([day("2026-06-09"), "1e3", "105", "95", "101", "100", "7", 9]),
    ],
    [
      "the data of two pairs",
      serveAlways({ error: [], result: { A: [good], B: [good], last: 1 } }),
    ],
    ["the data of no pair", serveAlways({ error: [], result: { last: 1 } })],
    ["neither error nor result", serveAlways({})],
    ["an HTML page", serveAlways("<!doctype html><title>Just a moment...</title>")],
  ])("classifies %s as malformed", (_, wrong) => {
    expect(faultIn(() => drivePolling(kraken, wrong, A_DAY)).kind).toBe("malformed");
  });
});
