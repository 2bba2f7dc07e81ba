import { verbForms, withS } from "./inflection.ts";

/**
 * Entries of one topic with their valence, in [-3, 3]; 0 is for what only sounds like a verdict
 * ("long term"). In a list, entries stand apart by white space, the words of a phrase are joined
 * with `_`, and apostrophes are dropped ("dont"). `rally*` is a verb in all its forms, `winner~` a
 * noun in singular and plural, `week/month_high` a choice of words.
 */
export type Topic = readonly (readonly [valence: number, list: string])[];

/** Entries of a list as they are written. */
export const written = (list: string): readonly string[] => list.trim().split(/\s+/u);

/** Entries of a list in every form that they stand for. */
export const spelled = (list: string): readonly string[] => written(list).flatMap(phrases);

/** Every combination of the forms of its words. */
function phrases(entry: string): readonly string[] {
  const [first = [], ...rest] = entry.split("_").map(choices);
  return rest.reduce(
    (starts, words) => starts.flatMap((start) => words.map((word) => `${start}_${word}`)),
    first,
  );
}

const choices = (word: string): readonly string[] => word.split("/").flatMap(forms);

function forms(word: string): readonly string[] {
  const base = word.slice(0, -1);
  if (word.endsWith("*")) return [base, ...verbForms(base)];
  return word.endsWith("~") ? [base, withS(base)] : [word];
}
