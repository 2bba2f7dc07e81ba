import { z } from "zod";
import { parseJson } from "../../lib/json.ts";
import { CheckFailure, failedCheck, type VerificationCheck } from "../../tree/check.ts";
import { type CommitmentOpening, commitmentHash } from "../leaves.ts";

const NAME = "scores";

/** Maximum number of entries whose factors are opened; each takes a request. */
const MAX_OPENED_ENTRIES = 20;

/** Half a unit in the last digit of a published score, plus rounding of sums. */
const TOLERANCE = 0.005 + 1e-9;

const Factors = z.record(z.string(), z.looseObject({ contribution: z.number() }));

/** A signal whose factors can be opened. */
export interface CommittedSignal {
  readonly index: number;
  /** SHA-256 of the factors, in hexadecimal. */
  readonly factors: string;
  readonly scoreRaw: number;
}

/**
 * Fetches the opening of an entry's commitment to its factors; resolves with `undefined` if the
 * factors are not disclosed, or no longer stored.
 */
export type FetchFactorsOpening = (index: number) => Promise<CommitmentOpening | undefined>;

/**
 * Recomputes the scores of a sample of entries from their factors: 50 plus the contributions.
 *
 * @param recent Signals that may still be opened.
 * @param signals Number of all signals.
 * @param open Fetches the opening of an entry; if `undefined`, no score is recomputed.
 */
export async function checkScores(
  recent: readonly CommittedSignal[],
  signals: number,
  open: FetchFactorsOpening | undefined,
): Promise<VerificationCheck> {
  const unproved = (detail: string): VerificationCheck => ({
    name: NAME,
    outcome: "not_proved",
    detail,
  });
  if (open === undefined) {
    return unproved("not recomputed: the factors are committed to, not told");
  }
  const step = Math.max(1, Math.ceil(recent.length / MAX_OPENED_ENTRIES));
  let opened = 0;
  try {
    for (const one of recent.filter((_, at) => at % step === 0)) {
      const opening = await open(one.index);
      if (opening === undefined) continue;
      compare(one, opening);
      opened += 1;
    }
  } catch (error) {
    return failedCheck(NAME, error);
  }
  if (opened === 0) return unproved("not recomputed: no factors were opened to this token");
  const detail = `${opened} of ${signals} opened: each is 50 plus the contributions it commits to`;
  return opened === signals ? { name: NAME, outcome: "proved", detail } : unproved(detail);
}

/**
 * Compares a published score with the opened factors.
 *
 * @throws {CheckFailure} If the factors are unreadable, or do not match the commitment or the score.
 */
function compare({ index, factors, scoreRaw }: CommittedSignal, opening: CommitmentOpening): void {
  if (commitmentHash(opening) !== factors) {
    throw new CheckFailure(`entry ${index} commits to other factors than those shown`, index);
  }
  const { data } = Factors.safeParse(parseJson(opening.text));
  if (data === undefined) {
    throw new CheckFailure(
      `entry ${index} commits to something else than factors with contributions`,
      index,
    );
  }
  const score = Object.values(data).reduce((sum, { contribution }) => sum + contribution, 50);
  if (Math.abs(score - scoreRaw) <= TOLERANCE) return;
  throw new CheckFailure(`entry ${index} says ${scoreRaw}, and its factors ${score}`, index);
}
