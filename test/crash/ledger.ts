import type { Attempt, Ending, Report, Seen, Standing } from "./reports.ts";

/** Results of comparing a store with its ledger. All values are counts. */
export interface Tally {
  /** Commits that the store acknowledged. */
  acknowledged: number;
  /** Refused commits, and refused reads before a commit. */
  refused: number;
  /** Refusals with a code other than `store_unavailable`. */
  strange: number;
  /** Keys whose value is not the last acknowledged one. */
  lost: number;
  /** Commits that are only partly in the store. */
  half: number;
  /** Keys whose value is from a refused write, or from a write whose condition failed. */
  refusedVisible: number;
  /**
   * Refused writes that may have been applied before the answer was lost; `refusedVisible` does not
   * count them.
   */
  uncertain: number;
  /**
   * Conditional commits with the wrong result: applied against the condition, not applied although
   * it was fulfilled, or applied for two writers.
   */
  wrong: number;
}

/** Follows the reports of writers and knows what their store must contain. */
export interface Ledger {
  readonly tally: Readonly<Tally>;
  /** Records a report of a writer. */
  note(report: Report): void;
  /**
   * Declares that no answer arrives any more from this instant on, in Unix milliseconds. A write
   * that began earlier and is refused may still have been applied.
   */
  silence(at: number): void;
  /**
   * Compares the ledger with the contents of the store while no process writes. A commit without an
   * ending may have been applied or not.
   */
  settle(contents: ReadonlyMap<string, Seen>): void;
}

/** Name of the place that holds the number of places whose names begin with `won/`. */
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
  /** Last acknowledged value by place. */
  readonly standing: Map<string, string>;
  /** Writes that were refused or whose condition failed, as `<place>=<seen>`. */
  readonly refused: Set<string>;
  /** Refused writes that may still have been applied. */
  readonly uncertain: Set<string>;
}

interface Account {
  readonly tally: Tally;
  readonly book: Book;
  /** Unfinished commits by lane. */
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

/**
 * Whether a place was already won: several lanes may compete for a `won/` place, but only one may
 * get it.
 */
function isTakenTwice([place]: Standing, { standing }: Book): boolean {
  return place.startsWith("won/") && standing.has(place);
}

function set([place, seen]: Standing, { standing }: Book): void {
  if (seen === null) standing.delete(place);
  else standing.set(place, seen);
}

/**
 * Finds out from the contents whether an unfinished commit was applied, and records its effects.
 */
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

/** Counts a difference only once, by recording the found value as the expected one. */
function compare([place, seen]: Standing, { book, tally }: Account): void {
  if ((book.standing.get(place) ?? null) === seen) return;
  if (book.refused.has(`${place}=${seen}`)) tally.refusedVisible++;
  else if (book.uncertain.has(`${place}=${seen}`)) tally.uncertain++;
  else tally.lost++;
  set([place, seen], book);
}
