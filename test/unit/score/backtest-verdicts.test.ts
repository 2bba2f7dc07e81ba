import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DIRECTION_EVIDENCE_TEXT } from "../../../src/answers/meaning.ts";
import { verdictOf } from "../../../src/research/backtest/verdict.ts";
import {
  BACKTEST_VERDICTS,
  type BacktestVerdict,
  DIRECTION_EVIDENCE,
  measuredEvidence,
  OTHER_STOCKS_EVIDENCE,
  SCORE_HORIZON_SESSIONS,
} from "../../../src/score/backtest-verdicts.ts";
import methodEvidence from "../../../src/score/method-evidence.json" with { type: "json" };
import { EVIDENCE_SETS, optionsOf } from "../../method/evidence-figures.ts";
import { evidenceQuotes } from "../../method/evidence-quotes.ts";

/** Sessions from one graded date to the next. */
const STEPS = { stock: 5, etf: 5, crypto: 7 } as const;

const measured = methodEvidence.sets.flatMap(({ set, classes }) =>
  classes.map(({ assetClass }) => ({
    set: set as (typeof EVIDENCE_SETS)[number]["set"] & "whole",
    assetClass: assetClass as keyof typeof STEPS,
  })),
);

describe("the evidence that the product quotes", () => {
  it("was measured on each set by the command that it names", () => {
    expect(methodEvidence.sets.map(({ set, command }) => ({ set, command }))).toEqual(
      EVIDENCE_SETS.map((one) => ({
        set: one.set,
        command: `market-signal ${optionsOf(one).join(" ")}`,
      })),
    );
    const versions = new Set(methodEvidence.sets.map(({ methodVersion }) => methodVersion));
    expect(versions.size).toBe(1);
  });

  it.each(measured)(
    "has no verdict above its figures: $assetClass, $set",
    ({ set, assetClass }) => {
      const { verdict, score, basis, horizon } = measuredEvidence(set, assetClass);
      expect(horizon).toBe(SCORE_HORIZON_SESSIONS[assetClass]);
      const decisive = score[basis];
      const full = decisive && { ...decisive, sd: 1, ratio: 0, plainT: 0, datesForPower: null };
      const byRule = verdictOf(full, { horizon, step: STEPS[assetClass] }, 1);
      const strength = (one: BacktestVerdict) => BACKTEST_VERDICTS.indexOf(one);
      expect(strength(verdict)).toBeLessThanOrEqual(strength(byRule));
    },
  );

  it("of stocks is that of the later dates, with the weaker verdict of these and of other stocks", () => {
    const confirm = measuredEvidence("confirm", "stock");
    const { stock } = DIRECTION_EVIDENCE;
    expect(confirm.basis).toBe("neutral");
    expect([stock.ic, stock.interval, stock.period, stock.universe]).toEqual([
      confirm.score.neutral?.mean,
      confirm.score.neutral?.interval,
      confirm.period,
      confirm.universe,
    ]);
    const both = [confirm.verdict, OTHER_STOCKS_EVIDENCE.verdict];
    const weaker = BACKTEST_VERDICTS.find((verdict) => both.includes(verdict));
    expect(stock.verdict).toBe(weaker);
  });

  it("is quoted in words with the same figures", () => {
    const { ic, interval } = DIRECTION_EVIDENCE.stock;
    for (const value of [ic, interval?.low, interval?.high]) {
      const digits = Math.abs(value ?? 9)
        .toFixed(4)
        .replace(/^0/, "");
      expect(DIRECTION_EVIDENCE_TEXT).toContain(`${(value ?? 9) < 0 ? "−" : "+"}${digits}`);
    }
  });

  it("is quoted in the document of the method as it is measured", () => {
    const text = readFileSync("docs/method-and-backtest.md", "utf8");
    for (const quote of evidenceQuotes()) expect(text).toContain(quote);
  });
});
