import type { RecordPacking } from "../../market/packed-list.ts";
import type { Mention } from "../../market/records.ts";
import { createIdPrefixes, type DayContext, type SandboxWorld } from "./day-context.ts";
import type { InstrumentProfile } from "./profile.ts";
import { clamp, eventCount, type Rng, standardNormal, uniformInteger } from "./rng.ts";
import { UNIVERSE } from "./universe.ts";

/** A quiet instrument has messages on 20 days out of every 200. */
const QUIET_CYCLE_DAYS = 200;
const TALK_DAYS = 20;

/** Number of days for which the mood about an instrument lasts. */
const MOOD_DAYS = 40;

/**
 * Length of the spam cycle in days. On one day of each cycle, one instrument receives copies of one
 * sentence as spam.
 */
const SPAM_CYCLE_DAYS = 8;
const SPAM_COPIES = 24;

/** Number of named authors. */
const NAMED = 400;

/** Number of followers of an author, 10 to 50,000; it never changes. */
const followersOf = (author: number): number => Math.floor(10 * 5000 ** ((author + 0.5) / NAMED));

/** The named authors, followed by the anonymous author and the spammer. */
const AUTHORS: readonly Pick<Mention, "author" | "followers">[] = [
  ...Array.from({ length: NAMED }, (_, index) => ({
    author: `sim-${index}`,
    followers: followersOf(index),
  })),
  { author: null, followers: null },
  { author: "sim-promoter", followers: 10 },
];
const HIDDEN = NAMED;
const SPAMMER = NAMED + 1;

/**
 * Lower sentiment bounds of the moods, from clearly bullish down; anything below the last bound is
 * clearly bearish.
 */
const MOOD_BOUNDS = [0.9, 0.3, -0.3, -0.9] as const;
const STANCES = ["bullish", "bullish", null, "bearish", "bearish"] as const;

const STANCE_PROBABILITY = 0.15;
const REPEAT_PROBABILITY = 0.05;
const HIDDEN_AUTHOR_PROBABILITY = 0.03;

function isSilent({ profile, day }: DayContext): boolean {
  const { messages, phase } = profile.traits;
  if (messages === "usual") return false;
  return (day + (phase * QUIET_CYCLE_DAYS) / 2) % QUIET_CYCLE_DAYS >= TALK_DAYS;
}

/** Mean sentiment of a day: the mood plus the return of the last five days. */
function leaningOf({ world, profile, day }: DayContext): number {
  const segment = world.segmentOf(day);
  const offset = day - segment.firstDay;
  const recent = segment.paths[profile.index]?.returns.subarray(
    Math.max(0, offset - 4),
    offset + 1,
  );
  const returned = recent?.reduce((sum, value) => sum + value, 0) ?? 0;
  const mood = standardNormal(world.rngFor("mood", profile.index, Math.floor(day / MOOD_DAYS)));
  return 0.15 + 0.4 * mood + clamp((0.25 * returned) / profile.volatility, [-1, 1]);
}

function moodOf(feeling: number): number {
  const mood = MOOD_BOUNDS.findIndex((bound) => feeling > bound);
  return mood < 0 ? MOOD_BOUNDS.length : mood;
}

/** Number of instruments that a message mentions: usually one, sometimes two or three. */
function symbolCountOf(rng: Rng): number {
  const luck = rng();
  if (luck < 0.8) return 1;
  return luck < 0.95 ? 2 : 3;
}

/** A message as packed in memory. */
interface PackedMention {
  /** Days since the Unix epoch, and milliseconds since the start of the day. */
  readonly day: number;
  readonly offsetMs: number;
  /**
   * `position`: index among the ordinary messages of the day, 0 for spam. `copy`: number of a spam
   * message among the copies of its sentence, from 1; 0 for an ordinary message.
   */
  readonly position: number;
  readonly copy: number;
  /** Indexes in `phrasesFor`: of the mood, and of the sentence within the mood. */
  readonly mood: number;
  readonly sentence: number;
  /** Whether the message has the bullish or bearish tag of its mood. */
  readonly isTagged: boolean;
  /** Index of the author in `AUTHORS`. */
  readonly author: number;
  readonly symbolCount: number;
}

function wordsOf(rng: Rng, feeling: number, phrases: InstrumentProfile["phrases"]) {
  const mood = moodOf(feeling);
  const sentence = uniformInteger(rng, (phrases[mood] as readonly string[]).length);
  return { mood, sentence, isTagged: rng() < STANCE_PROBABILITY };
}

/**
 * Converts an instant in days since the Unix epoch to milliseconds since the start of the context's
 * day.
 */
const offsetMs = ({ world: { dayMs }, day }: DayContext, instant: number): number =>
  Math.floor(instant * dayMs) - day * dayMs;

function usualMentions(context: DayContext): readonly PackedMention[] {
  const { world, profile, day } = context;
  const rng = world.rngFor("mentions", profile.index, day);
  const count = eventCount(rng, profile.messagesPerDay);
  const leaning = leaningOf(context);
  const mentions: PackedMention[] = [];
  for (let position = 0; position < count; position++) {
    const before = mentions.at(-1);
    const repeats = before !== undefined && rng() < REPEAT_PROBABILITY;
    const { mood, sentence, isTagged } = repeats
      ? before
      : wordsOf(rng, leaning + 0.7 * standardNormal(rng), profile.phrases);
    const named = uniformInteger(rng, NAMED);
    const author = rng() < HIDDEN_AUTHOR_PROBABILITY ? HIDDEN : named;
    mentions.push({
      day,
      position,
      copy: 0,
      mood,
      sentence,
      isTagged,
      author,
      offsetMs: offsetMs(context, day + (position + rng()) / count),
      symbolCount: symbolCountOf(rng),
    });
  }
  return mentions;
}

/**
 * Spam on a day: copies of one sentence by the same author, all sent within a span of 8 % of the
 * day. Empty on most days.
 */
function spamMentions(context: DayContext): readonly PackedMention[] {
  const { world, profile, day } = context;
  const rng = world.rngFor("spam", 0, Math.floor(day / SPAM_CYCLE_DAYS));
  const isHit =
    day % SPAM_CYCLE_DAYS === uniformInteger(rng, SPAM_CYCLE_DAYS) &&
    profile.index === uniformInteger(rng, UNIVERSE.length);
  if (!isHit) return [];
  const sentence = uniformInteger(rng, 16);
  const start = day + 0.8 * rng();
  return Array.from({ length: SPAM_COPIES }, (_, copy) => ({
    day,
    position: 0,
    copy: copy + 1,
    mood: 0,
    sentence,
    isTagged: true,
    offsetMs: offsetMs(context, start + (0.08 * copy) / SPAM_COPIES),
    author: SPAMMER,
    symbolCount: 1,
  }));
}

/** Public messages of a day in chronological order; each is known when it is written. */
export function mentionsOf(context: DayContext): readonly PackedMention[] {
  if (isSilent(context)) return [];
  const usual = usualMentions(context);
  const spam = spamMentions(context);
  if (spam.length === 0) return usual;
  return [...usual, ...spam].sort((one, other) => one.offsetMs - other.offsetMs);
}

function write(view: DataView, at: number, draft: PackedMention): void {
  view.setUint32(at, draft.day);
  view.setUint32(at + 4, draft.offsetMs);
  view.setUint16(at + 8, draft.author);
  view.setUint8(at + 10, draft.position);
  view.setUint8(at + 11, draft.copy);
  view.setUint8(at + 12, draft.mood);
  view.setUint8(at + 13, draft.sentence);
  view.setUint8(at + 14, Number(draft.isTagged));
  view.setUint8(at + 15, draft.symbolCount);
}

/** Binary layout of the messages about an instrument. */
export function mentionPacking(
  profile: InstrumentProfile,
  { dayMs }: Pick<SandboxWorld, "dayMs">,
): RecordPacking<PackedMention, Mention> {
  const prefixOf = createIdPrefixes(profile);
  return {
    bytes: 16,
    write,
    read(view, at) {
      const day = view.getUint32(at);
      const copy = view.getUint8(at + 11);
      const mood = view.getUint8(at + 12);
      const { author, followers } = AUTHORS[view.getUint16(at + 8)] as (typeof AUTHORS)[number];
      return {
        availableAt: day * dayMs + view.getUint32(at + 4),
        id: prefixOf(day) + (copy === 0 ? view.getUint8(at + 10) : `s${copy - 1}`),
        text: profile.phrases[mood]?.[view.getUint8(at + 13)] as string,
        author,
        followers,
        symbolCount: view.getUint8(at + 15),
        stance: view.getUint8(at + 14) === 1 ? (STANCES[mood] as Mention["stance"]) : null,
      };
    },
  };
}
