import { z } from "zod";
import { commitment, type Opening } from "../leaves.ts";
import { type Check, CheckFailure, failedCheck } from "./check.ts";

const NAME = "scores";

/** Maximum number of entries that are opened; each takes a request. */
const OPENED = 20;

/** Half of the last digit of a published score, and rounding of sums. */
const TOLERANCE = 0.005 + 1e-9;

const Factors = z.record(z.string(), z.looseObject({ contribution: z.number() }));

/** A signal whose factors may be opened. */
export interface CommittedSignal {
  readonly index: number;
  /** SHA-256 of the factors, in hexadecimal. */
  readonly factors: string;
  readonly scoreRaw: number;
}

/** Opens the factors of an entry; resolves with `undefined` if they are not disclosed, or no longer
 *  kept. */
export type OpenFactors = (index: number) => Promise<Opening | undefined>;

/**
 * Recomputes the scores of a sample of entries from their factors: 50 plus the contributions.
 *
 * @param recent Signals that may still be opened. @param signals Number of all signals.
 * @param open Absent: nothing is opened.
 */
export async function checkScores(
  recent: readonly CommittedSignal[],
  signals: number,
  open: OpenFactors | undefined,
): Promise<Check> {
  const unproved = (detail: string): Check => ({ name: NAME, outcome: "not_proved", detail });
  if (open === undefined) {
    return unproved("not recomputed: the factors are committed to, not told");
  }
  const step = Math.max(1, Math.ceil(recent.length / OPENED));
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

/** @throws {CheckFailure} */
function compare({ index, factors, scoreRaw }: CommittedSignal, opening: Opening): void {
  if (commitment(opening) !== factors) {
    throw new CheckFailure(`entry ${index} commits to other factors than those shown`, index);
  }
  const contributions = contributionsIn(opening.text);
  const score = contributions?.reduce((sum, one) => sum + one, 50);
  if (score !== undefined && Math.abs(score - scoreRaw) <= TOLERANCE) return;
  throw new CheckFailure(`entry ${index} says ${scoreRaw}, and its factors ${score}`, index);
}

function contributionsIn(text: string): readonly number[] | undefined {
  try {
    return Object.values(Factors.parse(JSON.parse(text))).map(({ contribution }) => contribution);
  } catch {
    return undefined;
  }
}
