/** Past and participle of the verbs that do not end in -ed. */
const irregular: ReadonlyMap<string, string> = new Map(
  `beat beat/beaten, begin began/begun, bleed bled, blow blew/blown, break broke/broken,
   bring brought, build built, burst burst, buy bought, come came, cost cost, cut cut, draw drew/drawn,
   fall fell/fallen, fight fought, find found, fly flew/flown, get got/gotten, give gave/given,
   go went/gone, grow grew/grown, hit hit, hold held, hurt hurt, keep kept, lay laid, lead led,
   leap leapt/leaped, leave left, lose lost, make made, overcome overcame, pay paid, put put,
   repay repaid, ride rode/ridden, rise rose/risen, run ran, see saw/seen, sell sold, send sent,
   set set, shed shed, shine shone/shined, shoot shot, shrink shrank/shrunk, shut shut,
   sink sank/sunk, slide slid, spin spun, split split, spread spread, stand stood, steal stole/stolen,
   strike struck, swell swelled/swollen, swing swung, take took/taken, throw threw/thrown,
   undercut undercut, win won, withdraw withdrew/withdrawn`
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

/** One short vowel before one last consonant doubles it: "drop", "win", "begin". */
function doubled(base: string): string {
  return /^(?:be)?(?:[^aeiou]|qu)*[aeiou][^aeiouwxy]$/u.test(base) ? `${base}${base.at(-1)}` : base;
}
