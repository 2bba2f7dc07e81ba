import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  eventPayload,
  RangeAlertEvent,
  ReportAlertEvent,
  SignalShiftEvent,
  SteadinessAlertEvent,
  VolatilityAlertEvent,
} from "../../../src/answers/event.ts";
import { eventTextOf } from "../../../src/answers/event-text.ts";
import { STEADINESS_MEANING } from "../../../src/answers/steadiness.ts";
import { REPORT_BASES } from "../../../src/factors/next-report.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Market } from "../../../src/market/market.ts";
import { runningMethod } from "../../../src/method/running.ts";
import { RISK_TABLE } from "../../../src/risk/measured-table.ts";
import { RANGE_ALERT_REASONS, type RangeAlert } from "../../../src/risk/range-events.ts";
import type { HorizonRiskTable } from "../../../src/risk/table.ts";
import { REPORT_ALERT_REASONS, type ReportAlert } from "../../../src/score/report-events.ts";
import type {
  EventPoint,
  SignalShift,
  VolatilityAlert,
} from "../../../src/score/shift-and-volatility-events.ts";
import { DIRECTIONS } from "../../../src/score/signal-hysteresis.ts";
import { SNAPSHOT_STATUSES } from "../../../src/score/snapshot.ts";
import {
  STEADINESS_ALERT_REASONS,
  type SteadinessAlert,
} from "../../../src/score/steadiness-events.ts";
import { snapshotOf, steadinessOf } from "../../support/scripted-market.ts";

/** Maximum size of an event in bytes. Standard Webhooks 1.0.0 recommends less than 20 kB. */
const MOST_BYTES = 20_000;

const AT = Date.UTC(2026, 10, 21, 12);
const market: Pick<Market, "mode" | "source" | "dayMs"> = {
  mode: "sandbox",
  dayMs: 60_000,
  source: { id: "s", name: "Simulated", terms: "Free.", simulated: true },
};
const names = { alertId: "alert_1", eventId: "msg_1", sequence: 7, at: AT };

const STRICT = {
  "signal.shift": SignalShiftEvent.extend({ data: SignalShiftEvent.shape.data.strict() }).strict(),
  "volatility.alert": VolatilityAlertEvent.extend({
    data: VolatilityAlertEvent.shape.data.strict(),
  }).strict(),
  "report.alert": ReportAlertEvent.extend({ data: ReportAlertEvent.shape.data.strict() }).strict(),
  "steadiness.alert": SteadinessAlertEvent.extend({
    data: SteadinessAlertEvent.shape.data.strict(),
  }).strict(),
  "range.alert": RangeAlertEvent.extend({ data: RangeAlertEvent.shape.data.strict() }).strict(),
};

const table = RISK_TABLE.classes.stock[0] as HorizonRiskTable;

const bar = {
  ...{ session: "2026-11-20", availableAt: AT, open: 50, high: 51, low: 44, close: 44.6 },
  ...{ volume: 1, dividend: 0.5, split: 2, logReturn: -0.1 },
};

const point = (at: number, score: number, direction: EventPoint["direction"]): EventPoint => ({
  at,
  ...{ score, direction },
  contributions: { momentum: score - 50.123456, valuation: 0.1, social: -0.004, darkpool: 0 },
});

describe("the payload of an alert event", () => {
  it("contains the previous and the current signal, with the snapshots of both", () => {
    const event: SignalShift = {
      ...{ kind: "signal.shift", reason: "direction" },
      ...{ before: point(AT - 2_000, 49.6, "WAIT"), after: point(AT - 1_000, 71.4, "LONG") },
    };
    const snapshot = snapshotOf("A", AT - 1_000, { score: 71.4, direction: "LONG" });
    expect(eventPayload({ event, snapshot }, names, { market })).toEqual({
      type: "signal.shift",
      timestamp: "2026-11-21T12:00:00.000Z",
      data: {
        ...{ alertId: "alert_1", eventId: "msg_1", sequence: 7 },
        ...{ symbol: "A", name: "A Inc.", assetClass: "stock", exchange: "NYSE" },
        ...{ asOf: "2026-11-21T11:59:59.000Z", market: "sandbox", status: "ok" },
        ...{ sources: [market.source], methodVersion: runningMethod().version },
        ...{ reason: "direction", signal: "LONG", previousSignal: "WAIT" },
        ...{ score: 71, previousScore: 50, confidence: 0.8 },
        before: {
          snapshotId: `A/2026-11-21T11:59:58.000Z/${runningMethod().version}`,
          ...{ asOf: "2026-11-21T11:59:58.000Z", signal: "WAIT", score: 50 },
          contributions: { momentum: -0.52, valuation: 0.1, social: -0, darkpool: 0 },
        },
        after: {
          snapshotId: `A/2026-11-21T11:59:59.000Z/${runningMethod().version}`,
          ...{ asOf: "2026-11-21T11:59:59.000Z", signal: "LONG", score: 71 },
          contributions: { momentum: 21.28, valuation: 0.1, social: -0, darkpool: 0 },
        },
      },
    });
  });

  it("contains the z-score that shows how unusual the volatility is", () => {
    const reading = { q: 0.91234567891, z: 2.7249, slowSigma: 0.0123456789, logReturn: -0.05 };
    const event: VolatilityAlert = {
      ...{ kind: "volatility.alert", severity: "high", reason: "volatility" },
      ...{ at: AT, reading },
    };
    const payload = eventPayload({ event, snapshot: snapshotOf("A", AT) }, names, { market });
    expect(payload.type).toBe("volatility.alert");
    expect(payload.data).toMatchObject({
      ...{
        severity: "high",
        reason: "volatility",
        z: 2.72,
        q: 0.91234568,
        dailyVolatility: 0.01234568,
      },
      ...{ logReturn: -0.05, signal: "WAIT", score: 50, sequence: 7 },
    });
  });

  it("contains the expected report and the filing as calendar dates of the market", () => {
    const day = Date.UTC(2015, 3, 30, 4);
    const event: ReportAlert = {
      ...{ kind: "report.alert", reason: "report_filed", sessionsUntil: null },
      report: {
        ...{ expected: day, earliest: day - 7 * DAY_MS, latest: day + 8 * DAY_MS },
        ...{ basis: "year_before", periodEnd: 0 },
      },
      filing: { periodEnd: Date.UTC(2015, 3) - 1, availableAt: day + DAY_MS },
    };
    const recorded = { mode: "files", source: { ...market.source, simulated: false } } as const;
    const { type, data } = eventPayload({ event, snapshot: snapshotOf("A", AT) }, names, {
      market: { ...recorded, dayMs: DAY_MS },
    });
    expect(type).toBe("report.alert");
    expect(data).toMatchObject({
      reason: "report_filed",
      report: {
        ...{ expected: "2015-04-29", earliest: "2015-04-22", latest: "2015-05-07" },
        basis: "year_before",
      },
      sessionsUntil: null,
      filing: { periodEnd: "2015-03-31", filed: "2015-04-30" },
    });
  });

  it("contains the range that the close fell outside, as prices and as percentages adjusted for dividends and splits", () => {
    const event: RangeAlert = {
      ...{ kind: "range.alert", reason: "below", table, bar, logReturn: Math.log(0.9) },
      range: { openedAt: AT - 3 * DAY_MS, price: 100, low: Math.log(0.93), high: Math.log(1.08) },
      sessions: 3,
    };
    const { type, data } = eventPayload({ event, snapshot: snapshotOf("A", AT) }, names, {
      market,
    });
    expect(type).toBe("range.alert");
    expect(data).toMatchObject({
      reason: "below",
      range: {
        ...{ probability: 0.95, sessions: 5, low: 93, high: 108, lowPercent: -7, highPercent: 8 },
        from: { price: 100, at: "2026-11-18T12:00:00.000Z" },
      },
      close: { price: 44.6, at: "2026-11-21T12:00:00.000Z", changePercent: -10 },
      session: 3,
    });
  });

  it("contains the steadiness in whole points, its rank and the level, and says them in words", () => {
    const event: SteadinessAlert = {
      ...{ kind: "steadiness.alert", reason: "below", level: 20 },
      reading: steadinessOf(17.6, AT),
    };
    const payload = eventPayload({ event, snapshot: snapshotOf("A", AT) }, names, { market });
    expect(payload.type).toBe("steadiness.alert");
    expect(payload.data).toMatchObject({
      ...{ symbol: "A", reason: "below", level: 20, steadiness: 18, peers: 100 },
    });
    const { headline, details } = eventTextOf(JSON.stringify(payload));
    expect(headline).toBe("A: steadiness is 18; it fell below 20");
    expect(details).toContain("Rank 82.9 of 100 stocks, the steadiest first.");
    expect(details).toContain(STEADINESS_MEANING);
  });

  it("matches its schema without additional members, in less than 20 kB", () => {
    const score = fc.double({ min: 0, max: 100, noNaN: true });
    const figure = fc.double({ min: -100, max: 100, noNaN: true });
    const contributions = fc.record({
      ...{ momentum: figure, valuation: figure, social: figure, darkpool: figure },
    });
    const direction = fc.constantFrom(...DIRECTIONS);
    const at = fc.integer({ min: 0, max: AT });
    const onePoint = fc.record({ at, score, direction, contributions });
    const shift = fc.record<SignalShift>({
      kind: fc.constant("signal.shift"),
      reason: fc.constantFrom("direction", "score"),
      before: onePoint,
      after: onePoint,
    });
    const reading = fc.record({
      q: figure,
      z: fc.option(figure),
      slowSigma: fc.double({ min: 0, max: 10, noNaN: true }),
      logReturn: figure,
    });
    const volatility = fc.record<VolatilityAlert>({
      kind: fc.constant("volatility.alert"),
      severity: fc.constantFrom("high", "extreme"),
      reason: fc.constantFrom("volatility", "return"),
      at,
      reading,
    });
    const days = fc.record({
      ...{ expected: at, earliest: at, latest: at, periodEnd: at },
      basis: fc.constantFrom(...REPORT_BASES),
    });
    const report = fc.record<ReportAlert>({
      kind: fc.constant("report.alert"),
      reason: fc.constantFrom(...REPORT_ALERT_REASONS),
      report: fc.option(days),
      sessionsUntil: fc.option(fc.nat(21)),
      filing: fc.option(fc.record({ periodEnd: at, availableAt: at })),
    });
    const log = fc.double({ min: -3, max: 3, noNaN: true });
    const range = fc.record<RangeAlert>({
      kind: fc.constant("range.alert"),
      reason: fc.constantFrom(...RANGE_ALERT_REASONS),
      range: fc.record({ openedAt: at, price: fc.constant(0.001_234_567), low: log, high: log }),
      table: fc.constant(table),
      bar: fc.constant(bar),
      logReturn: log,
      sessions: fc.integer({ min: 1, max: 7 }),
    });
    const steadiness = fc.record<SteadinessAlert>({
      kind: fc.constant("steadiness.alert"),
      reason: fc.constantFrom(...STEADINESS_ALERT_REASONS),
      level: fc.integer({ min: 5, max: 95 }),
      reading: fc.nat({ max: 99 }).map((value) => steadinessOf(value + 0.5, AT)),
    });
    const event = fc.oneof(shift, volatility, report, range, steadiness);
    const said = fc.record({ score, direction, status: fc.constantFrom(...SNAPSHOT_STATUSES) });
    const name = fc.string({ unit: "binary", maxLength: 500 });
    fc.assert(
      fc.property(event, said, name, (event, one, instrumentName) => {
        const snapshot = snapshotOf("A", AT, one);
        const called = {
          ...snapshot,
          instrument: { ...snapshot.instrument, name: instrumentName },
        };
        const text = JSON.stringify(eventPayload({ event, snapshot: called }, names, { market }));
        const payload = JSON.parse(text);
        expect(STRICT[event.kind].parse(payload)).toEqual(payload);
        expect(Buffer.byteLength(text)).toBeLessThan(MOST_BYTES);
      }),
      { seed: 6, numRuns: 100 },
    );
  });
});
