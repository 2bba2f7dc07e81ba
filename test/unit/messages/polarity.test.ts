import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import papa from "papaparse";
import { describe, expect, it } from "vitest";
import { lexicon } from "../../../src/messages/lexicon.ts";
import { tokenize } from "../../../src/messages/message/tokens.ts";
import { messagePolarity, normalizeMessageText } from "../../../src/messages/polarity.ts";
import { sharedFolder } from "../../support/shared.ts";

describe("the polarity of a message", () => {
  it.each([
    "Chipmaker beats estimates and lifts its outlook",
    "Broker upgrades the retailer to overweight",
    "$XYZ to the moon 🚀🚀",
    "Added more on this discount, diamond hands 💎🙌",
    "Shares +4.2% before the bell",
    "This is not a scam",
  ])("is bullish for %j", (text) => {
    expect(messagePolarity(text)).toBeGreaterThan(0.2);
  });

  it.each([
    "Airline misses on revenue and cuts its dividend",
    "Analyst downgrades the bank to underperform",
    "Rug pull, I am rekt 📉",
    "Holding my puts, this pig will tank",
    "Shares -4.2% before the bell",
    "Shares −4.2% before the bell",
    "The quarter was not good",
  ])("is bearish for %j", (text) => {
    expect(messagePolarity(text)).toBeLessThan(-0.2);
  });

  it.each([
    "",
    "   ",
    "The annual meeting takes place in Geneva",
    "$MOON @crash_bot https://example.com/surge www.example.com/plunge",
    "A long term plan",
    "Margins of 5-10% or 5%-10%",
    "Share of 12%",
  ])("is 0 for the neutral text %j", (text) => {
    expect(messagePolarity(text)).toBe(0);
  });

  it("of a single word with valence 2 is 2 / sqrt(4 + 6)", () => {
    expect(messagePolarity("growth")).toBeCloseTo(2 / Math.sqrt(10), 12);
  });

  it("is positive when something bad decreases, and negative when something bad increases", () => {
    expect(messagePolarity("The quarterly loss narrowed")).toBeGreaterThan(0);
    expect(messagePolarity("Unemployment fell in May")).toBeGreaterThan(0);
    expect(messagePolarity("Net debt rose in May")).toBeLessThan(0);
    expect(messagePolarity("The quarterly loss widened")).toBeLessThan(
      messagePolarity("A quarterly loss"),
    );
  });

  it("is reversed for the three words after a negation, but not beyond them", () => {
    expect(messagePolarity("isn't really a strong month")).toBeLessThan(0);
    expect(messagePolarity("isn’t strong")).toBeLessThan(0);
    expect(messagePolarity("not in the month of May, strong")).toBe(messagePolarity("strong"));
  });

  it("is weaker for a negated word than for the word itself", () => {
    expect(Math.abs(messagePolarity("not strong"))).toBeLessThan(messagePolarity("strong"));
  });

  it("is stronger after a booster and weaker after a diminisher", () => {
    expect(messagePolarity("extremely weak")).toBeLessThan(messagePolarity("weak"));
    expect(messagePolarity("slightly weak")).toBeGreaterThan(messagePolarity("weak"));
  });

  it("is positive for news that is bad for short sellers", () => {
    expect(messagePolarity("the shorts are getting destroyed")).toBeGreaterThan(0.4);
    expect(messagePolarity("we are getting destroyed")).toBeLessThan(-0.4);
  });

  it("is not positive when something good decreases", () => {
    expect(messagePolarity("growth slows")).toBe(messagePolarity("sales slow"));
  });

  it("is affected by a verb of increase or decrease only if its noun is in the same clause", () => {
    expect(messagePolarity("stocks fall on debt")).toBeLessThan(messagePolarity("debt"));
    expect(messagePolarity("stocks fall, debt")).toBeLessThan(messagePolarity("debt"));
    expect(messagePolarity("debt falls")).toBeGreaterThan(0);
  });

  it("ignores concessions and statements about what has ended", () => {
    expect(messagePolarity("shares gain despite weak data")).toBe(messagePolarity("shares gain"));
    expect(messagePolarity("slips from record highs")).toBe(messagePolarity("slips"));
  });

  it("follows the comparison of two figures after their units are converted", () => {
    expect(messagePolarity("EPS 84 cents vs. $1.02")).toBeLessThan(0);
    expect(messagePolarity("revenue of $3.12 bln vs. $984.1 mln a year ago")).toBeGreaterThan(0);
    expect(messagePolarity("unemployment rate 4.9% vs 4.1%")).toBeLessThan(0);
    expect(messagePolarity("outlook of $5.15-$5.45 vs. $5.50-$5.60")).toBeLessThan(0);
    expect(messagePolarity("revised to 135K from 189K")).toBeLessThan(0);
    expect(messagePolarity("rent goes from $1.20 to $1.40")).toBeGreaterThan(0);
  });

  it.each(["2020 vs 2019", "open from 9 to 5", "from 2019 to 2020", "vs", "from to", "5 vs 5"])(
    "is 0 for %j, which contains no comparison of figures",
    (text) => {
      expect(messagePolarity(text)).toBe(0);
    },
  );

  it("counts a question at half weight, and the other sentences of the message at full weight", () => {
    expect(messagePolarity("strong?")).toBeCloseTo(1 / Math.sqrt(7), 12);
    expect(messagePolarity("strong. Geneva?")).toBe(messagePolarity("strong"));
  });

  it("recognizes words with repeated letters", () => {
    expect(messagePolarity("mooooon")).toBe(messagePolarity("moon"));
    expect(messagePolarity("soooo goooood")).toBe(messagePolarity("so good"));
  });

  it("ignores invisible characters within a word", () => {
    expect(messagePolarity("bul\u200bli\u00adsh")).toBe(messagePolarity("bullish"));
    expect(messagePolarity("bul\u0000lish\u202e")).toBe(messagePolarity("bullish"));
    expect(messagePolarity("\u2b06\ufe0f")).toBe(messagePolarity("\u2b06"));
  });

  it("uses the longest lexicon entry that matches", () => {
    expect(messagePolarity("a bear trap")).toBeGreaterThan(0);
    expect(messagePolarity("short squeeze")).toBeGreaterThan(0);
    expect(messagePolarity("short")).toBeLessThan(0);
  });

  it("is affected by a direction word even when it is the last word", () => {
    expect(messagePolarity("losses up")).toBeLessThan(0);
  });

  it("treats compatibility characters like their plain equivalents", () => {
    expect(messagePolarity("ｂｕｌｌｉｓｈ")).toBe(messagePolarity("bullish"));
    expect(messagePolarity("＋５％")).toBe(messagePolarity("+5%"));
  });

  it("depends only on the first 1,000 characters", () => {
    expect(messagePolarity(`${" ".repeat(990)}bullish`)).toBe(messagePolarity("bullish"));
    expect(messagePolarity(`${" ".repeat(1000)}bullish`)).toBe(0);
  });

  it("is finite, within [-1, 1] and deterministic for any text", () => {
    const word = fc.oneof(
      fc.constantFrom(...lexicon.keys(), "not", "very", "loss", "-5%", "+5%", "\ud83d"),
      fc.string({ unit: "binary" }),
    );
    const message = fc.array(word).map((words) => words.join(" "));
    const property = fc.property(message, (text) => {
      const value = messagePolarity(text);
      expect(Number.isFinite(value)).toBe(true);
      expect(Math.abs(value)).toBeLessThanOrEqual(1);
      expect(messagePolarity(text)).toBe(value);
    });
    fc.assert(property, { seed: 5 });
  });
});

describe("the normalized text of a message", () => {
  it("is equal for copies that differ in URL, mention, repost marker, digits and letter case", () => {
    const copy = "RT @Someone: Watch $ABC  break 120 https://example.com/a?b=1";
    expect(normalizeMessageText(copy)).toBe("watch $abc break");
    expect(normalizeMessageText("watch $ABC\nbreak 95 @other www.example.com")).toBe(
      "watch $abc break",
    );
  });

  it("keeps a word that only starts with the letters of the repost marker", () => {
    expect(normalizeMessageText("rtx and art")).toBe("rtx and art");
  });

  it("differs for different statements", () => {
    expect(normalizeMessageText("buy $ABC")).not.toBe(normalizeMessageText("sell $ABC"));
  });

  it("is in lower case, trimmed and without digits for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 2000 }), (text) => {
        expect(normalizeMessageText(text)).not.toMatch(/[A-Z0-9]|\s\s|^\s|\s$/u);
      }),
    );
  });
});

describe("processing of hostile text", () => {
  const fragments = [
    "a",
    "@",
    "$a",
    "-",
    "5,",
    "5-",
    "%",
    "http://",
    "rt ",
    " ",
    "not ",
    "'",
    "vs ",
  ];
  const wide = ["\ufdfa", "\ud83d", "\ud83d\ude80", "a\u0301", "\u200b", "u.", "from 5 to "];

  it.each([...fragments, ...wide])(
    "reads only the first 1,000 of two million characters when the text repeats %j",
    (fragment) => {
      // With quadratic running time, this test would not finish.
      const text = fragment.repeat(2_000_000 / fragment.length);
      expect(tokenize(text)).toEqual(tokenize(text.slice(0, 1000)));
      expect(tokenize(text).length).toBeLessThanOrEqual(1000);
      expect(Number.isFinite(messagePolarity(text))).toBe(true);
      expect(normalizeMessageText(text).length).toBeLessThanOrEqual(1000);
    },
  );
});

type SentimentLabel = "bearish" | "neutral" | "bullish";

/** Sentences written for this project, labeled as a human reader would judge them. */
const written = readFileSync(new URL("../../fixtures/messages.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as { readonly text: string; readonly label: SentimentLabel });

const reading = (text: string): SentimentLabel => {
  const value = messagePolarity(text);
  if (Math.abs(value) <= 0.2) return "neutral";
  return value > 0 ? "bullish" : "bearish";
};

describe("polarity for the test sentences of this project", () => {
  it("has the right sign for at least 98 % of the sentences of each label", () => {
    for (const sentences of Map.groupBy(written, ({ label }) => label).values()) {
      const misread = sentences.filter(({ text, label }) => reading(text) !== label);
      expect(misread.length / sentences.length, JSON.stringify(misread)).toBeLessThan(0.02);
    }
    expect(written.length).toBeGreaterThan(300);
  });

  it("is not changed by neutral words after the message", () => {
    const words =
      "the a of this quarter today company table geneva report said its 12 $ABC @someone";
    const tail = fc
      .array(fc.constantFrom(...words.split(" ")), { maxLength: 12 })
      .map((tokens) => tokens.join(" "));
    const property = fc.property(fc.constantFrom(...written), tail, ({ text }, more) => {
      expect(messagePolarity(`${text}. ${more}`)).toBeCloseTo(messagePolarity(`${text}.`), 12);
    });
    fc.assert(property, { seed: 5, numRuns: 500 });
  });

  it("is reversed for every lexicon word that follows a negation", () => {
    const verdicts = [...lexicon].filter(
      ([entry, { roles, valence, scale }]) =>
        /^[a-z]+$/u.test(entry) && roles.size === 0 && valence !== 0 && scale === 1,
    );
    expect(verdicts.length).toBeGreaterThan(1500);
    const same = verdicts.filter(([entry, { valence }]) => {
      return messagePolarity(`that was never ever ${entry}`) * valence >= 0;
    });
    expect(same).toEqual([]);
  });
});

const { path: labelled, isMissing } = sharedFolder("labelled", "the quality of the lexicon");

describe.skipIf(isMissing)("polarity for labeled messages", () => {
  it("ranks held-out bullish news above bearish news with an AUC of at least .89", () => {
    const names = ["bearish", "bullish", "neutral"] as const;
    const readings = table("twitter_financial_news_sent_train.csv")
      .filter((_, row) => isUnread(row))
      .map(({ text = "", label }) => ({
        polarity: messagePolarity(text),
        label: names[Number(label)] as SentimentLabel,
      }));
    expect(readings.filter(({ label }) => label !== "neutral").length).toBeGreaterThan(1500);
    expect(areaUnderCurve(readings)).toBeGreaterThanOrEqual(0.89);
  });

  it("ranks held-out bullish social messages above bearish ones with an AUC of at least .72", () => {
    const readings = table("val_stockemo.csv").map(({ original = "", senti_label }) => ({
      polarity: messagePolarity(original),
      label: senti_label as SentimentLabel,
    }));
    expect(readings.length).toBeGreaterThan(900);
    expect(areaUnderCurve(readings)).toBeGreaterThanOrEqual(0.72);
  });
});

/**
 * Area under the ROC curve: the probability that a bullish message has a higher polarity than a
 * bearish one, where ties count half and neutral messages are ignored.
 */
function areaUnderCurve(
  readings: readonly { readonly polarity: number; readonly label: SentimentLabel }[],
): number {
  const polarities = (wanted: SentimentLabel) =>
    readings.filter(({ label }) => label === wanted).map(({ polarity }) => polarity);
  const [bullish, bearish] = [polarities("bullish"), polarities("bearish")];
  const wins = bullish.map((one) =>
    bearish.reduce((sum, other) => sum + (one > other ? 1 : one === other ? 0.5 : 0), 0),
  );
  return wins.reduce((sum, won) => sum + won, 0) / (bullish.length * bearish.length);
}

function table(file: string): readonly Readonly<Record<string, string>>[] {
  const text = readFileSync(join(labelled, file), "utf8");
  return papa.parse<Record<string, string>>(text, { header: true, skipEmptyLines: true }).data;
}

/**
 * Whether a row is in the held-out half, which is chosen by a hash of the row number. The other
 * half could be read while the lexicon was written.
 */
function isUnread(row: number): boolean {
  let hash = Math.imul(row ^ 0x5eed, 0x9e3779b1);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) & 1) === 1;
}
