import { DAY_MS } from "../../lib/day.ts";
import type { Mention } from "../../market/records.ts";
import type { RecordBook } from "./record-book.ts";

/**
 * Maximum number of messages per author and day that are kept when memory is full: the method
 * counts 50 messages per author and day, and a 51st shows that the author wrote more.
 */
export const MAX_MESSAGES_PER_AUTHOR_DAY = 51;

/** Share of the maximum number of messages to which eviction reduces memory. */
const ROOM = 0.8;

/**
 * Evicts messages when there are too many: first those without weight, then the oldest. Without
 * this order, the messages of one author could displace all others.
 *
 * @param most Maximum number of messages.
 */
export function evictSurplusMessages(books: readonly RecordBook[], most: number): void {
  const count = books.reduce((sum, book) => sum + book.messageCount(), 0);
  if (count <= most) return;
  const all = books
    .flatMap((book) => book.messages())
    .sort((one, other) => one.availableAt - other.availableAt);
  const surplus = surplusOf(all);
  const left = surplus.size === 0 ? all : all.filter((message) => !surplus.has(message));
  const oldest = left[left.length - Math.floor(ROOM * most)];
  for (const book of books) {
    book.dropMessages(surplus);
    if (oldest !== undefined) book.forgetMessages(oldest.availableAt);
  }
}

/**
 * Messages beyond the maximum number that is kept per author and day.
 *
 * @param messages Oldest first.
 */
function surplusOf(messages: readonly Mention[]): ReadonlySet<Mention> {
  const written = new Map<string, Set<string>>();
  const isSurplus = ({ author, availableAt, id }: Mention): boolean => {
    if (author === null) return false;
    const key = `${Math.floor(availableAt / DAY_MS)} ${author}`;
    const ids = written.get(key) ?? new Set();
    written.set(key, ids);
    // A message about several instruments is counted once.
    if (ids.size < MAX_MESSAGES_PER_AUTHOR_DAY) ids.add(id);
    return !ids.has(id);
  };
  return new Set(messages.filter(isSurplus));
}
