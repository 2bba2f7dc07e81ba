import { CheckFailure } from "./check.ts";
import { HASH_BYTES, type Hash } from "./merkle.ts";
import { type EntryBundle, entryBundlePath, tilePath } from "./tile-path.ts";
import { splitHashes, TILE_WIDTH, type Tile } from "./tiles.ts";
import type { BundleContent, TreeReader } from "./tree-walk.ts";

/** Maximum size of a text of the log, such as its checkpoint or its keys, in bytes. */
export const MAX_TEXT_BYTES = 64 * 1024;

/** Maximum size of an entry with its length in two bytes, in bytes (C2SP tlog-tiles). */
const MAX_ENTRY_BYTES = 2 + 65_535;

/** Size of a tile, in bytes. */
export const tileBytes = ({ width }: Pick<Tile, "width">): number => width * HASH_BYTES;

/** Maximum size of a bundle of entries, in bytes. */
export const maxBundleBytes = ({ width }: Pick<EntryBundle, "width">): number =>
  width * MAX_ENTRY_BYTES;

/** Reads the files of a log from a URL or a folder, with the paths of C2SP tlog-tiles. */
export interface LogSource {
  /**
   * Reads a file; `undefined` if there is no such file. A source that its peer can make endless
   * rejects with a `CheckFailure` for a file of more than `maxBytes`.
   */
  read(path: string, maxBytes: number): Promise<Uint8Array | undefined>;
}

/** Reads a file that must exist. */
async function readWhole({ read }: LogSource, path: string): Promise<Uint8Array> {
  const bytes = await read(path, MAX_TEXT_BYTES);
  if (bytes === undefined) throw new CheckFailure(`${path} is missing`);
  return bytes;
}

/** Reads a text file of the log, such as `checkpoint`. */
export const readText = async (source: LogSource, path: string): Promise<string> =>
  Buffer.from(await readWhole(source, path)).toString("utf8");

/**
 * Creates the reader of a log's tree. A log may drop its oldest entries (C2SP tlog-tiles,
 * "Pruning"); their hashes stay in the tree.
 */
export function createTreeReader(source: LogSource): TreeReader {
  let isKept = false;
  return {
    hashes: (tile) => readTile(source, tile),
    async entries(bundle) {
      const found = await readBundle(source, bundle);
      isKept ||= found !== undefined;
      if (found !== undefined) return found;
      const first = bundle.index * TILE_WIDTH;
      if (!isKept) return { entries: Array.from({ length: bundle.width }, () => undefined) };
      throw new CheckFailure(`entry ${first} and those after it are missing`, first);
    },
  };
}

/** Reads the hashes of a tile. A partial tile may meanwhile have been replaced by the full tile. */
async function readTile(source: LogSource, tile: Tile): Promise<readonly Hash[]> {
  const path = tilePath(tile);
  const part = await findPart(source, tile, [path, tilePath(full(tile))], tileBytes);
  if (part === undefined) throw new CheckFailure(`tile/${path} is missing`);
  const { bytes, isExact } = part;
  const wanted = tileBytes(tile);
  if (bytes.length === wanted || (!isExact && bytes.length > wanted)) {
    return splitHashes(bytes.subarray(0, wanted));
  }
  const entry = tile.index * TILE_WIDTH ** (tile.level + 1);
  throw new CheckFailure(`tile ${path}, from entry ${entry} on, is not whole`, entry);
}

/** Reads the entries of a bundle; `undefined` if there is no such bundle. */
async function readBundle(
  source: LogSource,
  bundle: EntryBundle,
): Promise<BundleContent | undefined> {
  const path = entryBundlePath(bundle);
  const paths = [path, entryBundlePath(full(bundle))] as const;
  const part = await findPart(source, bundle, paths, maxBundleBytes);
  if (part === undefined) return undefined;
  const { bytes, isExact } = part;
  const { entries, end } = splitBundle(bytes, bundle);
  const next = bundle.index * TILE_WIDTH + entries.length;
  if (entries.length < bundle.width) {
    return { entries, fault: new CheckFailure(`entry ${next} is missing in ${path}`, next) };
  }
  if (!isExact || end === bytes.length) return { entries };
  return { entries, fault: new CheckFailure(`${path} goes on after its last entry`, next - 1) };
}

/**
 * Splits a bundle into its entries, each of which begins with its length in two bytes.
 *
 * @returns The entries that are whole, and where the last of them ends, in bytes.
 */
export function splitBundle(
  bytes: Uint8Array,
  { width }: Pick<EntryBundle, "width">,
): { readonly entries: readonly string[]; readonly end: number } {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const entries: string[] = [];
  let at = 0;
  while (entries.length < width) {
    const end = at + 2 + (at + 2 <= view.length ? view.readUInt16BE(at) : view.length);
    if (end > view.length) break;
    entries.push(view.toString("utf8", at + 2, end));
    at = end;
  }
  return { entries, end: at };
}

const full = <T extends EntryBundle>(part: T): T => ({ ...part, width: TILE_WIDTH });

/** Reads a tile or bundle. If a partial tile or bundle is missing, the full one is read. */
async function findPart<T extends EntryBundle>(
  source: LogSource,
  part: T,
  [path, whole]: readonly [string, string],
  maxBytes: (part: EntryBundle) => number,
) {
  const bytes = await source.read(`tile/${path}`, maxBytes(part));
  if (bytes !== undefined) return { bytes, isExact: true };
  if (part.width === TILE_WIDTH) return undefined;
  const longer = await source.read(`tile/${whole}`, maxBytes(full(part)));
  return longer && { bytes: longer, isExact: false };
}
