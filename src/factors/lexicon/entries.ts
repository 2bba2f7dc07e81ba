/**
 * Words and phrases of one topic with their valence, in [-3, 3]; 0 is a phrase that only sounds
 * like a verdict ("long term"). In a list, entries stand apart by white space, the words of a phrase are joined with
 * `_`, apostrophes are dropped ("dont"). `rally*` is a regular verb and stands for its four forms
 * too, `winner~` a noun with its regular plural.
 */
export type Topic = readonly (readonly [valence: number, list: string])[];

/** Entries of a list as they are written. */
export const written = (list: string): readonly string[] => list.trim().split(/\s+/u);

/** Entries of a list with the forms that `*` and `~` stand for. */
export const spelled = (list: string): readonly string[] => written(list).flatMap(forms);

function forms(entry: string): readonly string[] {
  const base = entry.slice(0, -1);
  if (entry.endsWith("*")) return [base, ...verbForms(base)];
  return entry.endsWith("~") ? [base, withS(base)] : [entry];
}

/** Third person, past and -ing form. */
function verbForms(base: string): readonly string[] {
  const stem = pastStem(base);
  return [withS(base), `${stem}ed`, `${ingStem(base)}ing`];
}

/** "rally" gives "rallies", "crash" "crashes". */
function withS(base: string): string {
  if (/[^aeiou]y$/u.test(base)) return `${base.slice(0, -1)}ies`;
  return /(?:s|x|z|ch|sh)$/u.test(base) ? `${base}es` : `${base}s`;
}

/** "rally" gives "ralli", "surge" "surg", "drop" "dropp". */
function pastStem(base: string): string {
  if (/[^aeiou]y$/u.test(base)) return `${base.slice(0, -1)}i`;
  return base.endsWith("e") ? base.slice(0, -1) : doubled(base);
}

/** "surge" gives "surg", "drop" "dropp"; "rally" and "agree" stay. */
function ingStem(base: string): string {
  return /[^e]e$/u.test(base) ? base.slice(0, -1) : doubled(base);
}

/** A short vowel before one last consonant doubles it. */
function doubled(base: string): string {
  return /^(?:[^aeiou]|qu)*[aeiou][^aeiouwxy]$/u.test(base) ? `${base}${base.at(-1)}` : base;
}
