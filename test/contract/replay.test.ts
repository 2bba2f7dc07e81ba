// @module-tag full

import { setImmediate } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import type { TrackRecordAnswer } from "../../src/answers/track-record.ts";
import { runningMethod } from "../../src/method/running.ts";
import { getWith, newToken } from "../support/agent.ts";
import { isMissing, reducedMarketFolder } from "../support/real-market.ts";
import { smallMarket } from "../support/small-market.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

/** Time between two steps of a replay, in milliseconds. */
const STEP_MS = 250;

const iso = (at: number) => new Date(at).toISOString();

/** Collects the answers to all requests about a market. */
async function answers({ base }: TestService, symbols: readonly string[]) {
  const token = await newToken(base);
  const paths = [
    "/api/signals",
    "/api/instruments",
    `/api/method/${runningMethod().version}`,
    ...symbols.flatMap((symbol) => [
      `/api/signals?symbol=${symbol}`,
      `/api/signals?symbol=${symbol}&from=2013-01-01T00:00:00Z&limit=500`,
      `/api/factors?symbol=${symbol}`,
      ...["summary", "days", "prints"].map((view) => `/api/darkpool?symbol=${symbol}&view=${view}`),
    ]),
  ];
  const bodies: Record<string, string> = {};
  for (const path of paths) {
    const response = await getWith(token, `${base}${path}`);
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    bodies[path] = await response.text();
  }
  return bodies;
}

const mode = (bodies: Readonly<Record<string, string>>) =>
  new Set(Object.values(bodies).map((body) => (JSON.parse(body) as { market?: string }).market));

/**
 * Removes expected differences from the answers: a stopped market has no log, and its data end at
 * its instant.
 */
const withoutMode = (bodies: Readonly<Record<string, string>>) =>
  Object.values(bodies).map((body) =>
    body.replaceAll(
      /"market":"(replay|files)"|"recordedUntil":"[^"]*"|"logged":(null|\{[^}]*\})/g,
      "",
    ),
  );

/**
 * Runs steps as the process does: before each step, the clock waits until closed sessions are
 * logged.
 */
async function play({ service, clock }: TestService, steps: number): Promise<void> {
  const { market } = service;
  for (let step = 0; step < steps; step++) {
    const before = market.knownUntil();
    clock.now = new Date(clock.now.getTime() + STEP_MS);
    do {
      service.refresh();
      await setImmediate();
    } while (market.knownUntil() === before && service.untilNextRefresh() !== undefined);
  }
}

function replay(folder: string, [from, to]: readonly [string, string], daysPerSecond: number) {
  const range = { from: Date.parse(from), to: Date.parse(to) };
  return startTestService({}, { market: { kind: "replay", folder, ...range, daysPerSecond } });
}

const standing = (folder: string, at: number) =>
  startTestService({}, { market: { kind: "files", folder, asOf: new Date(at) } });

describe("a replay of history", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await smallMarket();
  });

  it("gives the same bytes at every instant as a market with its clock stopped at that instant", async () => {
    const symbols = ["ACME", "FUND", "COIN-USD"];
    const playing = await replay(folder, ["2013-12-27", "2014-02-28"], 1.2);
    // The numbers of steps reach the start, the turn of the year, the day when feeds begin, and the
    // day when a stock has a year of data.
    for (const steps of [0, 1, 16, 5, 17, 1, 80, 60]) {
      await play(playing, steps);
      const at = playing.service.market.knownUntil();
      const played = await answers(playing, symbols);
      expect([...mode(played)]).toEqual(["replay"]);
      const stood = await answers(await standing(folder, at), symbols);
      expect([...mode(stood)]).toEqual(["files"]);
      expect(withoutMode(played), iso(at)).toEqual(withoutMode(stood));
    }
    expect(iso(playing.service.market.knownUntil())).toBe("2014-02-19T00:00:00.000Z");
  });

  it("advances from its first to its last instant and stops there", async () => {
    const playing = await replay(folder, ["2014-01-02", "2014-01-03"], 1);
    const { service, base } = playing;
    const ready = async () => {
      const { checks } = (await (await fetch(`${base}/readyz`)).json()) as {
        checks: { replay: object };
      };
      return checks.replay;
    };
    expect(iso(service.market.knownUntil())).toBe("2014-01-02T00:00:00.000Z");
    expect(service.untilNextRefresh()).toBe(STEP_MS);
    expect(await ready()).toEqual({ ok: true, detail: "at 2014-01-02T00:00:00.000Z" });
    await play(playing, 2);
    expect(iso(service.market.knownUntil())).toBe("2014-01-02T12:00:00.000Z");
    await play(playing, 2);
    expect(service.untilNextRefresh()).toBeUndefined();
    await play(playing, 3);
    expect(iso(service.market.knownUntil())).toBe("2014-01-03T00:00:00.000Z");
    const detail = "ended at 2014-01-03T00:00:00.000Z";
    expect(await ready()).toEqual({ ok: true, detail });
    expect(await (await fetch(`${base}/api/health`)).json()).toMatchObject({
      market: "replay",
      asOf: "2014-01-03T00:00:00.000Z",
    });
  });

  it("does not disclose data from after its current instant", async () => {
    const { base } = await replay(folder, ["2014-01-06", "2014-01-31"], 1);
    const token = await newToken(base);
    const response = await getWith(
      token,
      `${base}/api/signals?symbol=ACME&asOf=2014-01-07T00:00:00Z`,
    );
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ code: "not_available_then" });
  });

  it.each([
    ["2012-09-30", "2013-06-30", "the first bar became known at 2012-10-01T20:15:00.000Z"],
    ["2013-06-30", "2014-04-03", "the last bar became known at 2014-04-01T00:00:00.000Z"],
    ["1999-01-01", "1999-12-31", "no bar of the folder is known by 1999-12-31"],
    ["2020-01-01", "2020-12-31", "the last bar became known at 2014-04-01T00:00:00.000Z"],
  ])("from %s to %s is rejected, since the range contains no data", async (from, to, message) => {
    await expect(replay(folder, [from, to], 1)).rejects.toThrow(`REPLAY: ${message}`);
  });

  it("may end on the day after the last bars, which is when the coin's last bar becomes known", async () => {
    const { service } = await replay(folder, ["2014-03-31", "2014-04-01T12:00:00Z"], 1);
    expect(service.market.knownUntil()).toBe(Date.parse("2014-03-31"));
  });

  it("stops its clock until all closed sessions are logged, so that no entry is late", async () => {
    const playing = await replay(folder, ["2014-01-02", "2014-01-31"], 4);
    const { service, clock, base } = playing;
    const token = await newToken(base);
    // Steps run as fast as possible, so that a month passes in the time needed to log one session.
    while (service.untilNextRefresh() !== undefined) {
      clock.now = new Date(clock.now.getTime() + STEP_MS);
      service.refresh();
      await setImmediate();
    }
    const coin = async () => {
      const answer = await getWith(token, `${base}/api/track-record?assetClass=crypto`);
      const { records } = (await answer.json()) as Pick<TrackRecordAnswer, "records">;
      return records.find(({ horizon }) => horizon === 7);
    };
    await expect.poll(async () => (await coin())?.runs, { timeout: 10_000 }).toBeGreaterThan(15);
    expect(await coin()).toMatchObject({ lateRuns: 0 });
  });

  it("records every closed session once, in order", async () => {
    const playing = await replay(folder, ["2014-01-06", "2014-01-13"], 4);
    const { archive } = playing.service.state.store;
    const recorded = async () => {
      const rows = await archive.read("snapshot", { order: "oldest", limit: 10_000 });
      return rows.filter(({ subject }) => subject === "ACME").map(({ at }) => iso(at).slice(0, 10));
    };
    const last = async (date: string) =>
      expect.poll(async () => (await recorded()).at(-1), { timeout: 10_000 }).toBe(date);
    await last("2014-01-03");
    await play(playing, 8);
    await last("2014-01-10");
    const dates = await recorded();
    expect(dates.slice(-6)).toEqual([
      "2014-01-03",
      "2014-01-06",
      "2014-01-07",
      "2014-01-08",
      "2014-01-09",
      "2014-01-10",
    ]);
    expect(new Set(dates).size).toBe(dates.length);
  });
});

describe.skipIf(isMissing)(
  "a replay of real history",
  { timeout: 180_000, tags: ["nightly"] },
  () => {
    it("gives the same answers as a market with a stopped clock, in the middle and at the end", async () => {
      const symbols = ["AAPL", "IBM", "IWM"];
      const folder = await reducedMarketFolder({
        symbols: ["AAPL", "IBM", "IWM", "BTC-USD", "BAC", "MSFT"],
      });
      const playing = await replay(folder, ["2013-10-07", "2013-10-12"], 1.5);
      for (const steps of [7, 7]) {
        await play(playing, steps);
        const played = await answers(playing, symbols);
        const stood = await standing(folder, playing.service.market.knownUntil());
        expect(withoutMode(played)).toEqual(withoutMode(await answers(stood, symbols)));
      }
      expect(iso(playing.service.market.knownUntil())).toBe("2013-10-12T00:00:00.000Z");
    });
  },
);
