import { analysts } from "./lexicon/analysts.ts";
import { chat, emoji } from "./lexicon/chat.ts";
import { companies } from "./lexicon/companies.ts";
import { economy } from "./lexicon/economy.ts";
import { expandEntries } from "./lexicon/entries.ts";
import { type Role, roles, scales } from "./lexicon/grammar.ts";
import { marketMoves } from "./lexicon/market-moves.ts";
import { opinion } from "./lexicon/opinion.ts";
import { results } from "./lexicon/results.ts";
import { trouble } from "./lexicon/trouble.ts";

/** Entry for a word, an emoji, or a phrase of two or three words joined with `_`. */
export interface LexiconEntry {
  /** Sentiment in [-3, 3]; 0 for neutral entries. */
  readonly valence: number;
  /** Effect on the sentiment of its neighbors. */
  readonly roles: ReadonlySet<Role>;
  /** Multiplier of the sentiment of the next entry, usually 1. */
  readonly scale: number;
}

/** Entry for words that are not in the lexicon. */
export const UNKNOWN_ENTRY: LexiconEntry = { valence: 0, roles: new Set(), scale: 1 };

/** The entries by topic. */
export const topics = [
  marketMoves,
  results,
  analysts,
  companies,
  trouble,
  economy,
  opinion,
  chat,
  emoji,
] as const;

/** The lexicon of {@link polarity}, written for this project. */
export const lexicon: ReadonlyMap<string, LexiconEntry> = compiled();

function compiled(): ReadonlyMap<string, LexiconEntry> {
  const entries = new Map<string, LexiconEntry>();
  const add = (list: string, change: (entry: LexiconEntry) => LexiconEntry) => {
    for (const form of expandEntries(list))
      entries.set(form, change(entries.get(form) ?? UNKNOWN_ENTRY));
  };
  for (const [valence, list] of topics.flat()) add(list, (entry) => ({ ...entry, valence }));
  for (const [role, list] of roles) {
    add(list, (entry) => ({ ...entry, roles: new Set([...entry.roles, role]) }));
  }
  for (const [scale, list] of scales) add(list, (entry) => ({ ...entry, scale }));
  return entries;
}

/** First words of the phrases in {@link lexicon}: only they need a phrase lookup. */
export const phraseStarts: ReadonlySet<string> = new Set(
  [...lexicon.keys()]
    .filter((entry) => entry.includes("_"))
    .map((entry) => entry.slice(0, entry.indexOf("_"))),
);
