import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../../src/lib/day.ts";
import { type BarCheckState, checkBar } from "../../../src/market/bar-quality.ts";
import type { Bar } from "../../../src/market/records.ts";
import { RISK_TABLE, SIMULATED_RISK_TABLE } from "../../../src/risk/measured-table.ts";
import { riskOutlook } from "../../../src/risk/outlook.ts";
import {
  detectRangeAlert,
  type RangeAlert,
  type WatchedRange,
  watchedHorizon,
} from "../../../src/risk/range-events.ts";
import type { HorizonRiskTable } from "../../../src/risk/table.ts";
import { madeBars } from "./bars.ts";

const table = watchedHorizon(RISK_TABLE, "stock") as HorizonRiskTable;

/** Index of the first evaluated session. */
const START = 300;

/** Bars with returns of 0 from `START` on, except for the given log returns by day. */
function barsWith(moves: Readonly<Record<number, number>>, count = START + 30): readonly Bar[] {
  let close = 100;
  return madeBars(count, 1, 1).map((bar, day) => {
    const logReturn = moves[day] ?? (day < START ? (bar.logReturn ?? 0) : 0);
    const open = close;
    close *= Math.exp(logReturn);
    const [low, high] = [Math.min(open, close) * 0.998, Math.max(open, close) * 1.002];
    const volume = bar.volume + day;
    return { ...bar, open, high, low, close, volume, logReturn: day === 0 ? null : logReturn };
  });
}

/**
 * Evaluates every session from `START` on. @returns The events and the days on which a range
 * opened.
 */
function watch(bars: readonly Bar[], days = 25, other = table) {
  let open: WatchedRange | undefined;
  const opened: number[] = [];
  const events: (readonly [day: number, event: RangeAlert])[] = [];
  for (let day = START; day < START + days; day++) {
    const at = day * DAY_MS;
    const session = { records: { bars }, assetClass: "stock", at, table: other } as const;
    const { open: after, event } = detectRangeAlert(open, session);
    if (after !== open) opened.push(day);
    if (event !== undefined) events.push([day, event]);
    open = after;
  }
  return { opened, events };
}

describe("the price range that an alert watches", () => {
  it("is the 95 % range of the risk forecast at the latest known close", () => {
    const bars = barsWith({});
    const at = START * DAY_MS;
    const { open } = detectRangeAlert(undefined, {
      records: { bars },
      assetClass: "stock",
      at,
      table,
    });
    const outlook = riskOutlook({ bars }, "stock", at, RISK_TABLE);
    const { low, high } = outlook?.horizons[0]?.ranges?.[2] ?? { low: 0, high: 0 };
    expect(outlook?.horizons[0]?.ranges?.[2]?.probability).toBe(0.95);
    expect(open).toEqual({ openedAt: at, price: outlook?.bar.close, low, high });
  });

  it("ends after its horizon, and the next range opens at the same close", () => {
    const { opened, events } = watch(barsWith({}));
    expect(opened).toEqual([300, 305, 310, 315, 320]);
    expect(events).toEqual([]);
    expect(watch(barsWith({}), 25, { ...table, horizon: 7 }).opened).toEqual([300, 307, 314, 321]);
  });

  it("ends with a close outside the range, and the next range opens at that close", () => {
    const { opened, events } = watch(barsWith({ 303: -0.2 }));
    expect(opened).toEqual([300, 303, 308, 313, 318, 323]);
    expect(events.map(([day, { reason, sessions }]) => [day, reason, sessions])).toEqual([
      [303, "below", 3],
    ]);
    const [, event] = events[0] ?? [];
    expect(event?.logReturn).toBeCloseTo(-0.2, 12);
    expect(event?.range.openedAt).toBe(300 * DAY_MS);
    expect(event?.bar.session).toBe("day 303");
  });

  it("is compared with the sum of returns since it opened, including dividends and splits", () => {
    const { open } = detectRangeAlert(undefined, sessionOn(barsWith({}), START));
    const step = 0.22 * (open?.high ?? 0);
    const up = watch(barsWith({ 301: step, 302: step, 303: step, 304: step, 305: step }));
    expect(up.events.map(([day, { reason }]) => [day, reason])).toEqual([[305, "above"]]);
    const apart = watch(barsWith({ 304: 2.5 * step, 306: 2.5 * step }));
    expect(apart.events).toEqual([]);
    const together = watch(barsWith({ 302: 2.5 * step, 304: 2.5 * step }));
    expect(together.events.map(([day]) => day)).toEqual([304]);
    // A split and a dividend change the price, but not the return.
    const split = barsWith({}).map((bar, day) => {
      const { open, high, low, close } = bar;
      if (day < 303) return bar;
      return { ...bar, open: open / 10, high: high / 10, low: low / 10, close: close / 10 };
    });
    expect(watch(split).events).toEqual([]);
  });

  it("stays open when there is no close, and is checked at the next close", () => {
    const whole = barsWith({ 308: -0.2 });
    const halted = whole.filter((_, day) => day < 302 || day > 307);
    const { opened, events } = watch(halted);
    expect(opened).toEqual([300, 308, 313, 318, 323]);
    expect(events.map(([day, { sessions }]) => [day, sessions])).toEqual([[308, 2]]);
  });

  it("ends with a suspect bar only after the next bar confirms it", () => {
    /** The bars that are known when suspect bars are held back. */
    const filtered = (reported: readonly Bar[]): readonly Bar[] => {
      let memory: BarCheckState = {};
      const accepted: Bar[] = [];
      for (const bar of reported) {
        const check = checkBar(memory, bar);
        memory = check.memory;
        for (const one of check.accepted) {
          const last = accepted.at(-1)?.close;
          const logReturn = last === undefined ? null : Math.log(one.close / last);
          accepted.push({ ...one, logReturn });
        }
      }
      return accepted;
    };
    const crash = filtered(barsWith({ 303: -1.2 }));
    expect(watch(crash).events.map(([day, { bar }]) => [day, bar.session])).toEqual([
      [304, "day 303"],
    ]);
    const slip = barsWith({}).map((bar, day) => (day === 303 ? { ...bar, close: 1, low: 1 } : bar));
    const dropped = filtered(slip);
    expect(dropped.some(({ session }) => session === "day 303")).toBe(false);
    expect(watch(dropped).events).toEqual([]);
  });

  it("does not depend on later data, and continues correctly from its stored state", () => {
    const bars = barsWith({ 303: -0.2, 312: 0.3 });
    const { events } = watch(bars, 10);
    expect(watch(bars.slice(0, START + 10), 10).events).toEqual(events);
    const json = JSON.parse(JSON.stringify(detectRangeAlert(undefined, sessionOn(bars, 300)).open));
    expect(detectRangeAlert(json, sessionOn(bars, 303)).event).toEqual(events[0]?.[1]);
  });

  it("does not exist with fewer than 252 sessions or for asset classes without a published range", () => {
    const young = detectRangeAlert(undefined, sessionOn(barsWith({}), 251));
    expect(young).toEqual({ open: undefined });
    expect(detectRangeAlert(undefined, sessionOn(barsWith({}), 252)).open).toBeDefined();
    expect(watchedHorizon(RISK_TABLE, "etf")).toBeUndefined();
    expect(watchedHorizon(SIMULATED_RISK_TABLE, "etf")).toBeUndefined();
    expect(watchedHorizon(RISK_TABLE, "crypto")?.horizon).toBe(7);
  });
});

const sessionOn = (bars: readonly Bar[], day: number) =>
  ({ records: { bars }, assetClass: "stock", at: day * DAY_MS, table }) as const;
