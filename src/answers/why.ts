import { z } from "zod";
import { FACTORS, type Factor, type FactorReading, isSideUnknown } from "../factors/reading.ts";
import { Problem } from "../lib/problem.ts";
import type { FactorContributions } from "../score/composite.ts";
import { contributionsOf, factorEvidenceOf, type PastSnapshot } from "../score/snapshot.ts";
import { roundPointDifference, roundScorePoints } from "./rounding.ts";
import { type DetailLevel, DirectionAnswer, InstantAnswer, isoInstant } from "./shared-members.ts";

/** Status of a factor in an answer: the one vocabulary for why a factor has no value. */
export const FactorStatusAnswer = z
  .enum(["ok", "stale", "no_activity", "no_feed", "insufficient_data"])
  .describe(
    "no_activity: a feed looked and found nothing; no_feed: nothing looks; insufficient_data: too little history, peers or detail.",
  );

/**
 * Translates the recorded status of a factor to the status shown in answers. Without `asOf`,
 * `not_observed` is taken for the lack of a feed.
 */
export function factorStatusAnswer({
  status,
  asOf = null,
}: Pick<FactorReading, "status"> & Partial<Pick<FactorReading, "asOf">>): z.input<
  typeof FactorStatusAnswer
> {
  if (status !== "not_observed") return status;
  return isSideUnknown({ status, asOf }) ? "insufficient_data" : "no_feed";
}

/** Points that a factor contributes, or the reason why it contributes none. */
const Contribution = z.union([
  z.number(),
  FactorStatusAnswer,
  z.literal("missing").describe("Only of a past that was recorded without the reason."),
]);
type Contribution = z.input<typeof Contribution>;

/** Points that each factor contributes. */
export const FactorContributionsAnswer = z
  .record(z.enum(FACTORS), Contribution)
  .describe(
    "Points by factor, which add up to the unrounded score minus 50, or why it has none. Only with factor:read.",
  );

/** What changed in a score between two instants. */
export const ScoreAttribution = z
  .object({
    from: InstantAnswer,
    to: InstantAnswer,
    signal: z.array(DirectionAnswer).describe("At from and to."),
    score: z.array(z.number().nullable()).describe("At from and to, in points."),
    change: z.number().nullable().describe("Points; null without a score, or between two methods."),
    factors: z
      .record(
        z.enum(FACTORS),
        z.object({ from: Contribution, to: Contribution, change: z.number() }),
      )
      .optional()
      .describe("The changes add up to change. Only with factor:read."),
  })
  .describe("With since: what moved the score from then to asOf.");

/**
 * The contribution of each factor to a snapshot, or the reason why it has none; `undefined` if the
 * snapshot was recorded with another method.
 */
export function factorContributionsAnswer(
  snapshot: PastSnapshot,
  detail: DetailLevel,
): z.input<typeof FactorContributionsAnswer> | undefined {
  const contributions = contributionsOf(snapshot);
  return (
    contributions && byFactor((factor) => pointsOrReason(factor, snapshot, contributions, detail))
  );
}

const byFactor = <T>(of: (factor: Factor) => T): Record<Factor, T> => ({
  momentum: of("momentum"),
  valuation: of("valuation"),
  social: of("social"),
  darkpool: of("darkpool"),
});

const inPoints = (points: number, detail: DetailLevel): number =>
  detail === "full" ? points : roundPointDifference(points);

function pointsOrReason(
  factor: Factor,
  snapshot: PastSnapshot,
  contributions: FactorContributions,
  detail: DetailLevel,
): Contribution {
  if (!snapshot.missingFactors.includes(factor)) return inPoints(contributions[factor], detail);
  const {
    status,
    asOf = null,
    isSideUnknown: isUnknown = false,
  } = factorEvidenceOf(snapshot)?.[factor] ?? {};
  if (isUnknown) return "insufficient_data";
  return status === undefined ? "missing" : factorStatusAnswer({ status, asOf });
}

/**
 * Explains what changed between two snapshots of an instrument. Changes are computed from exact
 * contributions, so that the changes of all contributions add up to the change of the score; a
 * factor without a value contributes 0.
 *
 * @param showsFactors Whether the caller may see contributions.
 * @throws {Problem} `not_available_then` if `showsFactors` and one of the snapshots was recorded
 * with another method.
 */
export function scoreAttributionAnswer(
  from: PastSnapshot,
  to: PastSnapshot,
  { detail, showsFactors }: { readonly detail: DetailLevel; readonly showsFactors: boolean },
): z.input<typeof ScoreAttribution> {
  const score = (one: PastSnapshot) =>
    detail === "full" ? one.score : roundScorePoints(one.score);
  return {
    from: isoInstant(from.at),
    to: isoInstant(to.at),
    signal: [from.signal.direction, to.signal.direction],
    score: [score(from), score(to)],
    change:
      from.score === null || to.score === null || from.methodVersion !== to.methodVersion
        ? null
        : inPoints(to.score - from.score, detail),
    ...(showsFactors && { factors: factorChanges(from, to, detail) }),
  };
}

function factorChanges(from: PastSnapshot, to: PastSnapshot, detail: DetailLevel) {
  const before = knownContributions(from);
  const after = knownContributions(to);
  return byFactor((factor) => ({
    from: pointsOrReason(factor, from, before, detail),
    to: pointsOrReason(factor, to, after, detail),
    change: inPoints(after[factor] - before[factor], detail),
  }));
}

function knownContributions(snapshot: PastSnapshot): FactorContributions {
  const known = contributionsOf(snapshot);
  if (known !== undefined) return known;
  throw new Problem("not_available_then", {
    detail: `The factors at ${isoInstant(snapshot.at)} were recorded by another method.`,
    next: "Ask for a later since.",
  });
}
