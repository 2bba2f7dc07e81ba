import type { Packing } from "../../market/packed-list.ts";
import type { Mention } from "../../market/records.ts";
import { idPrefixes, type Scene, type Stage } from "./day-context.ts";
import type { Profile } from "./profile.ts";
import { clamp, type Draw, eventCount, normal, whole } from "./rng.ts";
import { ROLES } from "./universe.ts";

/** A quiet instrument is talked about for 20 of 200 days. */
const QUIET_CYCLE_DAYS = 200;
const TALK_DAYS = 20;

/** People's mood about an instrument lasts this long. */
const MOOD_DAYS = 40;

/** Every so many days, one instrument is flooded with copies of one sentence. */
const SPAM_CYCLE_DAYS = 8;
const SPAM_COPIES = 24;

/** Authors that have a name. */
const NAMED = 400;

/** Followers of an author, 10..50,000, always the same. */
const followersOf = (author: number): number => Math.floor(10 * 5000 ** ((author + 0.5) / NAMED));

/** Everybody who writes, then who hides, then who floods. */
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

/** Lower bounds of the moods from clearly bullish on; whatever is lower is clearly bearish. */
const MOOD_BOUNDS = [0.9, 0.3, -0.3, -0.9] as const;
const STANCES = ["bullish", "bullish", null, "bearish", "bearish"] as const;

const STANCE_PROBABILITY = 0.15;
const REPEAT_PROBABILITY = 0.05;
const HIDDEN_AUTHOR_PROBABILITY = 0.03;

function isSilent({ profile, day }: Scene): boolean {
  const { messages, phase } = profile.traits;
  if (messages === "usual") return false;
  return (day + (phase * QUIET_CYCLE_DAYS) / 2) % QUIET_CYCLE_DAYS >= TALK_DAYS;
}

/** What most people feel on a day: their mood, and the last five days' return. */
function leaningOf({ stage, profile, day }: Scene): number {
  const era = stage.eraOf(day);
  const offset = day - era.firstDay;
  const recent = era.paths[profile.index]?.returns.subarray(Math.max(0, offset - 4), offset + 1);
  const returned = recent?.reduce((sum, value) => sum + value, 0) ?? 0;
  const mood = normal(stage.draws("mood", profile.index, Math.floor(day / MOOD_DAYS)));
  return 0.15 + 0.4 * mood + clamp((0.25 * returned) / profile.volatility, [-1, 1]);
}

function moodOf(feeling: number): number {
  const mood = MOOD_BOUNDS.findIndex((bound) => feeling > bound);
  return mood < 0 ? MOOD_BOUNDS.length : mood;
}

/** Most messages name one instrument, some two or three. */
function symbolCountOf(draw: Draw): number {
  const luck = draw();
  if (luck < 0.8) return 1;
  return luck < 0.95 ? 2 : 3;
}

/** What a message is made from. */
interface Draft {
  /** Days since the Unix epoch, and milliseconds since the start of the day. */
  readonly day: number;
  readonly offsetMs: number;
  /** Number among the usual messages of the day or, from 1 on, among the copies of a sentence. */
  readonly position: number;
  readonly copy: number;
  /** Which sentence: see `phrasesFor`. */
  readonly mood: number;
  readonly sentence: number;
  /** Whether it carries the tag of its mood. */
  readonly isTagged: boolean;
  /** Place in `AUTHORS`. */
  readonly author: number;
  readonly symbolCount: number;
}

type Words = Pick<Draft, "mood" | "sentence" | "isTagged">;

function wordsOf(draw: Draw, feeling: number, phrases: Profile["phrases"]): Words {
  const mood = moodOf(feeling);
  const sentence = whole(draw, (phrases[mood] as readonly string[]).length);
  return { mood, sentence, isTagged: draw() < STANCE_PROBABILITY };
}

/** Milliseconds since the start of a day of an instant in days. */
const offsetMs = ({ stage: { dayMs }, day }: Scene, instant: number): number =>
  Math.floor(instant * dayMs) - day * dayMs;

function usualMentions(scene: Scene): readonly Draft[] {
  const { stage, profile, day } = scene;
  const draw = stage.draws("mentions", profile.index, day);
  const count = eventCount(draw, profile.messagesPerDay);
  const leaning = leaningOf(scene);
  const mentions: Draft[] = [];
  for (let position = 0; position < count; position++) {
    const before = mentions.at(-1);
    const repeats = before !== undefined && draw() < REPEAT_PROBABILITY;
    const { mood, sentence, isTagged } = repeats
      ? before
      : wordsOf(draw, leaning + 0.7 * normal(draw), profile.phrases);
    const named = whole(draw, NAMED);
    const author = draw() < HIDDEN_AUTHOR_PROBABILITY ? HIDDEN : named;
    mentions.push({
      ...{ day, position, copy: 0, mood, sentence, isTagged, author },
      offsetMs: offsetMs(scene, day + (position + draw()) / count),
      symbolCount: symbolCountOf(draw),
    });
  }
  return mentions;
}

/** Copies of one sentence within two hours' worth of a day, all by the same author. */
function spamMentions(scene: Scene): readonly Draft[] {
  const { stage, profile, day } = scene;
  const draw = stage.draws("spam", 0, Math.floor(day / SPAM_CYCLE_DAYS));
  const isHit =
    day % SPAM_CYCLE_DAYS === whole(draw, SPAM_CYCLE_DAYS) &&
    profile.index === whole(draw, ROLES.length);
  if (!isHit) return [];
  const sentence = whole(draw, 16);
  const start = day + 0.8 * draw();
  return Array.from({ length: SPAM_COPIES }, (_, copy) => ({
    ...{ day, position: 0, copy: copy + 1, mood: 0, sentence, isTagged: true },
    offsetMs: offsetMs(scene, start + (0.08 * copy) / SPAM_COPIES),
    author: SPAMMER,
    symbolCount: 1,
  }));
}

/** Public messages of a day, in order, each known when it is written. */
export function mentionsOf(scene: Scene): readonly Draft[] {
  if (isSilent(scene)) return [];
  const usual = usualMentions(scene);
  const spam = spamMentions(scene);
  if (spam.length === 0) return usual;
  return [...usual, ...spam].sort((one, other) => one.offsetMs - other.offsetMs);
}

function write(view: DataView, at: number, draft: Draft): void {
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

/** How the messages about an instrument are kept. */
export function packedMentions(
  profile: Profile,
  { dayMs }: Pick<Stage, "dayMs">,
): Packing<Draft, Mention> {
  const prefixOf = idPrefixes(profile);
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
