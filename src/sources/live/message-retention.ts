import type { Mention } from "../../market/records.ts";
import type { RecordBook } from "./record-book.ts";

const DAY_MS = 86_400_000;

/** Messages of an author and day that are kept when there are too many of all: the method counts
 *  nobody's beyond 50 a day, and one more tells that there were so many. */
export const MOST_OF_AN_AUTHOR = 51;

/** Of the bound, what is left after making room. */
const ROOM = 0.8;

/** Makes room when there are too many messages: first those go that weigh nothing, since one author
 *  could drive out everybody else's with them, then the oldest of all. */
export function boundMessages(books: readonly RecordBook[], most: number): void {
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

/** What authors wrote beyond what counts. @param messages Oldest first. */
function surplusOf(messages: readonly Mention[]): ReadonlySet<Mention> {
  const written = new Map<string, Set<string>>();
  const isSurplus = ({ author, availableAt, id }: Mention): boolean => {
    if (author === null) return false;
    const key = `${Math.floor(availableAt / DAY_MS)} ${author}`;
    const ids = written.get(key) ?? new Set();
    written.set(key, ids);
    // One on several instruments is one.
    if (ids.size < MOST_OF_AN_AUTHOR) ids.add(id);
    return !ids.has(id);
  };
  return new Set(messages.filter(isSurplus));
}
