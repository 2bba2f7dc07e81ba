import { createHash } from "node:crypto";
import { DAY_MS } from "../../lib/day.ts";
import type { Mention } from "../../market/records.ts";
import { neutralizeText } from "../../outbound/neutral-text.ts";
import type { Observation, RejectedObservation } from "./provider.ts";

/** Maximum number of characters of a message that are stored; the rest is cut off. */
const MAX_CHARACTERS = 2_000;

/**
 * Maximum number of instruments in a message; a longer list of tickers says nothing about any of
 * them, and has no weight in the method.
 */
const MAX_SYMBOLS = 5;

/**
 * Maximum time by which a message may be dated after its arrival, in milliseconds, since clocks
 * differ.
 */
const MAX_AHEAD_MS = 5 * 60_000;

/**
 * Maximum age at which messages are requested, in milliseconds: older messages say nothing about
 * current sentiment.
 */
export const MESSAGE_HISTORY_MS = 2 * DAY_MS;

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};

const LAST_CODE_POINT = 0x10ffff;

/** A message of a provider, before it is assigned to instruments. */
interface Message extends Omit<Mention, "availableAt"> {
  /** When the message was written, Unix milliseconds. */
  readonly at: number;
}

/**
 * The observations of a message, one for each mentioned instrument, known when the message was
 * written. A message dated after its arrival is rejected, and a message that mentions too many
 * instruments is ignored.
 *
 * @param receivedAt Unix milliseconds.
 */
export function messageObservations(
  message: Message,
  symbols: readonly string[],
  receivedAt: number,
): { readonly data: readonly Observation[]; readonly rejected: readonly RejectedObservation[] } {
  if (message.symbolCount > MAX_SYMBOLS) return { data: [], rejected: [] };
  const { at, ...mention } = message;
  const place = { feed: "mentions" as const, at, id: message.id };
  if (at > receivedAt + MAX_AHEAD_MS) {
    const reason = `written at ${new Date(at).toISOString()}, after it came`;
    return { data: [], rejected: symbols.map((symbol) => ({ ...place, symbol, reason })) };
  }
  const record = { ...mention, availableAt: at };
  return { data: symbols.map((symbol) => ({ ...place, symbol, record })), rejected: [] };
}

/**
 * Text of a message as stored: truncated, and without characters that could mislead a reader or
 * break a display.
 */
export const messageText = (text: string): string =>
  // The cut may split a surrogate pair.
  neutralizeText(text.slice(0, MAX_CHARACTERS)).toWellFormed();

/** Decodes the HTML entities of a text, once: `&amp;lt;` becomes `&lt;`. */
export const decodeEntities = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,4}));/gi, (entity, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[String(name).toLowerCase()] ?? entity;
    const point = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return point <= LAST_CODE_POINT ? String.fromCodePoint(point) : entity;
  });

/** Pseudonym of an author or an item: the first 64 bits of the SHA-256 of provider and name. */
export const pseudonym = (provider: string, name: string): string =>
  createHash("sha256").update(`${provider}\n${name}`).digest("hex").slice(0, 16);
