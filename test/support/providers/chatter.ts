import { drawnNumber } from "./drawn.ts";

/** A message about a symbol. */
export interface Chat {
  /** Unix milliseconds. */
  readonly at: number;
  /** Number of the author, from 1. */
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

/** A period, and the interval of its messages. */
interface Span {
  /** Unix milliseconds. */
  readonly from: number;
  /** Unix milliseconds, exclusive. */
  readonly until: number;
  /** Length of an interval with exactly one message, in milliseconds. */
  readonly everyMs: number;
}

/** Cache of generated messages. */
const drawnChats = new Map<string, Chat>();

/**
 * Messages about a symbol in a period, oldest first. Their instants are whole seconds and always
 * the same for a symbol.
 *
 * @param cashtag The symbol as the platform writes it, for example `$AAPL`.
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
