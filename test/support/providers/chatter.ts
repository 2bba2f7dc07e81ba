import { drawnNumber } from "./drawn.ts";

/** One message that somebody wrote about a symbol. */
export interface Chat {
  /** Unix milliseconds. */
  readonly at: number;
  /** Number of its author, from 1. */
  readonly author: number;
  readonly text: string;
  readonly stance: "Bullish" | "Bearish" | null;
}

const AUTHORS = 400;

const OPINIONS = [
  ["breaking out, adding here", "Bullish"],
  ["strong quarter, guidance raised", "Bullish"],
  ["margins shrink, I sold all of it", "Bearish"],
  ["weak demand, this goes lower", "Bearish"],
  ["what time is the call?", null],
] as const;

/** A stretch of time. */
interface Span {
  /** Unix milliseconds. */
  readonly from: number;
  /** Unix milliseconds, not included. */
  readonly until: number;
  /** Interval with one message, in milliseconds. */
  readonly everyMs: number;
}

/** Messages that were drawn already. */
const drawnChats = new Map<string, Chat>();

/**
 * What is said about a symbol in a span, oldest first, at instants in whole seconds that belong to
 * the symbol.
 *
 * @param cashtag As the place writes the symbol, for example `$AAPL`.
 */
export function chatter(cashtag: string, { from, until, everyMs }: Span): readonly Chat[] {
  const first = Math.floor(from / everyMs);
  const count = Math.max(0, Math.ceil(until / everyMs) - first);
  return Array.from({ length: count }, (_, index) => chat(cashtag, first + index, everyMs)).filter(
    ({ at }) => at >= from && at < until,
  );
}

function chat(cashtag: string, stretch: number, everyMs: number): Chat {
  const key = [cashtag, stretch, everyMs].join(" ");
  const before = drawnChats.get(key);
  if (before !== undefined) return before;
  const draw = (what: string) => drawnNumber(what, key);
  const [words, stance] = OPINIONS[Math.floor(draw("opinion") * OPINIONS.length)] ?? OPINIONS[0];
  const at = (stretch + draw("instant")) * everyMs;
  const made = {
    at: Math.floor(at / 1_000) * 1_000,
    author: 1 + Math.floor(draw("author") * AUTHORS),
    text: `${cashtag} ${words} ${stretch}`,
    stance,
  };
  drawnChats.set(key, made);
  return made;
}
