import type { Attempt, Ending, Report, Seen, Standing } from "./reports.ts";

/** What a store owes, and how often it did not pay. All counts. */
export interface Tally {
  /** Attempts that held. */
  acknowledged: number;
  /** Attempts that failed, and reads before an attempt. */
  refused: number;
  /** Refusals that were no `store_unavailable`. */
  strange: number;
  /** Keys whose value is not the last acknowledged one. */
  lost: number;
  /** Commits of which one part is there and another is not. */
  half: number;
  /** Keys that have a refused value, or one whose condition failed. */
  refusedVisible: number;
  /** Refused writes that may have been applied before the answer was lost; not in `refusedVisible`. */
  uncertain: number;
  /** Commits that did not hold though they had to, or the other way round, or held twice. */
  wrong: number;
}

/** Follows the reports of writers and knows what must be in their store. */
export interface Ledger {
  readonly tally: Readonly<Tally>;
  /** Records a report of a writer. */
  note(report: Report): void;
  /** From this instant, in milliseconds since the epoch, no answer comes through: what was begun
   *  before may be done although it is refused, and nobody can know. */
  silence(at: number): void;
  /** Compares with what is in the store while nobody writes; an attempt without an ending may
   *  have happened or not. */
  settle(contents: ReadonlyMap<string, Seen>): void;
}

/** Place that counts the places that begin with `won/`. */
export const COUNTER = "counter";

/** Creates the ledger of an empty store. */
export function createLedger(): Ledger {
  const account: Account = {
    tally: emptyTally(),
    book: { standing: new Map(), refused: new Set(), uncertain: new Set() },
    underWay: new Map(),
    silentSince: Number.NEGATIVE_INFINITY,
  };
  return {
    tally: account.tally,
    note(report) {
      if (report.is === "try") begin(report, account);
      else if ("lane" in report) end(report, account);
    },
    silence(at) {
      account.silentSince = at;
    },
    settle(contents) {
      for (const { effects } of account.underWay.values()) resolve(effects, contents, account);
      account.underWay.clear();
      compareAll(contents, account);
    },
  };
}

interface Book {
  /** Last acknowledged value, by key. */
  readonly standing: Map<string, string>;
  /** Writes that were refused or did not hold, as `<place>=<seen>`. */
  readonly refused: Set<string>;
  /** Refused writes that may still have been applied. */
  readonly uncertain: Set<string>;
}

interface Account {
  readonly tally: Tally;
  readonly book: Book;
  /** Attempts without an ending, by lane. */
  readonly underWay: Map<string, Attempt>;
  silentSince: number;
}

function emptyTally(): Tally {
  const lost = { lost: 0, half: 0, refusedVisible: 0, uncertain: 0, wrong: 0 };
  return { acknowledged: 0, refused: 0, strange: 0, ...lost };
}

function begin(attempt: Attempt, account: Account): void {
  account.underWay.set(attempt.lane, attempt);
  for (const standing of attempt.found) compare(standing, account);
}

function end(ending: Ending, account: Account): void {
  if (ending.is === "refused" || ending.is === "unread") countRefusal(ending, account);
  const attempt = account.underWay.get(ending.lane);
  if (ending.is === "unread" || attempt === undefined) return;

  account.underWay.delete(ending.lane);
  if (ending.is === "held") accept(attempt, account);
  else if (ending.is === "refused" && attempt.at < account.silentSince) doubt(attempt, account);
  else reject(attempt, account);
  if (ending.is === "not held" && attempt.expects === "held") account.tally.wrong++;
}

function countRefusal({ code }: Ending, { tally }: Account): void {
  tally.refused++;
  if (code !== "store_unavailable") tally.strange++;
}

function accept({ effects, expects }: Attempt, { tally, book }: Account): void {
  tally.acknowledged++;
  const isTaken = effects.some((effect) => isTakenTwice(effect, book));
  if (isTaken || expects === "not held") tally.wrong++;
  for (const effect of effects) set(effect, book);
}

function reject({ effects }: Attempt, { book }: Account): void {
  for (const [place, seen] of effects) book.refused.add(`${place}=${seen}`);
}

function doubt({ effects }: Attempt, { book }: Account): void {
  for (const [place, seen] of effects) book.uncertain.add(`${place}=${seen}`);
}

/** Several lanes may compete for a key that begins with `won/`, and one gets it, once. */
function isTakenTwice([place]: Standing, { standing }: Book): boolean {
  return place.startsWith("won/") && standing.has(place);
}

function set([place, seen]: Standing, { standing }: Book): void {
  if (seen === null) standing.delete(place);
  else standing.set(place, seen);
}

/** Finds out whether an attempt without an ending happened. */
function resolve(
  effects: readonly Standing[],
  contents: ReadonlyMap<string, Seen>,
  { book, tally }: Account,
): void {
  const changes = effects.filter(([place, seen]) => (book.standing.get(place) ?? null) !== seen);
  const done = changes.filter(([place, seen]) => (contents.get(place) ?? null) === seen);
  if (done.length > 0 && done.length < changes.length) tally.half++;
  for (const effect of done) set(effect, book);
}

function compareAll(contents: ReadonlyMap<string, Seen>, account: Account): void {
  const { tally, book } = account;
  const won = [...contents.keys()].filter((place) => place.startsWith("won/"));
  if (String(won.length) !== (contents.get(COUNTER) ?? "0")) tally.half++;

  for (const place of new Set([...book.standing.keys(), ...contents.keys()])) {
    if (place !== COUNTER) compare([place, contents.get(place) ?? null], account);
  }
}

/** Counts a difference once: from then on, what is there counts as what was acknowledged. */
function compare([place, seen]: Standing, { book, tally }: Account): void {
  if ((book.standing.get(place) ?? null) === seen) return;
  if (book.refused.has(`${place}=${seen}`)) tally.refusedVisible++;
  else if (book.uncertain.has(`${place}=${seen}`)) tally.uncertain++;
  else tally.lost++;
  set([place, seen], book);
}
