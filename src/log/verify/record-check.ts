import { isoInstant } from "../../answers/common.ts";
import { figuresAnswer, TrackRecordAnswer } from "../../answers/track-record.ts";
import { HEADLINE_HORIZONS } from "../../grading/run-grade.ts";
import { type GradedRun, recordFigures, recordVerdicts } from "../../grading/track-record.ts";
import { type Check, CheckFailure, failedCheck } from "./check.ts";
import type { VerifiedRecord } from "./settlement-verifier.ts";

const NAME = "record";

/** Largest difference of an answered figure and the recomputed one. */
const TOLERANCE = 1e-9;

type AnsweredRecord = TrackRecordAnswer["records"][number];

/** How an answered record compares with the entries. */
type Comparison = "same" | "behind" | "ahead";

/**
 * Compares the track record that a service answers with that of its log's entries.
 *
 * @param records From the entries. @param answer Of `GET /api/track-record`; `undefined`: there is none.
 */
export function checkRecord(records: readonly VerifiedRecord[], answer: unknown): Check {
  const graded = records.reduce((sum, { runs }) => sum + runs.length, 0);
  const of = `recomputed from ${graded} graded runs`;
  const unproved = (detail: string): Check => ({ name: NAME, outcome: "not_proved", detail });
  if (answer === undefined) return unproved(`${of}; no answer of the service to compare with`);
  const { data } = TrackRecordAnswer.safeParse(answer);
  if (data === undefined) return unproved(`${of}; the service answers no track record`);
  try {
    const compared = data.records.map((one) => compare(one, records));
    for (const { figures } of records) requireAnswered(figures, data.records);
    if (compared.includes("ahead")) return unproved(`${of}; the log has grown meanwhile`);
    if (graded === 0) return unproved("nothing is graded yet");
    if (compared.includes("behind")) return unproved(`${of}; the service answers an earlier one`);
  } catch (error) {
    return failedCheck(NAME, error);
  }
  return { name: NAME, outcome: "proved", detail: `${of}, as the service answers it` };
}

/** @throws {CheckFailure} If a figure differs. */
function compare(answered: AnsweredRecord, records: readonly VerifiedRecord[]): Comparison {
  const { assetClass, horizon } = answered;
  const mine = records.find(({ figures }) => isOf(figures, answered));
  const runs = mine?.runs ?? [];
  const wanted = answered.runs + answered.lateRuns;
  const counted = runs.filter(counts).length;
  if (wanted > counted) return "ahead";
  // What is answered may be of before the last settlements; then it is that of the first runs.
  const end = wanted === counted ? runs.length : indexOfCount(runs, wanted);
  const isWhole = end === runs.length && mine !== undefined;
  const figures = isWhole ? mine.figures : recordFigures(assetClass, horizon, runs.slice(0, end));
  const expected = new Map(valuesIn(figuresAnswer(figures)));
  const found = new Map(valuesIn(answered));
  for (const [path, value] of expected) {
    const other = found.get(path) ?? null;
    if (isSame(value, other)) continue;
    const wrong = `${assetClass} over ${horizon} sessions: ${path} is ${value} by the entries, and answered as ${other}`;
    throw new CheckFailure(wrong);
  }
  if (mine !== undefined) compareVerdicts(answered, runs.slice(0, end), mine.verdictDates);
  return wanted === counted ? "same" : "behind";
}

/**
 * @param runs Those of the answer. @param dates When verdicts are given, Unix milliseconds.
 * @throws {CheckFailure} If a verdict is another, is missing, or is given at another time.
 */
function compareVerdicts(
  { assetClass, horizon, verdicts }: AnsweredRecord,
  runs: readonly GradedRun[],
  dates: readonly number[],
): void {
  const isHeadline = HEADLINE_HORIZONS[assetClass] === horizon;
  // The clock of the market is at least where the last returns ended.
  const dueAt = [runs.at(-1)?.exit ?? 0, ...verdicts.map(({ at }) => Date.parse(at))];
  const due = isHeadline ? recordVerdicts(assetClass, runs, dates, Math.max(...dueAt)) : [];
  const expected = due.map(({ at, verdict }) => `${verdict} at ${isoInstant(at)}`);
  const found = verdicts.map(({ at, verdict }) => `${verdict} at ${at}`);
  if (expected.join() === found.join()) return;
  throw new CheckFailure(
    `${assetClass} over ${horizon} sessions: the verdicts are ${listOf(expected)} by the entries, and answered as ${listOf(found)}`,
  );
}

const listOf = (all: readonly string[]): string => (all.length === 0 ? "none" : all.join(", "));

/** Whether a run is one of `runs` or `lateRuns`. */
const counts = ({ isLate, long, short, wait }: GradedRun): boolean =>
  isLate || long + short + wait > 0;

/** Index after the run that is the nth to count. */
function indexOfCount(runs: readonly GradedRun[], nth: number): number {
  let seen = 0;
  return runs.findIndex((run) => {
    if (counts(run)) seen += 1;
    return seen > nth;
  });
}

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

/** Every value in an answer that is no object, by its path. */
function valuesIn(value: unknown, path = ""): readonly (readonly [string, unknown])[] {
  if (typeof value !== "object" || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([name, member]) =>
    valuesIn(member, path === "" ? name : `${path}.${name}`),
  );
}
