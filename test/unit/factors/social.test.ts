import { describe, expect, it } from "vitest";
import {
  computeSocialReading,
  extendSocialBaseline,
  freezeSocialNorm,
  type SocialBaseline,
  sentimentZ,
  socialZ,
} from "../../../src/factors/social.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import { createAttentionTracker, NO_ATTENTION } from "../../../src/messages/attention.ts";
import {
  addMessageToCounters,
  decayCounters,
  NO_MESSAGES,
  sentimentMeasures,
  sentimentOf,
} from "../../../src/messages/message-counters.ts";
import {
  createAuthorActivity,
  createRecentMessages,
  messageWeight,
} from "../../../src/messages/message-weight.ts";
import { normalCdf } from "../../../src/statistics/normal.ts";

const HOUR_MS = 3_600_000;

/**
 * The messages of the worked example: age in hours, polarity, followers, duplicates, number of
 * instruments.
 */
const messages = [
  [0, 0.6, 1000, 0, 1],
  [2, 0.8, 100, 0, 1],
  [2.5, 0.8, 100, 1, 1],
  [5, -0.5, 50_000, 0, 2],
  [20, 0.1, 10, 0, 1],
] as const;

const weights = messages.map(([, , followers, duplicates, symbolCount]) =>
  messageWeight({ followers, symbolCount }, { duplicates, byAuthor: 0 }),
);

const counters = messages.reduce((state, [hours, polarity], index) => {
  const decayed = decayCounters(state, hours * HOUR_MS, DAY_MS);
  return addMessageToCounters(decayed, polarity, weights[index] ?? Number.NaN);
}, NO_MESSAGES);

describe("the decaying message counters", () => {
  it("weight messages as in the worked example", () => {
    const expected = [1.750109, 1.50108, 0.75054, Math.SQRT2, 1.260348];
    expected.forEach((weight, index) => {
      expect(weights[index]).toBeCloseTo(weight, 6);
    });
  });

  it("decay and add as in the worked example", () => {
    expect(counters.bullish).toBeCloseTo(2.327528, 6);
    expect(counters.bearish).toBeCloseTo(0.917004, 6);
    expect(counters.total).toBeCloseTo(4.50488, 6);
    expect(sentimentMeasures(counters).value).toBeCloseTo(0.551466, 6);
    expect(sentimentMeasures(counters).effectiveMessages).toBeCloseTo(4.616711, 6);
  });

  it("give the z-score of the worked example for a norm of .45 +- .60", () => {
    const { value, effectiveMessages } = sentimentMeasures(counters);
    const z = sentimentZ(value, effectiveMessages, { mean: 0.45, sd: 0.6 });
    expect(z).toBeCloseTo(0.053414, 6);
  });

  it("give z_S -.146586 as in the worked example when attention is 1.8 above its norm, without changing the sentiment", () => {
    const { value, effectiveMessages, agreement } = sentimentMeasures(counters);
    expect(agreement).toBeCloseTo(0.099443, 6);
    const z = sentimentZ(value, effectiveMessages, { mean: 0.45, sd: 0.6 }) ?? Number.NaN;
    expect(socialZ(z, { value: 1, z: 1.8 })).toBeCloseTo(-0.146586, 6);
    expect(100 * normalCdf(-0.146586)).toBeCloseTo(44.17, 2);
    expect(socialZ(z, { value: 1, z: 1 })).toBe(z);
    expect(socialZ(z, { value: -1, z: -3 })).toBe(z);
    expect(socialZ(-2.9, { value: 1, z: 3 })).toBe(-3);
  });

  it("weight an author with unknown reach like an author without followers", () => {
    const once = { duplicates: 0, byAuthor: 0 };
    expect(messageWeight({ followers: null, symbolCount: 1 }, once)).toBe(1);
  });

  it("give less weight to young accounts, busy authors and copies, and none to bots", () => {
    const plain = { followers: 0, symbolCount: 1 };
    const weight = (change: object, duplicates = 0, byAuthor = 0) =>
      messageWeight({ ...plain, ...change }, { duplicates, byAuthor });
    expect(weight({ accountAgeDays: 15 })).toBeCloseTo(0.5, 12);
    expect(weight({ accountAgeDays: 300 })).toBe(1);
    expect(weight({}, 0, 3)).toBeCloseTo(0.25, 12);
    expect(weight({}, 2)).toBeCloseTo(0.25, 12);
    expect(weight({}, 20)).toBeGreaterThan(0);
    expect(weight({}, 21)).toBe(0);
    expect(weight({ symbolCount: 5 })).toBeGreaterThan(0);
    expect(weight({ symbolCount: 6 })).toBe(0);
    expect(weight({}, 0, 49)).toBeGreaterThan(0);
    expect(weight({}, 0, 50)).toBe(0);
  });

  it("count earlier uses of a text only within one day", () => {
    const texts = createRecentMessages(DAY_MS);
    const count = (text: string, at: number) => {
      const earlier = texts.countEarlier(text, at);
      texts.add(text, at, 2);
      return earlier;
    };
    expect(count("same", 0)).toBe(0);
    expect(count("same", HOUR_MS)).toBe(1);
    expect(count("other", 2 * HOUR_MS)).toBe(0);
    expect(texts.weightAt(3 * HOUR_MS)).toBe(6);
    expect(count("same", DAY_MS + 1)).toBe(1);
    expect(texts.weightAt(DAY_MS + HOUR_MS + 1)).toBe(4);
    expect(count("same", 3 * DAY_MS)).toBe(0);
  });

  it("count an author's earlier messages of a day across all instruments, in any order of arrival", () => {
    const authors = createAuthorActivity(DAY_MS);
    for (const hour of [9, 3, 3, 30, 1]) authors.add("a", hour * HOUR_MS);
    authors.add("b", 2 * HOUR_MS);
    expect(authors.countEarlier("a", 9 * HOUR_MS)).toBe(2);
    expect(authors.countEarlier("a", 30 * HOUR_MS)).toBe(1);
    expect(authors.countEarlier("a", 0)).toBe(0);
    expect(authors.countEarlier("c", 9 * HOUR_MS)).toBe(0);
  });
});

describe("attention to an instrument", () => {
  it("is relative to the mean of the previous 30 sessions, and its z-score to the previous 60 sessions", () => {
    const attention = createAttentionTracker();
    const weightOf = (session: number) => 1 + (session % 3);
    for (let session = 0; session < 100; session++) {
      attention.closeSession(weightOf(session));
      expect(attention.read(9).value === null).toBe(session < 20);
      attention.beginSession();
    }
    expect(attention.read(5).value).toBeCloseTo(Math.log(6 / 3), 12);
    const past = Array.from({ length: 60 }, (_, index) => {
      const session = 40 + index;
      const usual = Array.from({ length: 30 }, (_, back) => weightOf(session - 1 - back));
      return Math.log((1 + weightOf(session)) / (1 + usual.reduce((a, b) => a + b, 0) / 30));
    });
    const mean = past.reduce((a, b) => a + b, 0) / 60;
    const sd = Math.sqrt(past.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 59);
    expect(attention.read(3.1).z).toBeCloseTo((Math.log(4.1 / 3) - mean) / sd, 9);
    expect(attention.read(1e9).z).toBe(3);
  });
});

describe("the social reading", () => {
  const habit = [...Array(25).keys()].reduce<SocialBaseline | undefined>(
    (baseline, day) => extendSocialBaseline(baseline, day % 2 === 0 ? 0.3 : 0.6),
    undefined,
  );
  const at = 20 * HOUR_MS;
  const context = {
    at,
    dayMs: DAY_MS,
    asOf: at,
    feedAt: at,
    sentiment: sentimentOf(counters, 0, DAY_MS),
    attention: NO_ATTENTION,
    baseline: habit,
    classNorm: undefined,
  };

  it("has less confidence with few messages: n/(n + 10)", () => {
    const reading = computeSocialReading(context);
    expect(reading.status).toBe("ok");
    expect(reading.confidence).toBeCloseTo(4.616711 / 14.616711, 6);
  });

  it("lists inputs whose weighted z-scores add up to its own z-score, except for the attention threshold", () => {
    const crowd = { ...context, attention: { value: 1.2, z: 2 } };
    const [calm, loud] = [computeSocialReading(context), computeSocialReading(crowd)];
    expect(loud.z).toBeCloseTo((calm.z ?? Number.NaN) - 0.25, 12);
    const inputs = loud.listInputs();
    const sum = inputs.reduce((all, { z, weight }) => all + weight * (z ?? 0), 0);
    expect(sum + 0.25).toBeCloseTo(loud.z ?? Number.NaN, 12);
  });

  it("is no_activity after three silent days, insufficient_data below three effective messages or without a norm, and stale without a feed", () => {
    expect(computeSocialReading({ ...context, asOf: null }).status).toBe("not_observed");
    const statusAfter = (silentMs: number) =>
      computeSocialReading({ ...context, sentiment: sentimentOf(counters, silentMs, DAY_MS) })
        .status;
    expect(statusAfter(3 * DAY_MS)).toBe("ok");
    expect(statusAfter(3 * DAY_MS + 1)).toBe("no_activity");
    const one = addMessageToCounters(NO_MESSAGES, 0.5, 0.25);
    expect(
      computeSocialReading({ ...context, sentiment: sentimentOf(one, 1, DAY_MS) }).status,
    ).toBe("insufficient_data");
    expect(computeSocialReading({ ...context, feedAt: at - 4 * DAY_MS }).status).toBe("stale");
    expect(computeSocialReading({ ...context, baseline: undefined }).status).toBe(
      "insufficient_data",
    );
  });

  it("compares an instrument without history with its asset class if the class has 30 peers", () => {
    const values = Array.from({ length: 30 }, (_, index) => index / 30);
    expect(freezeSocialNorm(values.slice(1))).toBeUndefined();
    const reading = computeSocialReading({
      ...context,
      baseline: undefined,
      classNorm: freezeSocialNorm(values),
    });
    expect(reading.status).toBe("ok");
    expect(reading.z).not.toBeNull();
  });
});
