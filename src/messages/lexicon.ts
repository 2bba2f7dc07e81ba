import { analystTopic } from "./lexicon/analysts.ts";
import { chatTopic, emojiTopic } from "./lexicon/chat.ts";
import { companyTopic } from "./lexicon/companies.ts";
import { economyTopic } from "./lexicon/economy.ts";
import { expandEntries } from "./lexicon/entries.ts";
import { type LexiconRole, roleEntries, scaleEntries } from "./lexicon/grammar.ts";
import { marketMoveTopic } from "./lexicon/market-moves.ts";
import { opinionTopic } from "./lexicon/opinion.ts";
import { resultTopic } from "./lexicon/results.ts";
import { troubleTopic } from "./lexicon/trouble.ts";

/** Lexicon entry of a word, an emoji, or a phrase of two or three words joined with `_`. */
export interface LexiconEntry {
  /** Sentiment in [-3, 3]; 0 for neutral entries. */
  readonly valence: number;
  /** Effects on the sentiment of neighboring entries. */
  readonly roles: ReadonlySet<LexiconRole>;
  /** Factor for the sentiment of the next entry, usually 1. */
  readonly scale: number;
}

/** Entry for words that are not in the lexicon. */
export const UNKNOWN_ENTRY: LexiconEntry = { valence: 0, roles: new Set(), scale: 1 };

/** The lexicon entries by topic. */
export const lexiconTopics = [
  marketMoveTopic,
  resultTopic,
  analystTopic,
  companyTopic,
  troubleTopic,
  economyTopic,
  opinionTopic,
  chatTopic,
  emojiTopic,
] as const;

/** The lexicon that {@link polarity} uses, written for this project. */
export const lexicon: ReadonlyMap<string, LexiconEntry> = compiled();

function compiled(): ReadonlyMap<string, LexiconEntry> {
  const entries = new Map<string, LexiconEntry>();
  const add = (list: string, change: (entry: LexiconEntry) => LexiconEntry) => {
    for (const form of expandEntries(list))
      entries.set(form, change(entries.get(form) ?? UNKNOWN_ENTRY));
  };
  for (const [valence, list] of lexiconTopics.flat()) add(list, (entry) => ({ ...entry, valence }));
  for (const [role, list] of roleEntries) {
    add(list, (entry) => ({ ...entry, roles: new Set([...entry.roles, role]) }));
  }
  for (const [scale, list] of scaleEntries) add(list, (entry) => ({ ...entry, scale }));
  return entries;
}

/** First words of the phrases in {@link lexicon}: only these words need a phrase lookup. */
export const phraseStarts: ReadonlySet<string> = new Set(
  [...lexicon.keys()]
    .filter((entry) => entry.includes("_"))
    .map((entry) => entry.slice(0, entry.indexOf("_"))),
);
