import type { Archive, ArchiveRow } from "../store/port/archive.ts";
import { HASH_BYTES, type Hash, leafHash } from "./merkle.ts";
import {
  type FilledTile,
  joinHashes,
  splitHashes,
  TILE_WIDTH,
  type Tile,
  TileNodes,
  TreeEdge,
} from "./tiles.ts";

/**
 * Kind of the archive rows of full tiles. The `at` of a row is not an instant but the index of the
 * tile within its level.
 */
const TILE = "log-tile";

/** The stored state of a tree. */
export interface StoredTree {
  /** Random id that the archive rows of the tree carry. */
  readonly id: string;
  /** The right edge of the tree: the partial tile of each level in base64. */
  readonly edge: readonly string[];
}

/**
 * Decodes the right edge of a tree.
 *
 * @throws {RangeError} If the stored hashes are malformed.
 */
export const treeEdgeOf = ({ edge }: Pick<StoredTree, "edge">): TreeEdge =>
  new TreeEdge(edge.map(decodeHashes));

/** Number of leaves of a tree. */
export const treeSizeOf = ({ edge }: Pick<StoredTree, "edge">): number =>
  edge.reduce((sum, hashes, level) => {
    const count = Buffer.byteLength(hashes, "base64") / HASH_BYTES;
    return sum + count * TILE_WIDTH ** level;
  }, 0);

/**
 * Appends leaves to a tree.
 *
 * @returns The tree, its encoded edge for the record, and the archive rows of the completed tiles.
 */
export function appendLeaves(stored: StoredTree, leaves: readonly string[]) {
  const tree = treeEdgeOf(stored);
  const tiles = leaves.flatMap((leaf) => tree.append(leafHash(leaf)));
  return {
    tree,
    edge: tree.levels.map(encodeHashes),
    tileRows: tiles.map((tile) => tileRow(stored.id, tile)),
  };
}

/**
 * Reads a tile of a tree; it has fewer hashes than requested where the tree is smaller. Rejects
 * with a `RangeError` if the stored hashes are malformed.
 *
 * @param id Id of the tree.
 * @param current Reads the record of the tree; `undefined` if the record now belongs to another
 * tree.
 */
export async function readStoredTile(
  archive: Archive,
  { id, level, index, width }: Tile & Pick<StoredTree, "id">,
  current: () => Promise<StoredTree | undefined>,
): Promise<TileNodes> {
  const full = async () => {
    const place = { subject: `${id}/${level}`, from: index, to: index } as const;
    const [row] = await archive.read(TILE, { ...place, order: "oldest", limit: 1 });
    return row && Buffer.from(String(row.body), "base64");
  };
  const partial = async () => {
    const tree = await current();
    if (tree === undefined) return undefined;
    const last = Math.floor(treeSizeOf(tree) / TILE_WIDTH ** (level + 1));
    return last === index ? Buffer.from(tree.edge[level] ?? "", "base64") : undefined;
  };
  const found = (await full()) ?? (await partial()) ?? (await full());
  return new TileNodes((found ?? Buffer.of()).subarray(0, width * HASH_BYTES));
}

const encodeHashes = (hashes: readonly Hash[]): string =>
  Buffer.from(joinHashes(hashes)).toString("base64");

const decodeHashes = (text: string): readonly Hash[] => splitHashes(Buffer.from(text, "base64"));

const tileRow = (id: string, { level, index, hashes }: FilledTile): ArchiveRow => ({
  kind: TILE,
  at: index,
  id: `${id}/${level}`,
  subject: `${id}/${level}`,
  body: encodeHashes(hashes),
});
