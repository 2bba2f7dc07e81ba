import { describe, expect, it } from "vitest";
import {
  addMessage,
  bullishness,
  createRecentTexts,
  decayCounters,
  hear,
  messageWeight,
  SILENCE,
} from "../../../src/factors/message-counters.ts";
import {
  extendBaseline,
  freezeSocial,
  readSocial,
  type SocialBaseline,
  sentimentZ,
} from "../../../src/factors/social.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The messages of method 2.4: hours, polarity, followers, duplicates, instruments named. */
const messages = [
  [0, 0.6, 1000, 0, 1],
  [2, 0.8, 100, 0, 1],
  [2.5, 0.8, 100, 1, 1],
  [5, -0.5, 50_000, 0, 2],
  [20, 0.1, 10, 0, 1],
] as const;

const weights = messages.map(([, , followers, duplicates, symbolCount]) =>
  messageWeight({ followers, symbolCount }, duplicates),
);

const counters = messages.reduce((state, [hours, polarity], index) => {
  const decayed = decayCounters(state, hours * HOUR_MS, DAY_MS);
  return addMessage(decayed, polarity, weights[index] ?? Number.NaN);
}, SILENCE);

describe("the social counters", () => {
  it("weigh messages as in the worked example", () => {
    const expected = [1.750109, 1.50108, 0.75054, Math.SQRT2, 1.260348];
    expected.forEach((weight, index) => {
      expect(weights[index]).toBeCloseTo(weight, 6);
    });
  });

  it("decay and add as in the worked example", () => {
    expect(counters.bullish).toBeCloseTo(2.327528, 6);
    expect(counters.bearish).toBeCloseTo(0.917004, 6);
    expect(counters.total).toBeCloseTo(4.50488, 6);
    expect(bullishness(counters).value).toBeCloseTo(0.551466, 6);
    expect(bullishness(counters).effectiveMessages).toBeCloseTo(4.616711, 6);
  });

  it("become the worked example's z against a norm of .45 +- .60", () => {
    const { value, effectiveMessages } = bullishness(counters);
    const z = sentimentZ(value, effectiveMessages, { mean: 0.45, sd: 0.6 });
    expect(z).toBeCloseTo(0.053414, 6);
  });

  it("weigh an author with unknown reach as one without followers", () => {
    expect(messageWeight({ followers: null, symbolCount: 1 }, 0)).toBe(1);
  });

  it("count a text's earlier uses within one day only", () => {
    const texts = createRecentTexts(DAY_MS);
    expect(texts.countEarlier("same", 0)).toBe(0);
    expect(texts.countEarlier("same", HOUR_MS)).toBe(1);
    expect(texts.countEarlier("other", 2 * HOUR_MS)).toBe(0);
    expect(texts.countEarlier("same", DAY_MS + 1)).toBe(1);
    expect(texts.countEarlier("same", 3 * DAY_MS)).toBe(0);
  });
});

describe("the social reading", () => {
  const habit = [...Array(25).keys()].reduce<SocialBaseline | undefined>(
    (baseline, day) => extendBaseline(baseline, day % 2 === 0 ? 0.3 : 0.6),
    undefined,
  );
  const at = 20 * HOUR_MS;
  const context = {
    at,
    dayMs: DAY_MS,
    asOf: at,
    feedAt: at,
    heard: hear(counters, 0, DAY_MS),
    baseline: habit,
    classNorm: undefined,
  };

  it("shrinks with few messages: confidence n/(n + 10)", () => {
    const reading = readSocial(context);
    expect(reading.status).toBe("ok");
    expect(reading.confidence).toBeCloseTo(4.616711 / 14.616711, 6);
  });

  it("is silent below three effective messages, dead without a feed, unknown without a norm", () => {
    expect(readSocial({ ...context, asOf: null }).status).toBe("not_observed");
    const statusAfter = (silentMs: number) =>
      readSocial({ ...context, heard: hear(counters, silentMs, DAY_MS) }).status;
    expect(statusAfter(3 * DAY_MS)).toBe("ok");
    expect(statusAfter(3 * DAY_MS + 1)).toBe("no_activity");
    const one = addMessage(SILENCE, 0.5, messageWeight({ followers: 0, symbolCount: 16 }, 0));
    expect(readSocial({ ...context, heard: hear(one, 1, DAY_MS) }).status).toBe(
      "insufficient_data",
    );
    expect(readSocial({ ...context, feedAt: at - 4 * DAY_MS }).status).toBe("stale");
    expect(readSocial({ ...context, baseline: undefined }).status).toBe("insufficient_data");
  });

  it("compares a newcomer with its class when the class has 30 peers", () => {
    const values = Array.from({ length: 30 }, (_, index) => index / 30);
    expect(freezeSocial(values.slice(1))).toBeUndefined();
    const reading = readSocial({
      ...context,
      baseline: undefined,
      classNorm: freezeSocial(values),
    });
    expect(reading.status).toBe("ok");
    expect(reading.z).not.toBeNull();
  });
});
