import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import papa from "papaparse";
import { describe, expect, it } from "vitest";
import { lexicon } from "../../../src/factors/lexicon.ts";
import { normalisedText, polarity } from "../../../src/factors/polarity.ts";
import { sharedFolder } from "../../support/shared.ts";

describe("polarity", () => {
  it.each([
    "Chipmaker beats estimates and lifts its outlook",
    "Broker upgrades the retailer to overweight",
    "$XYZ to the moon 🚀🚀",
    "Added more on this discount, diamond hands 💎🙌",
    "Shares +4.2% before the bell",
    "This is not a scam",
  ])("reads %j as bullish", (text) => {
    expect(polarity(text)).toBeGreaterThan(0.2);
  });

  it.each([
    "Airline misses on revenue and cuts its dividend",
    "Analyst downgrades the bank to underperform",
    "Rug pull, I am rekt 📉",
    "Holding my puts, this pig will tank",
    "Shares -4.2% before the bell",
    "Shares −4.2% before the bell",
    "The quarter was not good",
  ])("reads %j as bearish", (text) => {
    expect(polarity(text)).toBeLessThan(-0.2);
  });

  it.each([
    "",
    "   ",
    "The annual meeting takes place in Geneva",
    "$MOON @crash_bot https://example.com/surge www.example.com/plunge",
    "A long term plan",
    "Margins of 5-10% or 5%-10%",
    "Share of 12%",
  ])("finds no verdict in %j", (text) => {
    expect(polarity(text)).toBe(0);
  });

  it("squashes a single valence of 2 to 2 / sqrt(4 + 6)", () => {
    expect(polarity("growth")).toBeCloseTo(2 / Math.sqrt(10), 12);
  });

  it("counts less of something bad as good and more of it as bad", () => {
    expect(polarity("The quarterly loss narrowed")).toBeGreaterThan(0);
    expect(polarity("Unemployment fell in May")).toBeGreaterThan(0);
    expect(polarity("Net debt rose in May")).toBeLessThan(0);
    expect(polarity("The quarterly loss widened")).toBeLessThan(polarity("A quarterly loss"));
  });

  it("negates within three words and not beyond them", () => {
    expect(polarity("isn't really a strong month")).toBeLessThan(0);
    expect(polarity("isn’t strong")).toBeLessThan(0);
    expect(polarity("not in the month of May, strong")).toBe(polarity("strong"));
  });

  it("calls a negated verdict weaker than the opposite one", () => {
    expect(Math.abs(polarity("not strong"))).toBeLessThan(polarity("strong"));
  });

  it("weighs boosted verdicts more and diminished ones less", () => {
    expect(polarity("extremely weak")).toBeLessThan(polarity("weak"));
    expect(polarity("slightly weak")).toBeGreaterThan(polarity("weak"));
  });

  it("prefers the longest entry", () => {
    expect(polarity("a bear trap")).toBeGreaterThan(0);
    expect(polarity("short squeeze")).toBeGreaterThan(0);
    expect(polarity("short")).toBeLessThan(0);
  });

  it("applies the direction rule to the last word too", () => {
    expect(polarity("losses up")).toBeLessThan(0);
  });

  it("reads compatibility characters like plain ones", () => {
    expect(polarity("ｂｕｌｌｉｓｈ")).toBe(polarity("bullish"));
    expect(polarity("＋５％")).toBe(polarity("+5%"));
  });

  it("reads the first 1,000 characters", () => {
    expect(polarity(`${" ".repeat(990)}bullish`)).toBe(polarity("bullish"));
    expect(polarity(`${" ".repeat(1000)}bullish`)).toBe(0);
  });

  it("is finite, within [-1, 1] and the same every time for any text", () => {
    const word = fc.oneof(
      fc.constantFrom(...lexicon.keys(), "not", "very", "loss", "-5%", "+5%", "\ud83d"),
      fc.string({ unit: "binary" }),
    );
    const message = fc.array(word).map((words) => words.join(" "));
    fc.assert(
      fc.property(message, (text) => {
        const value = polarity(text);
        expect(Number.isFinite(value)).toBe(true);
        expect(Math.abs(value)).toBeLessThanOrEqual(1);
        expect(polarity(text)).toBe(value);
      }),
    );
  });
});

describe("lexicon", () => {
  it("has only valences within [-3, 3]", () => {
    expect(Math.max(...[...lexicon.values()].map(Math.abs))).toBeLessThanOrEqual(3);
  });

  it("has only entries that, read alone, give a verdict of their own sign", () => {
    const unheard = [...lexicon].filter(
      ([entry, valence]) => Math.sign(polarity(entry.replaceAll("_", " "))) !== Math.sign(valence),
    );
    expect(unheard).toEqual([]);
  });
});

describe("normalisedText", () => {
  it("is equal for copies that differ in address, mention, repost marker, digits and case", () => {
    const copy = "RT @Someone: Watch $ABC  break 120 https://example.com/a?b=1";
    expect(normalisedText(copy)).toBe("watch $abc break");
    expect(normalisedText("watch $ABC\nbreak 95 @other www.example.com")).toBe("watch $abc break");
  });

  it("keeps a word that only begins like the repost marker", () => {
    expect(normalisedText("rtx and art")).toBe("rtx and art");
  });

  it("differs for different statements", () => {
    expect(normalisedText("buy $ABC")).not.toBe(normalisedText("sell $ABC"));
  });

  it("is lower case, trimmed and without digits for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 2000 }), (text) => {
        expect(normalisedText(text)).not.toMatch(/[A-Z0-9]|\s\s|^\s|\s$/u);
      }),
    );
  });
});

describe("hostile texts of a million characters", () => {
  const fragments = ["a", "@", "$a", "-", "5,", "5-", "%", "http://", "rt ", " ", "not ", "'"];
  const wide = ["\ufdfa", "\ud83d", "\ud83d\ude80", "a\u0301"];

  it.each([...fragments, ...wide])("are read in bounded work when they repeat %j", (fragment) => {
    const text = fragment.repeat(1_000_000 / fragment.length);
    expect(Number.isFinite(polarity(text))).toBe(true);
    expect(normalisedText(text).length).toBeLessThanOrEqual(1000);
  });
});

const { path: labelled, isMissing } = sharedFolder("labelled", "the quality of the lexicon");

describe.skipIf(isMissing)("polarity on labelled messages", () => {
  it("ranks bullish over bearish news in the half kept for this test", () => {
    const rows = table("twitter_financial_news_sent_train.csv").filter((_, row) => heldOut(row));
    const judged = rows
      .filter(({ label }) => label === "0" || label === "1")
      .map(({ text = "", label }) => ({ value: polarity(text), positive: label === "1" }));
    expect(judged.length).toBeGreaterThan(1500);
    expect(areaUnderCurve(judged)).toBeGreaterThan(0.86);
  });

  it("ranks bullish over bearish social messages", () => {
    const judged = table("val_stockemo.csv").map(({ original = "", senti_label }) => ({
      value: polarity(original),
      positive: senti_label === "bullish",
    }));
    expect(judged.length).toBeGreaterThan(900);
    expect(areaUnderCurve(judged)).toBeGreaterThan(0.72);
  });
});

interface Judged {
  readonly value: number;
  readonly positive: boolean;
}

function table(file: string): readonly Readonly<Record<string, string>>[] {
  const text = readFileSync(join(labelled, file), "utf8");
  return papa.parse<Record<string, string>>(text, { header: true, skipEmptyLines: true }).data;
}

/** A seeded half of the rows; the vocabulary was chosen without looking at it. */
function heldOut(row: number): boolean {
  let hash = Math.imul(row ^ 0x5eed, 0x9e3779b1);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) & 1) === 1;
}

/** Chance that a positive outranks a negative, ties counting half (Mann-Whitney U, mid-ranks). */
function areaUnderCurve(judged: readonly Judged[]): number {
  const groups = Map.groupBy(judged, ({ value }) => value);
  let [wins, negativesBelow] = [0, 0];
  for (const value of [...groups.keys()].sort((a, b) => a - b)) {
    const group = groups.get(value) ?? [];
    const positives = group.filter(({ positive }) => positive).length;
    const negatives = group.length - positives;
    wins += positives * (negativesBelow + negatives / 2);
    negativesBelow += negatives;
  }
  return wins / (negativesBelow * (judged.length - negativesBelow));
}
