/** Texts of which a reader sees nothing. */
export const INVISIBLE_TEXTS: readonly string[] = [
  "",
  " \t ",
  // Zero-width space, joiners, and marks of direction.
  ...["\u200b", "\u200c", "\u200d", "\u200e", "\u200f"],
  // Word joiner, byte order mark, soft hyphen, combining grapheme joiner, Mongolian vowel separator.
  ...["\u2060", "\ufeff", "\u00ad", "\u034f", "\u180e"],
  // Fillers of Hangul, which are letters, and a Braille pattern without dots.
  ...["\u115f", "\u1160", "\u3164", "\uffa0", "\u2800"],
  // Combining marks on nothing, a variation selector, a tag.
  ...["\u0301\u0308", "\ufe0f", "\u{e0041}"],
  "\u200b \u2060\u00ad",
];
