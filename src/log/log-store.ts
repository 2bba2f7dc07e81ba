import { setImmediate } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { GradedRun } from "../grading/track-record.ts";
import { AssetClass } from "../market/instrument.ts";
import type { Archive, ArchiveRow } from "../store/port/archive.ts";
import { collection, type Records, type Stored } from "../store/port/records.ts";
import { type Change, transact, transactOnce } from "../store/transact.ts";
import { TILE_WIDTH, type Tile, type TileNodes } from "../tree/tiles.ts";
import { appendLeaves, readStoredTile, treeSizeOf } from "../tree/tree-store.ts";
import type { Leaf } from "./leaves.ts";
import { type LogState, logStates, type UnfinishedRun } from "./log-state.ts";

/**
 * Topic of the announcement that a checkpoint was signed or published, or that signing was refused
 * or allowed again.
 */
const LOG_TOPIC = "log";

/**
 * Kinds of the archive rows. In rows of runs and of their first grades, `at` is the close of the
 * run; in all other rows, it is not an instant but the index of a log entry.
 */
const ENTRIES = "log-entries";
const RUN = "log-run";
const GRADE = "log-grade";
const CORRECTION = "log-correction";
const UNIVERSE = "log-universe";

/** Maximum number of entries in a row; reading one entry reads the whole row, 35 kB. */
const ROW_ENTRIES = 64;

/** Maximum number of universes in memory. */
const KEPT_UNIVERSES = 100;

/** Maximum number of grades per read. */
const GRADES_PER_READ = 1_000;

/** An instant later than every session, in Unix milliseconds. */
const LAST_INSTANT = Date.UTC(9999, 0);

/**
 * A run with the instruments of its results: the result of `symbols[n]` has the index
 * `index + 1 + n`.
 */
export interface LoggedRun extends UnfinishedRun {
  /** Index of the first leaf of the universe. */
  readonly universe: number;
  readonly symbols: readonly string[];
}

/**
 * A stored checkpoint: the last signed one, or the last one that a quorum of witnesses has
 * cosigned.
 */
export interface StoredCheckpoint {
  /** Random id of the log. */
  readonly id: string;
  readonly origin: string;
  readonly size: number;
  /** Root hash in base64. */
  readonly root: string;
  /** The signed note. */
  readonly note: string;
  /** When the checkpoint was signed, Unix milliseconds. */
  readonly signedAt: number;
}

const checkpoints = collection<StoredCheckpoint>("log-checkpoint");

/**
 * Key of the log's state, of its last signed checkpoint, and of its refusal; each is in a
 * collection of its own.
 */
const KEY = "log";

/** Key of the last checkpoint that a quorum of witnesses has cosigned. */
const WITNESSED = "witnessed";

/** Why the leader does not sign the log; `null` if it may sign. */
const refusals = collection<{ readonly reason: string | null }>("log-refusal");

/** Another process has written to the log since its state was read, so nothing was written. */
export class LogMovedOn extends Error {
  constructor() {
    super("another process has written to the log");
  }
}

/** Data appended in one commit. */
export interface LogAppend {
  readonly leaves: readonly Leaf[];
  /** Members of the state that change. */
  readonly change: Partial<LogState>;
  /** The run that begins with this commit. */
  readonly run?: LoggedRun;
  /** The grade of the settlement that ends with this commit. */
  readonly grade?: LoggedGrade;
}

/** The grade of a run over one horizon. */
export interface LoggedGrade {
  readonly assetClass: AssetClass;
  /** Horizon in sessions. */
  readonly horizon: number;
  /** Index of the entry after the last outcome of the settlement. */
  readonly end: number;
  /** Hash of the method of the run; earlier versions did not record it. */
  readonly methodHash?: string;
  readonly graded: GradedRun;
  /** Whether the settlement corrects an earlier settlement. */
  readonly isCorrection?: boolean;
}

/** Stores the log: its rows in the archive and its state in the records. */
export class LogStore {
  readonly #records: Records;
  readonly #archive: Archive;
  /** Symbols by log id and index of the universe leaf; many runs share a universe. */
  readonly #universes = new LRUCache<string, readonly string[]>({ max: KEPT_UNIVERSES });
  readonly #isWitnessed: boolean;

  /**
   * @param isWitnessed Whether a checkpoint is published only after a quorum of witnesses has
   * cosigned it.
   */
  constructor(
    { records, archive }: { readonly records: Records; readonly archive: Archive },
    isWitnessed = false,
  ) {
    this.#records = records;
    this.#archive = archive;
    this.#isWitnessed = isWitnessed;
  }

  state(): Promise<Stored<LogState> | undefined> {
    return this.#records.get(logStates, KEY);
  }

  /** The last signed checkpoint. */
  async checkpoint(): Promise<StoredCheckpoint | undefined> {
    return (await this.#records.get(checkpoints, KEY))?.value;
  }

  /** The last published checkpoint: if there are witnesses, the last that a quorum has cosigned. */
  published(): Promise<StoredCheckpoint | undefined> {
    return this.#isWitnessed ? this.cosigned() : this.checkpoint();
  }

  /**
   * The last checkpoint of this log that a quorum of witnesses has cosigned; `undefined` if there
   * is none, or if there are no witnesses.
   */
  async cosigned(): Promise<StoredCheckpoint | undefined> {
    if (!this.#isWitnessed) return undefined;
    const signed = await this.checkpoint();
    const witnessed = (await this.#records.get(checkpoints, WITNESSED))?.value;
    return witnessed?.id === signed?.id ? witnessed : undefined;
  }

  /**
   * Publishes a checkpoint with its cosignatures, unless a later checkpoint of the same log is
   * already published.
   */
  async publish(witnessed: StoredCheckpoint): Promise<void> {
    await transact(this.#records, async (tx) => {
      const stored = await tx.get(checkpoints, WITNESSED);
      const { id, size = 0 } = stored?.value ?? {};
      if (id === witnessed.id && size > witnessed.size) return;
      tx.put(checkpoints, { key: WITNESSED, value: witnessed });
      tx.announce(LOG_TOPIC);
    });
  }

  /**
   * Why the leader, which may be another process, does not sign the log; `undefined` if it may
   * sign.
   */
  async refusal(): Promise<string | undefined> {
    return (await this.#records.get(refusals, KEY))?.value.reason ?? undefined;
  }

  /** Announces to every process why the log is not signed, or that it may be signed again. */
  async announceRefusal(reason: string | undefined): Promise<void> {
    if ((await this.refusal()) === reason) return;
    const value = { reason: reason ?? null };
    await transact(this.#records, (tx) => {
      tx.put(refusals, { key: KEY, value });
      tx.announce(LOG_TOPIC);
    });
  }

  /**
   * Subscribes to three changes in every process: a checkpoint was signed, a checkpoint was
   * published, or signing was refused or allowed again.
   *
   * @returns A function that unsubscribes.
   */
  onSigned(listener: () => void): () => void {
    return this.#records.onAnnounce(LOG_TOPIC, listener);
  }

  /**
   * Starts a log in place of the previous log.
   *
   * @param before State of the previous log as read; `undefined` if there was none.
   * @returns Whether it was started; `false` if another process was first.
   */
  start(before: Stored<LogState> | undefined, state: LogState): Promise<boolean> {
    return transactOnce(this.#records, (tx) =>
      before
        ? tx.update(logStates, before, { value: state })
        : tx.insert(logStates, { key: KEY, value: state }),
    );
  }

  /**
   * Appends leaves in one commit, with the tiles that they complete and the edge of the tree.
   *
   * @returns The new state.
   * @throws {LogMovedOn} If another process has written to the log since its state was read, or has
   * appended before the new state could be read.
   */
  async append(
    before: Stored<LogState>,
    { leaves, change, run, grade }: LogAppend,
  ): Promise<Stored<LogState>> {
    const { id } = before.value;
    const { tree, edge, tileRows } = appendLeaves(before.value, leaves);
    const first = tree.size - leaves.length;
    const value = { ...before.value, ...change, edge };
    const isNew = run !== undefined && run.universe >= first;
    await this.#commit((tx) => {
      tx.update(logStates, before, { value });
      for (const row of [...entryRows(id, first, leaves), ...tileRows]) tx.append(row);
      if (isNew) tx.append(universeRow(id, run));
      if (run !== undefined) tx.append(runRow(id, run));
      if (grade !== undefined) tx.append(gradeRow(id, grade));
    });
    const after = await this.state();
    if (after?.value.id !== id || treeSizeOf(after.value) !== tree.size) throw new LogMovedOn();
    return after;
  }

  /**
   * Stores a signed checkpoint, and notifies every process.
   *
   * @throws {LogMovedOn} If another process has written to the log since its state was read.
   */
  setCheckpoint(
    of: Stored<LogState>,
    signed: StoredCheckpoint,
    change: Partial<LogState> = {},
  ): Promise<void> {
    return this.#commit((tx) => {
      tx.update(logStates, of, { value: { ...of.value, ...change } });
      tx.put(checkpoints, { key: KEY, value: signed });
      tx.announce(LOG_TOPIC);
    });
  }

  /** Commits a change of the log that rests on a state as it was read. */
  async #commit(change: Change): Promise<void> {
    if (!(await transactOnce(this.#records, change))) throw new LogMovedOn();
  }

  /** A tile of the log; it has fewer hashes than requested where the log is shorter. */
  tile(id: string, tile: Tile): Promise<TileNodes> {
    return readStoredTile(this.#archive, { id, ...tile }, async () => {
      const state = (await this.state())?.value;
      return state?.id === id ? state : undefined;
    });
  }

  /** The entry at an index; `undefined` where the log is shorter or pruned. */
  async entry(id: string, index: number): Promise<Leaf | undefined> {
    const from = index - (index % TILE_WIDTH);
    const range = { subject: id, order: "newest", from, to: index, limit: 1 } as const;
    const [row] = await this.#archive.read(ENTRIES, range);
    return row && (row.body as Leaf[])[index - row.at];
  }

  /** Index of the last method leaf before an index; `undefined` where it is pruned. */
  async methodBefore(id: string, index: number): Promise<number | undefined> {
    for (let end = index; end > 0; ) {
      const start = end - 1 - ((end - 1) % TILE_WIDTH);
      const leaves = await this.entries(id, start, end - start);
      // A string value cannot match, because quotation marks in strings are escaped.
      const place = leaves.findLastIndex((leaf) => leaf.includes(',"kind":"method",'));
      if (place >= 0) return start + place;
      if (leaves.length === 0) return undefined;
      end = start;
      await setImmediate();
    }
    return undefined;
  }

  /**
   * Hash of the method of the run whose session closed at an instant (Unix milliseconds), as the
   * run states it; empty where the run is pruned.
   */
  async methodHashAt(id: string, assetClass: AssetClass, close: number): Promise<string> {
    const run = await this.runAt(id, assetClass, close);
    const leaf = run?.close === close ? await this.entry(id, run.index) : undefined;
    return leaf === undefined ? "" : String(JSON.parse(leaf).methodHash);
  }

  /**
   * Entries [start, start + count), within one bundle; fewer where the log is shorter or pruned.
   */
  async entries(id: string, start: number, count: number): Promise<readonly Leaf[]> {
    const first = start - (start % TILE_WIDTH);
    const to = start + count - 1;
    const rows = await this.#read(ENTRIES, id, { from: first, to, limit: TILE_WIDTH });
    if (rows[0]?.at !== first) return [];
    return rows.flatMap(({ body }) => body as Leaf[]).slice(start - first, start - first + count);
  }

  /**
   * The grades that a reader lacks of those that the first `size` entries contain: first those of
   * runs that it has not read, oldest first, then those that take the place of earlier ones.
   *
   * @param read What the reader has: the close of the last graded run (Unix milliseconds) and the
   * number of entries that it had read.
   */
  async grades(
    id: string,
    of: Pick<LoggedGrade, "assetClass" | "horizon">,
    read: { readonly close: number; readonly size: number },
    size: number,
  ): Promise<readonly LoggedGrade[]> {
    const subject = gradesOf(id, of);
    return [
      ...(await this.#grades(GRADE, subject, read.close + 1, size)),
      ...(await this.#grades(CORRECTION, subject, read.size + 1, size)),
    ];
  }

  /** The grades in rows from `start` on, as far as the first `size` entries contain them. */
  async #grades(kind: string, subject: string, start: number, size: number) {
    const found: LoggedGrade[] = [];
    for (let from = start; ; ) {
      const range = { from, to: Number.MAX_SAFE_INTEGER, limit: GRADES_PER_READ };
      const rows = await this.#read(kind, subject, range);
      const covered = rows.map(({ body }) => body as LoggedGrade).filter(({ end }) => end <= size);
      found.push(...covered);
      const last = rows.at(-1);
      if (last === undefined || covered.length < GRADES_PER_READ) return found;
      from = last.at + 1;
    }
  }

  /** The newest run of a class whose session closed at or before an instant, Unix milliseconds. */
  async runAt(id: string, assetClass: AssetClass, close: number): Promise<LoggedRun | undefined> {
    const [run] = await this.runs(id, assetClass, { to: close, limit: 1 });
    return run;
  }

  /** The newest runs of a class, latest close first. */
  async runs(
    id: string,
    assetClass: AssetClass,
    range: { readonly from?: number; readonly to?: number; readonly limit: number },
  ): Promise<readonly LoggedRun[]> {
    const rows = await this.#archive.read(RUN, {
      subject: `${id}/${assetClass}`,
      order: "newest",
      ...range,
    });
    const runs: LoggedRun[] = [];
    for (const row of rows) runs.push(await this.#runOf(id, assetClass, row));
    return runs;
  }

  /** The oldest stored run of a class. */
  async firstRun(id: string, assetClass: AssetClass): Promise<LoggedRun | undefined> {
    const all = { from: 0, to: LAST_INSTANT, limit: 1 };
    const [row] = await this.#read(RUN, `${id}/${assetClass}`, all);
    return row && this.#runOf(id, assetClass, row);
  }

  async #runOf(
    id: string,
    assetClass: AssetClass,
    { at, body }: { readonly at: number; readonly body: unknown },
  ): Promise<LoggedRun> {
    const { index, universe } = body as RunBody;
    return { index, universe, symbols: await this.#symbolsOf(id, universe), assetClass, close: at };
  }

  async #symbolsOf(id: string, universe: number): Promise<readonly string[]> {
    const key = `${id} ${universe}`;
    const known = this.#universes.get(key);
    if (known !== undefined) return known;
    const [row] = await this.#read(UNIVERSE, id, { from: universe, to: universe, limit: 1 });
    const symbols = (row?.body ?? []) as readonly string[];
    this.#universes.set(key, symbols);
    return symbols;
  }

  /**
   * Leaf index of the oldest run whose session closed at or after an instant, Unix milliseconds.
   */
  async firstRunFrom(id: string, close: number): Promise<number | undefined> {
    const found = await Promise.all(
      AssetClass.options.map((assetClass) =>
        this.#read(RUN, `${id}/${assetClass}`, { from: close, to: LAST_INSTANT, limit: 1 }),
      ),
    );
    const indexes = found.flat().map(({ body }) => (body as RunBody).index);
    return indexes.length === 0 ? undefined : Math.min(...indexes);
  }

  /**
   * Deletes full bundles of entries before an index, and deletes the runs of sessions that closed
   * before an instant, with the grades of these runs.
   */
  async prune(index: number, close: number): Promise<void> {
    await this.#archive.prune(ENTRIES, index - (index % TILE_WIDTH));
    await this.#archive.prune(CORRECTION, index);
    await this.#archive.prune(RUN, close);
    await this.#archive.prune(GRADE, close);
  }

  #read(kind: string, subject: string, range: { from: number; to: number; limit: number }) {
    return this.#archive.read(kind, { subject, order: "oldest", ...range });
  }
}

/** Body of the archive row of a run. */
type RunBody = Pick<LoggedRun, "index" | "universe">;

const universeRow = (id: string, { universe, symbols }: LoggedRun): ArchiveRow => ({
  kind: UNIVERSE,
  at: universe,
  id,
  subject: id,
  body: symbols,
});

const runRow = (id: string, { assetClass, close, index, universe }: LoggedRun): ArchiveRow => ({
  kind: RUN,
  at: close,
  id: `${id}/${assetClass}`,
  subject: `${id}/${assetClass}`,
  body: { index, universe } satisfies RunBody,
});

const gradesOf = (
  id: string,
  { assetClass, horizon }: Pick<LoggedGrade, "assetClass" | "horizon">,
) => `${id}/${assetClass}/${horizon}`;

const gradeRow = (id: string, grade: LoggedGrade): ArchiveRow => ({
  kind: grade.isCorrection ? CORRECTION : GRADE,
  at: grade.isCorrection ? grade.end : grade.graded.close,
  id: gradesOf(id, grade),
  subject: gradesOf(id, grade),
  body: grade,
});

/** Splits consecutive leaves into rows; no row crosses the border of a bundle. */
function entryRows(id: string, first: number, leaves: readonly Leaf[]): readonly ArchiveRow[] {
  const rows: ArchiveRow[] = [];
  for (let start = 0; start < leaves.length; ) {
    const at = first + start;
    const body = leaves.slice(start, start + ROW_ENTRIES - (at % ROW_ENTRIES));
    rows.push({ kind: ENTRIES, at, id, subject: id, body });
    start += body.length;
  }
  return rows;
}
