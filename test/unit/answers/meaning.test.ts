import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as meaning from "../../../src/answers/meaning.ts";
import { DIRECTION_EVIDENCE } from "../../../src/score/backtest-verdicts.ts";

const SENTENCES = Object.values(meaning).filter((value) => typeof value === "string");

/** Pattern of text that says what a score or a direction is, means, predicts or shows. */
const CLAIM =
  /\b(scores?|directions?) (is not|is|are not|means?|predicts?|forecasts?|says?|shows?|could|will|beats?)\b(?! (computed|recomputed|100|be measured|not be measured|distributed|behind|another|about))/i;
/** Terms that only `src/answers/meaning.ts` may use. */
const OTHER_NAME = /\b(predictive|outperforms)\b/i;

const TEXTS = globSync([
  "README.md",
  "docs/*.md",
  "src/{answers,http,openapi,tool}/**/*.ts",
  "tools/*.ts",
  "wellknown/**/*.ts",
]).filter((path) => path !== "src/answers/meaning.ts");

const sentencesOf = (text: string): readonly string[] =>
  text
    .split("\n")
    .filter((line) => !/^\s*(\/?\*|\/\/)/.test(line))
    .flatMap((line) => line.split(/(?<=[.!?])\s+/))
    .map((sentence) => sentence.replace(/^\*\*[^*]+\*\* /, ""));

describe("the explanation of what scores mean", () => {
  it("uses only the sentences of one module, in every page, tool and document", () => {
    const others = TEXTS.flatMap((path) =>
      sentencesOf(readFileSync(path, "utf8"))
        .filter((sentence) => CLAIM.test(sentence) || OTHER_NAME.test(sentence))
        .filter((sentence) => !SENTENCES.some((known) => known.includes(sentence)))
        .map((sentence) => `${path}: ${sentence}`),
    );
    expect(others).toEqual([]);
  });

  it("says what is not shown wherever it says what is", () => {
    const quoting = globSync(["{src,tools,wellknown}/**/*.ts"]);
    const half = quoting.filter((path) => {
      const text = readFileSync(path, "utf8");
      return text.includes("DIRECTION_EVIDENCE_TEXT") && !text.includes("DIRECTION_LIMITS_TEXT");
    });
    expect(half).toEqual([]);
  });

  it.each(["README.md", "docs/method-and-backtest.md"])("is quoted in full in %s", (path) => {
    const text = readFileSync(path, "utf8");
    for (const sentence of SENTENCES) expect(text).toContain(sentence);
  });

  it("says why there is no probability", () => {
    const skillInterval = { low: -0.00034, high: 0.00016 };
    const stock = { ...DIRECTION_EVIDENCE.stock, brierSkill: -0.00008, skillInterval };
    expect(meaning.noProbabilityReason(stock)).toBe(
      "Its out-of-sample Brier skill was −.00008 (95 % interval −.00034 to +.00016): the interval does not lie above 0.",
    );
    expect(meaning.noProbabilityReason(DIRECTION_EVIDENCE.etf)).toBe(
      "There is too little data to measure its skill.",
    );
  });
});
