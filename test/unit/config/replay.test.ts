import { describe, expect, it } from "vitest";
import { readConfig } from "../../../src/config/config.ts";

const HISTORY = { MARKET: "files:/data/market" };
const replay = (text: string) => readConfig({ ...HISTORY, REPLAY: text }).market;

describe("the setting REPLAY", () => {
  it("consists of two dates and a speed, where a date begins at 00:00 UTC", () => {
    expect(replay("2014-01-02/2014-12-31@2")).toEqual({
      kind: "replay",
      folder: "/data/market",
      from: Date.parse("2014-01-02T00:00:00Z"),
      to: Date.parse("2014-12-31T00:00:00Z"),
      daysPerSecond: 2,
    });
  });

  it("accepts instants with any UTC offset and fractional speeds", () => {
    expect(replay("2014-06-02T16:00:00-04:00/2014-06-03T00:00:00.500Z@0.25")).toMatchObject({
      from: Date.parse("2014-06-02T20:00:00Z"),
      to: Date.parse("2014-06-03T00:00:00.500Z"),
      daysPerSecond: 0.25,
    });
  });

  it.each(["0.00001", "100", "100.0"])("accepts the speed %s", (speed) => {
    expect(replay(`2014-01-02/2014-12-31@${speed}`)).toMatchObject({
      daysPerSecond: Number(speed),
    });
  });

  it.each([
    "2014-01-02",
    "2014-01-02/2014-12-31",
    "2014-01-02@2",
    "2014-01-02/2014-12-31@",
    "2014-01-02/2014-12-31@0",
    "2014-01-02/2014-12-31@0.000001",
    "2014-01-02/2014-12-31@100.1",
    "2014-01-02/2014-12-31@-1",
    "2014-01-02/2014-12-31@1e1",
    "2014-01-02/2014-12-31@fast",
    "2014-12-31/2014-01-02@2",
    "2014-01-02/2014-01-02@2",
    "2014-02-30/2014-12-31@2",
    "2014-01-02T21:00/2014-12-31@2",
    "01/02/2014/2014-12-31@2",
  ])("rejects %s with the allowed values", (text) => {
    expect(() => replay(text)).toThrow(/^REPLAY: .*the earlier first.*from 0\.00001 to 100/);
  });

  it("requires a market of recorded history and excludes AS_OF", () => {
    const REPLAY = "2014-01-02/2014-12-31@2";
    expect(() => readConfig({ REPLAY })).toThrow(/REPLAY: .*MARKET=files:<folder>/);
    expect(() => readConfig({ ...HISTORY, REPLAY, AS_OF: "2014-06-30T00:00:00Z" })).toThrow(
      /REPLAY: .*AS_OF/,
    );
  });

  it("makes sign-up require an application for access, as for recorded history", () => {
    const REPLAY = "2014-01-02/2014-12-31@2";
    expect(readConfig({ ...HISTORY, REPLAY }).signUp).toBe("applications");
    expect(readConfig({}).signUp).toBe("open");
  });
});

describe("the settings of a market", () => {
  it("default to the sandbox market", () => {
    expect(readConfig({}).market).toEqual({ kind: "sandbox", sessionSeconds: 60, seed: 1 });
  });

  it("can specify a directory of recorded history and the instant at which its clock is stopped", () => {
    const asOf = new Date("2015-06-30T21:00:00Z");
    expect(readConfig({ ...HISTORY, AS_OF: "2015-06-30T21:00:00Z" }).market).toEqual({
      kind: "files",
      folder: "/data/market",
      asOf,
    });
    expect(readConfig(HISTORY).market).toMatchObject({ kind: "files", asOf: undefined });
  });
});
