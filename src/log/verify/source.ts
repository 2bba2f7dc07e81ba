import { HASH_BYTES, type Hash } from "../merkle.ts";
import { type EntryBundle, entryBundlePath, tilePath } from "../tile-path.ts";
import { splitHashes, TILE_WIDTH, type Tile } from "../tiles.ts";
import { CheckFailure } from "./check.ts";
import type { BundleContent, TreeReader } from "./tree-walk.ts";

/** Reads the files of a log from a URL or a folder, with the paths of C2SP tlog-tiles. */
export interface LogSource {
  /** Reads a file; `undefined` if there is no such file. */
  read(path: string): Promise<Uint8Array | undefined>;
}

/** Reads a file that must exist. */
async function readWhole({ read }: LogSource, path: string): Promise<Uint8Array> {
  const bytes = await read(path);
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
  const part = await findPart(source, tile.width, path, tilePath(full(tile)));
  if (part === undefined) throw new CheckFailure(`tile/${path} is missing`);
  const { bytes, isExact } = part;
  const wanted = tile.width * HASH_BYTES;
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
  const part = await findPart(source, bundle.width, path, entryBundlePath(full(bundle)));
  if (part === undefined) return undefined;
  const { bytes, isExact } = part;
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const entries: string[] = [];
  const nameNext = () => bundle.index * TILE_WIDTH + entries.length;
  let at = 0;
  while (entries.length < bundle.width) {
    const end = at + 2 + (at + 2 <= view.length ? view.readUInt16BE(at) : view.length);
    if (end > view.length) {
      const fault = new CheckFailure(`entry ${nameNext()} is missing in ${path}`, nameNext());
      return { entries, fault };
    }
    entries.push(view.toString("utf8", at + 2, end));
    at = end;
  }
  if (!isExact || at === view.length) return { entries };
  const fault = new CheckFailure(`${path} goes on after its last entry`, nameNext() - 1);
  return { entries, fault };
}

const full = <T extends EntryBundle>(part: T): T => ({ ...part, width: TILE_WIDTH });

/** Reads a tile or bundle. If a partial tile or bundle is missing, the full one is read. */
async function findPart(source: LogSource, width: number, path: string, whole: string) {
  const bytes = await source.read(`tile/${path}`);
  if (bytes !== undefined) return { bytes, isExact: true };
  const longer = width === TILE_WIDTH ? undefined : await source.read(`tile/${whole}`);
  return longer && { bytes: longer, isExact: false };
}
