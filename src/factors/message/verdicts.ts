import { type LexiconEntry, UNKNOWN_ENTRY } from "../lexicon.ts";
import { CLAUSE_END, QUESTION_END, SENTENCE_END } from "./units.ts";

/** Number of units before an entry within which a negation inverts the entry. */
const NEGATION_WINDOW = 3;

/** Number of units around a verb within which its noun is searched. */
const NOUN_WINDOW = 4;

/** Factor of a negation: "not good" is milder than "bad". */
const NEGATED = -0.6;

/** Factor for questions. */
const ASKED = 0.5;

/** |valence| of a moving burden: debt that rose, a loss that narrowed. */
const DIRECTED_VALENCE = 2;

type Test = (unit: LexiconEntry) => boolean;

const isFall: Test = ({ roles }) => roles.has("fall");
const isBurden: Test = ({ roles }) => roles.has("burden");
const isRival: Test = ({ roles }) => roles.has("rival");
const isBlow: Test = ({ roles, valence }) => valence < 0 && !roles.has("rival");

/** Whether a unit ends a statement. */
const isEnd: Test = (unit) => unit === CLAUSE_END || unit === SENTENCE_END || unit === QUESTION_END;

/** Sum of the valences in context. */
export function sumOfVerdicts(units: readonly LexiconEntry[]): number {
  let [sum, sentence] = [0, 0];
  for (const [at, unit] of units.entries()) {
    const valence = verdict(units, at);
    if (valence !== 0) sentence += valence * context(units, at);
    if (unit !== SENTENCE_END && unit !== QUESTION_END) continue;
    sum += unit === QUESTION_END ? sentence * ASKED : sentence;
    sentence = 0;
  }
  return sum + sentence;
}

/** Valence of a unit in context. */
function verdict(units: readonly LexiconEntry[], at: number): number {
  return ofMovedBurden(units, at) ?? ofOthers(units, at);
}

/** Valence of a verb next to a burden: rising is bad, falling is good. */
function ofMovedBurden(units: readonly LexiconEntry[], at: number): number | undefined {
  const { roles } = units[at] ?? UNKNOWN_ENTRY;
  const isRise = roles.has("rise");
  if (!(isRise || roles.has("fall")) || !near(units, at, isBurden)) return undefined;
  if (!isRise) return DIRECTED_VALENCE;
  return isFall(units[at - 1] ?? UNKNOWN_ENTRY) ? 0 : -DIRECTED_VALENCE;
}

/** Valence of other units: a noun next to its verb is neutral; bad news for short sellers is good. */
function ofOthers(units: readonly LexiconEntry[], at: number): number {
  const { roles, valence } = units[at] ?? UNKNOWN_ENTRY;
  if (roles.has("burden") || roles.has("asset")) return near(units, at, isFall) ? 0 : valence;
  if (roles.has("rival")) return near(units, at, isBlow) ? 0 : valence;
  return valence < 0 && near(units, at, isRival) ? -valence : valence;
}

/** Whether the same statement has a matching unit nearby. */
function near(units: readonly LexiconEntry[], at: number, test: Test): boolean {
  return reaches(units, { at, step: -1 }, test) || reaches(units, { at, step: 1 }, test);
}

/** Where to look; direction -1 is back, 1 ahead. */
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

/** Factor of preceding units: a booster directly before, negations and asides in the window. */
function context(units: readonly LexiconEntry[], at: number): number {
  let factor = units[at - 1]?.scale ?? 1;
  for (let distance = 1; distance <= NEGATION_WINDOW; distance++) {
    const unit = units[at - distance];
    if (unit === undefined || isEnd(unit)) break;
    if (unit.roles.has("aside")) return 0;
    if (unit.roles.has("negation")) factor *= NEGATED;
  }
  return factor;
}
