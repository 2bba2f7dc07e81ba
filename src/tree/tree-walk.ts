import { CheckFailure, failedCheck, type VerificationCheck } from "./check.ts";
import type { SignedCheckpoint } from "./checkpoint.ts";
import type { CheckpointSighting } from "./known-log.ts";
import { type Hash, isSameHash, leafHash } from "./merkle.ts";
import type { EntryBundle } from "./tile-path.ts";
import { allTiles, type FilledTile, TILE_WIDTH, type Tile, TreeEdge, widthAt } from "./tiles.ts";

/** The entries of a bundle, as far as they can be read. */
export interface BundleContent {
  /** Entries by position in the bundle; `undefined` for an entry that is no longer stored. */
  readonly entries: readonly (string | undefined)[];
  /** Why the bundle has too few or too many entries. */
  readonly fault?: CheckFailure;
}

/**
 * Reads the hashes and entries of a tree. Both methods reject with a `CheckFailure` if something is
 * missing or incomplete.
 */
export interface TreeReader {
  hashes(tile: Tile): Promise<readonly Hash[]>;
  entries(bundle: EntryBundle): Promise<BundleContent>;
}

/** Callbacks of a tree walk. */
interface WalkListener {
  /**
   * Called with every entry, in order, and the root of the tree before it; the entry is `undefined`
   * if the log no longer stores it.
   */
  readonly onEntry?: (entry: string | undefined, rootBefore: () => Hash) => void;
  /** Called at intervals; the walk continues when the promise resolves. */
  readonly onPause?: (() => Promise<void>) | undefined;
  /**
   * Called with the index of an entry that does not match the tree, after which the walk continues.
   * Without this callback, the first such entry ends the walk.
   */
  readonly onOther?: (index: number) => void;
  /** Called with the number of entries read so far, and the number of all entries. */
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * Reads all entries of a log and rebuilds its tree from them. Every tile, the root of the
 * checkpoint and the roots seen earlier must match the rebuilt tree.
 */
export class TreeWalk {
  readonly #reader: TreeReader;
  readonly #checkpoint: SignedCheckpoint;
  readonly #sightings: readonly CheckpointSighting[];
  readonly #edge = new TreeEdge();
  /** Earlier observations of the tree, by number of leaves. */
  readonly #seen: ReadonlyMap<number, readonly CheckpointSighting[]>;
  #history: VerificationCheck | undefined;

  /** @param sightings Earlier observations of the log, in ascending order of size. */
  constructor(
    reader: TreeReader,
    checkpoint: SignedCheckpoint,
    sightings: readonly CheckpointSighting[],
  ) {
    this.#reader = reader;
    this.#checkpoint = checkpoint;
    this.#sightings = sightings;
    this.#seen = Map.groupBy(sightings, ({ size: of }) => of);
  }

  /**
   * Walks the tree.
   *
   * @returns The checks of the tree and of the earlier observations.
   */
  async run(listener: WalkListener): Promise<readonly VerificationCheck[]> {
    const name = "tree";
    const { size, root } = this.#checkpoint;
    this.#history = this.#rollback();
    try {
      for (let index = 0; widthAt(0, index, size) > 0; index++) {
        await this.#readEntries(index, listener);
        await listener.onPause?.();
        listener.onProgress?.(this.#edge.size, size);
      }
      await this.#comparePartialTiles();
      if (!isSameHash(this.#edge.root(), root)) {
        throw new CheckFailure(`the ${size} entries do not have the root of the checkpoint`);
      }
    } catch (error) {
      return [failedCheck(name, error), this.#checkHistory()];
    }
    const detail = `all ${size} entries and tiles have the root of the checkpoint`;
    return [{ name, outcome: "proved", detail }, this.#checkHistory()];
  }

  async #readEntries(index: number, { onEntry, onOther }: WalkListener): Promise<void> {
    const bundle = { index, width: widthAt(0, index, this.#checkpoint.size) };
    const hashes = await this.#reader.hashes({ level: 0, ...bundle });
    const { entries, fault } = await this.#reader.entries(bundle);
    for (const [at, entry] of entries.entries()) {
      const hash = hashes[at] as Hash;
      if (entry !== undefined && !isSameHash(leafHash(entry), hash)) {
        const place = index * TILE_WIDTH + at;
        if (onOther === undefined) {
          throw new CheckFailure(`entry ${place} is not the one in the tree`, place);
        }
        onOther(place);
      }
      onEntry?.(entry, () => this.#edge.root());
      for (const tile of this.#edge.append(hash)) await this.#compareTile(tile);
      this.#compareSighting();
    }
    if (fault !== undefined) throw fault;
  }

  /**
   * Compares a tile with the stored one.
   *
   * @throws {CheckFailure} If a tile above the leaves does not match their hashes.
   */
  async #compareTile(tile: FilledTile): Promise<void> {
    if (tile.level === 0) return;
    const found = await this.#reader.hashes(tile);
    const wrong = tile.hashes.findIndex((hash, at) => !isSameHash(hash, found[at] as Uint8Array));
    if (wrong < 0) return;
    const first = (tile.index * TILE_WIDTH + wrong) * TILE_WIDTH ** tile.level;
    throw new CheckFailure(`a tile of level ${tile.level} differs from entry ${first} on`, first);
  }

  async #comparePartialTiles(): Promise<void> {
    for (const tile of allTiles(this.#checkpoint.size)) {
      if (tile.width === TILE_WIDTH) continue;
      await this.#compareTile({ ...tile, hashes: this.#edge.levels[tile.level] ?? [] });
    }
  }

  #compareSighting(): void {
    const sightings = this.#seen.get(this.#edge.size);
    if (sightings === undefined || this.#history !== undefined) return;
    const root = Buffer.from(this.#edge.root()).toString("base64");
    const seen = sightings.find((one) => one.root !== root);
    if (seen === undefined) return;
    const detail = `the first ${seen.size} entries are not those seen ${whenAndBy(seen)}`;
    this.#history = { name: "history", outcome: "failed", detail };
  }

  #rollback(): VerificationCheck | undefined {
    const { size } = this.#checkpoint;
    const largest = this.#sightings.at(-1)?.size ?? 0;
    if (largest <= size) return undefined;
    const detail = `the log was rolled back: ${largest} entries were seen, and it has ${size}`;
    return { name: "history", outcome: "failed", detail, entry: size };
  }

  #checkHistory(): VerificationCheck {
    if (this.#history !== undefined) return this.#history;
    const name = "history";
    const last = this.#sightings.at(-1);
    if (last === undefined) {
      const detail = "this is the first look; --state keeps what was seen for the next one";
      return { name, outcome: "not_proved", detail };
    }
    if (this.#edge.size < last.size) {
      return { name, outcome: "not_proved", detail: "the entries that were seen cannot be read" };
    }
    return {
      name,
      outcome: "proved",
      detail: `it extends what was seen, last ${whenAndBy(last)}`,
    };
  }
}

const whenAndBy = ({ seenAt, by }: CheckpointSighting): string =>
  `at ${new Date(seenAt).toISOString()}${by === undefined ? "" : ` by the witness ${by}`}`;
