import { isoInstant } from "../../answers/shared-members.ts";
import { TrackRecordAnswer, trackRecordFiguresAnswer } from "../../answers/track-record.ts";
import {
  computeTrackRecordFigures,
  type GradedRun,
  type TrackRecordTerms,
  trackRecordVerdicts,
} from "../../grading/track-record.ts";
import { CheckFailure, failedCheck, type VerificationCheck } from "../../tree/check.ts";
import type { RegisteredClaim } from "../log-state.ts";
import { isSameValue, valuesIn } from "./answer-values.ts";
import { compareClaims } from "./claim-check.ts";
import type { VerifiedTrackRecord } from "./verified-records.ts";

const NAME = "record";

type AnsweredRecord = TrackRecordAnswer["records"][number];

/** The graded runs computed from the entries of a log. */
interface GradedEntries {
  /** Number of entries at the start of the log that it no longer stores. */
  readonly skipped: number;
  /** The terms by which the log is graded; `undefined` if no method registers any. */
  readonly terms: TrackRecordTerms | undefined;
  /** The claims, by method hash. */
  readonly claims: ReadonlyMap<string, RegisteredClaim>;
  /** The track record computed from the first `size` entries. */
  records(size: number): readonly VerifiedTrackRecord[];
}

/**
 * Compares a service's track record with the one recomputed from the same entries.
 *
 * @param size Number of entries that were read.
 * @param answer Answer of `GET /api/track-record`, fetched before the entries; `undefined` if it
 * was not fetched.
 */
export function checkTrackRecord(
  entries: GradedEntries,
  size: number,
  answer: unknown,
): VerificationCheck {
  const newest = entries.records(size);
  const of = `recomputed from ${newest.reduce((sum, { runs }) => sum + runs.length, 0)} graded runs`;
  const unproved = (detail: string): VerificationCheck => ({
    name: NAME,
    outcome: "not_proved",
    detail,
  });
  if (answer === undefined) return unproved(`${of}; no answer of the service to compare with`);
  const { data } = TrackRecordAnswer.safeParse(answer);
  if (data === undefined) return unproved(`${of}; the service answers no track record`);
  if (entries.skipped > 0) return unproved(`${of}; those before are kept no more`);
  if (data.size > size) return unproved(`${of}; the service answers that of ${data.size} entries`);
  const records = entries.records(data.size);
  try {
    for (const answered of data.records) compare(answered, records, entries.terms);
    for (const one of records) requireAnswered(one, data.records);
    compareClaims(data, entries.claims, records);
  } catch (error) {
    return failedCheck(NAME, error);
  }
  if (newest.length === 0) return unproved("nothing is graded yet");
  const answered = new Set(records.flatMap(({ runs }) => runs));
  if (newest.some(({ runs }) => runs.some((run) => !answered.has(run)))) {
    return unproved(`${of}; the service answers that of the first ${data.size} entries`);
  }
  return { name: NAME, outcome: "proved", detail: `${of}, as the service answers it` };
}

/**
 * Compares the answered figures and verdicts with the recomputed ones.
 *
 * @throws {CheckFailure} If a figure or a verdict differs.
 */
function compare(
  answered: AnsweredRecord,
  records: readonly VerifiedTrackRecord[],
  terms: TrackRecordTerms | undefined,
): void {
  const { assetClass, horizon } = answered;
  const mine = records.find((one) => isOf(one, answered));
  const figures = mine?.figures ?? computeTrackRecordFigures(assetClass, horizon, [], 0);
  const found = new Map(valuesIn(answered));
  for (const [path, value] of valuesIn(trackRecordFiguresAnswer(figures))) {
    const other = found.get(path) ?? null;
    if (isSameValue(value, other)) continue;
    const answer = typeof other === "string" ? "another text" : other;
    const wrong = `${assetClass} over ${horizon} sessions: ${path} is ${value} by the entries, and answered as ${answer}`;
    throw new CheckFailure(wrong);
  }
  compareVerdicts(answered, mine?.runs ?? [], terms);
}

/**
 * Compares the answered verdicts with the recomputed ones.
 *
 * @throws {CheckFailure} If a verdict differs, is missing, has another date, or is on another
 * horizon.
 */
function compareVerdicts(
  { assetClass, horizon, verdicts, ...answered }: AnsweredRecord,
  runs: readonly GradedRun[],
  terms: TrackRecordTerms | undefined,
): void {
  const isHeadline = terms?.headline[assetClass] === horizon;
  if (terms !== undefined && answered.isHeadline !== isHeadline) {
    throw new CheckFailure(
      `${assetClass} over ${horizon} sessions: verdicts are on the horizon of ${terms.headline[assetClass]}`,
    );
  }
  // The market's clock has reached at least the end of the last returns.
  const dueAt = [runs.at(-1)?.exit ?? 0, ...verdicts.map(({ at }) => Date.parse(at))];
  const due =
    terms !== undefined && isHeadline
      ? trackRecordVerdicts(horizon, runs, terms, Math.max(...dueAt))
      : [];
  const expected = due.map(({ at, verdict }) => `${verdict} at ${isoInstant(at)}`);
  const found = verdicts.map(({ at, verdict }) => `${verdict} at ${at}`);
  if (expected.join() === found.join()) return;
  throw new CheckFailure(
    `${assetClass} over ${horizon} sessions: the verdicts are ${listOf(expected)} by the entries, and answered otherwise`,
  );
}

const listOf = (all: readonly string[]): string => (all.length === 0 ? "none" : all.join(", "));

const isOf = (
  { figures, methodHash }: VerifiedTrackRecord,
  answered: Pick<AnsweredRecord, "assetClass" | "horizon" | "methodHash">,
): boolean =>
  figures.assetClass === answered.assetClass &&
  figures.horizon === answered.horizon &&
  methodHash === answered.methodHash;

/**
 * Requires that the answer contains a record.
 *
 * @throws {CheckFailure} If the service omits a record that the log has.
 */
function requireAnswered(mine: VerifiedTrackRecord, answered: readonly AnsweredRecord[]): void {
  if (answered.some((one) => isOf(mine, one))) return;
  const { assetClass, horizon } = mine.figures;
  throw new CheckFailure(`${assetClass} over ${horizon} sessions is not answered`);
}
