/**
 * Entries of one topic: lists with their valence in [-3, 3]; 0 marks phrases that only sound like
 * sentiment ("long term"). Entries of a list are separated by white space, words of a phrase are
 * joined with `_`, and apostrophes are dropped ("dont"). `rally*` means all forms of a verb,
 * `winner~` singular and plural of a noun, `week/month_high` alternatives.
 */
export type LexiconTopic = readonly (readonly [valence: number, list: string])[];

/** Splits a list into its entries, without expanding them. */
export const listEntries = (list: string): readonly string[] => list.trim().split(/\s+/u);

/** Splits a list into its entries and expands each to all its forms. */
export const expandEntries = (list: string): readonly string[] =>
  listEntries(list).flatMap(phrases);

/** Every combination of the forms of the words in an entry. */
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

/** Past tense and participle of the verbs whose forms do not end in -ed. */
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

/** Third person of a verb or plural of a noun: "rally" gives "rallies", "crash" gives "crashes". */
function withS(base: string): string {
  if (/[^aeiou]y$/u.test(base)) return `${base.slice(0, -1)}ies`;
  return /(?:s|x|z|ch|sh|^go)$/u.test(base) ? `${base}es` : `${base}s`;
}

/** Stem before -ed: "rally" gives "ralli", "surge" gives "surg", "drop" gives "dropp". */
function pastStem(base: string): string {
  if (/[^aeiou]y$/u.test(base)) return `${base.slice(0, -1)}i`;
  return base.endsWith("e") ? base.slice(0, -1) : doubled(base);
}

/**
 * Stem before -ing: "surge" gives "surg", "drop" gives "dropp"; "rally" and "agree" are unchanged.
 */
function ingStem(base: string): string {
  return /[^e]e$/u.test(base) ? base.slice(0, -1) : doubled(base);
}

/**
 * Doubles the last consonant after a single short vowel: "drop" gives "dropp", "quit" gives
 * "quitt".
 */
function doubled(base: string): string {
  return /^(?:[^aeiou]|qu)*[aeiou][^aeiouwxy]$/u.test(base) ? `${base}${base.at(-1)}` : base;
}
