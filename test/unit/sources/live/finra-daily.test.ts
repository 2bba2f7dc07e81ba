import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sessionsBetween } from "../../../../src/market/calendar.ts";
import { newYorkDate, newYorkInstant } from "../../../../src/market/new-york.ts";
import type { ShortVolume } from "../../../../src/market/records.ts";
import { readShortVolumeFile } from "../../../../src/sources/live/providers/finra-daily/short-volume-file.ts";
import { finraDaily } from "../../../../src/sources/live/providers/finra-daily.ts";
import { instrument } from "../../../support/instruments.ts";
import {
  type DrivenPolling,
  type DriveOptions,
  drivePolling,
  faultIn,
  type Serve,
  type ServedAnswer,
} from "../../../support/providers/drive.ts";
import { serveFinraDaily, shortVolumes } from "../../../support/providers/finra-daily.ts";
import { sharedFolder } from "../../../support/shared.ts";

const serve = serveFinraDaily({ symbols: ["AAPL", "ABRpD", "BRK/B", "FB", "META", "ZZZ"] });
const at = newYorkInstant;
const MINUTE_MS = 60_000;

/** Options of a run from Monday 2026-06-01 to the evening of Friday 2026-06-12. */
const TWO_WEEKS: DriveOptions = {
  instruments: ["AAPL", "BRK-B"].map(instrument),
  feeds: new Set(["shortVolumes"]),
  historyFrom: at("2026-06-01", "00:00"),
  settings: {},
  now: at("2026-06-12", "20:00"),
  until: at("2026-06-12", "21:00"),
};
const SESSIONS = sessionsBetween("2026-06-01", "2026-06-12");

const sessionsIn = ({ data }: DrivenPolling, symbol = "AAPL") =>
  data
    .filter((datum) => datum.symbol === symbol)
    .map(({ record }) => (record as ShortVolume).session);

const daysAsked = ({ requests }: DrivenPolling) => requests.map(({ path }) => path.slice(-12, -4));

/** Serves FINRA's files, unless `other` returns a response. */
const instead =
  (other: (...asked: Parameters<Serve>) => ServedAnswer | undefined): Serve =>
  (request, now) =>
    other(request, now) ?? serve(request, now);

describe("the provider for FINRA's daily short volume", () => {
  it("reads one file per session, including fractional volumes and class shares", () => {
    const driven = drivePolling(finraDaily, serve, TWO_WEEKS);
    expect(sessionsIn(driven)).toEqual(SESSIONS);
    expect(driven.data).toHaveLength(2 * SESSIONS.length);
    expect(driven.rejected).toEqual([]);
    expect(daysAsked(driven)).toEqual(SESSIONS.map((session) => session.replaceAll("-", "")));
    const { short, total } = shortVolumes("BRK/B", "2026-06-03");
    expect(Number.isInteger(total)).toBe(false);
    const about = Date.parse("2026-06-03");
    expect(driven.data.find((datum) => datum.symbol === "BRK-B" && datum.at === about)).toEqual({
      feed: "shortVolumes",
      symbol: "BRK-B",
      at: about,
      id: "CNMS",
      record: {
        session: "2026-06-03",
        availableAt: at("2026-06-03", "18:00"),
        shortShares: short,
        totalShares: total,
      },
    });
  });

  it("sends no request on a weekend and waits for the next session's file", () => {
    const { waits } = drivePolling(finraDaily, serve, TWO_WEEKS);
    expect(waits.at(-1)?.until).toBe(at("2026-06-15", "17:30"));
  });

  it("polls every ten minutes for the file of the current day", () => {
    const late = new Map([["2026-06-12", at("2026-06-12", "18:05")]]);
    const driven = drivePolling(finraDaily, serveFinraDaily({ symbols: ["AAPL"], late }), {
      ...TWO_WEEKS,
      historyFrom: at("2026-06-12", "00:00"),
      now: at("2026-06-12", "12:00"),
    });
    expect(driven.waits[0]?.until).toBe(at("2026-06-12", "17:30"));
    const asked = driven.requests.map((sent) => (sent.at - at("2026-06-12", "17:30")) / MINUTE_MS);
    expect(asked).toEqual([0, 10, 20, 30, 40]);
    expect(sessionsIn(driven)).toEqual(["2026-06-12"]);
  });

  it("caches a file permanently only when its day is over", () => {
    const { requests } = drivePolling(finraDaily, serve, TWO_WEEKS);
    expect(requests.map(({ keepMs = 0 }) => keepMs > 0)).toEqual(
      SESSIONS.map((session) => session !== "2026-06-12"),
    );
  });

  it("continues past a missing day, and reads that day when its file appears", () => {
    const late = new Map([["2026-06-09", at("2026-06-11", "12:10")]]);
    const driven = drivePolling(finraDaily, serveFinraDaily({ symbols: ["AAPL"], late }), {
      ...TWO_WEEKS,
      now: at("2026-06-08", "20:00"),
    });
    expect(sessionsIn(driven).toSorted()).toEqual(SESSIONS);
    const tenth = driven.requests.find(({ path }) => path.includes("20260610"));
    expect(tenth?.at).toBe(at("2026-06-10", "17:30"));
    const looks = driven.requests.filter(({ path }) => path.includes("20260609"));
    const dayAfter = looks.filter((sent) => newYorkDate(sent.at) === "2026-06-10");
    expect(dayAfter.length).toBeGreaterThan(20);
    expect(dayAfter.length).toBeLessThan(27);
    expect(looks.at(-1)?.at).toBeLessThanOrEqual(at("2026-06-11", "13:10"));
  });

  it("skips a day whose file is still missing three days later", () => {
    const late = new Map([["2026-06-02", Number.POSITIVE_INFINITY]]);
    const driven = drivePolling(finraDaily, serveFinraDaily({ symbols: ["AAPL"], late }), {
      ...TWO_WEEKS,
      now: at("2026-06-01", "20:00"),
    });
    expect(sessionsIn(driven)).toEqual(SESSIONS.filter((session) => session !== "2026-06-02"));
    const looks = driven.requests.filter(({ path }) => path.includes("20260602"));
    expect(newYorkDate(looks.at(-1)?.at ?? 0)).toBe("2026-06-08");
  });

  it("skips a missing day in the past immediately", () => {
    const late = new Map([["2026-06-02", Number.POSITIVE_INFINITY]]);
    const driven = drivePolling(
      finraDaily,
      serveFinraDaily({ symbols: ["AAPL"], late }),
      TWO_WEEKS,
    );
    expect(sessionsIn(driven)).toEqual(SESSIONS.filter((session) => session !== "2026-06-02"));
    expect(driven.requests).toHaveLength(SESSIONS.length);
  });

  it("starts with the first file that FINRA published when earlier history is requested", () => {
    const driven = drivePolling(finraDaily, serve, {
      ...TWO_WEEKS,
      historyFrom: at("2017-01-01", "00:00"),
      killAfter: 3,
    });
    expect(sessionsIn(driven)).toEqual(["2020-01-02", "2020-01-03", "2020-01-06"]);
  });

  it("finds the oldest available file when older files have been removed", () => {
    const gone = instead(({ url }) => {
      const day = url.pathname.slice(-12, -4);
      return day < "20210301" ? { status: 403, body: "<Error/>" } : undefined;
    });
    const driven = drivePolling(finraDaily, gone, {
      ...TWO_WEEKS,
      historyFrom: at("2020-06-01", "00:00"),
      killAfter: sessionsBetween("2020-06-01", "2021-03-02").length,
    });
    expect(sessionsIn(driven)).toEqual(["2021-03-01", "2021-03-02"]);
  });

  it("reports a fault, and skips no session, when many sessions in a row are missing", () => {
    const moved = instead(({ url }) =>
      url.pathname.slice(-12, -4) > "20260603" ? { status: 403, body: "<Error/>" } : undefined,
    );
    expect(faultIn(() => drivePolling(finraDaily, moved, TWO_WEEKS)).kind).toBe("refused");
    const stopped = drivePolling(finraDaily, moved, { ...TWO_WEEKS, killAfter: 8 });
    const next = drivePolling(finraDaily, serve, { ...TWO_WEEKS, cursors: stopped.cursors });
    expect([...sessionsIn(stopped), ...sessionsIn(next)]).toEqual(SESSIONS);
  });

  it("reports a fault when a web page says that access is blocked, so that no day counts as missing", () => {
    const barred = instead(() => ({ status: 403, body: "<!DOCTYPE html><html>Blocked</html>" }));
    expect(faultIn(() => drivePolling(finraDaily, barred, TWO_WEEKS))).toMatchObject({
      kind: "refused",
      message: expect.stringContaining("Blocked"),
    });
  });

  it("reads past files again only when an instrument is added", () => {
    const before = drivePolling(finraDaily, serve, TWO_WEEKS);
    const onward = { ...TWO_WEEKS, cursors: before.cursors };
    expect(drivePolling(finraDaily, serve, onward).requests).toEqual([]);
    const instruments = ["BRK-B", "ZZZ", "AAPL"].map(instrument);
    const after = drivePolling(finraDaily, serve, { ...onward, instruments });
    expect(sessionsIn(after, "ZZZ")).toEqual(SESSIONS);
  });

  it("restarts when it cannot parse its cursor", () => {
    for (const cursor of ["", "20260601", '{"asked":"yesterday"}']) {
      const driven = drivePolling(finraDaily, serve, { ...TWO_WEEKS, cursors: { CNMS: cursor } });
      expect(sessionsIn(driven)).toEqual(SESSIONS);
    }
  });

  it("sends no request when there are no instruments", () => {
    expect(drivePolling(finraDaily, serve, { ...TWO_WEEKS, instruments: [] }).requests).toEqual([]);
  });

  it("uses the ticker that a company had on the requested day", () => {
    const driven = drivePolling(finraDaily, serve, {
      ...TWO_WEEKS,
      instruments: [instrument("META")],
      historyFrom: at("2022-06-08", "00:00"),
      killAfter: 2,
    });
    expect(driven.data.map(({ record }) => (record as ShortVolume).totalShares)).toEqual([
      shortVolumes("FB", "2022-06-08").total,
      shortVolumes("META", "2022-06-09").total,
    ]);
  });
});

describe("a file of FINRA's daily short volume", () => {
  const HEADER = "Date|Symbol|ShortVolume|ShortExemptVolume|TotalVolume|Market";
  const symbols = new Map([
    ["AAPL", "AAPL"],
    ["BRK/B", "BRK-B"],
  ]);
  const text = (...lines: string[]) => [HEADER, ...lines, lines.length, ""].join("\r\n");
  const read = (content: string) =>
    readShortVolumeFile(content, { session: "2026-06-01", symbols });

  it.each([
    ["an HTML page", "<html><body>Sorry</body></html>", "header"],
    ["an empty file", "", "header"],
    ["a changed header", text().replace("Market", "Facility"), "header"],
    ["a file that ends between lines", `${HEADER}\r\n20260601|AAPL|1|0|2|Q\r\n`, "missing"],
    [
      "a file that ends in the middle of a line",
      `${HEADER}\r\n20260601|AAPL|1|0|2|Q\r\n202606`,
      "missing",
    ],
    ["a row count that is too large", text("20260601|AAPL|1|0|2|Q").replace("1\r\n", "2\r\n"), ""],
    ["a line with a missing cell", text("20260601|AAPL|1|0|2"), "no line"],
    ["the file of another day", text("20260529|AAPL|1|0|2|Q"), "no line"],
  ])("is rejected as malformed: %s", (_, content, words) => {
    const fault = faultIn(() => read(content));
    expect(fault.kind).toBe("malformed");
    expect(fault.message).toContain(words);
    expect(fault.message.length).toBeLessThan(300);
  });

  it.each([
    ["a short volume above the total volume", "20260601|AAPL|3|0|2|Q"],
    ["a negative volume", "20260601|AAPL|-1|0|2|Q"],
    ["an empty volume", "20260601|AAPL||0|2|Q"],
    ["a volume of NaN", "20260601|AAPL|NaN|0|2|Q"],
    ["a volume that overflows", "20260601|AAPL|1|0|1e400|Q"],
  ])("is stored except for a row with %s, which is quarantined", (_, line) => {
    const { data, rejected } = read(text(line, "20260601|BRK/B|5.25|0|7.5|Q"));
    expect(data.map(({ symbol, record }) => [symbol, (record as ShortVolume).totalShares])).toEqual(
      [["BRK-B", 7.5]],
    );
    expect(rejected).toMatchObject([{ feed: "shortVolumes", symbol: "AAPL", id: "CNMS" }]);
    expect(rejected[0]?.reason).toBeTruthy();
  });

  it("may contain no trading, and may have Unix line endings", () => {
    expect(read(text())).toEqual({ data: [], rejected: [] });
    const unix = text("20260601|AAPL|1|0|2|Q").replaceAll("\r\n", "\n");
    expect(read(unix).data).toHaveLength(1);
  });
});

const providers = sharedFolder("providers", "a full day of FINRA's short volume");

describe.skipIf(providers.isMissing)("a full day of FINRA (needs ../shared/providers)", () => {
  it("is read completely", () => {
    const content = readFileSync(join(providers.path, "CNMSshvol20250910.txt"), "utf8");
    const lines = content.split("\r\n").slice(1, -2);
    const symbols = new Map(
      lines.map((line) => [line.split("|")[1] ?? "", line.split("|")[1] ?? ""]),
    );
    expect(symbols.size).toBe(10_795);
    const { data, rejected } = readShortVolumeFile(content, { session: "2025-09-10", symbols });
    expect(rejected).toEqual([]);
    const days = data.map(({ record }) => record as ShortVolume);
    // One ticker of that day belongs to another company today.
    expect(days).toHaveLength(10_794);
    const sum = (pick: (day: ShortVolume) => number) =>
      days.reduce((all, day) => all + pick(day), 0);
    const ratio = sum((day) => day.shortShares) / sum((day) => day.totalShares);
    expect(ratio).toBeGreaterThan(0.46);
    expect(ratio).toBeLessThan(0.48);
  });
});
