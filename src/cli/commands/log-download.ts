import { resolve } from "node:path";
import { z } from "zod";
import { parseCheckpoint, shownOrigin } from "../../tree/checkpoint.ts";
import { parseLogVerifier } from "../../tree/note-keys.ts";
import { entryBundlePath, tilePath } from "../../tree/tile-path.ts";
import { allTiles, TILE_WIDTH, type Tile } from "../../tree/tiles.ts";
import {
  type LogSource,
  MAX_TEXT_BYTES,
  maxBundleBytes,
  splitBundle,
  tileBytes,
} from "../../tree/tree-source.ts";
import { defineLocalCommand } from "../command.ts";
import { createDownloadBudget, maxGigabytesOption } from "../download-budget.ts";
import { formatCount } from "../format.ts";
import { folderLogSource, hasFile, storeFile } from "../log-folder.ts";
import { httpLogSource, isHttpUrl } from "../log-source.ts";
import { showProgressOn, tokenOption } from "./verify-log.ts";

/** Copies a signal log to a folder, with the same relative paths as on the server. */
export const downloadLogCommand = defineLocalCommand({
  summary: "Copies a log of signals to a folder, where verify checks it offline.",
  notes: [
    "A download that was interrupted, or is of an earlier day, goes on where it ended: full tiles never",
    "change. The checkpoint comes last. It stops where what it reads is more than --max-gb,",
    "since a dishonest log can be endless.",
  ],
  operands: {
    address: z
      .string("is missing")
      .refine(isHttpUrl, "is not an address such as https://a.example"),
    folder: z.string("is missing: name a folder").min(1, "is empty"),
  },
  options: { token: tokenOption, "max-gb": maxGigabytesOption },

  async run({ address, folder: to, token, "max-gb": maxGigabytes }, { folder: from, progress }) {
    const folder = resolve(from, to);
    const source = httpLogSource(address, token, createDownloadBudget(maxGigabytes).take);
    const checkpoint = await readRequired(source, "checkpoint");
    const { origin, size } = parseCheckpoint(String(checkpoint));
    await checkSameLog(folder, origin);
    const show = showProgressOn(progress, "downloading");
    let files = 0;
    for (const tile of allTiles(size)) {
      files += await fetchTile(source, folder, tile);
      if (tile.level === 0) show(tile.index * TILE_WIDTH + tile.width, size);
    }
    await storeFile(folder, "keys", await readKeys(source));
    await storeFile(folder, "checkpoint", checkpoint);
    return {
      isGood: true,
      lines: [
        `Copied ${shownOrigin(origin)}: ${formatCount(size)} entries in ${folder}, ${formatCount(files)} files of them new.`,
      ],
      result: { origin, size, folder, files },
      notes: [`To check it: market-signal verify ${to}`],
    };
  },
});

/** @throws {Error} If the folder contains another log. */
async function checkSameLog(folder: string, origin: string): Promise<void> {
  const before = await folderLogSource(folder).read("checkpoint", MAX_TEXT_BYTES);
  if (before === undefined) return;
  const { origin: held } = parseCheckpoint(String(before));
  if (held !== origin)
    throw new Error(`${folder} holds ${shownOrigin(held)}, and this is another log.`);
}

/**
 * Copies a tile and, for a tile of level 0, its entry bundle.
 * @returns The number of copied files.
 * @throws {Error} If a file does not have the length of its hashes or entries.
 */
async function fetchTile(source: LogSource, folder: string, tile: Tile): Promise<number> {
  let files = 0;
  const path = `tile/${tilePath(tile)}`;
  if (!(await hasFile(folder, path))) {
    const bytes = await readRequired(source, path, tileBytes(tile));
    if (bytes.length !== tileBytes(tile)) throw wrongLength(path, `${tileBytes(tile)} bytes`);
    await storeFile(folder, path, bytes);
    files += 1;
  }
  const bundlePath = `tile/${entryBundlePath(tile)}`;
  if (tile.level > 0 || (await hasFile(folder, bundlePath))) return files;
  const bundle = await source.read(bundlePath, maxBundleBytes(tile));
  // The oldest entries may have been deleted; their hashes are always available.
  if (bundle === undefined) return files;
  const { entries, end } = splitBundle(bundle, tile);
  if (entries.length < tile.width || end < bundle.length) {
    throw wrongLength(bundlePath, `${tile.width} entries`);
  }
  await storeFile(folder, bundlePath, bundle);
  return files + 1;
}

const wrongLength = (path: string, wanted: string): Error =>
  new Error(`The log answers ${path} with something else than ${wanted}.`);

/** @throws {Error} If a line of the file is not the key of a log. */
async function readKeys(source: LogSource): Promise<Uint8Array> {
  const keys = await readRequired(source, "keys");
  for (const key of String(keys).trimEnd().split("\n")) parseLogVerifier(key);
  return keys;
}

async function readRequired(
  source: LogSource,
  path: string,
  maxBytes = MAX_TEXT_BYTES,
): Promise<Uint8Array> {
  const bytes = await source.read(path, maxBytes);
  if (bytes === undefined) throw new Error(`The log has no ${path}.`);
  return bytes;
}
