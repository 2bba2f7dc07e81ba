import { isoInstant } from "../../answers/common.ts";
import { figuresAnswer, TrackRecordAnswer } from "../../answers/track-record.ts";
import {
  type GradedRun,
  type RecordTerms,
  recordFigures,
  recordVerdicts,
} from "../../grading/track-record.ts";
import { type Check, CheckFailure, failedCheck } from "./check.ts";
import type { VerifiedRecord } from "./settlement-verifier.ts";

const NAME = "record";

/** Maximum difference between an answered figure and the recomputed one. */
const TOLERANCE = 1e-9;

type AnsweredRecord = TrackRecordAnswer["records"][number];

/** The graded runs of a log that was read. */
interface GradedEntries {
  /** Number of the first entries that the log no longer keeps. */
  readonly skipped: number;
  /** The terms by which the log is graded; `undefined` if no method registers any. */
  readonly terms: RecordTerms | undefined;
  /** The track record from the first entries alone. */
  records(size: number): readonly VerifiedRecord[];
}

/**
 * Compares a service's track record with the one recomputed from the same entries.
 *
 * @param size Number of entries that were read.
 * @param answer Answer of `GET /api/track-record`, fetched before the entries; `undefined` if there
 *   is none.
 */
export function checkRecord(entries: GradedEntries, size: number, answer: unknown): Check {
  const newest = entries.records(size);
  const of = `recomputed from ${newest.reduce((sum, { runs }) => sum + runs.length, 0)} graded runs`;
  const unproved = (detail: string): Check => ({ name: NAME, outcome: "not_proved", detail });
  if (answer === undefined) return unproved(`${of}; no answer of the service to compare with`);
  const { data } = TrackRecordAnswer.safeParse(answer);
  if (data === undefined) return unproved(`${of}; the service answers no track record`);
  if (entries.skipped > 0) return unproved(`${of}; those before are kept no more`);
  if (data.size > size) return unproved(`${of}; the service answers that of ${data.size} entries`);
  const records = entries.records(data.size);
  try {
    for (const answered of data.records) compare(answered, records, entries.terms);
    for (const { figures } of records) requireAnswered(figures, data.records);
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

/** @throws {CheckFailure} If a figure differs. */
function compare(
  answered: AnsweredRecord,
  records: readonly VerifiedRecord[],
  terms: RecordTerms | undefined,
): void {
  const { assetClass, horizon } = answered;
  const mine = records.find(({ figures }) => isOf(figures, answered));
  const figures = mine?.figures ?? recordFigures(assetClass, horizon, [], 0);
  const found = new Map(valuesIn(answered));
  for (const [path, value] of valuesIn(figuresAnswer(figures))) {
    const other = found.get(path) ?? null;
    if (isSame(value, other)) continue;
    const wrong = `${assetClass} over ${horizon} sessions: ${path} is ${value} by the entries, and answered as ${other}`;
    throw new CheckFailure(wrong);
  }
  compareVerdicts(answered, mine?.runs ?? [], terms);
}

/** @throws {CheckFailure} If a verdict differs, is missing, or has another date, or if verdicts are on
 *  another horizon. */
function compareVerdicts(
  { assetClass, horizon, verdicts, ...answered }: AnsweredRecord,
  runs: readonly GradedRun[],
  terms: RecordTerms | undefined,
): void {
  const isHeadline = terms?.headline[assetClass] === horizon;
  if (terms !== undefined && answered.isHeadline !== isHeadline) {
    throw new CheckFailure(
      `${assetClass} over ${horizon} sessions: verdicts are on the horizon of ${terms.headline[assetClass]}`,
    );
  }
  // The market's clock is at least at the end of the last returns.
  const dueAt = [runs.at(-1)?.exit ?? 0, ...verdicts.map(({ at }) => Date.parse(at))];
  const due =
    terms !== undefined && isHeadline
      ? recordVerdicts(horizon, runs, terms, Math.max(...dueAt))
      : [];
  const expected = due.map(({ at, verdict }) => `${verdict} at ${isoInstant(at)}`);
  const found = verdicts.map(({ at, verdict }) => `${verdict} at ${at}`);
  if (expected.join() === found.join()) return;
  throw new CheckFailure(
    `${assetClass} over ${horizon} sessions: the verdicts are ${listOf(expected)} by the entries, and answered as ${listOf(found)}`,
  );
}

const listOf = (all: readonly string[]): string => (all.length === 0 ? "none" : all.join(", "));

const isOf = (
  figures: Pick<AnsweredRecord, "assetClass" | "horizon">,
  { assetClass, horizon }: Pick<AnsweredRecord, "assetClass" | "horizon">,
): boolean => figures.assetClass === assetClass && figures.horizon === horizon;

/** @throws {CheckFailure} If the service does not answer a record that the log has. */
function requireAnswered(
  figures: VerifiedRecord["figures"],
  answered: readonly AnsweredRecord[],
): void {
  if (answered.some((one) => isOf(one, figures))) return;
  const { assetClass, horizon } = figures;
  throw new CheckFailure(`${assetClass} over ${horizon} sessions is not answered`);
}

const isSame = (a: unknown, b: unknown): boolean =>
  typeof a === "number" && typeof b === "number" ? Math.abs(a - b) <= TOLERANCE : a === b;

/** Every value in an answer that is not an object, by its path. */
function valuesIn(value: unknown, path = ""): readonly (readonly [string, unknown])[] {
  if (typeof value !== "object" || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([name, member]) =>
    valuesIn(member, path === "" ? name : `${path}.${name}`),
  );
}
