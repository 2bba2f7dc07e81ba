import { describe, expect, it } from "vitest";
import {
  type EvidenceMean,
  nextEvidenceMean,
  nextSignal,
  nextStockSignal,
  type SessionScore,
  type SignalState,
  type StockSession,
} from "../../../src/score/signal-hysteresis.ts";

const session = (score: number, values: Partial<SessionScore> = {}): SessionScore => ({
  at: 1,
  assetClass: "etf",
  score,
  confidence: 0.5,
  coverage: 1,
  bars: 300,
  missedSessions: 0,
  ...values,
});

/** Evaluates a series of scores, the first of which initializes the smoothing. */
const run = (scores: readonly number[], values: Partial<SessionScore> = {}) =>
  scores.reduce<SignalState | undefined>(
    (state, score, index) => nextSignal(state, session(score, { ...values, at: index })),
    undefined,
  );

describe("the signal of a fund or coin", () => {
  it("enters LONG at 70 and SHORT at 30", () => {
    expect(run([70])?.direction).toBe("LONG");
    expect(run([69.99])?.direction).toBe("WAIT");
    expect(run([30])?.direction).toBe("SHORT");
    expect(run([30.01])?.direction).toBe("WAIT");
  });

  it("stays LONG while the smoothed score is at least 55, and SHORT while it is at most 45", () => {
    const long = run([80]);
    const steps = (target: number) => {
      let state = long;
      for (let index = 0; index < 60; index++) state = nextSignal(state, session(target));
      return state?.direction;
    };
    expect(steps(55.01)).toBe("LONG");
    expect(steps(54.9)).toBe("WAIT");
  });

  it("is smoothed with a half-life of two sessions for funds and half a session for coins", () => {
    expect(run([50, 90])?.smoothed).toBeCloseTo(50 + 40 * (1 - 2 ** -0.5), 9);
    expect(run([50, 90], { assetClass: "crypto" })?.smoothed).toBeCloseTo(80, 9);
  });

  it("changes directly from LONG to SHORT only if the condition to enter SHORT is met", () => {
    const long = run([80], { assetClass: "crypto" });
    const turned = nextSignal(long, session(0, { assetClass: "crypto", at: 9 }));
    expect(turned).toMatchObject({ direction: "SHORT", previous: "LONG", since: 9 });
    const low = nextSignal(long, session(32, { assetClass: "crypto" }));
    expect(low.direction).toBe("WAIT");
  });

  it("requires a confidence of .30 to enter a direction and .25 to stay in it", () => {
    expect(run([80], { confidence: 0.29 })?.direction).toBe("WAIT");
    const long = run([80]);
    expect(nextSignal(long, session(80, { confidence: 0.26 })).direction).toBe("LONG");
    expect(nextSignal(long, session(80, { confidence: 0.24 }))).toMatchObject({
      direction: "WAIT",
      forcedWait: "low_confidence",
    });
  });

  it("requires a coverage of .60 both to enter a direction and to stay in it", () => {
    expect(run([80], { coverage: 0.59 })).toMatchObject({
      direction: "WAIT",
      forcedWait: "low_coverage",
    });
    const long = run([80], { coverage: 0.6 });
    expect(long?.direction).toBe("LONG");
    expect(nextSignal(long, session(80, { coverage: 0.59 })).direction).toBe("WAIT");
  });

  it("is WAIT for an instrument with fewer than 60 sessions", () => {
    expect(run([80], { bars: 59 })).toMatchObject({ direction: "WAIT", forcedWait: "too_young" });
    expect(run([80], { bars: 60 })?.direction).toBe("LONG");
  });

  it("keeps its direction for one session without trading, and becomes WAIT after two", () => {
    const long = run([80]);
    const halted = nextSignal(long, session(10, { missedSessions: 1 }));
    expect(halted).toEqual({ ...long, frozen: true });
    const gone = nextSignal(halted, session(10, { missedSessions: 2, at: 7 }));
    expect(gone).toMatchObject({
      direction: "WAIT",
      previous: "LONG",
      since: 7,
      forcedWait: "not_trading",
      frozen: true,
      smoothed: 80,
    });
    expect(nextSignal(gone, session(80)).direction).toBe("LONG");
  });

  it("records when it began and which signal preceded it", () => {
    const state = run([50, 90, 90, 90, 90]);
    expect(state).toMatchObject({ direction: "LONG", previous: "WAIT", since: 2 });
  });
});

const stockSession = (
  smoothed: number | null,
  values: Partial<StockSession> = {},
): StockSession => ({
  at: 1,
  isScored: true,
  hasMomentum: true,
  mean: { value: 0.1, sessions: 60 },
  smoothed,
  missedSessions: 0,
  ...values,
});

/** Directions of a stock over sessions with these percentiles. */
const stockRun = (percentiles: readonly number[]) => {
  let state: SignalState | undefined;
  return percentiles.map((smoothed, at) => {
    state = nextStockSignal(state, stockSession(smoothed, { at }));
    return state.direction;
  });
};

describe("the signal of a stock", () => {
  it("is LONG from 90 until it falls under 50, and SHORT from 10 until it rises over 50", () => {
    expect(stockRun([89.99, 90, 50, 49.99, 89])).toEqual(["WAIT", "LONG", "LONG", "WAIT", "WAIT"]);
    expect(stockRun([10.01, 10, 50, 50.01, 11])).toEqual([
      "WAIT",
      "SHORT",
      "SHORT",
      "WAIT",
      "WAIT",
    ]);
  });

  it("is WAIT without a score, without momentum, and before 60 sessions of evidence", () => {
    const young = { value: 0.1, sessions: 59 };
    for (const [values, forcedWait] of [
      [{ isScored: false }, "unscored"],
      [{ hasMomentum: false }, "no_momentum"],
      [{ mean: young }, "too_young"],
      [{ mean: undefined, smoothed: null }, "too_young"],
      [{ missedSessions: 2 }, "not_trading"],
    ] as const) {
      const state = nextStockSignal(undefined, stockSession(95, values));
      expect(state).toMatchObject({ direction: "WAIT", forcedWait });
    }
  });

  it("keeps direction, mean and percentile for one session without trading, and is WAIT after two", () => {
    const long = nextStockSignal(undefined, stockSession(95));
    const other = { mean: { value: 9, sessions: 99 }, smoothed: 1 };
    const halted = nextStockSignal(long, stockSession(1, { ...other, missedSessions: 1 }));
    expect(halted).toEqual({ ...long, frozen: true });
    const gone = nextStockSignal(halted, stockSession(1, { ...other, missedSessions: 2, at: 7 }));
    expect(gone).toMatchObject({ direction: "WAIT", since: 7, previous: "LONG", smoothed: 95 });
    expect(gone.mean).toEqual(long.mean);
  });

  it("follows an exponential mean of half-life 5 sessions, which skips sessions without evidence", () => {
    let mean: EvidenceMean | undefined;
    for (const z of [1, Number.NaN, 0, 0, 0, 0, 0]) mean = nextEvidenceMean(mean, z);
    expect(mean?.sessions).toBe(6);
    expect(mean?.value).toBeCloseTo(0.5, 12);
  });
});
