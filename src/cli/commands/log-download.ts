import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { createFolder } from "../../lib/create-folder.ts";
import { parseCheckpoint } from "../../log/checkpoint.ts";
import { entryBundlePath, tilePath } from "../../log/tile-path.ts";
import { allTiles, TILE_WIDTH, type Tile } from "../../log/tiles.ts";
import type { LogSource } from "../../log/verify/source.ts";
import { defineLocalCommand } from "../command.ts";
import { formatCount } from "../format.ts";
import { httpLogSource, isHttpUrl } from "../log-source.ts";
import { showProgressOn, tokenOption } from "./verify-log.ts";

/** Copies a signal log to a folder, with the same relative paths as on the server. */
export const downloadLogCommand = defineLocalCommand({
  summary: "Copies a log of signals to a folder, where verify checks it offline.",
  notes: [
    "A download that was interrupted, or is of an earlier day, goes on where it ended: full tiles never",
    "change. The checkpoint comes last.",
  ],
  operand: "<address> <folder>",
  options: { token: tokenOption },
  args: z.strictObject({
    address: z
      .string("is missing")
      .refine(isHttpUrl, "is not an address such as https://a.example"),
    folder: z.string("is missing: name a folder").min(1, "is empty"),
    token: z.string().min(1, "is empty").optional(),
  }),

  async run({ address, folder: to, token }, { folder: from, progress }) {
    const folder = resolve(from, to);
    const source = httpLogSource(address, token);
    const checkpoint = await readRequired(source, "checkpoint");
    const { origin, size } = parseCheckpoint(String(checkpoint));
    await checkSameLog(folder, origin);
    const show = showProgressOn(progress, "downloading");
    let files = 0;
    for (const tile of allTiles(size)) {
      files += await fetchTile(source, folder, tile);
      if (tile.level === 0) show(tile.index * TILE_WIDTH + tile.width, size);
    }
    await store(folder, "keys", await readRequired(source, "keys"));
    await store(folder, "checkpoint", checkpoint);
    return {
      isGood: true,
      lines: [
        `Copied ${origin}: ${formatCount(size)} entries in ${folder}, ${formatCount(files)} files of them new.`,
      ],
      result: { origin, size, folder, files },
      notes: [`To check it: market-signal verify ${to}`],
    };
  },
});

/** @throws {Error} If the folder contains another log. */
async function checkSameLog(folder: string, origin: string): Promise<void> {
  const before = await readFile(join(folder, "checkpoint"), "utf8").catch(() => undefined);
  if (before === undefined) return;
  const { origin: held } = parseCheckpoint(before);
  if (held !== origin) throw new Error(`${folder} holds ${held}, and this is ${origin}.`);
}

/**
 * Copies a tile and, for a tile of level 0, its entry bundle.
 * @returns The number of copied files.
 */
async function fetchTile(source: LogSource, folder: string, tile: Tile): Promise<number> {
  const paths = [tilePath(tile), ...(tile.level === 0 ? [entryBundlePath(tile)] : [])];
  let files = 0;
  for (const each of paths) {
    const path = `tile/${each}`;
    if (await exists(join(folder, path))) continue;
    const bytes = await source.read(path);
    // The oldest entries may have been deleted; their hashes are always available.
    if (bytes === undefined && each.startsWith("entries/")) continue;
    if (bytes === undefined) throw new Error(`The log has no ${path}.`);
    await store(folder, path, bytes);
    files += 1;
  }
  return files;
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

async function readRequired(source: LogSource, path: string): Promise<Uint8Array> {
  const bytes = await source.read(path);
  if (bytes === undefined) throw new Error(`The log has no ${path}.`);
  return bytes;
}

/** Writes a file through a temporary file, so that it exists either completely or not at all. */
async function store(folder: string, path: string, bytes: Uint8Array): Promise<void> {
  const place = join(folder, ...path.split("/"));
  createFolder(dirname(place));
  await writeFile(`${place}.new`, bytes);
  await rename(`${place}.new`, place);
}
