import type { Mention } from "../../market/records.ts";
import { ROLES } from "./cast.ts";
import { clamp, type Draw, eventCount, normal, whole } from "./draw.ts";
import { idPrefix, type Scene } from "./scene.ts";

/** A quiet instrument is talked about for 20 of 200 days. */
const QUIET_CYCLE_DAYS = 200;
const TALK_DAYS = 20;

/** People's mood about an instrument lasts this long. */
const MOOD_DAYS = 40;

/** Every so many days, one instrument is flooded with copies of one sentence. */
const SPAM_CYCLE_DAYS = 8;
const SPAM_COPIES = 24;
const SPAMMER = "sim-promoter";

const AUTHORS: readonly string[] = Array.from({ length: 400 }, (_, index) => `sim-${index}`);

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

/** Followers of an author, 10..50,000, always the same. */
function followersOf(author: number): number {
  return Math.floor(10 * 5000 ** ((author + 0.5) / AUTHORS.length));
}

/** Most messages name one instrument, some two or three. */
function symbolCountOf(draw: Draw): number {
  const luck = draw();
  if (luck < 0.8) return 1;
  return luck < 0.95 ? 2 : 3;
}

type Words = Pick<Mention, "text" | "stance">;

function wordsOf(draw: Draw, feeling: number, phrases: Scene["profile"]["phrases"]): Words {
  const mood = moodOf(feeling);
  const choices = phrases[mood] as readonly string[];
  const text = choices[whole(draw, choices.length)] as string;
  return { text, stance: draw() < STANCE_PROBABILITY ? (STANCES[mood] ?? null) : null };
}

function usualMentions(scene: Scene): readonly Mention[] {
  const { stage, profile, day } = scene;
  const draw = stage.draws("mentions", profile.index, day);
  const count = eventCount(draw, profile.messagesPerDay);
  const leaning = leaningOf(scene);
  const prefix = idPrefix(scene);
  const mentions: Mention[] = [];
  for (let position = 0; position < count; position++) {
    const before = mentions.at(-1);
    const repeats = before !== undefined && draw() < REPEAT_PROBABILITY;
    const { text, stance } = repeats
      ? before
      : wordsOf(draw, leaning + 0.7 * normal(draw), profile.phrases);
    const author = whole(draw, AUTHORS.length);
    const hidden = draw() < HIDDEN_AUTHOR_PROBABILITY;
    mentions.push({
      availableAt: Math.floor((day + (position + draw()) / count) * stage.dayMs),
      id: prefix + position,
      text,
      author: hidden ? null : (AUTHORS[author] as string),
      followers: hidden ? null : followersOf(author),
      symbolCount: symbolCountOf(draw),
      stance,
    });
  }
  return mentions;
}

/** Copies of one sentence within two hours' worth of a day, all by the same author. */
function spamMentions(scene: Scene): readonly Mention[] {
  const { stage, profile, day } = scene;
  const draw = stage.draws("spam", 0, Math.floor(day / SPAM_CYCLE_DAYS));
  const isHit =
    day % SPAM_CYCLE_DAYS === whole(draw, SPAM_CYCLE_DAYS) &&
    profile.index === whole(draw, ROLES.length);
  if (!isHit) return [];
  const text = (profile.phrases[0]?.[whole(draw, 16)] ?? "") as string;
  const start = day + 0.8 * draw();
  return Array.from({ length: SPAM_COPIES }, (_, copy) => ({
    availableAt: Math.floor((start + (0.08 * copy) / SPAM_COPIES) * stage.dayMs),
    id: `${idPrefix(scene)}s${copy}`,
    text,
    author: SPAMMER,
    followers: 10,
    symbolCount: 1,
    stance: "bullish" as const,
  }));
}

/** Public messages of a day, in order, each known when it is written. */
export function mentionsOf(scene: Scene): readonly Mention[] {
  if (isSilent(scene)) return [];
  const usual = usualMentions(scene);
  const spam = spamMentions(scene);
  if (spam.length === 0) return usual;
  return [...usual, ...spam].sort((one, other) => one.availableAt - other.availableAt);
}
