import { readFileSync } from "node:fs";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { FEATURE_BUCKETS, featureBucketsOf } from "../../../src/messages/hashed-linear/features.ts";
import {
  MAX_MODEL_BYTES,
  parseModel,
  serializeModel,
} from "../../../src/messages/hashed-linear/file.ts";
import { fnv1a } from "../../../src/messages/hashed-linear/fnv1a.ts";
import {
  type LabeledMessage,
  TRAINING_EPOCHS,
  trainHashedLinear,
} from "../../../src/messages/hashed-linear/training.ts";
import {
  type HashedLinearModel,
  modeledPolarity,
  type SentimentLabel,
  softmax,
} from "../../../src/messages/hashed-linear.ts";
import { tokenize } from "../../../src/messages/message/tokens.ts";
import { messagePolarity } from "../../../src/messages/polarity.ts";

const messages = readFileSync(new URL("../../fixtures/messages.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as LabeledMessage);

const training = { seed: 7, onEpoch: () => {} };

let model: HashedLinearModel;
let text: string;
beforeAll(() => {
  model = trainHashedLinear(messages, training);
  text = serializeModel(model);
});

describe("the FNV-1a hash", () => {
  it("matches the published definition, over UTF-16 code units with the low byte first", () => {
    expect(fnv1a("")).toBe(0x811c9dc5);
    expect(fnv1a("a")).toBe(Math.imul(Math.imul(0x811c9dc5 ^ 0x61, 0x01000193), 0x01000193) >>> 0);
    expect(fnv1a("\u6161")).not.toBe(fnv1a("aa"));
  });
});

describe("the hashed features of a message", () => {
  it("include every word and word pair, and a negated feature for each negated word", () => {
    const bucket = (feature: string) => fnv1a(feature) % FEATURE_BUCKETS;
    const features = ["", "not", " not", "good", "not good", "not good"];
    expect([...featureBucketsOf(["not", "good"])]).toEqual(features.map(bucket));
  });

  it("mark three words after a negation as negated, but no word in the next clause", () => {
    expect(featureBucketsOf(["not", "a", "b", "c", "d"]).length).toBe(1 + 2 * 5 + 3);
    expect(featureBucketsOf(["not", "a", ",", "c", "d"]).length).toBe(1 + 2 * 5 + 2);
  });

  it("do not depend on names, addresses or figures", () => {
    const one = tokenize("$ABC by @ann, +5% to $12.50: https://example.com/1");
    const other = tokenize("$QRS by @bob, +7% to $1,234: https://example.org/2");
    expect(featureBucketsOf(one)).toEqual(featureBucketsOf(other));
  });

  it("include at least one feature, and stay within the number of buckets, for any text", () => {
    const property = fc.property(fc.string({ unit: "binary", maxLength: 300 }), (any) => {
      const buckets = featureBucketsOf(tokenize(any));
      expect(buckets.length).toBeGreaterThan(0);
      expect(Math.max(...buckets)).toBeLessThan(FEATURE_BUCKETS);
    });
    fc.assert(property, { seed: 5 });
  });
});

describe("softmax", () => {
  it("returns probabilities without overflowing", () => {
    expect(softmax([0, Math.log(3), 0]).map((share) => share.toFixed(6))).toEqual([
      "0.200000",
      "0.600000",
      "0.200000",
    ]);
    expect(softmax([1e6, 0, -1e6])).toEqual([1, 0, 0]);
  });
});

describe("the training of a model", () => {
  it("makes the model classify over 97 % of its training messages correctly", () => {
    const right = messages.filter(({ text: said, label }) => {
      const value = modeledPolarity(model, tokenize(said));
      return label === "bullish" ? value > 0 : label !== "bearish" || value < 0;
    });
    expect(right.length / messages.length).toBeGreaterThan(0.97);
  });

  it("generalizes to words that the lexicon does not contain", () => {
    const said = (word: string, label: SentimentLabel) =>
      Array.from("abcdefghijklmnopqrst", (other) => ({ text: `${word} thing ${other}`, label }));
    const shown = [...said("zorbing", "bullish"), ...said("glimped", "bearish")];
    const taught = trainHashedLinear(shown, training);
    expect(messagePolarity("really zorbing", taught)).toBeGreaterThan(0.1);
    expect(messagePolarity("really glimped", taught)).toBeLessThan(-0.1);
    expect(messagePolarity("really zorbing")).toBe(0);
  });

  it("returns bit-for-bit the same weights for the same seed, and different weights for another seed", () => {
    expect(serializeModel(trainHashedLinear(messages, training))).toBe(text);
    expect(serializeModel(trainHashedLinear(messages, { ...training, seed: 8 }))).not.toBe(text);
  });

  it("reports its progress after every epoch", () => {
    let passes = 0;
    trainHashedLinear(messages.slice(0, 5), { seed: 1, onEpoch: () => passes++ });
    expect(passes).toBe(TRAINING_EPOCHS);
  });

  it("produces a model with a polarity of 0 when there are no messages", () => {
    expect(modeledPolarity(trainHashedLinear([], training), ["strong"])).toBe(0);
  });
});

describe("polarity with a model", () => {
  it("is the mean of the lexicon's and the model's polarity, within [-1, 1], for any text", () => {
    const property = fc.property(fc.string({ unit: "binary", maxLength: 500 }), (any) => {
      const value = messagePolarity(any, model);
      const mean = (messagePolarity(any) + modeledPolarity(model, tokenize(any))) / 2;
      expect(value).toBe(mean);
      expect(Math.abs(value)).toBeLessThanOrEqual(1);
    });
    fc.assert(property, { seed: 5 });
  });
});

describe("a model file", () => {
  it("restores the model bit for bit", () => {
    const read = parseModel(text);
    expect(read.weights).toEqual(model.weights);
    expect(read.scales).toEqual(model.scales);
    expect(new Set(model.weights).size).toBeGreaterThan(50);
    expect(model.weights.some((weight) => weight < 0)).toBe(true);
    expect(text.length).toBeLessThan(MAX_MODEL_BYTES);
  });

  it.each([
    ["empty", ""],
    ["truncated", '{"format":"hashed-linear"'],
    ["not an object", "[]"],
    ["null", "null"],
    ["of another format", '{"format":"other"}'],
    ["too large", " ".repeat(MAX_MODEL_BYTES + 1)],
  ])("is rejected with a reason when it is %s", (_, wrong) => {
    expect(() => parseModel(wrong)).toThrow(
      /^The model is (not valid: .+|too large to be one)\.$/u,
    );
  });

  it.each([
    ["version", 2],
    ["buckets", 65_535],
    ["labels", ["bullish", "neutral", "bearish"]],
    ["scales", [1, 1]],
    ["scales", [1, 1, 0]],
    ["scales", [1, 1, -1]],
    ["scales", [1, 1, 1e9]],
    ["scales", [1, 1, null]],
    ["weights", "AAAA"],
    ["weights", "*".repeat(262_144)],
    ["checksum", 5],
    ["more", "members"],
  ])("is rejected when its member %s is %j", (member, value) => {
    const wrong = JSON.stringify({ ...JSON.parse(text), [member]: value });
    expect(() => parseModel(wrong)).toThrow(/^The model is not valid: /u);
  });

  it("is never quoted in an error message", () => {
    const wrong = JSON.stringify({ ...JSON.parse(text), format: "<script>" });
    expect(() => parseModel(wrong)).not.toThrow(/script/u);
    expect(() => parseModel('{"\u001b[31m":1}')).toThrow(/^[ -~]+$/u);
  });

  it.each(["weights", "scales"])(
    "is rejected as damaged when its %s do not match its checksum",
    (member) => {
      const file = JSON.parse(text);
      const other = {
        weights: `${file.weights[0] === "A" ? "B" : "A"}${file.weights.slice(1)}`,
        scales: [file.scales[0] * 2, ...file.scales.slice(1)],
      }[member];
      const damaged = JSON.stringify({ ...file, [member]: other });
      expect(() => parseModel(damaged)).toThrow("The model is damaged: its checksum is another.");
    },
  );
});
