import { LRUCache } from "lru-cache";
import type { AssetClass } from "../market/instrument.ts";
import {
  type ConsistencyProof,
  consistencyPath,
  type Hash,
  inclusionPath,
} from "../tree/merkle.ts";
import { type EntryBundle, tilePath } from "../tree/tile-path.ts";
import {
  type ReadTile,
  rangeHashes,
  TILE_WIDTH,
  type Tile,
  type TileNodes,
  treeRoot,
  widthAt,
} from "../tree/tiles.ts";
import { proofText } from "../tree/tlog-proof.ts";
import type { Leaf } from "./leaves.ts";
import type { LoggedRun, LogStore, StoredCheckpoint } from "./log-store.ts";

/**
 * Maximum number of tiles in memory. Each has 8 kB of hashes, or 16 kB with the nodes above them.
 */
const KEPT_TILES = 256;

/** An entry with the proof that it is in the tree of the last checkpoint. */
export interface ProvenEntry {
  readonly index: number;
  readonly entry: Leaf;
  readonly proof: readonly Hash[];
  readonly checkpoint: StoredCheckpoint;
}

/** Reads the part of the log that the last checkpoint covers, and hides later leaves. */
export class LogReader {
  readonly #store: LogStore;
  /** Tiles by position and width; the first hashes of a tile never change. */
  readonly #tiles = new LRUCache<string, TileNodes>({ max: KEPT_TILES });
  /** Id of the log whose checkpoint was read last. */
  #id: string | undefined;

  constructor(store: LogStore) {
    this.#store = store;
  }

  /** The last published checkpoint; `undefined` before the first. */
  async checkpoint(): Promise<StoredCheckpoint | undefined> {
    const checkpoint = await this.#store.published();
    this.#id = checkpoint?.id;
    return checkpoint;
  }

  /** Name of the log, even before its first checkpoint; `undefined` if there is no log yet. */
  async origin(): Promise<string | undefined> {
    return (await this.#store.state())?.value.origin;
  }

  /**
   * Bytes of a tile as served; `undefined` if the tree does not have it. A cached tile belongs to
   * the last checkpoint that was read, or to an earlier checkpoint of the same log.
   */
  async tile(tile: Tile): Promise<Uint8Array | undefined> {
    const known = this.#tiles.get(keyOf(this.#id, tile));
    if (known !== undefined) return known.bytes;
    const checkpoint = await this.checkpoint();
    if (checkpoint === undefined) return undefined;
    if (tile.width > widthAt(tile.level, tile.index, checkpoint.size)) return undefined;
    return (await this.#nodes(checkpoint.id, tile))?.bytes;
  }

  /** A tile with its inner nodes; `undefined` if another log has just replaced the log `id`. */
  async #nodes(id: string, tile: Tile): Promise<TileNodes | undefined> {
    const known = this.#tiles.get(keyOf(id, tile));
    if (known !== undefined) return known;
    const found = await this.#store.tile(id, tile);
    if (found.width < tile.width) return undefined;
    this.#tiles.set(keyOf(id, tile), found);
    return found;
  }

  /** Bytes of a bundle of entries as served; `undefined` if the log does not have it. */
  async bundle({ index, width }: EntryBundle): Promise<Uint8Array | undefined> {
    const checkpoint = await this.checkpoint();
    if (checkpoint === undefined || width > widthAt(0, index, checkpoint.size)) return undefined;
    const start = index * TILE_WIDTH;
    const leaves = await this.#store.entries(checkpoint.id, start, width);
    return leaves.length === width ? bundleOf(leaves) : undefined;
  }

  /** An entry with its proof; `undefined` if the last checkpoint does not cover it. */
  async prove(index: number): Promise<ProvenEntry | undefined> {
    const checkpoint = await this.checkpoint();
    if (checkpoint === undefined || index >= checkpoint.size) return undefined;
    const { id, size } = checkpoint;
    const entry = await this.#store.entry(id, index);
    if (entry === undefined) return undefined;
    const proof = await rangeHashes(inclusionPath(index, size), size, this.#reading(id));
    return { index, entry, proof, checkpoint };
  }

  /**
   * Proves that the tree of size `from` is a prefix of the tree of size `to`; `undefined` if the
   * last checkpoint does not cover both sizes.
   */
  async proveConsistency(
    from: number,
    to: number,
  ): Promise<(ConsistencyProof & { readonly origin: string }) | undefined> {
    const checkpoint = await this.checkpoint();
    if (checkpoint === undefined || from > to || to > checkpoint.size) return undefined;
    const { id, origin } = checkpoint;
    const read = this.#reading(id);
    const [fromRoot, toRoot] = [await treeRoot(from, read), await treeRoot(to, read)];
    const proof = await rangeHashes(consistencyPath(from, to), to, read);
    return { origin, from, fromRoot, to, toRoot, proof };
  }

  /**
   * The newest run of a class that a checkpoint covers and whose session closed at or before an
   * instant, Unix milliseconds.
   */
  async runAt(assetClass: AssetClass, close: number): Promise<LoggedRun | undefined> {
    const checkpoint = await this.checkpoint();
    if (checkpoint === undefined) return undefined;
    const runs = await this.#store.runs(checkpoint.id, assetClass, { to: close, limit: 2 });
    return runs.find((run) => isRunCovered(run, checkpoint));
  }

  /** The oldest stored run of a class; `undefined` if the last checkpoint does not cover it. */
  async firstRun(assetClass: AssetClass): Promise<LoggedRun | undefined> {
    const checkpoint = await this.checkpoint();
    const run = checkpoint && (await this.#store.firstRun(checkpoint.id, assetClass));
    return run && isRunCovered(run, checkpoint) ? run : undefined;
  }

  #reading(id: string): ReadTile {
    return async (tile) => {
      const nodes = await this.#nodes(id, tile);
      if (nodes === undefined) throw new Error(`tile ${tilePath(tile)} of log ${id} is gone`);
      return nodes;
    };
  }
}

const keyOf = (id: string | undefined, { level, index, width }: Tile): string =>
  `${id}/${level}/${index}/${width}`;

/** Whether a checkpoint covers all results of a run. */
export const isRunCovered = ({ index, symbols }: LoggedRun, { size }: StoredCheckpoint): boolean =>
  index + symbols.length < size;

/** The text of a `.tlog-proof` file that also contains the entry. */
export const proofFileText = ({ index, entry, proof, checkpoint }: ProvenEntry): string =>
  proofText({ index, proof, checkpoint: checkpoint.note, extra: Buffer.from(entry) });

/** Entries, each preceded by its length as a big-endian uint16 (C2SP tlog-tiles, "Log entries"). */
function bundleOf(leaves: readonly Leaf[]): Uint8Array {
  const parts = leaves.flatMap((leaf) => {
    const entry = Buffer.from(leaf);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(entry.length);
    return [length, entry];
  });
  return Buffer.concat(parts);
}
