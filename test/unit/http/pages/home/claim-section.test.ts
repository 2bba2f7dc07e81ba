import { describe, expect, it } from "vitest";
import { liveClaimTerms } from "../../../../../src/grading/live-claim.ts";
import type { ServedClaim } from "../../../../../src/grading/log-record.ts";
import { claimSection } from "../../../../../src/http/pages/home/claim-section.ts";

const TERMS = liveClaimTerms(Date.UTC(2026, 10, 28, 21));
const [FIRST = 0] = TERMS.looks.map(({ at }) => at);

/** The visible text of the section of a claim. */
const textOf = (change: Partial<ServedClaim> = {}): string =>
  String(
    claimSection({
      ...{ methodHash: "0123456789abcdef", terms: TERMS, score: null, candidate: null },
      ...{ verdicts: [], openSince: null },
      ...change,
    }),
  )
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ");

describe("the section of a claim", () => {
  it("says before the first date that there are not enough data, whatever the figures are", () => {
    const score = { dates: 240, value: 0.0321, low: 0.0112, high: 0.053, t: 3 };
    const text = textOf({ score });
    expect(text).toContain("ranks stocks by the part of their returns over 5 sessions");
    expect(text).toContain("not enough data");
    expect(text).not.toContain("confirmed live");
    expect(text).toContain("No verdict was due yet. The next is given on 28 Nov 2027");
    expect(text).toContain("The score 240 0.0321 0.0112 to 0.0530 3.0");
    expect(text).toContain("method-2 too few sessions");
    expect(text).toContain("unconfirmed although it is true");
  });

  it("shows the last verdict, and whether prices may still change it", () => {
    const verdicts = [{ at: FIRST, verdict: "not_confirmed_live" }] as const;
    expect(textOf({ verdicts })).toContain("not confirmed live Given on 28 Nov 2027 .");
    expect(textOf({ verdicts })).toContain("The next is given on 28 Nov 2028");
    expect(textOf({ verdicts })).not.toContain("may still change");
    expect(textOf({ verdicts, openSince: FIRST - 1 })).toContain("may still change it");
  });
});
