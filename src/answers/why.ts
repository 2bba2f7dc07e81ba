import { z } from "zod";
import { FACTORS, type Factor } from "../factors/reading.ts";
import { Problem } from "../problem.ts";
import type { Contributions } from "../score/composite.ts";
import { contributionsOf, type PastSnapshot } from "../score/snapshot.ts";
import { type Detail, Direction, Instant, isoInstant } from "./common.ts";
import { pointDifference, points } from "./rounding.ts";

/** Status of a factor. */
export const FactorState = z
  .enum(["ok", "stale", "no_activity", "no_feed", "insufficient_data"])
  .describe(
    "no_activity: a feed looked and found nothing; no_feed: nothing looks; insufficient_data: history or peer group too short.",
  );

/** The status of a factor or of a feed as answers name it. */
export const factorStatusAnswer = <S extends string>(
  status: S,
): Exclude<S, "not_observed"> | "no_feed" =>
  status === "not_observed" ? "no_feed" : (status as Exclude<S, "not_observed">);

/** Points of a factor, or why it has none. */
const Contribution = z.union([z.number(), FactorState, z.literal("missing")]);
type Contribution = z.input<typeof Contribution>;

/** Points by factor. */
export const PointsByFactor = z
  .record(z.enum(FACTORS), Contribution)
  .describe(
    "Points by factor, which add up to the unrounded score minus 50, or why it has none. Only with factor:read.",
  );

/** What changed between two instants. */
export const Attribution = z
  .object({
    from: Instant,
    to: Instant,
    signal: z.array(Direction).describe("At from and to."),
    score: z.array(z.number()).describe("At from and to, in points."),
    change: z.number().describe("Points."),
    factors: z
      .record(
        z.enum(FACTORS),
        z.object({ from: Contribution, to: Contribution, change: z.number() }),
      )
      .optional()
      .describe("The changes add up to change. Only with factor:read."),
  })
  .describe("With since: what moved the score from then to asOf.");

/** The contribution of each factor to a snapshot, or why it has none; `undefined` if another method
 *  recorded the snapshot. */
export function whyAnswer(
  snapshot: PastSnapshot,
  detail: Detail,
): z.input<typeof PointsByFactor> | undefined {
  const contributions = contributionsOf(snapshot);
  if (contributions === undefined) return undefined;
  const of = (factor: Factor): Contribution => {
    if (snapshot.missingFactors.includes(factor)) return absence(factor, snapshot);
    return inPoints(contributions[factor], detail);
  };
  return {
    momentum: of("momentum"),
    valuation: of("valuation"),
    social: of("social"),
    darkpool: of("darkpool"),
  };
}

const inPoints = (points: number, detail: Detail): number =>
  detail === "full" ? points : pointDifference(points);

/** Why a factor has no value; the reason is stored as long as the factors are. */
function absence(factor: Factor, { factors }: PastSnapshot): Contribution {
  const status = factors?.[factor].status;
  return status === undefined ? "missing" : factorStatusAnswer(status);
}

/**
 * What changed between two snapshots of an instrument. Contributions are exact, so that the changes of
 * the factors add up to that of the score; a factor without a value contributes 0.
 *
 * @param showsFactors Whether the caller may see contributions.
 * @throws {Problem} `not_available_then` if another method recorded one of them.
 */
export function attributionAnswer(
  from: PastSnapshot,
  to: PastSnapshot,
  { detail, showsFactors }: { readonly detail: Detail; readonly showsFactors: boolean },
): z.input<typeof Attribution> {
  const score = (one: PastSnapshot) => (detail === "full" ? one.score : points(one.score));
  return {
    from: isoInstant(from.at),
    to: isoInstant(to.at),
    signal: [from.signal.direction, to.signal.direction],
    score: [score(from), score(to)],
    change: inPoints(to.score - from.score, detail),
    ...(showsFactors && { factors: factorChanges(from, to, detail) }),
  };
}

function factorChanges(from: PastSnapshot, to: PastSnapshot, detail: Detail) {
  const before = knownContributions(from);
  const after = knownContributions(to);
  const whyBefore = whyAnswer(from, detail);
  const whyAfter = whyAnswer(to, detail);
  const of = (factor: Factor) => ({
    from: whyBefore?.[factor] ?? "missing",
    to: whyAfter?.[factor] ?? "missing",
    change: inPoints(after[factor] - before[factor], detail),
  });
  return {
    momentum: of("momentum"),
    valuation: of("valuation"),
    social: of("social"),
    darkpool: of("darkpool"),
  };
}

function knownContributions(snapshot: PastSnapshot): Contributions {
  const known = contributionsOf(snapshot);
  if (known !== undefined) return known;
  throw new Problem("not_available_then", {
    detail: `The factors at ${isoInstant(snapshot.at)} were recorded by another method.`,
    next: "Ask for a later since.",
  });
}
