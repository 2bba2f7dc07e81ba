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
export function verbForms(base: string): readonly string[] {
  const past = irregular.get(base)?.split("/") ?? [`${pastStem(base)}ed`];
  return [withS(base), ...past.filter((form) => form !== base), `${ingStem(base)}ing`];
}

/** Third person of a verb, plural of a noun: "rally" gives "rallies", "crash" "crashes". */
export function withS(base: string): string {
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
