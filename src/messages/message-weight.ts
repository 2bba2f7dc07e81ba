import type { Mention } from "../market/records.ts";
import { countBelow } from "../statistics/statistics.ts";

/** Rules that reduce the weight of a message. */
export const MESSAGE_WEIGHT_RULES = {
  /** Maximum factor by which an author's follower count raises the weight. */
  maxReach: 2,
  /** Account age in days from which a message has full weight. */
  fullAccountAgeDays: 30,
  /**
   * Length in market days of the window in which duplicates and an author's messages are counted.
   */
  memoryDays: 1,
  /**
   * Limits above which an author counts as a bot: messages a day, instruments mentioned,
   * duplicates.
   */
  maxMessagesPerDay: 50,
  maxSymbols: 5,
  maxDuplicates: 20,
} as const;

/** The fields of a message that determine its weight. */
type WeightFields = Pick<Mention, "followers" | "symbolCount" | "accountAgeDays">;

/** Earlier messages of the last day that repeat the text or come from the same author. */
export interface MessageRepetition {
  /** Number of earlier messages about the instrument with the same normalized text. */
  readonly duplicates: number;
  /** Number of earlier messages by the author about any instrument. */
  readonly byAuthor: number;
}

/**
 * Weight of one message in [0, 2]: min(2, max(1, 1 + log10(1 + followers)/4)) * min(1, age/30 d) *
 * 0.5^duplicates / sqrt(instruments mentioned) / (1 + earlier messages of the author); 0 for bots.
 * An unknown follower count is treated as 0, an unknown account age as full age.
 */
export function messageWeight(
  message: WeightFields,
  { duplicates, byAuthor }: MessageRepetition,
): number {
  const { followers, symbolCount, accountAgeDays } = message;
  const isBot =
    byAuthor >= MESSAGE_WEIGHT_RULES.maxMessagesPerDay ||
    symbolCount > MESSAGE_WEIGHT_RULES.maxSymbols ||
    duplicates > MESSAGE_WEIGHT_RULES.maxDuplicates;
  if (isBot) return 0;
  const { maxReach, fullAccountAgeDays } = MESSAGE_WEIGHT_RULES;
  const reach = Math.min(maxReach, Math.max(1, 1 + Math.log10(1 + (followers ?? 0)) / 4));
  const age = Math.min(1, Math.max(0, accountAgeDays ?? fullAccountAgeDays) / fullAccountAgeDays);
  return (reach * age * 0.5 ** duplicates) / Math.sqrt(symbolCount) / (1 + byAuthor);
}

/** The messages about one instrument within the last day. */
export interface RecentMessages {
  /** Counts earlier messages with this text; `at` is in Unix milliseconds and never decreases. */
  countEarlier(text: string, at: number): number;
  /** Adds a message; `at` is in Unix milliseconds and never decreases. */
  add(text: string, at: number, weight: number): void;
  /** Sum of the weights of the messages in the day before an instant. */
  weightAt(at: number): number;
}

/**
 * Creates an empty collection of recent messages.
 *
 * @param dayMs Length of a market day in milliseconds.
 */
export function createRecentMessages(dayMs: number): RecentMessages {
  const windowMs = MESSAGE_WEIGHT_RULES.memoryDays * dayMs;
  const uses = new Map<string, number>();
  let recent: { readonly text: string; readonly at: number; readonly weight: number }[] = [];
  let forgotten = 0;

  const forgetBefore = (instant: number) => {
    for (let use = recent[forgotten]; use && use.at < instant; use = recent[++forgotten]) {
      const left = (uses.get(use.text) as number) - 1;
      if (left === 0) uses.delete(use.text);
      else uses.set(use.text, left);
    }
    if (forgotten > recent.length / 2) {
      recent = recent.slice(forgotten);
      forgotten = 0;
    }
  };
  return {
    countEarlier(text, at) {
      forgetBefore(at - windowMs);
      return uses.get(text) ?? 0;
    },
    add(text, at, weight) {
      uses.set(text, (uses.get(text) ?? 0) + 1);
      recent.push({ text, at, weight });
    },
    weightAt(at) {
      forgetBefore(at - windowMs);
      let sum = 0;
      for (let index = forgotten; index < recent.length; index++) sum += recent[index]?.weight ?? 0;
      return sum;
    },
  };
}

/** The times of each author's messages, over all instruments of a market. */
export interface AuthorActivity {
  /** Adds a message, in any order. A message about several instruments is counted once. */
  add(author: string, at: number): void;
  /**
   * Counts the messages of an author in the day before `at` (Unix milliseconds), excluding `at`.
   */
  countEarlier(author: string, at: number): number;
  /** Drops the times that are too old to affect any message after `at`. */
  forget(at: number): void;
}

/**
 * Number of messages between two cleanups; cleanups are rare because each one visits all authors.
 */
const FORGET_EVERY = 10_000;

/**
 * Creates an author activity that has no messages yet. Two messages of an author in the same
 * millisecond count as one.
 *
 * @param dayMs Length of a market day in milliseconds.
 */
export function createAuthorActivity(dayMs: number): AuthorActivity {
  const windowMs = MESSAGE_WEIGHT_RULES.memoryDays * dayMs;
  const times = new Map<string, number[]>();
  let added = 0;
  return {
    add(author, at) {
      added++;
      const known = times.get(author);
      if (known === undefined) {
        times.set(author, [at]);
        return;
      }
      const index = countBelow(known, at);
      if (known[index] !== at) known.splice(index, 0, at);
    },
    countEarlier(author, at) {
      const known = times.get(author) ?? [];
      return countBelow(known, at) - countBelow(known, at - windowMs);
    },
    forget(at) {
      if (added < FORGET_EVERY) return;
      added = 0;
      for (const [author, known] of times) {
        const kept = known.filter((time) => time >= at - windowMs);
        if (kept.length === 0) times.delete(author);
        else times.set(author, kept);
      }
    },
  };
}
