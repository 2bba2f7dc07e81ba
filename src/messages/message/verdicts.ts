import { type LexiconEntry, UNKNOWN_ENTRY } from "../lexicon.ts";
import { CLAUSE_END, QUESTION_END, SENTENCE_END } from "./units.ts";

/** Number of units after a negation that the negation can invert. */
const NEGATION_WINDOW = 3;

/** Maximum distance in units between a verb and its noun. */
const NOUN_WINDOW = 4;

/** Factor of a negation; below 1 in absolute value because "not good" is milder than "bad". */
const NEGATION_FACTOR = -0.6;

/** Factor for the sentiment of a question. */
const QUESTION_FACTOR = 0.5;

/**
 * |valence| of a verb that raises or lowers a `burden`, as in "debt rose" or "the loss narrowed".
 */
const DIRECTED_VALENCE = 2;

type Test = (unit: LexiconEntry) => boolean;

const isFall: Test = ({ roles }) => roles.has("fall");
const isBurden: Test = ({ roles }) => roles.has("burden");
const isRival: Test = ({ roles }) => roles.has("rival");
const isBlow: Test = ({ roles, valence }) => valence < 0 && !roles.has("rival");

/** Whether a unit ends a statement. */
const isEnd: Test = (unit) => unit === CLAUSE_END || unit === SENTENCE_END || unit === QUESTION_END;

/** Sum of the valences of all units, each adjusted for its context. */
export function sumOfValences(units: readonly LexiconEntry[]): number {
  let [sum, sentence] = [0, 0];
  for (const [at, unit] of units.entries()) {
    const valence = verdict(units, at);
    if (valence !== 0) sentence += valence * context(units, at);
    if (unit !== SENTENCE_END && unit !== QUESTION_END) continue;
    sum += unit === QUESTION_END ? sentence * QUESTION_FACTOR : sentence;
    sentence = 0;
  }
  return sum + sentence;
}

/** Valence of a unit, considering its neighbors. */
function verdict(units: readonly LexiconEntry[], at: number): number {
  return movedBurdenVerdict(units, at) ?? ownValence(units, at);
}

/**
 * Valence of a verb near a noun with the role `burden`: negative for a rise, positive for a fall;
 * `undefined` for other units.
 */
function movedBurdenVerdict(units: readonly LexiconEntry[], at: number): number | undefined {
  const { roles } = units[at] ?? UNKNOWN_ENTRY;
  const isRise = roles.has("rise");
  if (!(isRise || roles.has("fall")) || !near(units, at, isBurden)) return undefined;
  if (!isRise) return DIRECTED_VALENCE;
  return isFall(units[at - 1] ?? UNKNOWN_ENTRY) ? 0 : -DIRECTED_VALENCE;
}

/**
 * Valence of a unit other than a verb near a `burden`. A `burden` or `asset` near a word for a fall
 * is neutral, since the fall has the valence; a `rival` near bad news is neutral, and bad news near
 * a `rival`, such as short sellers, is good.
 */
function ownValence(units: readonly LexiconEntry[], at: number): number {
  const { roles, valence } = units[at] ?? UNKNOWN_ENTRY;
  if (roles.has("burden") || roles.has("asset")) return near(units, at, isFall) ? 0 : valence;
  if (roles.has("rival")) return near(units, at, isBlow) ? 0 : valence;
  return valence < 0 && near(units, at, isRival) ? -valence : valence;
}

/** Whether a unit nearby in the same statement passes the test. */
function near(units: readonly LexiconEntry[], at: number, test: Test): boolean {
  return reaches(units, { at, step: -1 }, test) || reaches(units, { at, step: 1 }, test);
}

/** Start and direction of a search; `step` -1 is backward, 1 forward. */
interface Search {
  readonly at: number;
  readonly step: -1 | 1;
}

function reaches(units: readonly LexiconEntry[], { at, step }: Search, test: Test): boolean {
  for (let distance = 1; distance <= NOUN_WINDOW; distance++) {
    const unit = units[at + step * distance];
    if (unit === undefined || isEnd(unit) || unit.roles.has("link")) return false;
    if (test(unit)) return true;
  }
  return false;
}

/**
 * Factor that the preceding units apply to a unit: the scale of the unit directly before, then the
 * negations and asides within the window.
 */
function context(units: readonly LexiconEntry[], at: number): number {
  let factor = units[at - 1]?.scale ?? 1;
  for (let distance = 1; distance <= NEGATION_WINDOW; distance++) {
    const unit = units[at - distance];
    if (unit === undefined || isEnd(unit)) break;
    if (unit.roles.has("aside")) return 0;
    if (unit.roles.has("negation")) factor *= NEGATION_FACTOR;
  }
  return factor;
}
