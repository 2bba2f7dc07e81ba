import { claimAnswer, type TrackRecordAnswer } from "../../answers/track-record.ts";
import {
  type LiveClaimFigures,
  type LiveClaimTerms,
  liveClaimFigures,
} from "../../grading/live-claim.ts";
import { CheckFailure } from "../../tree/check.ts";
import type { RegisteredClaim } from "../log-state.ts";
import { isSameValue, valuesIn } from "./answer-values.ts";
import type { VerifiedTrackRecord } from "./verified-records.ts";

/**
 * Compares the claims of an answer with those of the entries.
 *
 * @param registered The claims of the log, by method hash.
 * @param records The track record computed from the entries of the answer.
 * @throws {CheckFailure} If a claim is missing or added, or a figure or a verdict differs.
 */
export function compareClaims(
  { claims, size }: Pick<TrackRecordAnswer, "claims" | "size">,
  registered: ReadonlyMap<string, RegisteredClaim>,
  records: readonly VerifiedTrackRecord[],
): void {
  for (const [hash, { index }] of registered) {
    if (index >= size || claims.some(({ methodHash }) => methodHash === hash)) continue;
    throw new CheckFailure(`the claim of ${hash} is not answered`);
  }
  for (const answered of claims) {
    const claim = registered.get(answered.methodHash);
    if (claim !== undefined) compareClaim(answered, claim.terms, records);
    else throw new CheckFailure(`the log has no claim of ${answered.methodHash}`);
  }
}

/** A claim with the figures computed from the entries of a log. */
export interface VerifiedClaim extends LiveClaimFigures {
  readonly methodHash: string;
}

/**
 * The figures of a claim as of the end of the last returns.
 *
 * @param until Later instant that the market's clock has reached, Unix milliseconds.
 */
export function verifiedClaim(
  methodHash: string,
  terms: LiveClaimTerms,
  records: readonly VerifiedTrackRecord[],
  until = 0,
): VerifiedClaim {
  const { assetClass, horizon } = terms;
  const { runs = [] } =
    records.find(
      (one) =>
        one.methodHash === methodHash &&
        one.figures.assetClass === assetClass &&
        one.figures.horizon === horizon,
    ) ?? {};
  const now = Math.max(until, runs.at(-1)?.exit ?? 0);
  return { methodHash, ...liveClaimFigures(terms, runs, now) };
}

function compareClaim(
  answered: TrackRecordAnswer["claims"][number],
  terms: LiveClaimTerms,
  records: readonly VerifiedTrackRecord[],
): void {
  const { methodHash, verdicts } = answered;
  const dueAt = Math.max(0, ...verdicts.map(({ at }) => Date.parse(at)));
  const figures = verifiedClaim(methodHash, terms, records, dueAt);
  const mine = claimAnswer({ ...figures, openSince: null }, 0);
  const [expected, found] = [comparedIn(mine), comparedIn(answered)].map(
    (one) => new Map(valuesIn(one)),
  ) as [Map<string, unknown>, Map<string, unknown>];
  for (const path of new Set([...expected.keys(), ...found.keys()])) {
    const value = expected.get(path) ?? null;
    if (isSameValue(value, found.get(path) ?? null)) continue;
    throw new CheckFailure(`the claim of ${methodHash}: ${path} is ${value} by the entries`);
  }
}

/** What is compared: all but what only the service knows, its clock and its open runs. */
const comparedIn = ({
  nextVerdictAt: _,
  verdicts,
  ...claim
}: ReturnType<typeof claimAnswer>): object => ({
  ...claim,
  verdicts: verdicts.map(({ at, verdict }) => ({ at, verdict })),
});
