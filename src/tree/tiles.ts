import { HASH_BYTES, type Hash, type LeafRange, parentNodes, treeHash } from "./merkle.ts";

/** Number of hashes of a full tile, and of entries of a full bundle. */
export const TILE_WIDTH = 256;

/** Height of the subtree that a tile covers, in levels; a full tile therefore has 2^8 hashes. */
const TILE_HEIGHT = 8;

/**
 * Position of a tile. Its hashes are those of consecutive subtrees with 256^level leaves each (C2SP
 * tlog-tiles, "Merkle Tree").
 */
export interface Tile {
  readonly level: number;
  /** Index of the tile within its level. */
  readonly index: number;
  /** Number of hashes in the tile: 256, or fewer at the right edge of the tree. */
  readonly width: number;
}

/** A tile with its hashes. */
export interface FilledTile extends Tile {
  readonly hashes: readonly Hash[];
}

/**
 * The right edge of a tree: its partial tiles, which determine its root and receive new leaves.
 * Level l has floor(size / 256^l) mod 256 hashes.
 */
export class TreeEdge {
  readonly #levels: Hash[][];
  #size: number;

  /** @param levels The hashes of the partial tile of each level. */
  constructor(levels: readonly (readonly Hash[])[] = []) {
    this.#levels = levels.map((hashes) => [...hashes]);
    this.#size = levels.reduce((sum, { length }, level) => sum + length * TILE_WIDTH ** level, 0);
  }

  /** Number of leaves in the tree. */
  get size(): number {
    return this.#size;
  }

  /** The hashes of the partial tile of each level. */
  get levels(): readonly (readonly Hash[])[] {
    return this.#levels;
  }

  /** The root hash, computed from the highest level down to the smallest subtrees at the right. */
  root(): Hash {
    let right: readonly Hash[] = [];
    for (const hashes of this.#levels) {
      const level = [...hashes, ...right];
      right = level.length === 0 ? [] : [treeHash(level)];
    }
    return treeHash(right);
  }

  /**
   * Appends a leaf.
   *
   * @returns The tiles that the leaf completes, from the lowest level up.
   */
  append(leaf: Hash): readonly FilledTile[] {
    const full: FilledTile[] = [];
    this.#size += 1;
    let hash = leaf;
    for (let level = 0; ; level++) {
      const hashes = this.#levels[level] ?? [];
      this.#levels[level] = hashes;
      hashes.push(hash);
      if (hashes.length < TILE_WIDTH) return full;
      const index = this.#size / TILE_WIDTH ** (level + 1) - 1;
      full.push({ level, index, width: TILE_WIDTH, hashes });
      this.#levels[level] = [];
      hash = treeHash(hashes);
    }
  }
}

/** Width of a tile in a tree of this size; 0 or less if the tree does not have the tile. */
export const widthAt = (level: number, index: number, size: number): number =>
  Math.min(TILE_WIDTH, Math.floor(size / TILE_WIDTH ** level) - index * TILE_WIDTH);

/** Every tile of a tree, from the lowest level up. */
export function* allTiles(size: number): Generator<Tile> {
  for (let level = 0; size >= TILE_WIDTH ** level; level++) {
    for (let index = 0; widthAt(level, index, size) > 0; index++) {
      yield { level, index, width: widthAt(level, index, size) };
    }
  }
}

/** The hashes of a tile and the nodes above them. Nodes are computed when they are first needed. */
export class TileNodes {
  /** The concatenated nodes of each height; the nodes of height 0 are the hashes of the tile. */
  readonly #heights: Uint8Array[];

  /**
   * @param bytes The concatenated hashes.
   * @throws {RangeError} If the length is not a multiple of the hash length.
   */
  constructor(bytes: Uint8Array) {
    checkWhole(bytes);
    this.#heights = [bytes];
  }

  /** The concatenated hashes: the bytes of the tile as served. */
  get bytes(): Uint8Array {
    return this.#heights[0] as Uint8Array;
  }

  /** Number of hashes in the tile. */
  get width(): number {
    return this.bytes.length / HASH_BYTES;
  }

  /**
   * The node above 2^height hashes.
   *
   * @param index Index among the nodes of this height within the tile.
   * @throws {RangeError} If the tile lacks some of these hashes.
   */
  node(height: number, index: number): Hash {
    while (this.#heights.length <= height) {
      this.#heights.push(parentNodes(this.#heights.at(-1) as Uint8Array));
    }
    const start = index * HASH_BYTES;
    const node = this.#heights[height]?.subarray(start, start + HASH_BYTES);
    if (node?.length !== HASH_BYTES) throw new RangeError("a tile lacks hashes");
    return node;
  }
}

/**
 * A complete subtree of 2^height leaves; `index` is its index among the subtrees of this height.
 */
interface Subtree {
  readonly height: number;
  readonly index: number;
}

/**
 * Splits a range into complete subtrees, largest first. The start of the range must be aligned to
 * the first subtree, as in every proof.
 */
function subtreesOf({ start, end }: LeafRange): readonly Subtree[] {
  const found: Subtree[] = [];
  for (let from = start; from < end; ) {
    let height = 0;
    while (from + 2 ** (height + 1) <= end && from % 2 ** (height + 1) === 0) height++;
    found.push({ height, index: from / 2 ** height });
    from += 2 ** height;
  }
  return found;
}

/** The tile that contains the root of a subtree, and the position of the root within the tile. */
function placeOf({ height, index }: Subtree) {
  const level = Math.floor(height / TILE_HEIGHT);
  const within = height % TILE_HEIGHT;
  const perTile = 2 ** (TILE_HEIGHT - within);
  return {
    level,
    index: Math.floor(index / perTile),
    node: { height: within, index: index % perTile },
  };
}

/** The tiles that are needed to compute the hashes of the ranges, in a tree of this size. */
export function tilesOf(ranges: readonly LeafRange[], size: number): readonly Tile[] {
  const found = new Map<string, Tile>();
  for (const subtree of ranges.flatMap(subtreesOf)) {
    const { level, index } = placeOf(subtree);
    found.set(`${level}/${index}`, { level, index, width: widthAt(level, index, size) });
  }
  return [...found.values()];
}

/**
 * Computes the hash of a range from tiles.
 *
 * @param tileAt Returns any tile that `tilesOf` lists for the range.
 * @throws {RangeError} If a tile lacks hashes.
 */
export function rangeHash(
  range: LeafRange,
  tileAt: (level: number, index: number) => TileNodes,
): Hash {
  const hashes = subtreesOf(range).map((subtree) => {
    const { level, index, node } = placeOf(subtree);
    return tileAt(level, index).node(node.height, node.index);
  });
  return hashes.reduceRight((right, left) => treeHash([left, right]));
}

/** Reads a tile of a tree; the tile may have fewer hashes than requested. */
export type ReadTile = (tile: Tile) => Promise<TileNodes>;

/**
 * Computes the hashes of ranges in a tree of this size, such as those of a proof. Rejects with a
 * `RangeError` if a tile lacks hashes.
 */
export async function rangeHashes(
  ranges: readonly LeafRange[],
  size: number,
  read: ReadTile,
): Promise<readonly Hash[]> {
  const tiles = tilesOf(ranges, size);
  const filled = await Promise.all(tiles.map(read));
  const known = new Map(tiles.map(({ level, index }, at) => [`${level}/${index}`, filled[at]]));
  return ranges.map((range) =>
    rangeHash(range, (level, index) => known.get(`${level}/${index}`) as TileNodes),
  );
}

/**
 * Computes the root of a tree of this size from its tiles. Rejects with a `RangeError` if a tile
 * lacks hashes.
 */
export async function treeRoot(size: number, read: ReadTile): Promise<Hash> {
  if (size === 0) return treeHash([]);
  const [root] = await rangeHashes([{ start: 0, end: size }], size, read);
  return root as Hash;
}

/** Concatenates hashes into the bytes of a tile as served. */
export const joinHashes = (hashes: readonly Hash[]): Uint8Array => Buffer.concat(hashes);

/**
 * Splits concatenated hashes.
 *
 * @throws {RangeError} If the length is not a multiple of the hash length.
 */
export function splitHashes(bytes: Uint8Array): readonly Hash[] {
  checkWhole(bytes);
  return Array.from({ length: bytes.length / HASH_BYTES }, (_, at) =>
    bytes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  );
}

function checkWhole({ length }: Uint8Array): void {
  if (length % HASH_BYTES !== 0) throw new RangeError("a tile holds a broken hash");
}
