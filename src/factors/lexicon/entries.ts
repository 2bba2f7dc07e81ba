/**
 * Entries of one topic with their valence in [-3, 3]; 0 marks phrases that only sound like sentiment
 * ("long term"). Entries of a list are separated by white space, words of a phrase are joined with `_`,
 * and apostrophes are dropped ("dont"). `rally*` stands for all forms of a verb, `winner~` for singular
 * and plural of a noun, `week/month_high` for alternatives.
 */
export type Topic = readonly (readonly [valence: number, list: string])[];

/** Entries of a list as written. */
export const listEntries = (list: string): readonly string[] => list.trim().split(/\s+/u);

/** Entries of a list, expanded to all their forms. */
export const expandEntries = (list: string): readonly string[] =>
  listEntries(list).flatMap(phrases);

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

/** Past and participle of the verbs that do not end in -ed. */
const irregular: ReadonlyMap<string, string> = new Map(
  `beat beat/beaten, bleed bled, blow blew/blown, break broke/broken, build built, burst burst,
   cut cut, fall fell/fallen, give gave/given, go went/gone, grow grew/grown, hurt hurt,
   leap leapt/leaped, lose lost, overcome overcame, pay paid, quit quit, repay repaid,
   rise rose/risen, sell sold, shed shed, shine shone/shined, shrink shrank/shrunk, shut shut,
   sink sank/sunk, slide slid, steal stole/stolen, swell swelled/swollen, take took/taken, win won`
    .split(",")
    .map((line) => line.trim().split(" ") as [string, string]),
);

/** The other forms of a verb: third person, past, participle, -ing form. */
function verbForms(base: string): readonly string[] {
  const past = irregular.get(base)?.split("/") ?? [`${pastStem(base)}ed`];
  return [withS(base), ...past.filter((form) => form !== base), `${ingStem(base)}ing`];
}

/** Third person of a verb, plural of a noun: "rally" gives "rallies", "crash" "crashes". */
function withS(base: string): string {
  if (/[^aeiou]y$/u.test(base)) return `${base.slice(0, -1)}ies`;
  return /(?:s|x|z|ch|sh|^go)$/u.test(base) ? `${base}es` : `${base}s`;
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

/** One short vowel before one last consonant doubles it: "drop", "quit". */
function doubled(base: string): string {
  return /^(?:[^aeiou]|qu)*[aeiou][^aeiouwxy]$/u.test(base) ? `${base}${base.at(-1)}` : base;
}
