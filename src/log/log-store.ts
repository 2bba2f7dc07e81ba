import { setImmediate } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { GradedRun } from "../grading/track-record.ts";
import { AssetClass } from "../market/instrument.ts";
import type { Archive, ArchiveRow } from "../store/port/archive.ts";
import { announce, append, insert, put, replace, update } from "../store/port/operations.ts";
import { collection, type Records, type Stored } from "../store/port/records.ts";
import type { Leaf } from "./leaves.ts";
import { type LogState, type OpenRun, states, withMethods } from "./log-state.ts";
import { TILE_WIDTH, type Tile, type TileNodes } from "./tiles.ts";
import { appendLeaves, storedTile } from "./tree-store.ts";

/** Topic announced when a checkpoint was signed. */
const LOG_TOPIC = "log";

/** Kinds of the archive rows. Their instant is an index, except that of a run and of its grades, which is its
 * close. */
const ENTRIES = "log-entries";
const RUN = "log-run";
const GRADE = "log-grade";
const CORRECTION = "log-correction";
const UNIVERSE = "log-universe";

/** Most entries of a row: whoever reads one reads the others of its row, 35 kB. */
const ROW_ENTRIES = 64;

/** Maximum number of universes in memory. */
const KEPT_UNIVERSES = 100;

/** An instant later than every session, in Unix milliseconds. */
const LAST_INSTANT = Date.UTC(9999, 0);

/** A run with the instruments of its results, in their order: the result at `n` has the index
 *  `index + 1 + n`. */
export interface LoggedRun extends OpenRun {
  /** Index of the first leaf of the universe. */
  readonly universe: number;
  readonly symbols: readonly string[];
}

/** The last signed checkpoint. */
export interface SignedState {
  /** Id of the log. */
  readonly id: string;
  readonly origin: string;
  readonly size: number;
  /** Root in base64. */
  readonly root: string;
  /** The signed note. */
  readonly note: string;
  /** Unix milliseconds. */
  readonly signedAt: number;
}

const checkpoints = collection<SignedState>("log-checkpoint");

/** Key of the only state, and of the last checkpoint. */
const KEY = "log";

/** Key of the last checkpoint that a quorum of witnesses has cosigned. */
const WITNESSED = "witnessed";

/** Why the leader does not sign the log. */
interface Refusal {
  readonly reason: string | null;
}

const refusals = collection<Refusal>("log-refusal");

/** Data appended in one commit. */
export interface Appended {
  readonly leaves: readonly Leaf[];
  /** Members of the state that change. */
  readonly change: Partial<LogState>;
  /** The run that begins. */
  readonly run?: LoggedRun;
  /** The grade of the settlement that ends. */
  readonly grade?: LoggedGrade;
}

/** The grade of a run over one horizon. */
export interface LoggedGrade {
  readonly assetClass: AssetClass;
  /** In sessions. */
  readonly horizon: number;
  /** Index of the entry after the last outcome of the settlement. */
  readonly end: number;
  readonly graded: GradedRun;
  /** Whether it replaces an earlier settlement. */
  readonly isCorrection?: boolean;
}

/** The log in the store: its rows and its state. */
export class LogStore {
  readonly #records: Records;
  readonly #archive: Archive;
  /** Instruments by the index of their universe, which runs share. */
  readonly #universes = new LRUCache<string, readonly string[]>({ max: KEPT_UNIVERSES });
  readonly #isWitnessed: boolean;

  /** @param isWitnessed Whether a checkpoint is published only with a quorum of witnesses. */
  constructor(
    { records, archive }: { readonly records: Records; readonly archive: Archive },
    isWitnessed = false,
  ) {
    this.#records = records;
    this.#archive = archive;
    this.#isWitnessed = isWitnessed;
  }

  async state(): Promise<Stored<LogState> | undefined> {
    const stored = await this.#records.get(states, KEY);
    return stored && { ...stored, value: withMethods(stored.value) };
  }

  /** The last checkpoint that was signed. */
  async checkpoint(): Promise<SignedState | undefined> {
    return (await this.#records.get(checkpoints, KEY))?.value;
  }

  /** The last checkpoint shown to callers: with witnesses, the last one of this log that a quorum
   *  has cosigned. */
  async published(): Promise<SignedState | undefined> {
    const signed = await this.checkpoint();
    if (!this.#isWitnessed) return signed;
    const witnessed = (await this.#records.get(checkpoints, WITNESSED))?.value;
    return witnessed?.id === signed?.id ? witnessed : undefined;
  }

  /** Publishes a checkpoint with its cosignatures, unless a later one is published already. */
  async publish(witnessed: SignedState): Promise<void> {
    const at = { collection: checkpoints, key: WITNESSED };
    await update(this.#records, at, (stored) => {
      const { id, size = 0 } = stored?.value ?? {};
      if (id === witnessed.id && size > witnessed.size) return undefined;
      return [
        stored
          ? replace(checkpoints, stored, { value: witnessed })
          : insert(checkpoints, { key: WITNESSED, value: witnessed }),
        announce(LOG_TOPIC),
      ];
    });
  }

  /** Why the leader, which may be another process, does not sign the log; `undefined` if it may. */
  async refusal(): Promise<string | undefined> {
    return (await this.#records.get(refusals, KEY))?.value.reason ?? undefined;
  }

  /** Announces to every process why the log is not signed, or that it may be signed again. */
  async announceRefusal(reason: string | undefined): Promise<void> {
    if ((await this.refusal()) === reason) return;
    const value = { reason: reason ?? null };
    await this.#records.commit([put(refusals, { key: KEY, value }), announce(LOG_TOPIC)]);
  }

  /** Subscribes to three changes in every process: a checkpoint was signed, one was published, or
   *  signing was refused or allowed again. @returns A function that unsubscribes. */
  onSigned(listener: () => void): () => void {
    return this.#records.onAnnounce(LOG_TOPIC, listener);
  }

  /**
   * Starts a log, in place of the one read before.
   *
   * @returns Whether it was started; another process may have been first.
   */
  async start(before: Stored<LogState> | undefined, state: LogState): Promise<boolean> {
    return this.#records.commit([
      before
        ? replace(states, before, { value: state })
        : insert(states, { key: KEY, value: state }),
    ]);
  }

  /**
   * Appends leaves after the state read before.
   *
   * @returns The state now; `undefined` if another process has appended meanwhile.
   */
  async append(
    before: Stored<LogState>,
    { leaves, change, run, grade }: Appended,
  ): Promise<Stored<LogState> | undefined> {
    const { id } = before.value;
    const { tree, edge, steps } = appendLeaves(before.value, leaves);
    const first = tree.size - leaves.length;
    const value = { ...before.value, ...change, edge };
    const isNew = run !== undefined && run.universe >= first;
    const isAppended = await this.#records.commit([
      replace(states, before, { value }),
      ...entryRows(id, first, leaves).map(append),
      ...steps,
      ...(isNew ? [append(universeRow(id, run))] : []),
      ...(run === undefined ? [] : [append(runRow(id, run))]),
      ...(grade === undefined ? [] : [append(gradeRow(id, grade))]),
    ]);
    return isAppended ? this.state() : undefined;
  }

  /**
   * Stores a signed checkpoint, and notifies every process.
   *
   * @returns Whether it was stored; `false` if the log has grown since its state was read.
   */
  setCheckpoint(
    of: Stored<LogState>,
    signed: SignedState,
    change: Partial<LogState> = {},
  ): Promise<boolean> {
    return this.#records.commit([
      replace(states, of, { value: { ...of.value, ...change } }),
      put(checkpoints, { key: KEY, value: signed }),
      announce(LOG_TOPIC),
    ]);
  }

  /** A tile; it lacks hashes that the log does not have. */
  tile(id: string, tile: Tile): Promise<TileNodes> {
    return storedTile(this.#archive, { id, ...tile }, async () => {
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
      // Strings in a leaf have their quotation marks escaped.
      const place = leaves.findLastIndex((leaf) => leaf.includes(',"kind":"method",'));
      if (place >= 0) return start + place;
      if (leaves.length === 0) return undefined;
      end = start;
      await setImmediate();
    }
    return undefined;
  }

  /** Entries [start, start + count), within one bundle; fewer where the log is shorter or pruned. */
  async entries(id: string, start: number, count: number): Promise<readonly Leaf[]> {
    const first = start - (start % TILE_WIDTH);
    const to = start + count - 1;
    const rows = await this.#read(ENTRIES, id, { from: first, to, limit: TILE_WIDTH });
    if (rows[0]?.at !== first) return [];
    return rows.flatMap(({ body }) => body as Leaf[]).slice(start - first, start - first + count);
  }

  /** The grades of runs of a class over one horizon that closed at or after an instant (Unix
   *  milliseconds), oldest first. */
  async grades(
    id: string,
    of: Pick<LoggedGrade, "assetClass" | "horizon">,
    range: { readonly from: number; readonly limit: number },
  ): Promise<readonly LoggedGrade[]> {
    const rows = await this.#read(GRADE, gradesOf(id, of), { ...range, to: LAST_INSTANT });
    return rows.map(({ body }) => body as LoggedGrade);
  }

  /** The grades that replaced others, by the index after their last outcome. */
  async corrections(
    id: string,
    of: Pick<LoggedGrade, "assetClass" | "horizon">,
    range: { readonly from: number; readonly limit: number },
  ): Promise<readonly LoggedGrade[]> {
    const to = Number.MAX_SAFE_INTEGER;
    const rows = await this.#read(CORRECTION, gradesOf(id, of), { ...range, to });
    return rows.map(({ body }) => body as LoggedGrade);
  }

  /** The newest run of a class that closed at or before an instant, Unix milliseconds. */
  async runAt(id: string, assetClass: AssetClass, close: number): Promise<LoggedRun | undefined> {
    const [run] = await this.runs(id, assetClass, { to: close, limit: 1 });
    return run;
  }

  /** The newest runs of a class, newest first. */
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

  /** The oldest run of a class that is kept. */
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

  /** Index of the oldest run that closed at or after an instant, Unix milliseconds. */
  async firstRunFrom(id: string, close: number): Promise<number | undefined> {
    const found = await Promise.all(
      AssetClass.options.map((assetClass) =>
        this.#read(RUN, `${id}/${assetClass}`, { from: close, to: LAST_INSTANT, limit: 1 }),
      ),
    );
    const indexes = found.flat().map(({ body }) => (body as RunBody).index);
    return indexes.length === 0 ? undefined : Math.min(...indexes);
  }

  /** Drops the entries of bundles before an index, and runs that closed before an instant with
   *  their grades. */
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

/** Body of the row of a run. */
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

/** Rows of consecutive leaves, none across the border of a bundle. */
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
