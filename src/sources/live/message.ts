import { createHash } from "node:crypto";
import type { Mention } from "../../market/records.ts";
import { neutralText } from "../../outbound/neutral-text.ts";
import type { Observation, Rejected } from "./provider.ts";

/** Characters of a message that are kept; what counts stands at the beginning. */
const MAX_CHARACTERS = 2_000;

/** A message that names more instruments weighs nothing by the method: a list of tickers says nothing
 *  of any of them. */
const MAX_SYMBOLS = 5;

/** Times ahead of the receipt up to which clocks may differ, in milliseconds. */
const MAX_AHEAD_MS = 5 * 60_000;

/** Age up to which messages are asked for, in milliseconds: older ones tell nothing of the mood. */
export const MESSAGE_HISTORY_MS = 2 * 86_400_000;

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};

const LAST_CODE_POINT = 0x10ffff;

/** What all posts of a provider have in common. */
export interface Message extends Omit<Mention, "availableAt"> {
  /** When it was written, Unix milliseconds. */
  readonly at: number;
}

/** What a provider's messages bring. */
export interface MessageObservations {
  readonly data: readonly Observation[];
  readonly rejected: readonly Rejected[];
}

/**
 * A message under each instrument that it is about; known when it was written. One that was written
 * after it came is set apart: `at` would promise what nobody can know. One that names too many is
 * passed over.
 *
 * @param receivedAt Unix milliseconds.
 */
export function messageObservations(
  message: Message,
  symbols: readonly string[],
  receivedAt: number,
): MessageObservations {
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

/** A message's text as it is kept: bounded, without what could deceive or break a reader. */
export const messageText = (text: string): string =>
  // A cut may split a surrogate pair.
  neutralText(text.slice(0, MAX_CHARACTERS)).toWellFormed();

/** A text in which entities of HTML stand for characters, each read once: `&amp;lt;` is `&lt;`. */
export const decoded = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,4}));/gi, (entity, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[String(name).toLowerCase()] ?? entity;
    const point = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return point <= LAST_CODE_POINT ? String.fromCodePoint(point) : entity;
  });

/**
 * A key under which somebody or something is known here and nobody is named: the first 64 bits of
 * the SHA-256 of provider and name.
 */
export const pseudonym = (provider: string, name: string): string =>
  createHash("sha256").update(`${provider}\n${name}`).digest("hex").slice(0, 16);
